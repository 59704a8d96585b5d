import torch
w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
s = torch.tensor([0.3, 0.4], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.01)
for i in range(4):
    opt.zero_grad()
    for k in range(3):
        y = w * (k + 1.0)
        if k < 2:
            y = y + s
        loss = y.pow(2).mean() / 3
        loss.backward()
    opt.step()
    with torch.no_grad():
        s -= 0.01 * s.grad
    s.grad = None
