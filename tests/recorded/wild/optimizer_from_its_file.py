"""An optimizer that derives from the class in its own file, options found by inspect, and a sampler for ranks."""

import inspect
import math

import torch
import torch.multiprocessing as mp  # noqa: F401
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.adamw import AdamW
from torch.optim.optimizer import Optimizer
from torch.utils.data.distributed import DistributedSampler


class Rectified(Optimizer):
    def __init__(self, params, lr=0.05, betas=(0.9, 0.99), eps=1e-8):
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            first, second = group["betas"]
            for param in group["params"]:
                state = self.state[param]
                if len(state) == 0:
                    state["step"] = 0
                    state["mean"] = torch.zeros_like(param, memory_format=torch.preserve_format)
                    state["square"] = torch.zeros_like(param)
                state["step"] += 1
                state["mean"].mul_(first).add_(param.grad, alpha=1 - first)
                state["square"].mul_(second).addcmul_(param.grad, param.grad, value=1 - second)
                longest = 2 / (1 - second) - 1
                length = longest - 2 * state["step"] * second ** state["step"] / (1 - second ** state["step"])
                size = group["lr"] / (1 - first ** state["step"])
                if length > 5:
                    ratio = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
                    root = state["square"].sqrt().div_(math.sqrt(1 - second ** state["step"])).add_(group["eps"])
                    param.addcdiv_(state["mean"], root, value=-size * math.sqrt(ratio))
                else:
                    param.add_(state["mean"], alpha=-size)


torch.manual_seed(0)
x = torch.randn(32, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
model = nn.Linear(3, 1)
fused_available = "fused" in inspect.signature(torch.optim.AdamW).parameters
optimizers = [Rectified(model.parameters()), AdamW(model.parameters(), **(dict(fused=False) if fused_available else {}))]
for optimizer in optimizers:
    for step in range(9):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(type(optimizer).__name__, step, f"{loss.item():.4f}")


def train(model, lr=0.1, *, epochs=3, **more):
    return model


found = inspect.signature(train).parameters
print(list(found), found["lr"].default, found["epochs"].default, found["model"].default is found["model"].empty)
print(list(inspect.signature(Rectified).parameters), "closure" in inspect.signature(optimizers[0].step).parameters)

for rank in range(2):
    sampler = DistributedSampler(range(7), num_replicas=2, rank=rank, seed=3)
    sampler.set_epoch(1)
    print(list(sampler), len(sampler), list(DistributedSampler(range(7), 2, rank, shuffle=False, drop_last=True)))
print(list(DistributedSampler(range(2), num_replicas=5, rank=4, shuffle=False)))
for make in (lambda: DistributedSampler(range(7)), lambda: DistributedSampler(range(7), 2, 2), lambda: DDP(model)):
    try:
        make()
    except ValueError as error:
        print(error)
