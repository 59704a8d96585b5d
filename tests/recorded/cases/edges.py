# ---- index_reduce of 0-d and empty tensors
def reduced(x, index, source, reduce, include_self=True):
    x = torch.tensor(x, requires_grad=reduce != "prod")
    source = torch.tensor(source, requires_grad=True)
    y = x.index_reduce(0, torch.tensor(index, dtype=torch.int64), source, reduce, include_self=include_self)
    g = torch.autograd.grad(y.sum(), [t for t in (x, source) if t.requires_grad])
    return y, y.shape, g


for reduce in ("mean", "amax", "amin"):
    show(
        lambda: reduced(2.0, [0], 3.0, reduce),
        lambda: reduced(2.0, 0, 3.0, reduce),
        lambda: reduced(2.0, [0], 3.0, reduce, include_self=False),
        lambda: reduced([], [], [], reduce),
        lambda: reduced([1.0, 2.0], [], [], reduce),
    )
show(
    lambda: torch.tensor(2.0).index_reduce(0, torch.tensor([0]), torch.tensor(3.0), "prod"),
    lambda: torch.tensor(2).index_reduce(0, torch.tensor([0]), torch.tensor(3), "mean"),
    lambda: torch.tensor([2, 5]).index_reduce(0, torch.tensor([0, 0]), torch.tensor([3, 4]), "prod"),
    lambda: torch.empty(0, 3).index_reduce(0, torch.tensor([], dtype=torch.int64), torch.empty(0, 3), "amax").shape,
)

# ---- put of 0-d and empty tensors
x = torch.tensor(2.0, requires_grad=True)
for accumulate in (True, False):
    for index in (torch.tensor(0), torch.tensor([0]), torch.tensor([-1])):
        s = torch.tensor([3.0], requires_grad=True)
        y = x.put(index, s, accumulate)
        print(y, y.shape, torch.autograd.grad(y * 2, [x, s]))
s = torch.tensor(5.0, requires_grad=True)
y = torch.zeros(3).put(torch.tensor(1), s)
print(y, torch.autograd.grad(y.sum(), s))
empty = torch.tensor([], dtype=torch.int64)
show(
    lambda: torch.zeros(3).put(empty, torch.zeros(0)),
    lambda: torch.zeros(0).put(empty, torch.zeros(0)),
    lambda: torch.zeros(3).put_(torch.tensor([0, 5]), torch.ones(2)),
    lambda: torch.zeros(3).put_(torch.tensor([0, 1]), torch.ones(3)),
)

# ---- select_scatter of 0-d sources and empty tensors
x = torch.arange(3.0, requires_grad=True)
s = torch.tensor(7.0, requires_grad=True)
y = x.select_scatter(s, 0, 1)
print(y, torch.autograd.grad((y * y).sum(), [x, s]))
show(
    lambda: torch.zeros(2, 0).select_scatter(torch.zeros(0), 0, 1).shape,
    lambda: torch.zeros(2, 0).select_scatter(torch.zeros(2), 1, 0),
    lambda: torch.tensor([1, 2]).select_scatter(torch.tensor(9), 0, -1),
    lambda: torch.tensor(1.0).select_scatter(torch.tensor(9.0), 0, 0),
)

# ---- masked_scatter broadcasts, 0-d and empty
x = torch.zeros(3, requires_grad=True)
mask = torch.tensor([[True, False, True], [False, True, False]])
s = torch.arange(1.0, 7, requires_grad=True)
y = x.masked_scatter(mask, s)
print(y, torch.autograd.grad((y * y).sum(), [x, s]))
x = torch.tensor(1.0, requires_grad=True)
for flag in (True, False):
    y = x.masked_scatter(torch.tensor(flag), torch.tensor(4.0))
    print(y, y.shape, torch.autograd.grad(y, x))
show(
    lambda: torch.zeros(0).masked_scatter(torch.zeros(0, dtype=torch.bool), torch.zeros(0)),
    lambda: torch.zeros(2).masked_scatter(torch.tensor([True, True]), torch.zeros(1)),
    lambda: torch.zeros(2).masked_scatter(torch.tensor([True, True]), torch.tensor([1, 2])),
    lambda: torch.zeros(2).masked_scatter(torch.tensor([1, 1]), torch.ones(2)),
)

