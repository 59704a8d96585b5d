# Views, in-place changes, hooks, grad modes and the arguments of backward and grad, one after the other
import torch

x = torch.ones(3, requires_grad=True)
y = x.view(3, 1)
print(y.is_leaf, y._is_view(), y._base is x)
try:
    y.add_(1)
except RuntimeError as e:
    print(e)
with torch.no_grad():
    y.add_(1)
print(x, x._version, y._version)

x = torch.zeros(4)
w = torch.tensor([1., 2.], requires_grad=True)
x[1:3] = w
print(x, x.requires_grad, x.is_leaf)
x.sum().backward()
print(w.grad)

x = torch.zeros(2, 3)
v = x[0]
w = torch.tensor(3., requires_grad=True)
v.mul_(w)
print(v, x)
print(v.grad_fn, x.grad_fn, v.grad_fn.next_functions)
v.add_(w)
print(v.grad_fn, x.grad_fn.next_functions)
(x * 2).sum().backward()
print(w.grad)

a = torch.tensor([1., 2., 3.], requires_grad=True)
b = a * 2
c = b[:2]
b.mul_(3)
print(c, c.grad_fn, c._version)
c.sum().backward()
print(a.grad)

a = torch.tensor([1., 2., 3.], requires_grad=True)
b = a.exp()
b[0] = 5
try:
    b.sum().backward()
except RuntimeError as e:
    print(e)

a = torch.tensor([1., 2., 3.], requires_grad=True)
b = a * 1
with torch.no_grad():
    b[0] = 100
c = (b * b).sum()
c.backward()
print(a.grad, b)

a = torch.tensor([1., 2., 3.], requires_grad=True)
b = a * 1
s = b.split(1)
try:
    s[0].mul_(2)
except RuntimeError as e:
    print(e)
for t in b.unbind():
    try:
        t.zero_()
    except RuntimeError as e:
        print(e)
        break

x = torch.tensor([1., 2.], requires_grad=True)
y = x.detach()
y[0] = 9
print(x, x._version, y._version)
y.requires_grad_()
(y * x).sum().backward()
print(x.grad, y.grad)

x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
y.detach_()
print(y, y.is_leaf, y.requires_grad)
try:
    y.backward()
except RuntimeError as e:
    print(e)

x = torch.tensor([1., 2.], requires_grad=True)
y = (x * 2)[0]
try:
    y.detach_()
except RuntimeError as e:
    print(e)

x = torch.tensor([3., 4.], requires_grad=True)
def hook(g):
    print("hook", g)
    return g * 2
h = x.register_hook(hook)
y = (x ** 2).sum()
y.backward(retain_graph=True)
print(x.grad)
h.remove()
y.backward()
print(x.grad)

x = torch.tensor([3., 4.], requires_grad=True)
y = x * 2
y.retain_grad()
y.register_hook(lambda g: g + 1)
z = y.sum()
z.backward()
print(y.grad, x.grad)

x = torch.tensor([3., 4.], requires_grad=True)
y = x * 2
y.register_hook(lambda g: g + 1)
y.retain_grad()
y.register_hook(lambda g: g * 10)
z = y.sum()
z.backward()
print(y.grad, x.grad)

x = torch.tensor([3., 4.], requires_grad=True)
y = x * 2
y.grad_fn.register_hook(lambda gi, go: print("post", gi, go))
y.grad_fn.register_prehook(lambda go: print("pre", go))
y.sum().backward()

x = torch.tensor([3., 4.], requires_grad=True)
y = x * 2
y.grad_fn.register_hook(lambda gi, go: (gi[0] * 5, None))
y.grad_fn.register_prehook(lambda go: (go[0] + 1,))
y.sum().backward()
print(x.grad)

x = torch.tensor([3., 4.], requires_grad=True)
x.register_post_accumulate_grad_hook(lambda p: print("post acc", p.grad, p is x))
(x * x).sum().backward()
(x * x).sum().backward()

x = torch.tensor([3., 4.], requires_grad=True)
try:
    x.register_hook(lambda g: 3)
    x.sum().backward()
except Exception as e:
    print(type(e).__name__, e)

x = torch.tensor([3., 4.], requires_grad=True)
try:
    x.register_hook(lambda g: g[:1])
    x.sum().backward()
except Exception as e:
    print(type(e).__name__, e)

