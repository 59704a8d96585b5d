# Indices, masks and saved tensors whose `data` is set before backward; dtypes of indices and masks
import torch
import torch.nn.functional as F


def show(*calls):
    for call in calls:
        try:
            print(call())
        except Exception as error:
            print(type(error).__name__, error)


x = torch.arange(6.0, requires_grad=True)
i = torch.tensor([0, 2, 2])
y = x[i] * torch.tensor([1.0, 2.0, 3.0])
i.data = torch.tensor([1, 1, 5])
y.sum().backward()
print(x.grad)
x.grad = None
j = torch.tensor([0, 2, 2])
y = x.gather(0, j) * 2
j.data = torch.tensor([1, 1, 5])
y.sum().backward()
print(x.grad)
x.grad = None
y = x.index_select(0, j)
j.data = torch.tensor([0, 0, 0])
y.sum().backward()
print(x.grad)
w = torch.arange(6.0).reshape(3, 2).requires_grad_()
e = torch.tensor([0, 1])
y = F.embedding(e, w)
e.data = torch.tensor([2, 2])
y.sum().backward()
print(w.grad)
w.grad = None
t = torch.tensor([0, 1])
y = F.nll_loss(w[:2], t)
t.data = torch.tensor([1, 1])
y.backward()
print(w.grad)
w.grad = None
z = torch.tensor([1.0, 2.0])
y = (w[0] * z).sum()
z.data = torch.tensor([5.0, 5.0])
y.backward()
print(w.grad)
v = torch.tensor([1.0, 2.0], requires_grad=True)
y = (v * v).sum()
v.data = torch.tensor([5.0, 5.0])
y.backward()
print(v.grad)
v = torch.tensor([1.0, 2.0], requires_grad=True)
y = v.exp()
y.data = torch.tensor([5.0, 5.0])
y.sum().backward()
print(v.grad)
x.grad = None
s = torch.zeros(6)
k = torch.tensor([0, 1])
src = torch.ones(2, requires_grad=True)
y = s.scatter(0, k, src)
k.data = torch.tensor([2, 3])
(y * torch.arange(6.0)).sum().backward()
print(src.grad)
m = torch.tensor([True, False])
u = torch.ones(2, requires_grad=True)
y = torch.where(m, u, u * 3)
m.data = torch.tensor([False, True])
y.sum().backward()
print(u.grad)
u = torch.ones(2, requires_grad=True)
m = torch.tensor([True, False])
y = u.masked_fill(m, 2.0)
m.data = torch.tensor([False, True])
y.sum().backward()
print(u.grad)
for k in range(60):
    x = torch.arange(4.0, requires_grad=True)
    j = torch.tensor([0, 2])
    y = x.gather(0, j) ** 3
    j.data = torch.tensor([1, 3])
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
print(g, h)
for k in range(60):
    x = torch.arange(4.0, requires_grad=True)
    j = torch.tensor([0, 2])
    y = x.gather(0, j) ** 3
    j.data = torch.tensor([1, 3])
    y.sum().backward()
print(x.grad)
x = torch.arange(4.0)
for d in (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool, torch.float32):
    i = torch.tensor([1, 0, 1, 0]).to(d)
    show(
        lambda: x[i],
        lambda: x.index_select(0, i),
        lambda: x.gather(0, i),
        lambda: x.take(i),
        lambda: x.view(2, 2)[0, i[:1]],
        lambda: torch.where(i, x, -x),
        lambda: torch.take_along_dim(x, i),
        lambda: x.view(2, 2)[i[:2]],
    )
