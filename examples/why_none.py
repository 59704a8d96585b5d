# Five reasons why .grad is None, each with the line that fixes it.
#     gradtrace run examples/why_none.py
import warnings

import torch

warnings.filterwarnings("ignore")

data = torch.tensor([1.0, 2.0])
w = torch.tensor([0.5, -0.5], requires_grad=True)

(data * w).sum().backward()
print("1 requires_grad is False:", data.grad, "but", w.grad)

h = w * 2
h.sum().backward()
print("2 not a leaf:", h.grad, h.is_leaf)
h = w * 2
h.retain_grad()
h.sum().backward()
print("  fixed by retain_grad:", h.grad)

cast = torch.tensor([1.0, 2.0], requires_grad=True).double()
cast.sum().backward()
print("3 a cast makes a new tensor:", cast.grad, cast.grad_fn.name())

w.grad = None
(w.detach() * 3).sum().requires_grad_().backward()
print("4 detached on the way:", w.grad)

unused = torch.tensor(1.0, requires_grad=True)
print(
    "5 not part of the result:", torch.autograd.grad((w * 2).sum(), [w, unused], allow_unused=True)
)
