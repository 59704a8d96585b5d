# ---- mark_dirty on a view
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


a = torch.ones(1, requires_grad=True)
c = a.clone()
v = c[:]
out = Twice.apply(v)
print(out is v, v.grad_fn.name(), c.grad_fn.name(), c.grad_fn.next_functions, v._version, c._version, out._is_view())
out.backward()
print(a.grad)

# ---- mark_dirty on a part, with another operand
class PyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.add_(y)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, g


a = torch.ones(4, requires_grad=True)
b = torch.ones(2, requires_grad=True)
x = a.clone()
y = PyAdd.apply(x[1:3], b)
print(x, y)
print(x.grad_fn.next_functions)
(x * torch.arange(4.0)).sum().backward()
print(a.grad, b.grad)

# ---- mark_dirty on a part, through the view
class PyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.add_(y)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, g


a = torch.ones(4, requires_grad=True)
b = torch.ones(2, requires_grad=True)
x = a.clone()
y = PyAdd.apply(x[1:3], b)
(y * 3).sum().backward()
print(a.grad, b.grad, y.grad_fn.name(), y.requires_grad, y.is_leaf)

# ---- mark_dirty on a view of a base without grad
class PyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.add_(y)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, g * 2


x = torch.zeros(4)
other = x[2:]
b = torch.ones(2, requires_grad=True)
y = PyAdd.apply(x[1:3], b)
print(x, other)
print(x.grad_fn.next_functions)
x.sum().backward(retain_graph=True)
print(b.grad)
other.sum().backward()
print(b.grad)

# ---- mark_dirty: second derivative through a view
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        ctx.mark_dirty(x)
        return x.mul_(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = a * 1
Square.apply(c[1:])
(g,) = torch.autograd.grad((c**2).sum(), a, create_graph=True)
print(g)
show(lambda: torch.autograd.grad(g.sum(), a))

# ---- mark_dirty saving the changed tensor itself
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.exp_()
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


a = torch.tensor([0.0, 1.0], requires_grad=True)
c = a.clone()
Exp.apply(c)
(g,) = torch.autograd.grad(c.sum(), a, create_graph=True)
print(g, torch.autograd.grad(g.sum(), a))
c = a.clone()
Exp.apply(c[:1])
(g,) = torch.autograd.grad(c.sum(), a)
print(g)
c = a.clone()
Exp.apply(c)
c.mul_(2)
c.sum().backward()

# ---- mark_dirty on a tuple of inputs
class Swap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        kept = x.clone()
        x.copy_(y)
        y.copy_(kept)
        ctx.mark_dirty(x, y)
        return x, y

    @staticmethod
    def backward(ctx, g, h):
        return h, g


a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
x, y = a.clone(), b.clone()
p, q = Swap.apply(x, y)
print(p is x, q is y, x, y, x.grad_fn.name(), y.output_nr)
(x * 2 + y * 5).sum().backward()
print(a.grad, b.grad)
x, y = a.clone(), b.clone()
show(lambda: Swap.apply(x[:], y))

# ---- mark_dirty on leaves and their views
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


a = torch.ones(2, requires_grad=True)
show(lambda: Twice.apply(a), lambda: Twice.apply(a[:]), lambda: Twice.apply(a.unbind()[0]))
c = a.clone()
show(lambda: Twice.apply(c.unbind()[0]), lambda: Twice.apply(c.split(1)[0]))
with torch.no_grad():
    d = c[:]
show(lambda: Twice.apply(d))
b = torch.ones(2)
y = Twice.apply(b)
print(y is b, y.requires_grad, y._version, b)

# ---- mark_dirty of what is not an input or not returned
class NotInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        ctx.mark_dirty(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g


class NotReturned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul(2)

    @staticmethod
    def backward(ctx, g):
        return g


a = torch.ones(2, requires_grad=True)
show(lambda: NotInput.apply(a.clone()), lambda: NotReturned.apply(a.clone()))

# ---- mark_dirty under no_grad
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


a = torch.ones(2, requires_grad=True)
c = a.clone()
with torch.no_grad():
    y = Twice.apply(c[:1])
print(c.grad_fn.name(), y.requires_grad, c._version, y._version)

# ---- mark_dirty and retain_grad
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


a = torch.ones(2, requires_grad=True)
c = a.clone()
c.retain_grad()
c.register_hook(lambda g: print("before", g))
Twice.apply(c)
c.register_hook(lambda g: print("after", g))
c.sum().backward()
print(c.grad, a.grad)
c = a.clone()
v = c[:1]
v.retain_grad()
Twice.apply(v)
c.sum().backward()
print(v.grad, c.retains_grad)

# ---- mark_dirty on a view of a view
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


a = torch.arange(6.0).reshape(2, 3).requires_grad_()
c = a * 1
v = c.t()[1:]
w = v[0]
Twice.apply(w)
print(c, v, w.grad_fn.name(), v.grad_fn.name(), c.grad_fn.name())
(v * torch.ones(2, 2)).sum().backward()
print(a.grad)

# ---- mark_dirty, non-differentiable and several outputs
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        i = x.argmax()
        ctx.mark_non_differentiable(i)
        return x, i, x * 2

    @staticmethod
    def backward(ctx, g, h, k):
        print(g, h, k)
        return g * 3 + k * 6


a = torch.tensor([1.0, 2.0], requires_grad=True)
c = a.clone()
x, i, z = Both.apply(c)
print(x is c, i, z, x.output_nr, z.output_nr)
z.sum().backward()
print(a.grad)

# ---- a view returned by a custom Function
class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1]

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, g * 0])


