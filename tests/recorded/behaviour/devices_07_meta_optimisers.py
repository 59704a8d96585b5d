"""What holds state of a model without values has none either; nothing brings a value out of it, or draws one."""

import torch
from torch import nn

parameter = nn.Parameter(torch.empty(2, device="meta"))
for kind in ("Adam", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax", "Rprop"):
    optimizer = getattr(torch.optim, kind)([parameter])
    parameter.grad = None
    parameter.sum().backward()
    optimizer.step()
    print(kind, {name: v.device.type for name, v in optimizer.state[parameter].items() if torch.is_tensor(v) and v.ndim})
optimizer = torch.optim.SGD([parameter], 0.1, momentum=0.9)
optimizer.step()
print(optimizer.state[parameter])


def refused(call):
    try:
        print(call())
    except (RuntimeError, NotImplementedError):
        print("refused")


m, c = torch.ones(3, device="meta"), torch.ones(2, 3)
x0 = torch.tensor(1.0, requires_grad=True)
refused(lambda: c.__setitem__(0, m))
refused(lambda: c.copy_(m))
refused(lambda: torch.add(m, m, out=torch.ones(3)))
refused(lambda: torch.cat([c, m[None]]))
refused(lambda: m.to_sparse())
refused(lambda: torch.repeat_interleave(m.long()))
refused(lambda: (x0 * m).sum().backward())
refused(lambda: torch.ones(2, requires_grad=True).to("meta").sum().backward())
print(c, x0.grad, m.data_ptr())
for made in (torch.normal(m, 1.0), torch.normal(0.0, m), torch.multinomial(m, 1), m.clone().resize_(4), torch.tensor(m)):
    print(made)
print(torch.hann_window(3, device="meta"), torch.tril_indices(2, 2, device="meta"))
inside = torch.ones(2)
with torch.device("meta"):
    print(torch.func.jacrev(lambda q: q * 2)(inside), torch.func.jacfwd(lambda q: q * 2)(inside))
    print(torch.normal(inside, inside).device, torch.hann_window(3).device, torch.Tensor([1.0]).device)
moved = torch.ones(2, 3, requires_grad=True).to("meta")
print(torch.autograd.grad((moved * 2).sum(), moved), moved._backward_hooks)
layer = nn.Linear(2, 2)
before = layer.weight
layer.to("meta")
print(layer.weight is before, before.device, layer.weight.device, layer.weight.requires_grad)
for draws in (
    lambda: nn.functional.dropout(m),
    lambda: torch.bernoulli(m),
    lambda: torch.randperm(3, device="meta"),
    lambda: nn.init.sparse_(torch.ones(3, 3, device="meta"), 0.1),
):
    torch.manual_seed(0)
    draws()
    print(torch.rand(2))
print(torch.ones(4, 3, device="meta")[:, torch.tensor([0, 1])].stride())
m += torch.ones(3)
print(m, m.add_(torch.ones(3)))
large = torch.empty(40_000, 30_000, device="meta")
print((large + 1).relu().shape, large.stride(), large.is_contiguous(), (large @ large.t()).shape)
