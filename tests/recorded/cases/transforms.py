# ---- transforms under no_grad of tensors that require grad
def f(x):
    return (x**3).sum()


def g(x):
    return x**3


x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, -1.0])
func = torch.func
for grad_mode in (True, False):
    print(grad_mode)
    with torch.set_grad_enabled(grad_mode):
        show(
            lambda: func.grad(f)(x),
            lambda: func.grad_and_value(f)(x),
            lambda: func.jacrev(g)(x),
            lambda: func.jacfwd(g)(x),
            lambda: func.hessian(f)(x),
            lambda: [(t.detach(), t.requires_grad) for t in func.jvp(g, (x,), (v,))],
            lambda: func.vjp(g, x)[0],
            lambda: func.vjp(g, x)[1](v),
            lambda: func.vmap(g)(x).detach(),
            lambda: func.vmap(func.grad(f))(x).detach(),
            lambda: func.grad(func.grad(lambda t: t**3))(x[0]).item(),
            lambda: func.grad(lambda t: func.grad(f)(t).sum())(x).tolist(),
            lambda: func.linearize(g, x.detach())[1](v),
            lambda: func.linearize(g, x)[0].requires_grad,
            lambda: func.functional_call(nn.Identity(), {}, (x,)),
            lambda: torch.autograd.functional.jacobian(g, x.detach()),
            lambda: torch.autograd.functional.hessian(f, x.detach()),
            lambda: torch.autograd.functional.vjp(g, x.detach(), v),
            lambda: torch.autograd.functional.jvp(g, x.detach(), v),
        )

# ---- transforms of views made under no_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    y = x[0]
    z = x.view(2)
f = lambda t: (t**3).sum()
show(lambda: torch.func.grad(f)(y).item(), lambda: torch.func.grad(torch.func.grad(f))(y).item(), lambda: torch.func.hessian(f)(z).tolist())
show(lambda: torch.func.jacrev(lambda t: t**2)(z).tolist())
with torch.no_grad():
    show(lambda: torch.func.grad(f)(y), lambda: torch.func.grad(torch.func.grad(f))(y), lambda: torch.func.hessian(f)(z))

# ---- no_grad inside a transform
def f(x):
    with torch.no_grad():
        shift = x**2
    return (x**2 - shift + x).sum()


x = torch.tensor([1.0, 2.0], requires_grad=True)
show(lambda: torch.func.grad(f)(x), lambda: torch.func.grad(f)(x.detach()), lambda: torch.func.hessian(f)(x.detach()))
show(lambda: torch.func.grad(torch.no_grad()(f))(x))
with torch.no_grad():
    show(lambda: torch.func.grad(f)(x))

# ---- what leaves a transform under no_grad can be differentiated later
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
with torch.no_grad():
    y, pull = torch.func.vjp(lambda x: x * w, x)
(g,) = pull(torch.ones(2))
print(y.requires_grad, g)
g.sum().backward()
print(x.grad, w.grad)
with torch.no_grad():
    y, push = torch.func.linearize(lambda x: x * w, x)
show(lambda: push(torch.ones(2)).tolist())
y, pull = torch.func.vjp(lambda x: x**2 * w, x)
with torch.no_grad():
    (first,) = pull(torch.ones(2))
(second,) = pull(torch.ones(2))
print(first, second)

# ---- custom Functions in transforms
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * 3 * x**2

    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), in_dims[0]


x = torch.tensor([1.0, 2.0])
f = Cube.apply
show(lambda: torch.func.grad(lambda x: f(x).sum())(x), lambda: torch.func.jacrev(f)(x), lambda: torch.func.jacfwd(f)(x))
show(lambda: torch.func.hessian(lambda x: f(x).sum())(x), lambda: torch.func.vmap(f)(x), lambda: torch.func.jvp(f, (x,), (x,)))
show(lambda: torch.func.vmap(torch.func.grad(f))(x), lambda: torch.func.grad(lambda x: torch.func.vmap(f)(x).sum())(x))

# ---- custom Functions that return views, in transforms
class Half(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x[:1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, g * 0])


