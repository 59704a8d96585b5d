# What hooks may return, inference tensors, custom Functions in all their forms, saved values
import torch

def tryit(f):
    try: print(f())
    except Exception as e: print(type(e).__name__, e)
def hk(h, node=False, pre=False):
    x = torch.tensor([3., 4.], requires_grad=True)
    y = x*2
    if pre: y.grad_fn.register_prehook(h)
    elif node: y.grad_fn.register_hook(h)
    else: y.register_hook(h)
    y.sum().backward(); print(x.grad, x.grad.dtype)
def named(g): return g.double()
tryit(lambda: hk(named))
tryit(lambda: hk(lambda g: g.long()))
tryit(lambda: hk(lambda g: (g,)))
tryit(lambda: hk(lambda gi,go: (gi[0],), node=True))
tryit(lambda: hk(lambda gi,go: gi[0], node=True))
tryit(lambda: hk(lambda gi,go: (gi[0].double(),None), node=True))
tryit(lambda: hk(lambda gi,go: (gi[0][:1],None), node=True))
tryit(lambda: hk(lambda gi,go: (gi[0],gi[0]), node=True))
tryit(lambda: hk(lambda gi,go: 3, node=True))
tryit(lambda: hk(lambda go: 3, pre=True))
tryit(lambda: hk(lambda go: (go[0],go[0]), pre=True))
tryit(lambda: hk(lambda go: go[0], pre=True))
tryit(lambda: hk(lambda go: (go[0][:1],), pre=True))

with torch.inference_mode():
    x = torch.ones(2)
    w = torch.ones(2, requires_grad=True)
    y = x * 2
    print(w.requires_grad, w.is_inference(), (w * 2).requires_grad)
    y.add_(1)
print(x.is_inference(), y.is_inference(), y)
w = torch.ones(2, requires_grad=True)
z = w + x
print(z.requires_grad, z)
z.sum().backward()
print(w.grad)
c = x.clone()
print(c.is_inference())
(w * c).sum().backward()
print(w.grad)
with torch.inference_mode():
    d = w.detach()
    v = w[0]
    print(d.is_inference(), v.is_inference(), v.requires_grad)

x = torch.tensor([1., 2., 3., 4.], requires_grad=True)
a, b = x.split(2)
a.grad_fn.register_hook(lambda gi, go: print("post", gi, go))
a.grad_fn.register_prehook(lambda go: print("pre", go))
a.register_hook(lambda g: print("a", g))
(a.sum() * 2).backward(retain_graph=True)
(b.sum() * 3 + a.sum()).backward()
print(x.grad)

x = torch.tensor([1., 2., 3., 4.], requires_grad=True)
vals, idx = x.sort(descending=True)
print(vals, idx, vals.grad_fn, idx.requires_grad)
vals.register_hook(lambda g: g * 2)
vals[0].backward()
print(x.grad)

from torch.autograd import Function
class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result
    @staticmethod
    def backward(ctx, g):
        result, = ctx.saved_tensors
        return g * result
x = torch.tensor([1., 2.], requires_grad=True)
y = Exp.apply(x)
print(y, y.grad_fn, y.grad_fn.next_functions, y.grad_fn.name())
y.sum().backward(create_graph=True)
print(x.grad)
g = x.grad.sum()
x.grad = None
g.backward()
print(x.grad)
try:
    y.sum().backward()
    y.sum().backward()
except RuntimeError as e:
    print(e)

from torch.autograd import Function
class Two(Function):
    @staticmethod
    def forward(ctx, a, b, k):
        ctx.k = k
        ctx.save_for_backward(a, b)
        return a * b * k, a + b
    @staticmethod
    def backward(ctx, g1, g2):
        a, b = ctx.saved_tensors
        print(ctx.needs_input_grad, g1, g2)
        return g1 * b * ctx.k + g2, g1 * a * ctx.k + g2, None
a = torch.tensor([1., 2.], requires_grad=True)
b = torch.tensor([3., 4.])
p, q = Two.apply(a, b, 2)
print(p, q, p.grad_fn is q.grad_fn)
p.sum().backward()
print(a.grad, b.grad)

from torch.autograd import Function
class F1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2
    @staticmethod
    def backward(ctx, g1, g2):
        print(g1, g2)
        return g2 * 2
x = torch.tensor([1., 2.], requires_grad=True)
a, b = F1.apply(x)
b.sum().backward()
print(x.grad)

from torch.autograd import Function
class Bad(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y
    @staticmethod
    def backward(ctx, g):
        return g
x = torch.tensor([1., 2.], requires_grad=True)
try:
    Bad.apply(x, x).sum().backward()
except RuntimeError as e:
    print(e)
class Bad2(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, g):
        return g[:1].expand(3)
try:
    Bad2.apply(x).sum().backward()
except RuntimeError as e:
    print(e)
class Bad3(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, g):
        return "no"
try:
    Bad3.apply(x).sum().backward()
except Exception as e:
    print(type(e).__name__, e)
try:
    Bad3()(x)
except Exception as e:
    print(type(e).__name__, e)
try:
    Bad3.forward(None, x).sum().backward()
    print(x.grad)
except Exception as e:
    print(type(e).__name__, e)

from torch.autograd import Function
class Inpl(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 2
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 1
z = Inpl.apply(y)
print(z is y, y, z.grad_fn, y._version)
z.sum().backward()
print(x.grad)
try:
    Inpl.apply(x)
except RuntimeError as e:
    print(e)

from torch.autograd import Function
class Sq(Function):
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, = inputs
        ctx.save_for_backward(x)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g
x = torch.tensor([3.], requires_grad=True)
y = Sq.apply(x)
print(y)
y.backward()
print(x.grad)
print(torch.autograd.gradcheck(Sq.apply, torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)))

from torch.autograd import Function
from torch.autograd.function import once_differentiable
class O(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 2
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g
x = torch.tensor([3.], requires_grad=True)
y = O.apply(x)
g, = torch.autograd.grad(y, x, create_graph=True)
print(g)
try:
    g.backward()
except RuntimeError as e:
    print(e)

x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
y.data.add_(5)
print(y, y._version)
y.data = torch.zeros(2)
print(y)
x.data[0] = 100
print(x)
try:
    x.data = torch.zeros(2, dtype=torch.int64)
except RuntimeError as e:
    print(e)

x = torch.tensor([1., 2., 3.], requires_grad=True)
y = x * x
with torch.no_grad():
    x.add_(1)
try:
    y.sum().backward()
except RuntimeError as e:
    print(e)
y = x.exp()
z = y * 2
y.mul_(2)
try:
    z.sum().backward()
except RuntimeError as e:
    print(e)
y = x.exp()
y.add_(1)
try:
    y.sum().backward()
except RuntimeError as e:
    print(e)

print(torch.autograd.Variable(torch.ones(2), requires_grad=True))
x = torch.ones(2, requires_grad=True)
print(x.grad_fn, (x + 1).grad_fn.next_functions[0][0].variable is x)
print((x + 1).grad_fn.next_functions)
print(x.sum().grad_fn.next_functions[0][0].name())
print((x * x).grad_fn._saved_self is x, (x * x).grad_fn._saved_other)
print((x.exp()).grad_fn._saved_result)
print((x ** 3).grad_fn._saved_exponent)
print(type((x * x).grad_fn).__name__, (x * x).grad_fn.metadata)
