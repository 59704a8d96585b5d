import torch
w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
opt = torch.optim.SGD([w], lr=0.1)
down = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=20)
up = torch.optim.lr_scheduler.StepLR(opt, step_size=4, gamma=1.5)
for i in range(8):
    opt.zero_grad()
    loss = (w + 0.1).pow(2).sum()
    loss.backward()
    opt.step()
    down.step()
    up.step()
