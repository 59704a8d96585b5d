"""Numbers that numpy gives: their text, arithmetic and methods, and what PyTorch makes of them."""
import copy
import json
import math

import numpy as np
import torch

a, n = np.array([1.5, 2.5, 3.0]), np.array([1, 2, 3])
x, i = a[1], n[1]
print([x, i], x, i, f"{x:.3f} {i:03d} {x} {i}", "%d %.2f %s %r" % (i, x, x, i), repr(i), {i: x}, (x,))
for y in (2, x, i):
    print([x + y, x - y, x * y, x / y, x // y, x % y, x**y, i + y, i - y, i * y, i / y, i // y, i % y, i**y])
    print([y + x, y - x, y * x, y / x, y // x, y % x, y**x, y + i, y - i, y * i, y / i, y // i, y % i, y**i])
print([-x, +x, abs(x), -i, abs(-i), ~i, round(x), round(x, 1), round(i), divmod(x, 2), divmod(i, 2)])
print([i & 3, i | 4, i ^ 1, i << 2, i >> 1], x == 2.5, x > 1, i != 2, x < i, 3 == i + 1)
print([1, 2, 3][i], [1, 2, 3][:i], list(range(i)), n[i], a[:i], "ab" * i, [0] * i, {2: "a"}[i])
print(math.sqrt(x), math.floor(x), int(x), float(i), bool(x), max(a), min(n), sum(a), sorted(a, reverse=True))
print(list(a), list(n), a.tolist(), dict(zip(n, a)), set(n), [*map(str, a)], [v**2 for v in a])
print(x.dtype, i.dtype, x.shape, x.ndim, x.size, x.item(), [i.item()], [x.astype(int), i.astype(np.float32)])
print(x.round(), x.mean(), [x.tolist()], isinstance(x, float), isinstance(i, int), type(x), type(i).__name__)
print(np.float64(1) / 0, np.float64(0) / 0, np.int64(2) ** 62 * 2, [np.mean(a), np.argmax(a), np.std(a), np.sqrt(2)])
print(json.dumps({"a": x}), [copy.deepcopy(x)], np.allclose(x, 2.5), x in [2.5], x in a)
print([np.max(n), np.float32(2) * x, np.float32(2) * 2, i * np.float32(1.5), np.int32(3) + i, a * x, a + i, i - a])
print(np.linspace(0, 1, i), np.zeros(i), np.arange(i), np.full(i, x), np.array([x, i, 1]), [a @ a, a.max(), n.sum()])

t = torch.ones(2)
print([torch.tensor(x), torch.tensor([x, 1]), torch.tensor(i), torch.tensor([x, i]), torch.full((2,), x)])
print([t * x, x * t, t + i, i - t, t**x, x / t, t.clamp(max=x), torch.as_tensor(x), t[i - 1], torch.arange(i)])
print(np.sin(t), np.isfinite(t), np.add(t, 1), np.exp(torch.tensor(0.5)))
optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=x)
print([optimizer.param_groups[0]["lr"]], torch.nn.Linear(i, i), torch.randn(i, 3).shape)
losses = []
for k in range(3):
    losses.append(np.mean([k, k + 1]))
print(losses, np.mean(losses))
for attempt in (
    lambda: np.ones(2) + t,
    lambda: np.ones(2) - t,
    lambda: np.ones(2) * t,
    lambda: np.ones(2) @ t,
    lambda: np.ones(2) ** t,
    lambda: np.ones(2) < t,
    lambda: t + np.ones(2),
):
    try:
        print(attempt())
    except TypeError as error:
        print(error)
