# engine: torch
# cause: gamma above 1 makes the learning rate grow from epoch to epoch, until the loop diverges
# line: scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=2.5)
# must: ExponentialLR|scheduler
# must: diverge|grow
# never: with lr=0.01 on|in place of lr=0.01
# right: gamma=2.5 ==> gamma=0.9
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=2.5)
x = torch.randn(32, 6)
y = x.sum(1, keepdim=True)
for epoch in range(14):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step()
