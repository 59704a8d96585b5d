import torch
from torch import nn, optim
from torch.optim import lr_scheduler
import matplotlib.pyplot as plt

model = nn.Linear(2, 1)
schedules = {
    'step': lambda o: lr_scheduler.StepLR(o, step_size=3, gamma=0.5),
    'multi': lambda o: lr_scheduler.MultiStepLR(o, milestones=[2, 5], gamma=0.1),
    'exp': lambda o: lr_scheduler.ExponentialLR(o, gamma=0.9),
    'cos': lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=8),
    'lambda': lambda o: lr_scheduler.LambdaLR(o, lr_lambda=lambda epoch: 0.95 ** epoch),
}
fig, axs = plt.subplots(1, len(schedules), figsize=(15, 3), sharey=True)
for ax, (name, make) in zip(axs, schedules.items()):
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    scheduler = make(optimizer)
    lrs = []
    for epoch in range(8):
        optimizer.step()
        lrs.append(optimizer.param_groups[0]['lr'])
        scheduler.step()
    ax.plot(range(8), lrs, marker='o')
    ax.set_title(name)
    print(f'{name:8s}', ['%.4f' % lr for lr in lrs])
plt.tight_layout()
plt.savefig('schedules.png')
plt.close(fig)
