import torch
a = torch.tensor([-0.5], requires_grad=True)
b = torch.tensor([-0.7], requires_grad=True)
c = torch.tensor([0.3], requires_grad=True)
x = torch.tensor([1.0, 2.0])
opt = torch.optim.SGD([a, b, c], lr=0.01)
for i in range(4):
    opt.zero_grad()
    u = torch.relu(a * x)
    v = torch.relu(b * x)
    d = u - v
    loss = (d.sum() + c * x - 1).pow(2).sum() + (a + 1).pow(2).sum() + (b + 1).pow(2).sum()
    loss.backward()
    opt.step()