# ---- meshgrid of 0-d and empty tensors
show(
    lambda: torch.meshgrid(torch.tensor(1.0), torch.tensor([2.0, 3.0]), indexing="ij"),
    lambda: torch.meshgrid(torch.tensor(1.0), torch.tensor([2.0, 3.0]), indexing="xy"),
    lambda: torch.meshgrid(torch.tensor(1.0), indexing="ij"),
    lambda: [t.shape for t in torch.meshgrid(torch.zeros(0), torch.zeros(2), torch.tensor(1.0), indexing="xy")],
    lambda: torch.meshgrid(torch.zeros(2), torch.zeros(2, dtype=torch.float64), indexing="ij"),
    lambda: torch.meshgrid(torch.zeros(2), torch.zeros(2), indexing="yx"),
)
x = torch.tensor(2.0, requires_grad=True)
a, b = torch.meshgrid(x, torch.tensor([2.0, 3.0]), indexing="ij")
print(a.requires_grad, b.requires_grad, torch.autograd.grad((a * b).sum(), x))

# ---- vander
show(
    lambda: torch.linalg.vander(torch.tensor(3), N=2),
    lambda: torch.linalg.vander(torch.tensor(3.0), N=3),
    lambda: torch.linalg.vander(torch.tensor([2, 3])),
    lambda: torch.linalg.vander(torch.tensor([2.0, 3.0]), N=1),
    lambda: torch.linalg.vander(torch.tensor([2.0, 3.0]), N=0),
    lambda: torch.linalg.vander(torch.tensor(3.0)),
    lambda: torch.linalg.vander(torch.zeros(0)),
    lambda: torch.vander(torch.tensor([2, 3])),
    lambda: torch.vander(torch.tensor([2.0, 3.0]), N=0).shape,
    lambda: torch.vander(torch.zeros(0)).shape,
    lambda: torch.vander(torch.tensor([1.0, 2.0]), increasing=True, N=3),
    lambda: torch.vander(torch.tensor(2.0)),
)

# ---- searchsorted and bucketize of 0-d and empty tensors
s = torch.tensor([1.0, 3.0, 5.0])
show(
    lambda: torch.searchsorted(s, torch.tensor(3.0)),
    lambda: torch.searchsorted(s, 3.0, right=True),
    lambda: torch.searchsorted(s, 3, side="right"),
    lambda: torch.searchsorted(s, torch.zeros(0)),
    lambda: torch.searchsorted(torch.zeros(0), torch.tensor([1.0, 2.0])),
    lambda: torch.searchsorted(torch.zeros(0), 1.0),
    lambda: torch.searchsorted(torch.zeros(2, 0), torch.zeros(2, 3)),
    lambda: torch.searchsorted(s, torch.tensor([3.0]), out_int32=True),
    lambda: torch.searchsorted(s, torch.tensor([3.0]), right=True, side="left"),
    lambda: torch.searchsorted(s, torch.tensor([3.0]), side="middle"),
    lambda: torch.searchsorted(s, torch.tensor([3.0], dtype=torch.float64)),
    lambda: torch.searchsorted(torch.tensor(1.0), torch.tensor([3.0])),
    lambda: torch.searchsorted(torch.zeros(2, 3), 1.0),
    lambda: torch.searchsorted(torch.zeros(2, 3), torch.zeros(3, 2)),
    lambda: torch.searchsorted(s, torch.tensor([float("nan"), float("inf")])),
    lambda: torch.searchsorted(torch.tensor([5.0, 1.0, 3.0]), torch.tensor([2.0, 4.0]), sorter=torch.tensor([1, 2, 0])),
    lambda: torch.searchsorted(s, torch.tensor([3.0]), sorter=torch.tensor([0, 1])),
    lambda: torch.searchsorted(s, torch.tensor([3.0]), sorter=torch.tensor([0.0, 1.0, 2.0])),
    lambda: torch.searchsorted(s, torch.tensor([3.0]), sorter=torch.tensor([0, 1, 7])),
    lambda: torch.bucketize(torch.tensor(3.0), s),
    lambda: torch.bucketize(torch.zeros(0), s),
    lambda: torch.bucketize(torch.tensor([0.0, 9.0]), torch.zeros(0)),
    lambda: torch.bucketize(3.0, s, right=True),
    lambda: torch.bucketize(torch.tensor(1.0), torch.zeros(2, 2)),
)