class Same(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


x = torch.tensor([1.0, 2.0], requires_grad=True)
for f in (Half.apply, Same.apply):
    show(lambda: torch.func.grad(lambda x: f(x).sum())(x.detach()), lambda: torch.func.vjp(f, x)[0], lambda: torch.func.vjp(f, x.detach())[0])
    show(lambda: torch.func.grad(lambda x: f(x).sum())(x), lambda: torch.func.jacrev(f)(x.detach()))

# ---- custom Functions in custom Functions
class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            z = Inner.apply((y * 3)[:1]).sum()
            (ctx.slope,) = torch.autograd.grad(z, y)
        return z.detach()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.slope


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = Outer.apply(x)
y.backward()
print(y, x.grad)

# ---- transforms inside inference mode
from torch.func import grad, jacrev, jvp, vjp, vmap
x = torch.tensor([1.0, 2.0, 3.0])
def shifted(x):
    with torch.inference_mode():
        c = x**2
    return (x - c).sum()
with torch.inference_mode():
    made = torch.tensor([1.0, 2.0])
    show(lambda: grad(lambda x: (x**2).sum())(x), lambda: jvp(lambda x: (x**2).sum(), (x,), (torch.ones(3),)))
    show(lambda: jacrev(lambda x: x**2)(x), lambda: vmap(grad(lambda x: (x**2).sum()))(torch.ones(2, 3)))
    show(lambda: grad(lambda x: vmap(lambda x: (x**2).sum())(x).sum())(x))
    show(lambda: jacrev(grad(lambda x: (x**3).sum()))(x), lambda: grad(grad(lambda x: x**3))(torch.tensor(2.0)))
    show(lambda: grad(shifted)(x), lambda: grad(lambda x: (x**3).sum())(made), lambda: vjp(lambda x: x**2, x)[1](x))
    print(torch.is_inference_mode_enabled())
print(torch.is_inference_mode_enabled())

# ---- transforms refuse hooks of saved tensors
from torch.func import grad, jacrev, jvp, vjp, vmap
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
x = torch.ones(2)
def hooked(x):
    with saved_tensors_hooks(lambda x: x, lambda x: x):
        return (x**2).sum()
with save_on_cpu():
    show(lambda: grad(lambda x: (x**2).sum())(x), lambda: vjp(torch.sin, x), lambda: jacrev(torch.sin)(x))
    show(lambda: vmap(torch.sin)(torch.zeros(2)))
show(lambda: grad(hooked)(x), lambda: vmap(hooked)(torch.ones(2, 2)), lambda: jvp(hooked, (x,), (x,)))
with disable_saved_tensors_hooks("none here"):
    show(lambda: grad(hooked)(x), lambda: hooked(x))
show(lambda: hooked(x))

# ---- what custom Functions lack in transforms
from torch.autograd.function import once_differentiable
from torch.func import grad, jvp
class Double(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x * 2
    @staticmethod
    def setup_context(ctx, inputs, outputs):
        pass
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * 2
x = torch.ones(2)
show(lambda: grad(lambda x: Double.apply(x).sum())(x), lambda: grad(grad(Double.apply))(torch.tensor(1.0)))
show(lambda: jvp(lambda x: x * Double.apply(torch.ones(2)), (x,), (x,)))

# ---- tensors of a vmap describe one sample
from torch.func import vmap
def f(x):
    print(x.shape, x.dim(), x.numel(), x.stride(), x.is_contiguous(), x.storage_offset(), x.element_size(), x.is_leaf)
    return x
vmap(f, in_dims=1)(torch.ones(2, 1, 4)).shape

# ---- vmap with randomness "different"
def drawn(f, x):
    torch.manual_seed(3)
    return torch.vmap(f, randomness="different")(x)


x = torch.ones(3, 2)
for f in (torch.randn_like, torch.rand_like, torch.bernoulli, lambda t: torch.randint_like(t, 20), lambda t: torch.normal(t, 2.0)):
    print(drawn(f, x))

# ---- random numbers in nested vmaps, in chunks and in jacfwd
def f(x):
    return x + torch.rand(2)


for outer in ("same", "different"):
    for inner in ("same", "different"):
        torch.manual_seed(1)
        print(torch.vmap(torch.vmap(f, randomness=inner), randomness=outer)(torch.zeros(2, 2)))
for size in (1, 2, 4):
    torch.manual_seed(1)
    print(torch.vmap(f, randomness="same", chunk_size=size)(torch.zeros(4)))
g = lambda x: (x * torch.rand(())).sum()
x = torch.tensor([1.0, 2.0])
torch.manual_seed(1)
show(lambda: torch.func.jacfwd(g)(x), lambda: torch.func.hessian(g)(x), lambda: torch.func.jacfwd(g, randomness="same")(x))

# ---- as_strided under vmap
x = torch.arange(30.0).reshape(5, 2, 3)
print(torch.vmap(torch.vmap(lambda s: s.as_strided((2, 3), (0, 1))), in_dims=1)(x).shape)
print(torch.vmap(torch.func.grad(lambda s: s.as_strided((3,), (2,)).sum()))(x))
print(torch.vmap(lambda a, b: torch.cat([a, b]), in_dims=(0, None))(x, torch.ones(0)).shape)

# ---- a Function without jvp on constants of jvp
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


func = torch.func
x = torch.tensor(0.5)
show(lambda: func.jvp(lambda x: x * func.grad(Double.apply)(torch.tensor(3.0)), (x,), (x,)))
show(lambda: func.jvp(lambda x: func.vjp(Double.apply, torch.tensor(1.0))[1](x)[0], (x,), (x,)))
show(lambda: func.jvp(lambda x: Double.apply(torch.ones(2, requires_grad=True)).detach() + x, (x,), (x,)))
