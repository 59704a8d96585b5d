# engine: torch
# cause: the scheduler is stepped before the optimizer, so the first value of the schedule is never used
# line: scheduler.step()
# must: scheduler
# must: before
# must: opt.step
# never: diverges|vanishes
# right:     scheduler.step()\n    opt.step() ==>     opt.step()\n    scheduler.step()
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
for epoch in range(4):
    x, y = torch.randn(8, 2, 12), torch.randint(0, 3, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    scheduler.step()
    opt.step()