x = torch.tensor([1., 2.], requires_grad=True)
y = x.sum()
g, = torch.autograd.grad(y, x, create_graph=True)
print(g, g.requires_grad)
try:
    torch.autograd.grad(g.sum(), x)
except RuntimeError as e:
    print(e)

x = torch.tensor(2., requires_grad=True)
y = x ** 3
y.backward(create_graph=True)
print(x.grad)
g = x.grad
x.grad = None
g.backward()
print(x.grad)

x = torch.tensor(2., requires_grad=True)
z = torch.tensor(5., requires_grad=True)
y = x ** 3
try:
    print(torch.autograd.grad(y, [x, z]))
except RuntimeError as e:
    print(e)
y = x ** 3
print(torch.autograd.grad(y, [x, z], allow_unused=True))
y = x ** 3
print(torch.autograd.grad(y, [x, z], materialize_grads=True))
try:
    torch.autograd.grad(y, [x, z], allow_unused=False, materialize_grads=True)
except Exception as e:
    print(type(e).__name__, e)

x = torch.tensor(2., requires_grad=True)
try:
    torch.autograd.grad(x * 2, [])
except Exception as e:
    print(type(e).__name__, e)
try:
    (x * 2).backward(inputs=[])
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(x * 2, 3)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.grad(3, x)
except Exception as e:
    print(type(e).__name__, e)

x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
try:
    y.backward(torch.ones(3))
except RuntimeError as e:
    print(e)
try:
    y.backward(2.0)
except Exception as e:
    print(type(e).__name__, e)
try:
    torch.autograd.backward([y, y], [torch.ones(2)])
except Exception as e:
    print(type(e).__name__, e)
y.backward(torch.ones(2, dtype=torch.float64))
print(x.grad)

with torch.inference_mode():
    x = torch.ones(2)
    y = x * 2
print(x.is_inference(), y.is_inference())
try:
    x.requires_grad_()
except RuntimeError as e:
    print(e)
w = torch.ones(2, requires_grad=True)
try:
    (w * x).sum().backward()
except RuntimeError as e:
    print(e)
try:
    x.add_(1)
except RuntimeError as e:
    print(e)
try:
    print(x._version)
except Exception as e:
    print(type(e).__name__, e)

@torch.no_grad()
def f(x):
    return x * 2
x = torch.ones(1, requires_grad=True)
print(f(x).requires_grad, torch.is_grad_enabled())
with torch.no_grad():
    with torch.enable_grad():
        print((x * 2).requires_grad)
    y = x * 2
    print(y.requires_grad, y.is_leaf)
    z = torch.ones(1, requires_grad=True)
    print(z.requires_grad)
with torch.set_grad_enabled(False):
    print(torch.is_grad_enabled())
torch.set_grad_enabled(False)
print((x * 2).requires_grad)
torch.set_grad_enabled(True)

x = torch.tensor([1., -1., 0.], requires_grad=True)
with torch.autograd.detect_anomaly(check_nan=True):
    try:
        y = torch.sqrt(x - 1).sum() * 0
        y.backward()
    except RuntimeError as e:
        print(e)

x = torch.tensor([1., 2., 3.], requires_grad=True)
y = x.clone()
y[y > 1.5] = 0
print(y)
y.sum().backward()
print(x.grad)

x = torch.tensor([1., 2., 3.], requires_grad=True)
y = x.clone()
y[torch.tensor([0, 2])] = torch.tensor([10., 20.], requires_grad=True)
print(y)
print(y.grad_fn.next_functions)

x = torch.arange(6.).reshape(2, 3)
x.requires_grad_()
y = x.t()
print(y.stride(), y.is_contiguous(), y.grad_fn)
y.sum().backward()
print(x.grad, x.grad.stride())

x = torch.ones(2, requires_grad=True)
y = x * 3
print(y._version)
y += 1
print(y._version, y.grad_fn)
y *= y
print(y._version, y.grad_fn, y.grad_fn.next_functions)
try:
    y.sum().backward()
except RuntimeError as e:
    print(e)

x = torch.ones(2, requires_grad=True)
x.grad = torch.tensor([5., 5.])
(x * 2).sum().backward()
print(x.grad)
try:
    x.grad = torch.ones(3)
except RuntimeError as e:
    print(e)
try:
    x.grad = 3
except TypeError as e:
    print(e)
x.grad = None
print(x.grad)
