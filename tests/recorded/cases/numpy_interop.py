# ---- numpy scalars as operands
# library only
t = torch.tensor([1.0, 2.0], requires_grad=True)
i = torch.tensor([1, 2])
d = torch.tensor([1.0, 2.0], dtype=torch.float64)
s = torch.tensor(3.0)
for n in (np.float64(2.0), np.float32(2.0), np.int64(2), np.int32(2), np.bool_(True), np.float16(2), np.uint8(2)):
    print(type(n).__name__)
    show(lambda: n * t, lambda: t * n, lambda: n + i, lambda: i + n, lambda: n - d, lambda: d - n, lambda: n / t, lambda: t / n)
    show(lambda: n**t, lambda: t**n, lambda: n // t, lambda: t // n, lambda: n % t, lambda: t % n, lambda: n * s, lambda: s * n)
    show(lambda: n < t, lambda: t < n, lambda: n == t, lambda: t == n, lambda: n >= i, lambda: i >= n, lambda: n != t, lambda: t != n)
    show(lambda: n - i, lambda: n // i, lambda: n % i, lambda: n**i, lambda: i**n, lambda: n / i)

# ---- methods and functions that take numpy scalars
# library only
t = torch.tensor([1.0, 2.0])
i = torch.tensor([1, 2])
for n in (np.float64(2.0), np.float32(2.0), np.int64(2), np.int32(2), np.bool_(True)):
    print(type(n).__name__)
    show(lambda: t.eq(n), lambda: t.ne(n), lambda: t.lt(n), lambda: t.ge(n), lambda: torch.eq(t, n), lambda: torch.gt(t, n))
    show(lambda: t.add(n), lambda: t.mul(n), lambda: t.sub(n), lambda: t.div(n), lambda: t.pow(n), lambda: torch.add(t, n))
    show(lambda: torch.pow(n, t), lambda: torch.pow(t, n), lambda: t.fmod(n), lambda: t.remainder(n), lambda: t.floor_divide(n))
    show(lambda: t.clamp(n), lambda: t.clamp(max=n), lambda: t.clamp_min(n), lambda: torch.where(t > 1, t, n), lambda: torch.where(t > 1, n, t))
    show(lambda: t.clone().fill_(n), lambda: t.clone().mul_(n), lambda: t.clone().add_(n), lambda: t.masked_fill(t > 1, n))
    show(lambda: t.lerp(t, n), lambda: t.add(t, alpha=n), lambda: torch.full_like(t, n), lambda: t.copysign(n), lambda: t.xlogy(n))
    show(lambda: i.add(n), lambda: i.mul(n), lambda: i.div(n), lambda: i.eq(n), lambda: i.bitwise_and(n), lambda: t.logical_and(t))
    show(lambda: F.leaky_relu(t, n), lambda: F.elu(t, n), lambda: F.threshold(t, n, n), lambda: F.pad(t, (1, 1), value=n))

# ---- numpy integers as dims and sizes
# library only
t = torch.tensor([1.0, 2.0])
for n in (np.int64(2), np.int32(2)):
    zero = n - n
    show(lambda: t.sum(zero), lambda: t[zero], lambda: t.reshape(n, 1), lambda: torch.zeros(n), lambda: t.repeat(n))
    show(lambda: t.unsqueeze(zero), lambda: t.view(1, n), lambda: t.narrow(0, 0, n), lambda: t.roll(n), lambda: t.topk(n).values)
    show(lambda: t.max(zero).values, lambda: t.squeeze(zero), lambda: t.std(zero), lambda: t.all(zero))
    show(lambda: t.flip(zero), lambda: t.roll(1, zero), lambda: t.repeat_interleave(n), lambda: t.softmax(zero))
    show(lambda: t.expand(n, 2), lambda: t.chunk(n), lambda: t.cumsum(zero), lambda: t.sort(zero).values, lambda: torch.eye(n))
    show(lambda: torch.stack([t, t], zero), lambda: torch.cat([t, t], zero), lambda: t.unfold(zero, n, 1), lambda: t.tile(n))
    show(lambda: F.one_hot(torch.tensor([1]), n + 1), lambda: F.pad(t, (n, 1)), lambda: t[:n])
    show(lambda: nn.Linear(n, n).weight.shape, lambda: nn.Conv1d(n, n, n).weight.shape, lambda: nn.Embedding(n, n).weight.shape)

# ---- assignments of numpy values
# library only
t = torch.zeros(3)
t[0] = np.float64(1.5)
show(lambda: t.__setitem__(slice(1, 3), np.array([2.0, 3.0])))
t[np.int64(2)] = np.int32(7)
print(t)
t[np.array([0, 1])] = np.float64(4)
print(t, t[np.array([True, False, True])], t[np.array([2, 0])], t[[np.int64(0)]])
t += np.float64(1)
t *= np.float32(2)
print(t)
a = np.zeros(3)
a[:] = t
a += t.numpy()
print(a, a.dtype)
a[0] = t[1]
print(a, float(t[0]), np.float64(t[0]), np.asarray(t), np.array(t, dtype=np.float64))

# ---- arrays as operands
# library only
t = torch.tensor([1.0, 2.0])
i = torch.tensor([1, 2])
for n in (np.array([3.0, 4.0]), np.array([3.0, 4.0], dtype=np.float32), np.array([3, 4]), np.array(3.0)):
    print(n.dtype)
    for x in (t, i):
        show(lambda: x * n, lambda: x + n, lambda: x - n, lambda: x / n, lambda: x @ n, lambda: x**n)
show(lambda: t.requires_grad_() * np.array([3.0, 4.0]))

# ---- numpy's functions of tensors
# library only
t = torch.tensor([0.5, 1.0])
i = torch.tensor([1, 2])
for f in (np.sin, np.exp, np.abs, np.negative, np.sqrt, np.isfinite, np.sign, np.floor, np.square, np.logical_not):
    show(lambda: (type(f(t)).__name__, f(t)), lambda: f(i))
show(lambda: np.add(t, t), lambda: np.add(t, 1), lambda: np.add(1, t), lambda: np.multiply(np.float64(2), t))
show(lambda: np.maximum(t, 0.7), lambda: np.less(t, 0.7), lambda: np.power(t, 2), lambda: np.divmod(t, 2), lambda: np.modf(t))
show(lambda: np.add.reduce(t), lambda: np.cumsum(t))
show(lambda: np.reshape(t, (2, 1)), lambda: np.transpose(t), lambda: np.squeeze(t), lambda: np.argmax(t))
show(lambda: np.dot(t, t), lambda: np.matmul(t, t), lambda: np.concatenate([t, t]), lambda: np.stack([t, t]), lambda: np.where(t > 0.7, t, 0))
show(lambda: np.clip(t, 0.6, 0.9), lambda: np.round(t), lambda: np.array([t, t]), lambda: np.asarray(t), lambda: np.zeros_like(t))
show(lambda: np.shape(t), lambda: np.ndim(t), lambda: np.allclose(t, t), lambda: np.array_equal(t, t))
show(lambda: np.isscalar(t[0]), lambda: np.sin(torch.tensor(0.5)), lambda: np.sin(torch.tensor(0.5, dtype=torch.float64)))
show(lambda: np.sin(t.requires_grad_()), lambda: np.float64(2) * torch.tensor(2.0, dtype=torch.float64), lambda: np.copysign(t, -1))

# ---- arrays of tensors
# library only
t = torch.tensor([0.5, 1.0])
print(t.__array__(), t.__array__(np.float64), t.__array_priority__)
show(lambda: np.array(t).dtype, lambda: np.asarray(t, dtype=np.int64), lambda: np.array(torch.tensor(1.5)), lambda: np.array(torch.tensor(True)))
n = np.asarray(t)
n[0] = 9
print(t)
show(lambda: t.__array_wrap__(np.array([1.0, 2.0])), lambda: t.__array_wrap__(np.array([True, False])))

# ---- numpy() of tensors that require grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
show(lambda: x.numpy(), lambda: y.numpy(), lambda: x.numpy(force=True), lambda: x.detach().numpy())
with torch.no_grad():
    show(lambda: x.numpy(), lambda: y.numpy(), lambda: x[:1].numpy(), lambda: torch.tensor(1.0, requires_grad=True).numpy())
with torch.inference_mode():
    show(lambda: x.numpy())
with torch.set_grad_enabled(False):
    show(lambda: y.numpy())
show(lambda: x.tolist(), lambda: y.tolist(), lambda: x.sum().item())

# ---- memory that numpy() of a tensor that requires grad shares
# library only
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
with torch.no_grad():
    x.numpy()[0] = 5.0
    print(x, y)
    show(lambda: np.asarray(x), lambda: x.__array__(), lambda: np.array(x))
show(lambda: np.asarray(x), lambda: x.__array__(), lambda: np.array(y))

# ---- optimisers and layers with numpy's numbers
# library only
for n in (np.float64(0.5), np.float32(0.5)):
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.Adadelta):
        p = nn.Parameter(torch.tensor([1.0, 2.0]))
        optimizer = make([p], lr=n)
        for _ in range(2):
            optimizer.zero_grad()
            (p**2).sum().backward()
            optimizer.step()
        print(make.__name__, p.dtype, [v.hex() for v in p.tolist()])
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    show(lambda: F.leaky_relu(x, n), lambda: F.smooth_l1_loss(x, x * 0, beta=n), lambda: F.layer_norm(x, (2,), eps=n), lambda: F.celu(x, n))
    show(lambda: F.softplus(x, n, n), lambda: F.hardtanh(x, -n, n), lambda: torch.addcmul(x, x, x, value=n), lambda: torch.lerp(x, x * 2, n))
    show(lambda: x.norm(n + 1), lambda: torch.quantile(x, n), lambda: nn.Threshold(n, n)(x), lambda: torch.rsub(x, n), lambda: torch.float_power(x, n))
