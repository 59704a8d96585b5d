# ---- flips over no dims
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
for y in (x.flip(()), x.flip([]), x.flip(0), x.flip(0, 1), x.flip((-1,)), torch.flip(x, dims=())):
    print(y)
y = x.flip(())
(y * torch.arange(6.0).reshape(2, 3)).sum().backward()
print(x.grad)
show(lambda: x.flip(0, 0), lambda: x.flip(2), lambda: torch.tensor(1.0).flip(()))
show(lambda: torch.tensor(1.0).flip(0), lambda: torch.tensor(1.0).flip(-1), lambda: torch.zeros(0, 2).flip(()))

# ---- roll, rot90, fliplr with few dims
x = torch.arange(6.0).reshape(2, 3)
show(lambda: x.roll(1), lambda: x.roll((1,), ()), lambda: x.roll((), ()), lambda: x.roll((), 0))
show(lambda: x.roll(1, ()), lambda: x.roll((1, 2)), lambda: x.roll((1, 2), (0, 1)), lambda: x.roll((1, 2), (0,)))
show(lambda: torch.tensor(1.0).roll(1), lambda: torch.tensor(1.0).roll(1, 0), lambda: torch.zeros(0, 2).roll(1, 0))
show(lambda: x.rot90(), lambda: x.rot90(1, ()), lambda: x.rot90(1, [0]), lambda: x.rot90(2, [0, 1]), lambda: x.rot90(-3))
show(lambda: x.rot90(1, [0, 0]), lambda: x.rot90(1, [0, 2]), lambda: x.rot90(0, [1, 0]), lambda: x.rot90(1, [0, -2]))
show(lambda: x[0].rot90(), lambda: x[0].fliplr(), lambda: x[0].flipud(), lambda: torch.tensor(1.0).flipud())
show(lambda: x.fliplr(), lambda: x.flipud(), lambda: torch.zeros(2, 0).fliplr().shape)

# ---- reductions and rearrangements over no dims
x = torch.arange(6.0).reshape(2, 3)
show(lambda: x.sum(()), lambda: x.mean(()), lambda: x.sum([]), lambda: x.amax(()), lambda: x.amin(()))
show(lambda: x.var(()), lambda: x.std(()), lambda: x.norm(dim=()), lambda: x.all(()))
show(lambda: x.any(()), lambda: x.nansum(()), lambda: x.nanmean(()), lambda: torch.count_nonzero(x, ()))
show(lambda: torch.linalg.vector_norm(x, dim=()), lambda: x.squeeze(()), lambda: x[None].squeeze(()).shape)
show(lambda: x.permute(()), lambda: torch.tensor(1.0).permute(()))
show(lambda: x.movedim((), ()), lambda: x.repeat(()), lambda: torch.tensor(1.0).repeat(()), lambda: x.tile(()))
show(lambda: x.expand(()), lambda: torch.tensor(1.0).expand(()), lambda: x.view(()), lambda: torch.ones(1).view(()))
show(lambda: x.reshape(()), lambda: torch.ones(1).reshape(()), lambda: torch.ones(1).reshape([]))
show(lambda: torch.var_mean(x, ()), lambda: torch.std_mean(x, []), lambda: x.sum((), keepdim=True))
show(lambda: torch.tensordot(x, x, dims=0).shape, lambda: torch.tensordot(x, x, dims=([], [])).shape)
show(lambda: F.pad(x, ()), lambda: F.normalize(x, dim=()), lambda: torch.renorm(x, 2, 0, 1.0))

