"""How layers, optimisers and schedules show themselves, and what layers say of another dtype."""
import torch
import torch.nn as nn
from torch.optim import lr_scheduler as S


def tell(call):
    try:
        print(call())
    except Exception as e:
        print(type(e).__name__, e)


def fill(module):
    for i, p in enumerate(module.parameters()):
        with torch.no_grad():
            p.copy_((torch.arange(p.numel()).float().reshape(p.shape) * 0.37 + i * 0.21).sin() * 0.3)
    return module


p = torch.tensor([1.0], requires_grad=True)
o = torch.optim.SGD([p], lr=0.1)
print(S.StepLR(o, 2), S.LambdaLR(o, lambda e: 1.0), S.ReduceLROnPlateau(o))
print(type(S.StepLR(o, 1)), type(o), type(nn.Linear(1, 1)), S.StepLR, torch.optim.AdamW, nn.Flatten, nn.Module)


class Halving(S.LRScheduler):
    def get_lr(self):
        return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]


class Net(nn.Module):
    pass


schedule = Halving(o)
o.step()
schedule.step()
print(schedule.get_last_lr(), schedule, Net, type(Net()))
handle = nn.Linear(1, 1).register_forward_hook(lambda m, i, o: None)
print(handle)
print(nn.TripletMarginWithDistanceLoss())

x = (torch.arange(24.0).reshape(2, 4, 3) * 0.7).cos().requires_grad_()
for layer in (nn.LSTM(3, 2), nn.LSTM(3, 2, batch_first=True), nn.LSTM(3, 2, num_layers=2), nn.GRU(3, 2), nn.RNN(3, 2)):
    out, state = fill(layer)(x)
    print(out, state)
tell(lambda: nn.LSTM(3, 2)(x, torch.zeros(1, 4, 2)))
for layer, shape in ((nn.Conv1d(2, 2, 3), (1, 2, 4)), (nn.Conv1d(2, 2, 3, bias=False), (1, 2, 4)),
                     (nn.ConvTranspose2d(1, 1, 2), (1, 1, 3, 3)), (nn.Linear(3, 2), (2, 3)), (nn.PReLU(), (2,))):
    for dtype in (torch.float64, torch.int64, torch.float16):
        tell(lambda: layer(torch.ones(shape, dtype=dtype)))
tell(lambda: nn.Bilinear(3, 3, 2)(torch.ones(2, 3).double(), torch.ones(2, 3).double()))
x = torch.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]], requires_grad=True)
y = nn.LayerNorm(3)(x)
(y ** 2).sum().backward()
print(y, x.grad)
