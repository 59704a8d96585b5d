"""Averages of weights over training: swa_utils."""

import torch, torch.nn as nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn, get_ema_multi_avg_fn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
swa = AveragedModel(model)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
own = torch.optim.swa_utils.AveragedModel(model, avg_fn=lambda a, m, n: 0.5 * a + 0.5 * m)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = SWALR(opt, swa_lr=0.05, anneal_epochs=3)
data = [(torch.randn(8, 2), torch.randn(8, 1)) for _ in range(3)]
for epoch in range(6):
    for x, y in data:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    if epoch > 1:
        swa.update_parameters(model)
    ema.update_parameters(model)
    own.update_parameters(model)
    sched.step()
    print(epoch, sched.get_last_lr(), opt.param_groups[0]["lr"])
update_bn(data, swa)
print(swa(data[0][0]).detach().flatten())
print(ema.module[0].weight, swa.n_averaged, own.module[0].bias)
for k, v in swa.state_dict().items():
    print(k, (v * 1e4).round() / 1e4)  # a bias before BatchNorm has little but rounding errors
print(swa)
lin = SWALR(opt, swa_lr=[0.2], anneal_strategy="linear")
for i in range(3):
    opt.step()
    lin.step()
print(lin.get_last_lr())
try:
    SWALR(opt, swa_lr=[0.2, 1])
except ValueError as e:
    print(e)
