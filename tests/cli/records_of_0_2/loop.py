import torch
torch.manual_seed(0)
x = torch.randn(20, 8)
y = torch.randn(20, 1)
m = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(4):
    opt.zero_grad()
    loss = ((m(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
