# ---- grad modes as decorators, of generators too
# library only
@torch.no_grad()
def f(x):
    return x * 2


@torch.no_grad()
def gen(x):
    print(torch.is_grad_enabled())
    got = yield x * 2
    print(torch.is_grad_enabled(), got)
    try:
        yield x * 3
    except ValueError as error:
        print("caught", error, torch.is_grad_enabled())
        yield x * 4
    finally:
        print("closing", torch.is_grad_enabled())
    return 7


x = torch.ones(1, requires_grad=True)
print(f(x).requires_grad, f.__name__)
g = gen(x)
print(next(g).requires_grad, torch.is_grad_enabled())
print(g.send("sent").requires_grad, torch.is_grad_enabled())
print(g.throw(ValueError("thrown")).requires_grad, torch.is_grad_enabled())
show(lambda: next(g))
print(torch.is_grad_enabled())


@torch.enable_grad()
def enabled(x):
    yield torch.is_grad_enabled()
    yield torch.is_grad_enabled()


with torch.no_grad():
    for flag in enabled(x):
        print(flag, torch.is_grad_enabled())


@torch.set_grad_enabled(False)
def off(x):
    return (x * 2).requires_grad


print(off(x), torch.is_grad_enabled())


@torch.inference_mode()
def inference(x):
    yield (x * 2).is_inference()
    yield torch.is_inference_mode_enabled()


print(list(inference(x)), torch.is_inference_mode_enabled())

# ---- grad modes of coroutines
# library only
import asyncio


@torch.no_grad()
async def coroutine(x):
    before = torch.is_grad_enabled()
    await asyncio.sleep(0)
    return before, torch.is_grad_enabled(), (x * 2).requires_grad


x = torch.ones(1, requires_grad=True)
print(asyncio.run(coroutine(x)), torch.is_grad_enabled())

# ---- no_grad as a decorator without parentheses, nested modes and errors
@torch.no_grad
def f(x):
    return (x * 2).requires_grad


x = torch.ones(1, requires_grad=True)
print(f(x))
with torch.no_grad():
    with torch.enable_grad():
        print((x * 2).requires_grad)
    print((x * 2).requires_grad)
    try:
        with torch.enable_grad():
            raise ValueError("x")
    except ValueError:
        print(torch.is_grad_enabled())
torch.set_grad_enabled(False)
print(torch.is_grad_enabled())
torch.set_grad_enabled(True)
print(torch.is_grad_enabled())

# ---- creation meta: views made in each mode, then changed in place
def attempt(make, change):
    base = torch.ones(3, requires_grad=True).clone()
    with torch.no_grad():
        v = make(base)
    out = change(v)
    return v.requires_grad, v.is_leaf, base.requires_grad


views = (lambda b: b[:2], lambda b: b.view(-1), lambda b: b.unbind(0)[0], lambda b: b.split(1)[0], lambda b: b.chunk(3)[1], lambda b: b.detach(), lambda b: b[0])
for make in views:
    show(
        lambda: attempt(make, lambda v: v.mul_(2)),
        lambda: attempt(make, lambda v: v.requires_grad_()),
        lambda: attempt(make, lambda v: v[:1].mul_(2) if v.ndim else v.view(1).mul_(2)),
    )


def attempt2(make):
    base = torch.ones(3, requires_grad=True).clone()
    v = make(base)
    with torch.no_grad():
        v.mul_(2)
    return v, v.grad_fn.name() if v.grad_fn is not None else None, base.grad_fn.name()


for make in views:
    show(lambda: attempt2(make))

# ---- views of several outputs changed in place
x = torch.ones(3, requires_grad=True)
for f in (lambda b: b.unbind(0), lambda b: b.split(1), lambda b: b.chunk(3), lambda b: torch.split(b, [1, 2]), lambda b: b.tensor_split(3)):
    parts = f(x.clone())
    show(lambda: parts[0].mul_(2), lambda: parts[1].requires_grad)
    base = x.clone()
    parts = f(base)
    base.mul_(2)
    show(lambda: parts[0].grad_fn, lambda: parts[0] * 2, lambda: repr(parts[0]))

# ---- views made in inference mode
x = torch.ones(3, requires_grad=True)
y = x.clone()
with torch.inference_mode():
    v = y[:2]
    i = torch.ones(3)
    w = i[:2]
    print(v.is_inference(), i.is_inference(), w.is_inference(), v.requires_grad)
show(
    lambda: v.mul_(2),
    lambda: v * x[:2],
    lambda: i * x,
    lambda: i.add_(1),
    lambda: i[0],
    lambda: w.view(-1).is_inference(),
    lambda: i._version,
    lambda: i.requires_grad_(),
    lambda: i.clone().requires_grad_(),
    lambda: (i * 2).is_inference(),
    lambda: i.grad_fn,
    lambda: x.mul(i),
    lambda: i.detach(),
)
with torch.inference_mode():
    show(lambda: i.add_(1), lambda: y.mul_(2), lambda: (y * 2).requires_grad, lambda: x.mul_(2))