# ---- tensor of tensors
t = torch.tensor
show(lambda: t([t([1.0]), t([2.0])]), lambda: t([t(1.0), t(2.0)]), lambda: t([[t(1), t(2)], [t(3), t(4)]]))
show(lambda: t([t([[1.0]]), t([[2.0]])]).shape, lambda: t([t([1.0, 2.0]), t([3.0, 4.0])]), lambda: t([t([1]), 2]))
show(lambda: t([2, t([1])]), lambda: t([t(1), 2.5]), lambda: t([1, t(2.5)]), lambda: t([t(True), t(False)]))
show(lambda: t([t(1.5, dtype=torch.float64)]), lambda: t([t(1, dtype=torch.int32)]), lambda: t([t([])]))
show(lambda: t([t(1), t(2.5)]), lambda: t([t(True), 2]), lambda: t([True, 2]), lambda: t([True, 2.5]))
show(lambda: t([t(1, dtype=torch.int8), t(2, dtype=torch.float16)]), lambda: t([t([1.0]), t([1.0, 2.0])]))
show(lambda: t((t([1.0]), [2.0])), lambda: t([[t([1.0])], [t([2.0])]]).shape, lambda: t([t([1.5])], dtype=torch.int64))
w = t(2.0, requires_grad=True)
show(lambda: t([w, w]), lambda: t(w), lambda: t([w.reshape(1)]), lambda: torch.as_tensor([w]))
show(lambda: torch.as_tensor([t([1.0]), t([2.0])]), lambda: torch.asarray([t([1.0]), t([2.0])]))
show(lambda: torch.zeros(1, dtype=torch.int32).new_tensor([t([1.0]), t([2.0])]), lambda: torch.stack([t([1.0])] * 2))
show(lambda: torch.Tensor([t([1.0]), t([2.0])]), lambda: torch.FloatTensor([t(1.0), t(2.0)]))
show(lambda: torch.LongTensor([t(1), t(2)]), lambda: torch.DoubleTensor([t([1.0])]), lambda: torch.IntTensor([t(1.7)]))

# ---- lists of numbers of different types
t = torch.tensor
show(lambda: t([]), lambda: t([[]]), lambda: t([[], []]), lambda: t([[], [1]]), lambda: t([1, [2]]), lambda: t([[1], 2]))
show(lambda: t([1, 2.0]), lambda: t([True, False]), lambda: t((1, 2)), lambda: t(range(3)), lambda: t([range(2)] * 2))
show(lambda: t([None]), lambda: t(["a"]), lambda: t("a"), lambda: t(None), lambda: t({1: 2}), lambda: t({1, 2}))
show(lambda: t([[1, 2], [3]]), lambda: t([[[1]], [[2]]]).shape, lambda: t([1, 2], dtype=torch.float16))

# ---- numpy scalars
# library only
show(lambda: torch.tensor(np.float64(1.5)), lambda: torch.tensor(np.int32(3)), lambda: torch.tensor(np.float32(1.5)))
show(lambda: torch.tensor(np.bool_(True)), lambda: torch.tensor(np.uint8(3)), lambda: torch.tensor(np.int64(3)))
show(lambda: torch.as_tensor(np.float64(1.5)), lambda: torch.as_tensor(np.int32(3)), lambda: torch.as_tensor(np.float16(2)))
show(lambda: torch.asarray(np.float64(1.5)), lambda: torch.asarray(np.int32(3)), lambda: torch.asarray(np.bool_(False)))
show(lambda: torch.tensor([np.float64(1.5)]), lambda: torch.tensor([np.int32(3)]), lambda: torch.tensor([np.float32(2)]))
show(lambda: torch.tensor([np.int32(3), 2.5]), lambda: torch.tensor([np.float64(1.5), 2]), lambda: torch.tensor([1, np.float32(2)]))
show(lambda: torch.tensor([np.bool_(True)]), lambda: torch.tensor([np.bool_(True), 2]), lambda: torch.tensor([np.int8(1), np.int16(2)]))
show(lambda: torch.tensor([[np.float64(1.5)]]), lambda: torch.as_tensor([np.float64(1.5)]), lambda: torch.as_tensor([np.float32(1)]))
show(lambda: torch.tensor(np.float64(1.5), dtype=torch.float32), lambda: torch.tensor([np.float64(1.5)], dtype=torch.int32))
show(lambda: torch.full((2,), np.float64(1.5)), lambda: torch.full((2,), np.int32(3)), lambda: torch.full((2,), np.float32(3)))
show(lambda: torch.full((2,), np.bool_(True)), lambda: torch.full_like(torch.ones(2), np.float64(2)))
show(lambda: torch.ones(2).new_full((2,), np.int64(3)), lambda: torch.ones(2).new_tensor(np.float64(1.5)))
show(lambda: torch.ones(2, dtype=torch.int32).new_tensor(np.float64(1.5)), lambda: torch.ones(2).new_tensor(np.int32(2)))
show(lambda: torch.scalar_tensor(np.float64(1.5)), lambda: torch.scalar_tensor(np.int32(2)))
show(lambda: torch.arange(np.int64(3)), lambda: torch.arange(np.float64(3)), lambda: torch.arange(np.float32(2.5)))
show(lambda: torch.linspace(np.float64(0), np.float32(1), 3), lambda: torch.arange(np.int32(1), np.int32(3)))
show(lambda: torch.zeros(np.int64(2)), lambda: torch.zeros((np.int32(2), 1)), lambda: torch.Tensor([np.float64(1.5)]))
show(lambda: torch.result_type(torch.ones(1, dtype=torch.int32), np.float64(1)), lambda: torch.eye(np.int64(2)))

