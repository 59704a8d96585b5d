# Watching gradients flow: hooks see them without keeping them, retain_grad keeps them.
#     gradtrace run examples/hooks.py
import torch

x = torch.tensor(3.0, requires_grad=True)
y1 = x + 1
y2 = 2 * x
loss = (y1 - y2) ** 2
for name, t in (("loss", loss), ("y1", y1), ("y2", y2), ("x", x)):
    t.register_hook(lambda grad, name=name: print(f"d loss/d {name} = {grad.item():g}"))
y2.retain_grad()
loss.backward()
print("kept:", y1.retains_grad, y2.grad)

clipped = torch.tensor([1.0, 10.0], requires_grad=True)
h = clipped * 1.0
h.register_hook(lambda grad: grad.clamp(-1, 1))
(h**2).sum().backward()
print(clipped.grad)
