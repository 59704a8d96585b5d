import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
x, y = torch.randn(16, 4), torch.randn(16, 1)
for i in range(5):
    loss = ((net(x) - y) ** 2).mean()
    net.zero_grad()
    loss.backward()
    for p in net.parameters():
        p.data = p - 0.1 * p.grad