# ---- lists of arrays
a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0], dtype=np.float32)
show(lambda: torch.FloatTensor([a, a]), lambda: torch.FloatTensor([a, b]), lambda: torch.tensor([a, a]))
show(lambda: torch.tensor([b, b]), lambda: torch.tensor([a, b]), lambda: torch.tensor([b, a]), lambda: torch.tensor([[a], [b]]))
show(lambda: torch.tensor([np.array([1, 2])]), lambda: torch.tensor([np.array([1, 2], dtype=np.int32), a]))
show(lambda: torch.tensor([np.array(1.5), np.array(2.5)]), lambda: torch.tensor([a, [1, 2]]), lambda: torch.tensor([[1, 2], a]))
show(lambda: torch.as_tensor([a, a]), lambda: torch.asarray([b, b]), lambda: torch.Tensor([a, a]))
show(lambda: torch.ones(1).new_tensor([a, a]), lambda: torch.tensor([a, a], dtype=torch.int32), lambda: torch.tensor((a, b)))
show(lambda: torch.FloatTensor(a), lambda: torch.FloatTensor(np.array([1, 2])), lambda: torch.Tensor(b), lambda: torch.Tensor(a))
show(lambda: torch.tensor([np.array([1.0]), np.array([1.0, 2.0])]), lambda: torch.tensor([np.array([True])]))
show(lambda: torch.tensor([np.zeros((0,))]), lambda: torch.tensor([np.zeros((2, 2)), np.ones((2, 2))]).shape)

# ---- lists of arrays in the old tensor types
# library only
a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0], dtype=np.float32)
show(lambda: torch.LongTensor([np.array([1, 2])]), lambda: torch.DoubleTensor([b]), lambda: torch.Tensor([b]))
show(lambda: torch.ByteTensor([np.array([1])]), lambda: torch.FloatTensor([a, b]), lambda: torch.DoubleTensor([a, b]))

# ---- arrays
a = np.arange(6.0).reshape(2, 3)
show(lambda: torch.tensor(a), lambda: torch.tensor(a.T).stride(), lambda: torch.tensor(a[:, ::-1]), lambda: torch.from_numpy(a.T).stride())
show(lambda: torch.as_tensor(a, dtype=torch.float32), lambda: torch.asarray(a, dtype=torch.float64, copy=True))
show(lambda: torch.from_numpy(a[:, ::-1]), lambda: torch.as_tensor(a[::-1]), lambda: torch.tensor(np.array(1.5)))
show(lambda: torch.as_tensor(np.array(3, dtype=np.int16)), lambda: torch.tensor(np.array([])))
t = torch.as_tensor(a)
t[0, 0] = 9.0
print(a)
t = torch.asarray(a, copy=False)
t[0, 0] = 8.0
print(a)
t = torch.asarray(a, copy=True)
t[0, 0] = 7.0
print(a)