# ---- unique and unique_consecutive of 0-d and empty tensors
for f in (torch.unique, torch.unique_consecutive):
    show(
        lambda: f(torch.tensor(3.0)),
        lambda: f(torch.tensor(3.0), return_inverse=True),
        lambda: f(torch.tensor(3), return_inverse=True, return_counts=True),
        lambda: f(torch.zeros(0), return_inverse=True, return_counts=True),
        lambda: f(torch.zeros(0, 3), return_inverse=True, return_counts=True),
        lambda: f(torch.zeros(2, 3), return_inverse=True, return_counts=True),
        lambda: f(torch.tensor([[1, 1], [1, 1], [2, 2]]), dim=0, return_inverse=True, return_counts=True),
        lambda: f(torch.tensor([[1, 1], [1, 1], [2, 2]]), dim=1, return_inverse=True, return_counts=True),
        lambda: f(torch.zeros(0, 3), dim=0, return_counts=True),
        lambda: f(torch.zeros(0, 3), dim=1),
        lambda: f(torch.zeros(3, 0), dim=0, return_counts=True),
        lambda: f(torch.tensor([True, False, True]), return_counts=True),
        lambda: f(torch.tensor([1.0]), dim=1),
    )

# ---- second derivatives at the edges of activations
inf, nan = float("inf"), float("nan")
def second(f, values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = f(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    if not g.requires_grad:
        return y, g
    (h,) = torch.autograd.grad((g * torch.arange(1.0, len(values) + 1)).sum(), x, allow_unused=True)
    return g, h


EDGES = [-inf, -1.0, -0.0, 0.0, 1.0, inf, nan]
for name in ("elu", "selu", "celu", "relu", "leaky_relu", "softplus", "softshrink", "hardshrink", "hardtanh", "hardswish", "hardsigmoid", "relu6", "mish", "silu", "gelu", "logsigmoid", "softsign", "tanhshrink"):
    # nan alone: in longer tensors the derivative of hardtanh and its kin depends on where it stands in a vector register
    print(name, second(getattr(F, name), [*EDGES[:-1], 0.5, -0.5, 3.0, -3.0, 6.0, 20.0]), second(getattr(F, name), [nan]))
print("elu", second(lambda x: F.elu(x, 2.0), EDGES))
print("elu", second(lambda x: F.elu(x.clone(), 0.5, inplace=True), EDGES))
print("celu", second(lambda x: F.celu(x, 2.0), EDGES))
print("threshold", second(lambda x: F.threshold(x, 1.0, 5.0), EDGES))
print("leaky", second(lambda x: F.leaky_relu(x, -0.5), EDGES))

# ---- second derivatives of prelu at zero
x = torch.tensor([-1.0, 0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
w = torch.tensor([0.25], dtype=torch.float64, requires_grad=True)
y = F.prelu(x, w)
gx, gw = torch.autograd.grad(y, [x, w], torch.tensor([1.0, 2, 3, 4], dtype=torch.float64), create_graph=True)
print(gx, gw)
print(torch.autograd.grad(gx.sum() + gw.sum() * 3, [x, w], allow_unused=True))
g = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
gx, gw = torch.autograd.grad(F.prelu(x, w), [x, w], g, create_graph=True)
print(torch.autograd.grad((gx * torch.tensor([1.0, 5.0, 7.0, 2.0])).sum() + gw.sum() * 3, [g, x, w], allow_unused=True))

# ---- second derivatives of binary_cross_entropy at 0 and 1
for reduction in ("none", "mean", "sum"):
    x = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5, 1e-13], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.25, 1.0], dtype=torch.float64, requires_grad=True)
    y = F.binary_cross_entropy(x, t, reduction=reduction)
    gx, gt = torch.autograd.grad(y.sum(), [x, t], create_graph=True)
    print(y, gx, gt)
    print(torch.autograd.grad(gx.sum(), [x, t], retain_graph=True))
    print(torch.autograd.grad(gt.sum(), [x, t], allow_unused=True))
x = torch.tensor([0.0, 1.0, 0.0, 0.3], dtype=torch.float64, requires_grad=True)
t = torch.tensor([0.0, 0.5, 1.0, 0.25], dtype=torch.float64, requires_grad=True)
g = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
y = F.binary_cross_entropy(x, t, reduction="none", weight=torch.tensor([1.0, 2.0, 1.0, 1.0], dtype=torch.float64))
gx, gt = torch.autograd.grad(y, [x, t], g, create_graph=True)
print(torch.autograd.grad(gx.sum(), [g, x, t], allow_unused=True))

# ---- second derivatives of powers of zero
def second(f, values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = f(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    if not g.requires_grad:
        return y, g
    return g, torch.autograd.grad((g * torch.arange(1.0, len(values) + 1)).sum(), x, allow_unused=True)


for e in (0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 1.5, 0, 1, 2, 3):
    print(e, second(lambda x: x**e, [0.0, -0.0, 1.0, 2.0]))
for base, e in ((0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, -1.0), (0.0, 0.5), (-1.0, 2.0), (2.0, 0.0), (-0.0, 3.0)):
    x = torch.tensor(base, dtype=torch.float64, requires_grad=True)
    p = torch.tensor(e, dtype=torch.float64, requires_grad=True)
    gx, gp = torch.autograd.grad(x**p, [x, p], create_graph=True)
    print(base, e, gx.item(), gp.item(), torch.autograd.grad(gx, [x, p], retain_graph=True), torch.autograd.grad(gp, [x, p]))
for base in (0.0, 1.0, -1.0, 2):
    p = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (gp,) = torch.autograd.grad((base**p).sum(), p, create_graph=True)
    print(base, gp, torch.autograd.grad(gp.sum(), p))

# ---- second derivatives of logcumsumexp
inf, nan = float("inf"), float("nan")
for values in ([-inf, 0.0, 1.0], [-inf, -inf, 1.0], [0.0, inf, 1.0], [1.0, 1.0, 1.0], [700.0, -700.0, 0.0]):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = torch.logcumsumexp(x, 0)
    (g,) = torch.autograd.grad(y, x, torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64), create_graph=True)
    print(y, g.detach().round(decimals=6).tolist())
show(lambda: torch.logcumsumexp(torch.tensor(3.0, requires_grad=True), 0), lambda: torch.logcumsumexp(torch.zeros(0), 0))
x = torch.tensor([0.5, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
(g,) = torch.autograd.grad(torch.logcumsumexp(x, 0), x, torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64), create_graph=True)
print(g.detach(), torch.autograd.grad(g, x, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)))

# ---- second derivatives of embedding with scale_grad_by_freq
w = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
for padding in (None, 1):
    y = F.embedding(torch.tensor([0, 1, 1, 2, 1]), w, padding_idx=padding, scale_grad_by_freq=True)
    (g,) = torch.autograd.grad((y**3).sum(), w, create_graph=True)
    print(g)
    show(lambda: torch.autograd.grad(g.sum(), w))

# ---- addmm and its kin with beta 0 or alpha 0
inf, nan = float("inf"), float("nan")
x = torch.tensor([[nan, inf], [1.0, 2.0]], dtype=torch.float64, requires_grad=True)
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
for beta, alpha in ((0, 1), (0.0, 2.0), (1, 0), (2, 3)):
    y = torch.addmm(x, a, a, beta=beta, alpha=alpha)
    print(beta, alpha, y.detach(), y.requires_grad)
    gx, ga = torch.autograd.grad((y * y).sum(), [x, a], create_graph=True)
    print(gx, ga)
    show(lambda: torch.autograd.grad(ga.nansum() + gx.nansum(), [x, a], allow_unused=True))
show(
    lambda: torch.addmv(x[0], a, a[0], beta=0),
    lambda: torch.baddbmm(x[None], a[None], a[None], beta=0),
    lambda: torch.addbmm(x, a[None], a[None], beta=0),
    lambda: torch.addr(x, a[0], a[1], beta=0),
    lambda: torch.addmm(torch.ones(2, 2), torch.empty(2, 0), torch.empty(0, 2), beta=0),
    lambda: torch.addmm(torch.ones(2, 2), torch.empty(2, 0), torch.empty(0, 2)),
)

# ---- fill with a tensor that requires grad
v = torch.tensor(3.0, requires_grad=True)
x = torch.ones(3, requires_grad=True)
y = x * 2
y.fill_(v)
print(y, y.grad_fn.name(), torch.autograd.grad(y.sum(), [x, v]))
y = torch.zeros(2, 2)
y[0].fill_(v)
print(y, torch.autograd.grad((y * y).sum(), v))
y = torch.fill(x, v)
print(y, torch.autograd.grad(y.sum(), [x, v]))
y = torch.zeros(3).index_fill(0, torch.tensor([0, 2]), v)
print(y, torch.autograd.grad(y.sum(), v))
y = torch.tensor(1.0, requires_grad=True).index_fill(0, torch.tensor([0]), v)
print(y, torch.autograd.grad(y.sum(), v))
y = torch.zeros(3).masked_fill(torch.tensor([True, False, True]), v)
print(y, torch.autograd.grad(y.sum(), v))
y = torch.zeros(3)
y[1:] = v
print(y, torch.autograd.grad(y.sum(), v))
y = torch.zeros(3)
y.masked_fill_(torch.tensor([True, True, False]), v)
print(torch.autograd.grad(y.sum(), v))
y = torch.zeros(0)
y.fill_(v)
print(torch.autograd.grad(y.sum(), v))
show(lambda: torch.zeros(3).fill_(torch.ones(2)), lambda: torch.zeros(3).fill_(torch.ones(1)))

# ---- clamp in place with bounds that require grad
inf, nan = float("inf"), float("nan")
x = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
low = torch.tensor([-1.0], requires_grad=True)
high = torch.tensor(1.0, requires_grad=True)
y = x * 1
y.clamp_(low, high)
print(y, torch.autograd.grad(y.sum(), [x, low, high]))
y = x * 1
y.clamp_min_(low)
print(y, torch.autograd.grad(y.sum(), [x, low]))
y = x * 1
y.clamp_max_(high)
print(y, torch.autograd.grad(y.sum(), [x, high]))
y = x.clamp(high, low)
print(y, torch.autograd.grad(y.sum(), [x, low, high]))
y = torch.clamp(x, min=low)
print(torch.autograd.grad((y * y).sum(), [x, low]))
y = x.detach().clone().clamp_(max=high)
print(y, y.requires_grad, torch.autograd.grad(y.sum(), high))
z = torch.tensor([nan, 1.0], requires_grad=True)
print(torch.autograd.grad(z.clamp(torch.tensor([0.0, nan]), torch.tensor(2.0)).sum(), z))

# ---- creation of integers with float bounds
show(
    lambda: torch.arange(0.5, 3.5, dtype=torch.int64),
    lambda: torch.arange(0, 2.5, dtype=torch.int64),
    lambda: torch.arange(0, 4, 1.9, dtype=torch.int64),
    lambda: torch.arange(0, 4, 0.5, dtype=torch.int64),
    lambda: torch.arange(5.9, 0, -1.2, dtype=torch.int32),
    lambda: torch.arange(2.5),
    lambda: torch.arange(0),
    lambda: torch.arange(0, 0, 1.0).dtype,
    lambda: torch.arange(3, 1),
    lambda: torch.arange(1, 3, 0),
    lambda: torch.arange(float("nan")),
    lambda: torch.linspace(0.5, 5.5, 4, dtype=torch.int64),
    lambda: torch.linspace(-3.9, 3.9, 5, dtype=torch.int32),
    lambda: torch.linspace(0, 10, 4, dtype=torch.int64),
    lambda: torch.linspace(10, 0, 7, dtype=torch.int16),
    lambda: torch.linspace(0, 1, 0, dtype=torch.int64),
    lambda: torch.linspace(0.7, 1, 1, dtype=torch.int64),
    lambda: torch.linspace(0, 1, -1),
    lambda: torch.logspace(0.5, 2.5, 3, dtype=torch.int64),
    lambda: torch.logspace(0, 3, 4, base=2, dtype=torch.int32),
    lambda: torch.logspace(0.5, 3.2, 4, base=2, dtype=torch.int64),
    lambda: torch.logspace(0, 1, 0),
    lambda: torch.full((2,), 1.5, dtype=torch.int64),
    lambda: torch.range(0, 2.5, dtype=torch.int64),
)

# ---- flip
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
y = x.flip(())
print(y, y is x, y.grad_fn.name(), torch.autograd.grad(y.sum(), x))
show(
    lambda: torch.flip(x, ()),
    lambda: x.flip([]),
    lambda: x.flip(),
    lambda: torch.tensor(1.0).flip(()),
    lambda: torch.tensor(1.0).flip(0),
    lambda: torch.zeros(0, 2).flip(0).shape,
    lambda: x.flip(0, 0),
    lambda: x.flip(2),
    lambda: x.flip(0, -1),
)

# ---- dtypes of addr, sum_to_size and bincount
i, f, d, b = torch.tensor([1, 2]), torch.tensor([1.5, 2.5]), torch.tensor([1.5, 2.5], dtype=torch.float64), torch.tensor([True, False])
zero = torch.zeros(2, 2, dtype=torch.int64)
show(
    lambda: torch.addr(zero, i, i),
    lambda: torch.addr(zero, f, i),
    lambda: torch.addr(zero, f, d),
    lambda: torch.addr(zero.bool(), b, b),
    lambda: torch.addr(zero.bool(), b, b, alpha=2),
    lambda: torch.addr(zero, i, i, beta=0.5),
    lambda: torch.addr(zero.to(torch.int8), i.to(torch.uint8), i.to(torch.int16)),
    lambda: torch.addr(torch.zeros(2), i, i, alpha=0.5),
    lambda: torch.ones(2, 3, dtype=torch.int32).sum_to_size(3),
    lambda: torch.ones(2, 3, dtype=torch.bool).sum_to_size(1, 3),
    lambda: torch.ones(2, 3, dtype=torch.bool).sum_to_size(2, 3).dtype,
    lambda: torch.ones(2, 3, dtype=torch.uint8).sum_to_size(()),
    lambda: torch.ones(2, 3).sum_to_size(2),
    lambda: torch.ones(2, 3).sum_to_size(2, 2),
    lambda: torch.bincount(i),
    lambda: torch.bincount(i, weights=i),
    lambda: torch.bincount(i, weights=f),
    lambda: torch.bincount(i, weights=b),
    lambda: torch.bincount(i, weights=d.half()),
    lambda: torch.bincount(torch.zeros(0, dtype=torch.int64)),
    lambda: torch.bincount(torch.zeros(0, dtype=torch.int64), minlength=3),
    lambda: torch.bincount(torch.zeros(0, dtype=torch.int64), weights=torch.zeros(0), minlength=2),
    lambda: torch.bincount(f),
    lambda: torch.bincount(torch.tensor([-1])),
    lambda: torch.bincount(torch.tensor([[1]])),
    lambda: torch.bincount(i, minlength=-1),
    lambda: torch.bincount(i, weights=torch.ones(3)),
)

# ---- randint by keyword
def drawn(x):
    return x.shape, x.dtype, x.min() >= 1, x.max() < 4


show(
    lambda: drawn(torch.randint(high=2, size=(4,)) + 1),
    lambda: drawn(torch.randint(low=2, high=4, size=(4,))),
    lambda: drawn(torch.randint(2, (2,), dtype=torch.int32) + 1),
    lambda: drawn(torch.randint(1, 4, size=[2, 2])),
    lambda: torch.randint(0, (2,)),
    lambda: torch.randint(5, 2, (2,)),
    lambda: drawn(torch.randint_like(torch.zeros(3), high=2) + 1),
    lambda: drawn(torch.randint_like(torch.zeros(3), 2, 4)),
)

# ---- padding of small inputs
x = torch.arange(1.0, 4)[None]
show(
    lambda: F.pad(x, (2, 2), mode="reflect"),
    lambda: F.pad(x, (3, 0), mode="reflect"),
    lambda: F.pad(x, (3, 5), mode="replicate"),
    lambda: F.pad(x[:, :1], (2, 1), mode="replicate"),
    lambda: F.pad(x[:, :1], (1, 0), mode="reflect"),
    lambda: F.pad(x[:, :0], (1, 1), mode="replicate"),
    lambda: F.pad(x[:, :0], (1, 1), mode="reflect"),
    lambda: F.pad(x[:0], (1, 1), mode="replicate"),
    lambda: F.pad(torch.zeros(0, 2, 3), (1, 1), mode="reflect").shape,
    lambda: F.pad(torch.zeros(0, 2, 3), (1, 1), mode="replicate").shape,
    lambda: F.pad(x, (-1, 2), mode="replicate"),
    lambda: F.pad(x, (-1, 1), mode="reflect"),
    lambda: F.pad(x, (-3, 0), mode="reflect"),
    lambda: F.pad(x, (3, 3), mode="circular"),
    lambda: F.pad(x, (4, 0), mode="circular"),
    lambda: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    lambda: F.pad(x[None], (1, 1, 0, 0), mode="reflect"),
    lambda: F.pad(torch.arange(3.0), (1, 1), mode="reflect"),
    lambda: F.pad(torch.arange(3.0), (1, 1), mode="replicate"),
    lambda: F.pad(torch.tensor(1.0), (1, 1)),
    lambda: F.pad(x, (-2, -2)),
    lambda: F.pad(x, (1,)),
)
x = x.clone().requires_grad_()
for mode, sides in (("reflect", (2, 1)), ("replicate", (3, 2)), ("circular", (2, 3)), ("constant", (1, -1))):
    (g,) = torch.autograd.grad((F.pad(x, sides, mode=mode) ** 3).sum(), x, create_graph=True)
    print(mode, g, torch.autograd.grad(g.sum(), x))

# ---- diff and gradient
x = torch.tensor([1.0, 4.0, 9.0, 16.0], requires_grad=True)
show(
    lambda: torch.diff(x, n=0),
    lambda: torch.diff(x, n=0, prepend=torch.zeros(2)),
    lambda: torch.diff(x, n=1, append=torch.zeros(1)),
    lambda: torch.diff(x, n=7),
    lambda: torch.diff(torch.tensor([True, False])),
    lambda: torch.diff(torch.tensor(1.0)),
    lambda: torch.diff(torch.zeros(0)),
    lambda: torch.diff(x, n=-1),
    lambda: torch.gradient(x, dim=None, spacing=None, edge_order=1),
    lambda: torch.gradient(x, spacing=2.0, edge_order=2),
    lambda: torch.gradient(torch.tensor([1, 4, 9])),
    lambda: torch.gradient(x, edge_order=3),
    lambda: torch.gradient(x[:1]),
    lambda: torch.gradient(torch.ones(3, 3), spacing=0.1, dim=(1, 1)),
)

# ---- gather, take_along_dim, cat of empty tensors
show(
    lambda: torch.gather(torch.arange(3.0), 0, torch.zeros(0, dtype=torch.uint8)),
    lambda: torch.gather(torch.arange(3.0), 0, torch.zeros(0, dtype=torch.int64)),
    lambda: torch.gather(torch.tensor(2.0), 0, torch.tensor([0, 0])),
    lambda: torch.gather(torch.arange(3.0), 0, torch.tensor(1)),
    lambda: torch.take_along_dim(torch.arange(4.0).reshape(2, 2), torch.tensor([[-1], [0]]), 1),
    lambda: torch.take_along_dim(torch.arange(4.0), torch.tensor([-1, 0])),
    lambda: torch.take_along_dim(torch.arange(4.0), torch.tensor([5])),
    lambda: torch.take(torch.tensor(4.0), torch.tensor([0, -1])),
    lambda: torch.take(torch.zeros(0), torch.tensor([0])),
)
e = torch.zeros(0, requires_grad=True)
x = torch.ones(2, 2, requires_grad=True)
y = torch.cat([e, x], dim=1)
print(y, torch.autograd.grad(y.sum(), [e, x], allow_unused=True))
y = torch.cat([e, e])
print(y, torch.autograd.grad(y.sum(), e))

# ---- errors of wrong arguments
show(
    lambda: torch.cov(torch.zeros(5), fweights=torch.ones(1, 5, dtype=torch.int64)),
    lambda: torch.cov(torch.zeros(5), aweights=torch.ones(1, 5)),
    lambda: torch.cov(torch.zeros(5), fweights=torch.ones(5)),
    lambda: torch.cov(torch.zeros(5), aweights=torch.ones(5, dtype=torch.int64)),
    lambda: torch.cov(torch.zeros(5), fweights=torch.tensor([1])),
    lambda: torch.cov(torch.zeros(5), aweights=torch.tensor([1.0])),
    lambda: torch.cov(torch.zeros(5), fweights=torch.tensor([-1, -2, -3, -4, -5])),
    lambda: torch.cov(torch.zeros(5), aweights=torch.tensor([-1.0, -2.0, -3.0, -4.0, -5.0])),
    lambda: torch.cov(torch.zeros(1, 1, 2)),
    lambda: torch.isclose(torch.zeros(1), torch.zeros(1), rtol=-0.4),
    lambda: torch.isclose(torch.zeros(1), torch.zeros(1), atol=-0.4),
    lambda: torch.allclose(torch.zeros(1), torch.zeros(1), atol=-0.4),
    lambda: torch.isclose(torch.zeros(1), torch.zeros(1, dtype=torch.float64)),
    lambda: F.rrelu(torch.zeros(1), lower=0.3, upper=0.1),
    lambda: torch.atan2(2, torch.zeros(3)),
    lambda: torch.ldexp(torch.ones(3), 2),
    lambda: torch.ldexp(2, torch.ones(3)),
)

# ---- reductions of empty tensors
e = torch.zeros(0, requires_grad=True)
m = torch.zeros(2, 0, requires_grad=True)
for f in (torch.sum, torch.prod, torch.mean, torch.std, torch.var, torch.logsumexp, torch.max, torch.min, torch.amax, torch.argmax, torch.median, torch.any, torch.all, torch.nansum, torch.nanmean, torch.cumsum, torch.cummax, torch.sort, torch.norm, torch.mode, torch.count_nonzero):
    name = f.__name__
    dim = () if name not in ("logsumexp", "cumsum", "cummax") else (0,)
    show(lambda: (name, f(e, *dim)), lambda: (name, f(m, 1)), lambda: (name, f(m, 0)))

# ---- reductions of 0-d tensors
x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
for f in (torch.sum, torch.prod, torch.mean, torch.std, torch.logsumexp, torch.max, torch.amax, torch.median, torch.cumsum, torch.cumprod, torch.cummax, torch.logcumsumexp, torch.softmax, torch.log_softmax, torch.sort, torch.topk, torch.kthvalue, torch.norm, torch.mode):
    name = f.__name__
    args = (1,) if name in ("topk", "kthvalue") else (0,)
    def grads():
        y = f(x, *args)
        y = y if isinstance(y, torch.Tensor) else y[0]
        (g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
        h = torch.autograd.grad(g, x, torch.ones_like(g), allow_unused=True) if g.requires_grad else None
        return name, y, y.shape, g, h
    show(grads, lambda: f(x, -1) if args == (0,) else None, lambda: f(x, 1) if args == (0,) else None)

# ---- losses of empty inputs
e = torch.zeros(0, requires_grad=True)
for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy, F.binary_cross_entropy_with_logits, F.kl_div, F.soft_margin_loss, F.poisson_nll_loss):
    def loss(reduction):
        y = f(e, torch.zeros(0), reduction=reduction)
        return f.__name__, reduction, y, torch.autograd.grad(y.sum(), e)
    show(lambda: loss("mean"), lambda: loss("sum"), lambda: loss("none"))
show(
    lambda: F.cross_entropy(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)),
    lambda: F.nll_loss(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64), reduction="sum"),
    lambda: F.nll_loss(torch.zeros(3), torch.tensor(1)),
    lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([-100, -100])),
    lambda: F.batch_norm(torch.zeros(0), None, None, training=True),
    lambda: F.batch_norm(torch.zeros(0, 2), None, None, training=True),
    lambda: F.layer_norm(torch.zeros(0, 3), (3,)),
    lambda: F.linear(torch.zeros(0, 3), torch.ones(2, 3), torch.ones(2)).shape,
    lambda: F.conv1d(torch.zeros(0, 2, 4), torch.ones(3, 2, 2)).shape,
    lambda: F.max_pool1d(torch.zeros(0, 2, 4), 2).shape,
    lambda: F.one_hot(torch.zeros(0, dtype=torch.int64)),
    lambda: F.one_hot(torch.zeros(0, dtype=torch.int64), 3),
    lambda: F.embedding(torch.zeros(0, dtype=torch.int64), torch.ones(3, 2)),
)