a = torch.ones(2, requires_grad=True)
y = Part.apply(a)
print(y, y._is_view(), y._base is a, y.requires_grad, y.is_leaf)
show(lambda: y.mul_(2))
c = a.clone()
y = Part.apply(c)
print(y, y._is_view(), y._base is c)
show(lambda: y.mul_(2))
c = a.clone()
y = Part.apply(c)
c.mul_(2)
show(lambda: y.sum().backward(), lambda: y.grad_fn)
with torch.no_grad():
    y = Part.apply(a)
print(y, y.requires_grad, y._is_view(), y.is_leaf, y.grad_fn)
show(lambda: y.mul_(2))
with torch.no_grad():
    y.mul_(2)
print(y, a)

# ---- an input returned by a custom Function
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 5


class SameView(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g * 5


a = torch.ones(2, requires_grad=True)
for f in (Same, SameView):
    y = f.apply(a)
    print(y is a, y, y._is_view(), y.grad_fn.name())
    show(lambda: y.mul_(2))
    with torch.no_grad():
        y = f.apply(a)
    print(y is a, y.requires_grad, y._is_view(), y.is_leaf, y.grad_fn)
    c = torch.ones(2)
    y = f.apply(c)
    print(y is c, y.requires_grad, y._is_view(), y.is_leaf)
    y.mul_(2)
    print(c, y)

# ---- detach or data returned by a custom Function
class Detached(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.detach()

    @staticmethod
    def backward(ctx, g):
        return g * 5


a = torch.ones(2, requires_grad=True)
c = a.clone()
y = Detached.apply(c)
print(y, y._is_view())
y.mul_(2)
y.sum().backward()
print(c, a.grad)

# ---- the same output twice
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        return y, y

    @staticmethod
    def backward(ctx, g, h):
        print(g, h)
        return g + h


a = torch.ones(2, requires_grad=True)
y, z = Pair.apply(a)
print(y is z, y.output_nr, z.output_nr)
(y * 3 + z).sum().backward()
print(a.grad)

# ---- several views of one input
class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1], x[1:]

    @staticmethod
    def backward(ctx, g, h):
        return torch.cat([g, h])


a = torch.ones(2, requires_grad=True)
c = a.clone()
y, z = Halves.apply(c)
print(y, z, y._is_view())
show(lambda: y.mul_(2))
c.mul_(2)
show(lambda: y.sum().backward())

# ---- materialised gradients
class Three(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, materialize, nondiff):
        ctx.set_materialize_grads(materialize)
        if nondiff is not None:
            ctx._materialize_non_diff_grads = nondiff
        y, z, i = x * 2, x * 3, x.sort()[1]
        ctx.mark_non_differentiable(i)
        return y, z, i

    @staticmethod
    def backward(ctx, g, h, k):
        print(g, h, k)
        return g, None, None


for materialize in (True, False):
    for nondiff in (None, True, False):
        a = torch.tensor([2.0, 1.0], requires_grad=True)
        y, z, i = Three.apply(a, materialize, nondiff)
        y.sum().backward()

# ---- materialised gradients of float outputs without gradient
class Three(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx._materialize_non_diff_grads = False
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z

    @staticmethod
    def backward(ctx, g, h):
        print(g, h)
        return g


a = torch.tensor([2.0, 1.0], requires_grad=True)
y, z = Three.apply(a)
print(z.requires_grad)
y.sum().backward()

# ---- setup_context with the defaults of forward
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=3.0, shift=1.0):
        return x * factor + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        assert len(inputs) == 3
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None, None


class Scale3(Scale):
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor


a = torch.ones(2, requires_grad=True)
show(lambda: Scale.apply(a).sum().backward(), lambda: a.grad, lambda: Scale3.apply(a).sum().backward())
show(lambda: Scale.apply(a, 2.0).sum().backward(), lambda: a.grad)
show(lambda: Scale.apply(a, factor=2.0), lambda: Scale.apply(a, 1.0, 2.0, 3.0))
print(torch.func.grad(lambda x: Scale.apply(x).sum())(torch.ones(2)))

# ---- forward's defaults without setup_context
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor=3.0):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


