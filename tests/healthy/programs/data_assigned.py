import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
ema = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for i in range(5):
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p, q in zip(net.parameters(), ema.parameters()):
        q.data = 0.9 * q.data + 0.1 * p.data
        p.data = p.data.clamp(-1, 1)