# ---- linear algebra of empty and 0-d tensors
show(
    lambda: torch.zeros(0) @ torch.zeros(0),
    lambda: torch.zeros(2, 0) @ torch.zeros(0, 3),
    lambda: torch.zeros(0, 2) @ torch.zeros(2),
    lambda: torch.tensor(1.0) @ torch.ones(1),
    lambda: torch.bmm(torch.zeros(0, 2, 3), torch.zeros(0, 3, 1)).shape,
    lambda: torch.outer(torch.zeros(0), torch.ones(2)),
    lambda: torch.dot(torch.zeros(0), torch.zeros(0)),
    lambda: torch.det(torch.zeros(0, 0)),
    lambda: torch.inverse(torch.zeros(0, 0)),
    lambda: torch.linalg.solve(torch.zeros(0, 0), torch.zeros(0, 2)),
    lambda: torch.linalg.norm(torch.zeros(0)),
    lambda: torch.linalg.vector_norm(torch.zeros(0), float("inf")),
    lambda: torch.linalg.matrix_norm(torch.zeros(0, 2)),
    lambda: torch.trace(torch.zeros(0, 0)),
    lambda: torch.diag(torch.zeros(0)),
    lambda: torch.tril(torch.zeros(0, 3)),
    lambda: torch.kron(torch.tensor(2.0), torch.ones(2)),
    lambda: torch.einsum("i,i->", torch.zeros(0), torch.zeros(0)),
    lambda: torch.einsum("ij->i", torch.zeros(2, 0)),
    lambda: torch.linalg.svd(torch.zeros(0, 3)),
    lambda: torch.linalg.eigh(torch.zeros(0, 0)),
    lambda: torch.linalg.cholesky(torch.zeros(0, 0)),
    lambda: torch.linalg.qr(torch.zeros(0, 2)),
)