# ---- asarray of tensors
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
for t in (torch.asarray(x), torch.asarray(x, requires_grad=True), torch.asarray(y), torch.asarray(y, requires_grad=True)):
    print(t, t.requires_grad, t is x, t is y)
print(torch.asarray(x, copy=True), torch.asarray(x, dtype=torch.float64), torch.asarray([1, 2], requires_grad=False))
show(lambda: torch.asarray([1.0], requires_grad=True), lambda: torch.asarray([1], requires_grad=True))
show(lambda: torch.asarray(x.detach(), copy=False), lambda: torch.asarray(x, dtype=torch.int64, copy=False))
show(lambda: torch.asarray(2.5), lambda: torch.asarray([]), lambda: torch.asarray(True), lambda: torch.asarray([1, 2.5]))
show(lambda: torch.as_tensor(x) is x, lambda: torch.as_tensor(y, dtype=torch.float64), lambda: torch.as_tensor(3))

# ---- linspace in every dtype
t = torch.linspace(-1, 1, 11)
print(t, t[5], t.tolist())
for steps in (0, 1, 2, 3, 4, 5, 7, 10, 11, 50, 101):
    print(torch.linspace(-3, 10, steps).tolist())
    print(torch.linspace(0.1, 0.7, steps).tolist(), torch.linspace(1, -1, steps).tolist())
