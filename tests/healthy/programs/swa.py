import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
averaged = AveragedModel(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = SWALR(opt, swa_lr=0.05, anneal_epochs=2)
batches = [torch.randn(8, 4) for _ in range(3)]
for epoch in range(2):
    for x in batches:
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    averaged.update_parameters(model)
    schedule.step()
update_bn(batches, averaged)
