"""autocast and GradScaler: off for "cuda" on a machine without it, the scaler on for "cpu"."""
import warnings

import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

torch.manual_seed(0)


def attempt(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except (AssertionError, RuntimeError, TypeError, ValueError) as error:
            result = f"{type(error).__name__} {error}"
    shown = result if isinstance(result, (str, float)) else type(result).__name__
    print(shown, [(one.category.__name__, str(one.message)) for one in caught])
    return result


attempt(lambda: autocast())
attempt(lambda: autocast(enabled=False))
attempt(lambda: GradScaler())
attempt(lambda: torch.amp.autocast("cuda", dtype=torch.float16))
attempt(lambda: torch.autocast("cpu", enabled=False))
attempt(lambda: torch.amp.GradScaler())
attempt(lambda: torch.amp.GradScaler("cuda", enabled=False))
attempt(lambda: torch.autocast("abacus"))
warnings.simplefilter("ignore")


@autocast()
def double(x):
    return x * 2


with torch.autocast("cuda"):
    print(torch.is_autocast_enabled(), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype, double(torch.ones(2)))

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler()
loss = model(torch.ones(3, 2)).mean()
print(scaler.scale(loss) is loss, scaler.get_scale(), scaler.is_enabled(), scaler.state_dict())
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
print(scaler.step(optimizer), scaler.update(), model.weight.data)

scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
for i in range(6):
    optimizer.zero_grad()
    loss = model(torch.ones(3, 2) * (float("inf") if i == 3 else 1)).mean()
    scaler.scale(loss).backward()
    if i % 2:
        scaler.unscale_(optimizer)
    print(model.weight.grad, scaler.step(optimizer), model.weight.data)
    scaler.update()
    print(scaler.get_scale(), scaler.state_dict())
scaled = scaler.scale((torch.tensor(1.0), [torch.tensor(2.0)]))
print(scaled)
scaler.update(32.0)
other = torch.amp.GradScaler("cpu")
other.load_state_dict(scaler.state_dict())
print(other.get_scale())

fresh = torch.amp.GradScaler("cpu")
attempt(lambda: fresh.update())
attempt(lambda: fresh.step(optimizer))
attempt(lambda: fresh.unscale_(optimizer))
fresh.scale(loss.detach())
fresh.unscale_(optimizer)
attempt(lambda: fresh.unscale_(optimizer))
print(fresh.step(optimizer))
attempt(lambda: fresh.step(optimizer))
attempt(lambda: fresh.unscale_(optimizer))
attempt(lambda: fresh.load_state_dict({}))
attempt(lambda: fresh.step(optimizer, closure=lambda: 1))
attempt(lambda: fresh.scale(3))
attempt(lambda: torch.amp.GradScaler("cpu", growth_factor=1.0))