for dtype in (torch.float64, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
    show(lambda: torch.linspace(0, 10, 7, dtype=dtype), lambda: torch.linspace(-1, 1, 11, dtype=dtype))
    show(lambda: torch.linspace(0.5, 9.7, 6, dtype=dtype), lambda: torch.linspace(9.7, 0.5, 6, dtype=dtype).tolist())
    show(lambda: torch.linspace(3, 3, 4, dtype=dtype), lambda: torch.linspace(5, 9, 1, dtype=dtype))
show(lambda: torch.linspace(0, 1, -1))
show(lambda: torch.linspace(torch.tensor(0.0), torch.tensor(1.0), 3), lambda: torch.linspace(0, torch.tensor([1.0]), 3))
show(lambda: torch.linspace(float("inf"), 1, 3), lambda: torch.linspace(0, 1, steps=4), lambda: torch.linspace(start=0, end=1, steps=2))

# ---- arange in every dtype
t = torch.arange(-3, 3.1, 0.1)
print(t, t[30], t.tolist())
print(torch.arange(0, 1, 0.1).tolist(), torch.arange(1, 0, -0.1).tolist(), torch.arange(2.5).tolist())
print(torch.arange(0.3, 5.7, 0.7).tolist(), torch.arange(-1.1, 1.1, 0.3).tolist(), torch.arange(1e6, 1e6 + 1, 0.1).tolist())
print(torch.arange(0, 100, 0.37).tolist())
for dtype in (torch.float64, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
    show(lambda: torch.arange(0, 10, 3, dtype=dtype), lambda: torch.arange(5, dtype=dtype))
    show(lambda: torch.arange(0.5, 9.7, 1.3, dtype=dtype), lambda: torch.arange(9, 0.5, -2, dtype=dtype))
    show(lambda: torch.arange(-1, 1, 0.1, dtype=dtype).shape, lambda: torch.arange(0, 1, 0.3, dtype=dtype))
show(lambda: torch.arange(0), lambda: torch.arange(3, 3), lambda: torch.arange(3, 0), lambda: torch.arange(0, 3, 0))
show(lambda: torch.arange(0, 3, -1), lambda: torch.arange(3, 0, -1), lambda: torch.arange(5.0), lambda: torch.arange(1, 4))
show(lambda: torch.arange(2**53, 2**53 + 3), lambda: torch.arange(float("nan")), lambda: torch.arange(0, float("inf")))
show(lambda: torch.arange(torch.tensor(3)), lambda: torch.arange(torch.tensor(2.5)), lambda: torch.arange(True))
show(lambda: torch.arange(0, 3, dtype=float), lambda: torch.arange(start=1, end=3), lambda: torch.arange(end=2))
show(lambda: torch.range(0, 3), lambda: torch.range(0, 1, 0.25), lambda: torch.range(1, 0, -0.3).tolist())

# ---- logspace in every dtype
print(torch.logspace(-1, 1, 11).tolist(), torch.logspace(0, 3, 4), torch.logspace(0, 5, 6, base=2))
print(torch.logspace(-10, 10, 5), torch.logspace(0.1, 1.0, 5).tolist(), torch.logspace(2, 2, 1, base=2))
for dtype in (torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8):
    show(lambda: torch.logspace(0, 2, 5, dtype=dtype).tolist(), lambda: torch.logspace(0, 7, 8, base=2, dtype=dtype))
    show(lambda: torch.logspace(0.3, 1.9, 4, base=3, dtype=dtype), lambda: torch.logspace(2, 0, 3, dtype=dtype))
show(lambda: torch.logspace(0, 1, 0), lambda: torch.logspace(0, 1, 1), lambda: torch.logspace(0, 1, -1))
show(lambda: torch.logspace(0, 2, 3, base=0.0), lambda: torch.logspace(0, 2, 3, base=-2.0))

# ---- random tensors: shapes and dtypes
for call in (
    lambda: torch.randint(high=3, size=(2,)),
    lambda: torch.randint(3, size=[2, 3]),
    lambda: torch.randint(3, (2,)),
    lambda: torch.randint(1, 3, (2,)),
    lambda: torch.randint(1, 3, size=(2,)),
    lambda: torch.randint(low=1, high=3, size=(2,)),
    lambda: torch.randint(1, high=3, size=(2,)),
    lambda: torch.randint(3, (2,), dtype=torch.float32),
    lambda: torch.randint(3, (2,), dtype=torch.int32),
    lambda: torch.randint(3, ()),
    lambda: torch.randint(3, (0,)),
    lambda: torch.randint(3, (2,), dtype=float),
    lambda: torch.randint(3, (2,), requires_grad=True),
    lambda: torch.randint_like(torch.ones(2), 3),
    lambda: torch.randint_like(torch.ones(2), 1, 3),
    lambda: torch.randint_like(torch.ones(2), low=1, high=3),
    lambda: torch.randint_like(torch.ones(2), high=3),
    lambda: torch.randint_like(torch.tensor(2), 3),
    lambda: torch.randn_like(torch.tensor(1.0)),
    lambda: torch.randn_like(torch.tensor(1.0, dtype=torch.float64)),
    lambda: torch.rand_like(torch.tensor(1.0)),
    lambda: torch.rand_like(torch.tensor(1.0, dtype=torch.float64)),
    lambda: torch.rand_like(torch.ones(2), dtype=torch.float64),
    lambda: torch.randn_like(torch.ones(2, dtype=torch.int64), dtype=torch.float32),
    lambda: torch.empty_like(torch.tensor(1.0)),
    lambda: torch.zeros_like(torch.tensor(1.0, dtype=torch.float64)),
    lambda: torch.ones_like(torch.tensor(True)),
    lambda: torch.full_like(torch.tensor(1.0), 2),
    lambda: torch.bernoulli(torch.tensor(0.5)),
    lambda: torch.bernoulli(torch.tensor(0.5, dtype=torch.float64)),
    lambda: torch.normal(torch.tensor(0.0), torch.tensor(1.0)),
    lambda: torch.normal(0.0, 1.0, ()),
    lambda: torch.normal(0.0, 1.0, size=(2,)),
    lambda: torch.normal(mean=torch.zeros(2), std=1.0),
    lambda: torch.normal(0.0, torch.ones(2)),
    lambda: torch.rand(size=(2,)),
    lambda: torch.rand([2]),
    lambda: torch.rand(()),
    lambda: torch.randn(size=[2, 3]),
    lambda: torch.randn(()),
    lambda: torch.randn(2, dtype=float),
    lambda: torch.randperm(n=3),
    lambda: torch.randperm(3, dtype=torch.int32),
    lambda: torch.randperm(0),
    lambda: torch.multinomial(input=torch.ones(3), num_samples=2),
    lambda: torch.tensor(1.0).normal_(),
    lambda: torch.tensor(1.0).uniform_(),
    lambda: torch.tensor(1.0, dtype=torch.float64).uniform_(),
    lambda: torch.tensor(1.0, dtype=torch.float64).normal_(),
    lambda: torch.tensor(1).random_(5),
    lambda: torch.tensor(1.0).random_(2, 5),
    lambda: torch.tensor(1.0).exponential_(),
    lambda: torch.tensor(1.0).bernoulli_(),
    lambda: torch.tensor(1.0).cauchy_(),
    lambda: torch.tensor(1.0).log_normal_(),
    lambda: F.dropout(torch.tensor(1.0), 0.5),
    lambda: F.dropout(torch.tensor(1.0, dtype=torch.float64), 0.5),
    lambda: F.rrelu(torch.tensor(-1.0), training=True),
    lambda: nn.init.normal_(torch.tensor(1.0)),
    lambda: nn.init.uniform_(torch.tensor(1.0, dtype=torch.float64)),
):
    try:
        y = call()
        print(tuple(y.shape), y.dtype, y.requires_grad)
    except Exception as error:
        print(f"{type(error).__name__}: {error}".partition("\n")[0])

# ---- dtypes given by Python's types
show(lambda: torch.zeros(2, dtype=float), lambda: torch.ones(2, dtype=int), lambda: torch.tensor([1, 0], dtype=bool))
show(lambda: torch.full((2,), 1, dtype=float), lambda: torch.empty(0, dtype=float), lambda: torch.eye(2, dtype=int))
show(lambda: torch.arange(3, dtype=float), lambda: torch.linspace(0, 1, 3, dtype=float), lambda: torch.logspace(0, 1, 2, dtype=float))
show(lambda: torch.tensor([1.5], dtype=int), lambda: torch.as_tensor([1], dtype=float), lambda: torch.asarray([1], dtype=float))
show(lambda: torch.ones(2).to(float), lambda: torch.ones(2).to(dtype=int), lambda: torch.ones(2).to(bool))
show(lambda: torch.ones(2).sum(dtype=float), lambda: torch.ones(2).mean(dtype=float), lambda: torch.ones(2).cumsum(0, dtype=int))
show(lambda: torch.ones(2).softmax(0, dtype=float), lambda: F.softmax(torch.ones(2), 0, dtype=float), lambda: torch.ones(2).prod(dtype=int))
show(lambda: torch.zeros_like(torch.ones(2), dtype=float), lambda: torch.ones(2).new_zeros(2, dtype=int))
show(lambda: torch.ones(2).new_tensor([1], dtype=float), lambda: torch.ones(2).new_full((2,), 1, dtype=bool))
show(lambda: torch.ones(1).log_softmax(0, dtype=float), lambda: torch.nansum(torch.ones(2), dtype=float))
show(lambda: torch.linalg.norm(torch.ones(2), dtype=float), lambda: torch.ones(2).cumprod(0, dtype=float))
show(lambda: torch.rand(2, dtype=float).dtype, lambda: torch.randint(2, (2,), dtype=int).dtype)
show(lambda: torch.finfo(torch.float64).eps, lambda: nn.Linear(2, 2, dtype=float).weight.dtype, lambda: torch.hann_window(3, dtype=float))
show(lambda: torch.ones(2).double() .to(torch.ones(1, dtype=int)), lambda: torch.tril_indices(2, 2, dtype=int))
show(lambda: torch.set_default_dtype(float), lambda: torch.get_default_dtype())
torch.set_default_dtype(torch.float32)