a = torch.ones(2, requires_grad=True)
show(lambda: Scale.apply(a).sum().backward(), lambda: Scale.apply(a, 2.0).sum().backward(), lambda: a.grad)
show(lambda: Scale.apply(a, factor=2.0))

# ---- func.vjp and func.grad under no_grad
def f(x):
    return (x * x).sum()


x = torch.tensor([1.0, 2.0])
with torch.no_grad():
    y, pull = torch.func.vjp(f, x)
    print(y, y.requires_grad)
    print(pull(torch.tensor(1.0)))
    print(torch.func.grad(f)(x), torch.func.jacrev(f)(x), torch.func.hessian(f)(x))
    w = torch.ones(2, requires_grad=True)
    y, pull = torch.func.vjp(lambda x: (x * w).sum(), x)
    print(y.requires_grad, pull(torch.tensor(1.0))[0].requires_grad)
    g, value = torch.func.grad_and_value(lambda x: (x * w).sum())(x)
    print(g.requires_grad, value.requires_grad)
    y, tangent = torch.func.jvp(lambda x: x * w, (x,), (x,))
    print(y.requires_grad, tangent.requires_grad)
y, pull = torch.func.vjp(lambda x: (x * w).sum(), x)
print(y.requires_grad, pull(torch.tensor(1.0))[0].requires_grad)
with torch.no_grad():
    print(pull(torch.tensor(1.0))[0].requires_grad)

# ---- func.vjp of a view under no_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    y, pull = torch.func.vjp(lambda x: x[:1], x)
    print(y, y.requires_grad, pull(torch.ones(1))[0])
    print(torch.func.functional_call(nn.Flatten(), {}, (x,)).requires_grad)
    print(torch.func.grad(lambda x: x[0])(x).requires_grad)
    y, tangent = torch.func.jvp(lambda x: x[:1], (x,), (x,))
    print(y.requires_grad, tangent.requires_grad)
    print(torch.func.vmap(lambda x: x.view(1))(x).requires_grad)