# ---- a leaf changed in place
x = torch.ones(3, requires_grad=True)
show(
    lambda: x.mul_(2),
    lambda: x[0].mul_(2),
    lambda: x.view(-1).mul_(2),
    lambda: x.detach().mul_(2),
    lambda: x.data.mul_(2),
)
with torch.no_grad():
    show(lambda: x.mul_(2), lambda: x[0].mul_(2))
x[:2].detach().zero_()
print(x, x._version)

# ---- a view of a leaf without grad, whose part then requires grad
base = torch.zeros(4)
v = base[:2]
w = torch.ones(2, requires_grad=True)
v.copy_(w * 3)
print(base.requires_grad, v.requires_grad, base.grad_fn.name(), v.grad_fn.name())
base.sum().backward()
print(w.grad)
base = torch.zeros(4)
a, b = base[:2], base[1:]
a.add_(w)
print(b.requires_grad, b.grad_fn.name(), b)
b.mul_(2)
(g,) = torch.autograd.grad(a.sum(), w)
print(g, a)

# ---- grad_fn of a view after its base was changed
x = torch.ones(4, requires_grad=True)
b = x * 1
v = b.view(2, 2)
w = v[0]
print(w.grad_fn.name())
b.mul_(3)
print(v.grad_fn.name(), w.grad_fn.name(), b.grad_fn.name())
w.mul_(2)
print(v.grad_fn.name(), w.grad_fn.name(), b.grad_fn.name(), v)
print(torch.autograd.grad(b.sum(), x))

# ---- retain_grad across in-place operations
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a * 2
b.retain_grad()
b.mul_(3)
b.sum().backward()
print(b.grad, a.grad, b.retains_grad)
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a * 2
b.mul_(3)
b.retain_grad()
b.retain_grad()
(b * b).sum().backward()
print(b.grad, a.grad)

# ---- retain_grad of a view and in-place on its base
a = torch.ones(4, requires_grad=True)
b = a * 2
v = b[:2]
v.retain_grad()
b.retain_grad()
b.mul_(3)
(v.sum() + b.sum()).backward()
print(v.grad, b.grad, a.grad, v.retains_grad, b.retains_grad)
a = torch.ones(4, requires_grad=True)
b = a * 2
v = b[:2]
b.retain_grad()
v.retain_grad()
v.mul_(5)
b.sum().backward()
print(v.grad, b.grad, a.grad)

# ---- hooks across in-place operations
log = []
a = torch.ones(2, requires_grad=True)
b = a * 2
b.register_hook(lambda g: log.append(("before", g.tolist())))
b.mul_(3)
b.register_hook(lambda g: log.append(("after", g.tolist())))
b.sum().backward()
print(log)
log = []
b = a * 2
v = b.view(-1)
v.register_hook(lambda g: log.append(("view", g.tolist())))
b.register_hook(lambda g: log.append(("base", g.tolist())))
b.mul_(3)
(b.sum() + v.sum() * 2).backward()
print(log)

# ---- .data, set, and what it deletes
# library only
x = torch.ones(2, requires_grad=True)


def delete():
    del x.data


show(delete, lambda: setattr(x, "data", None), lambda: setattr(x, "data", 3))
show(lambda: setattr(x, "data", torch.ones(2, dtype=torch.int64)))
x.data = torch.zeros(3)
print(x, x.requires_grad)
y = torch.ones(2, requires_grad=True)


def delete_grad():
    del y.grad
    return y.grad


show(delete_grad, lambda: setattr(y, "grad", torch.ones(3)), lambda: setattr(y, "grad", 3))
show(lambda: setattr(y, "grad", torch.ones(2, dtype=torch.float64)), lambda: setattr(y, "grad", y))


def delete_flag():
    del y.requires_grad


show(delete_flag, lambda: setattr(y, "grad_fn", None), lambda: setattr(y, "is_leaf", False))

# ---- requires_grad of integers and of results
x = torch.ones(2, requires_grad=True)
y = x * 2
show(
    lambda: torch.tensor([1, 2], requires_grad=True),
    lambda: torch.tensor([1, 2]).requires_grad_(),
    lambda: setattr(y, "requires_grad", False),
    lambda: y.requires_grad_(False),
    lambda: y.requires_grad_(True).requires_grad,
    lambda: y.detach_().requires_grad,
    lambda: torch.zeros(2, dtype=torch.bool, requires_grad=True),
    lambda: x.long().requires_grad,
    lambda: (x > 0).requires_grad,
)
v = (x * 2)[:1]
show(lambda: v.detach_(), lambda: (x * 2).view(-1).detach_())
