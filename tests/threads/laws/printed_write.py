import torch
w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
opt = torch.optim.SGD([w], lr=0.01)
for i in range(4):
    opt.zero_grad()
    loss = w.pow(2).sum()
    loss.backward()
    opt.step()
with torch.no_grad():
    best = w.clone()
    best.mul_(2)
print(best)
