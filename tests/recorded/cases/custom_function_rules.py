# ---- vjp is another name of backward, and both are an error
class A(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vjp(ctx, g):
        return g * 5


class B(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vjp(ctx, g):
        return g * 5

    @staticmethod
    def backward(ctx, g):
        return g * 2


class C(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


x = torch.ones(2, requires_grad=True)
A.apply(x).sum().backward()
print(x.grad)
show(lambda: B.apply(x).sum().backward(), lambda: C.apply(x).sum().backward())

# ---- save_for_forward and save_for_backward take tensors
class A(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, how):
        getattr(ctx, how)(x, 3)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g, None


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 2)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(None, x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        print(a, b)
        return g


x = torch.ones(2, requires_grad=True)
show(
    lambda: torch.autograd.grad(Twice.apply(x).sum(), x),
    lambda: torch.autograd.grad(Nothing.apply(x).sum(), x),
)

# ---- what save_for_backward refuses
# library only
class A(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, how):
        getattr(ctx, how)(x, 3)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g, None


x = torch.ones(2, requires_grad=True)
show(lambda: A.apply(x, "save_for_backward"), lambda: A.apply(x, "save_for_forward"))

# ---- mark_dirty of a tensor that is not an output
class A(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g


class Leaf(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g


class NotInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        ctx.mark_dirty(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.ones(2, requires_grad=True)
show(
    lambda: A.apply(x.clone()),
    lambda: Leaf.apply(x),
    lambda: Leaf.apply(x[:1]),
    lambda: NotInput.apply(x),
    lambda: A.apply(torch.ones(2)),
)

# ---- mark_non_differentiable of what is not an output, and of an input
class NotOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(a)
        return a, b

    @staticmethod
    def backward(ctx, ga, gb):
        print(ga, gb)
        return gb


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.ones(2, requires_grad=True)
y = NotOutput.apply(x)
print(y.requires_grad, y.grad_fn)
show(lambda: Both.apply(x).requires_grad, lambda: Both.apply(x).grad_fn, lambda: Both.apply(x).is_leaf)
a, b = Mixed.apply(x)
print(a.requires_grad, b.requires_grad, a.grad_fn, b.grad_fn.name())
b.sum().backward()
print(x.grad)
show(lambda: Mixed.apply(x)[0].sum().backward(), lambda: Dirty.apply(x.clone()).requires_grad)

# ---- set_materialize_grads with non-differentiable outputs
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        a, b = x * 2, x.argmax()
        ctx.mark_non_differentiable(b)
        return a, b, x * 3

    @staticmethod
    def backward(ctx, ga, gb, gc):
        print(ga, gb, gc)
        return (ga if ga is not None else 0) + (gc if gc is not None else 0), None


x = torch.tensor([1.0, 2.0], requires_grad=True)
for materialize in (True, False):
    a, b, c = Two.apply(x, materialize)
    print(b, b.requires_grad)
    print(torch.autograd.grad(a.sum(), x, retain_graph=True))
    print(torch.autograd.grad(c.sum(), x))

# ---- integer outputs
class Ints(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.long(), x * 2, x > 0

    @staticmethod
    def backward(ctx, gi, g, gb):
        print(gi.dtype, g.dtype, gb.dtype, gi, gb)
        return g


x = torch.tensor([1.5, -2.5], requires_grad=True)
i, y, b = Ints.apply(x)
print(i.requires_grad, y.requires_grad, b.requires_grad, i, b)
y.sum().backward()
print(x.grad)

# ---- outputs that are not tensors
class Any(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, "text", None, 3, x + 1

    @staticmethod
    def backward(ctx, *gs):
        print(len(gs), [type(g).__name__ for g in gs])
        return gs[0] + gs[4]


class NoTensor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return "text"

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.ones(2, requires_grad=True)
out = Any.apply(x)
print(out[1:4], type(out))
(out[0].sum() + out[4].sum()).backward()
print(x.grad)
show(lambda: NoTensor.apply(x))

# ---- how many gradients, and of which shape
def make(result):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return result(g)

    return F


x = torch.ones(2, requires_grad=True)
y = torch.ones(2)
for result in (
    lambda g: g,
    lambda g: (g,),
    lambda g: (g, None),
    lambda g: (g, g),
    lambda g: (g, None, None),
    lambda g: (g, None, g),
    lambda g: (g.sum(), None),
    lambda g: (g.repeat(2), None),
    lambda g: (g.double(), None),
    lambda g: (None, None),
    lambda g: (3.0, None),
    lambda g: ("text", None),
    lambda g: None,
    lambda g: (g.expand(3, 2), None),
):
    def tried():
        x.grad = None
        make(result).apply(x, y).sum().backward()
        return x.grad
    show(tried)

# ---- views returned by a custom Function
class View(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g.view(2, 2)


class Narrow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.narrow(0, 0, 1), x.narrow(0, 1, 1)

    @staticmethod
    def backward(ctx, a, b):
        return torch.cat([a, b])


x = torch.ones(2, 2, requires_grad=True)
y = View.apply(x.clone())
print(y._is_view(), y.grad_fn.name(), y.is_leaf)
show(lambda: y.mul_(2), lambda: y.grad_fn)
with torch.no_grad():
    v = View.apply(x)
print(v._is_view(), v.requires_grad, v.grad_fn)
show(lambda: v.mul_(2))
a, b = Narrow.apply(x.clone())
print(a._is_view())
show(lambda: a.mul_(2), lambda: a.view(-1).mul_(2))
base = x.clone()
y = View.apply(base)
base.mul_(2)
show(lambda: y.grad_fn, lambda: (y * 1).sum().backward())

# ---- an input that is returned
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class SameTwice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x, x

    @staticmethod
    def backward(ctx, a, b):
        return a + b * 10


x = torch.ones(2, requires_grad=True)
y = Same.apply(x)
print(y is x, y._is_view(), y.grad_fn.name(), y.requires_grad)
y.sum().backward()
print(x.grad)
z = torch.ones(2)
show(lambda: Same.apply(z) is z, lambda: Same.apply(z).requires_grad)
a, b = SameTwice.apply(x)
print(a is b, a is x)
print(torch.autograd.grad(a.sum() + b.sum() * 2, x))
show(lambda: Same.apply(x).mul_(3), lambda: Same.apply(x.clone()).mul_(3))

# ---- setup_context, with defaults and keywords
class S(torch.autograd.Function):
    @staticmethod
    def forward(x, scale=3.0, shift=1.0):
        return x * scale + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        print(len(inputs), output.requires_grad)
        ctx.scale = inputs[1] if len(inputs) > 1 else 3.0

    @staticmethod
    def backward(ctx, *gs):
        return gs[0] * ctx.scale, None, None


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.ones(2, requires_grad=True)
show(
    lambda: torch.autograd.grad(S.apply(x, 2.0, 0.0).sum(), x),
    lambda: torch.autograd.grad(S.apply(x, 5.0).sum(), x),
    lambda: torch.autograd.grad(S.apply(x).sum(), x),
    lambda: Bad.apply(x),
)

# ---- a Function used in old ways
# library only
class Old(torch.autograd.Function):
    def forward(self, x):
        return x

    def backward(self, g):
        return g


class F1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class NoForward(torch.autograd.Function):
    @staticmethod
    def backward(ctx, g):
        return g


x = torch.ones(2, requires_grad=True)
show(lambda: Old()(x), lambda: Old().apply(x), lambda: F1()(x), lambda: NoForward.apply(x), lambda: F1.apply(x=x))

# ---- once_differentiable
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        print(torch.is_grad_enabled())
        return g * 2 * x


x = torch.ones(2, requires_grad=True)
(g,) = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
print(g, g.requires_grad)
show(lambda: g.grad_fn.name(), lambda: g.sum().backward())

# ---- the context of a Function
class F1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        print(ctx.needs_input_grad)
        ctx.save_for_backward(x, y)
        ctx.note = s
        return x * y

    @staticmethod
    def backward(ctx, g):
        print(ctx.needs_input_grad, ctx.note, len(ctx.saved_tensors))
        return g, g, None


x = torch.ones(2, requires_grad=True)
y = torch.ones(2)
z = F1.apply(x, y, "s")
print(z.grad_fn.name(), type(z.grad_fn).__name__, z.grad_fn.note, z.grad_fn.needs_input_grad, len(z.grad_fn.saved_tensors))
z.sum().backward()
show(lambda: z.sum().backward(), lambda: z.grad_fn.saved_tensors)

# ---- saving an output, and freeing it
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


x = torch.zeros(2, requires_grad=True)
y = Exp.apply(x)
(g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
print(g, torch.autograd.grad(g.sum(), x, retain_graph=True))
y = Exp.apply(x)
y.mul_(2)
show(lambda: y.sum().backward())

# ---- errors inside backward
class E1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise ValueError("mine")


x = torch.ones(2, requires_grad=True)
show(lambda: (E1.apply(x * 2) + x).sum().backward(), lambda: x.grad)

# ---- a gradient mode inside forward
class M(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print(torch.is_grad_enabled(), (x * 2).requires_grad, x.requires_grad)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = x * x
        ctx.save_for_backward(x, y)
        return y.detach()

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        print(torch.is_grad_enabled())
        with torch.enable_grad():
            return torch.autograd.grad(y, x, g)[0]


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = M.apply(x)
print(y.requires_grad)
y.sum().backward()
print(x.grad)

# ---- backward inside backward
class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = (ctx.x**3).sum()
        return ctx.y.detach()

    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            ctx.y.backward()
        return ctx.x.grad * g


x = torch.tensor([1.0, 2.0], requires_grad=True)
(Inner.apply(x * 2) * 2).backward()
print(x.grad)