# ---- an input returned as it is and saved
class Same(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g


class SameOld(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        print(x is a, x.grad_fn)
        return g * x


a = torch.tensor([1.0, 3.0], requires_grad=True)
show(lambda: Same.apply(a), lambda: Same.apply(torch.ones(2)))
y = SameOld.apply(a)
(g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
print(g, torch.autograd.grad(g.sum(), a))

# ---- mark_dirty on a view in the second argument
class Second(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y, x):
        ctx.mark_dirty(x)
        return x.add_(y)

    @staticmethod
    def backward(ctx, g):
        return g * 2, g * 3


a = torch.ones(4, requires_grad=True)
b = torch.ones(2, requires_grad=True)
x = a.clone()
show(lambda: Second.apply(b, x[1:3]))
show(lambda: x.sum().backward(), lambda: a.grad, lambda: b.grad)

# ---- mark_dirty on a view, backward without a gradient for it
class Replace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.copy_(y)

    @staticmethod
    def backward(ctx, g):
        return None, g


a = torch.ones(4, requires_grad=True)
b = torch.ones(2, requires_grad=True)
x = a.clone()
Replace.apply(x[1:3], b)
show(lambda: x.sum().backward(), lambda: a.grad, lambda: b.grad)

# ---- mark_dirty twice, and an operation before and after
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


a = torch.ones(3, requires_grad=True)
c = a.clone()
v = c[1:]
v.mul_(5)
Twice.apply(v)
Twice.apply(c)
Twice.apply(c[:1])
c[0] = 7.0
print(c, v, c._version)
(g,) = torch.autograd.grad((c * v.sum()).sum(), a)
print(g)

# ---- mark_dirty under func.grad
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 2


def f(x):
    c = x.clone()
    Twice.apply(c)
    return c.sum()


show(lambda: torch.func.grad(f)(torch.ones(2)))

# ---- mark_dirty under no_grad gives the input
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


a = torch.ones(2, requires_grad=True)
c = a.clone()
with torch.no_grad():
    y = Twice.apply(c)
    z = Twice.apply(a)
print(y is c, y.requires_grad, c.requires_grad, z is a, z.requires_grad, a, z)

# ---- hooks of the nodes of a changed view
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        print("backward", g)
        return g * 2


a = torch.ones(3, requires_grad=True)
c = a.clone()
v = c[:2]
Twice.apply(v)
c.grad_fn.register_hook(lambda gi, go: print("CopySlices", gi, go))
v.register_hook(lambda g: print("v", g))
(c.sum() + v.sum()).backward()
print(a.grad)

# ---- jvp of a custom Function in func.jvp
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    @staticmethod
    def jvp(ctx, tx, ty):
        x, y = ctx.saved_tensors
        return tx * y + ty * x

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


x, y = torch.tensor([2.0, 3.0]), torch.tensor([4.0, 5.0])
print(torch.func.jvp(lambda x: Mul.apply(x, y), (x,), (torch.ones(2),)))
print(torch.func.jvp(lambda x: Mul.apply(x, x), (x,), (torch.ones(2),)))

# ---- the pullback of a vjp made under no_grad, called outside
x = torch.tensor(3.0, requires_grad=True)
with torch.no_grad():
    y, pull = torch.func.vjp(lambda x: x**2, x)
print(y, y.requires_grad)
(g,) = pull(torch.tensor(1.0))
print(g.item(), g.requires_grad)
g.backward()
print(x.grad)

# ---- the pullback of a vjp made with grad, called under no_grad
x = torch.tensor(3.0, requires_grad=True)
y, pull = torch.func.vjp(lambda x: x**2, x)
with torch.no_grad():
    (g,) = pull(torch.tensor(1.0))
print(y.requires_grad, g.requires_grad, g)

# ---- views of arguments and captured tensors that leave a transform under no_grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.ones(2, requires_grad=True)
with torch.no_grad():
    for f in (lambda x: x, lambda x: x[:1], lambda x: w[:1] * 1, lambda x: (x * 2)[:1], lambda x: x.detach()[:1]):
        print(torch.func.vjp(f, x)[0].requires_grad)
        print(torch.func.vjp(f, torch.ones(2))[0].requires_grad)
    f = lambda x: (x.sum(), (x[:1], x * 2))
    print([t.requires_grad for t in torch.func.grad_and_value(f, has_aux=True)(x)[1][1]])
