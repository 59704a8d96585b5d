"""A scheduler of the program's own, optimizers from the files of torch.optim, and DataParallel on a CPU."""

import warnings

import torch
from torch.nn.parallel import DataParallel
from torch.optim.adam import Adam
from torch.optim.lr_scheduler import StepLR, _LRScheduler
from torch.optim.optimizer import Optimizer
from torch.optim.sgd import SGD

torch.cuda.cudnn_enabled = False  # a line of few-shot scripts; it means nothing


class Warmup(_LRScheduler):
    """Raise the rate to a multiple of it, then follow another scheduler."""

    def __init__(self, optimizer, multiplier, total, after=None):
        self.multiplier, self.total, self.after, self.finished = multiplier, total, after, False
        super().__init__(optimizer)

    def get_lr(self):
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate, please use `get_last_lr()`.", stacklevel=2)
            print("asked outside of step")
        if self.last_epoch > self.total:
            if self.after and not self.finished:
                self.after.base_lrs = [rate * self.multiplier for rate in self.base_lrs]
                self.finished = True
            return self.after.get_last_lr()
        return [rate * ((self.multiplier - 1.0) * self.last_epoch / self.total + 1.0) for rate in self.base_lrs]

    def step(self, epoch=None):
        if self.finished:
            self.after.step(None if epoch is None else epoch - self.total)
            self._last_lr = self.after.get_last_lr()
        else:
            super().step(epoch)


torch.manual_seed(0)
model = DataParallel(torch.nn.Linear(3, 1))
print(model, model.module.weight.shape, isinstance(model, torch.nn.DataParallel))
optimizer = SGD(model.parameters(), lr=0.1)
scheduler = Warmup(optimizer, multiplier=4, total=3, after=StepLR(optimizer, step_size=2, gamma=0.5))
for epoch in range(9):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(epoch, round(loss.item(), 4), [round(rate, 5) for rate in scheduler.get_last_lr()])
print([round(rate, 5) for rate in scheduler.get_lr()])
print(Adam is torch.optim.Adam, issubclass(SGD, Optimizer), Adam(model.parameters(), lr=1e-2).defaults["lr"])
