# numpy, as scripts around PyTorch use it
import numpy as np
a = np.array([1.0, 2.0, 3.0])
print(a, a.shape, a.dtype, a.ndim, a.size, len(a), repr(a), a.sum(), a.mean(), a.max(), a[0], a[1:], a[-1], a[[0, 2]], a[a > 1])
b = np.arange(6).reshape(2, 3)
print(b, b.T, b.sum(axis=0), b.sum(1), b @ b.T, b[1, 2], b[:, 1], b[0].tolist(), b * 2 + 1, -b, b ** 2, 1 / (b + 1), b % 2 == 0, b.astype(np.float32) / 3)
print(np.sin(a), np.exp(0.0), np.sqrt(a), np.square(a).sum(), np.dot(a, a), np.linspace(0, 1, 3), np.zeros((2, 2)), np.ones(2, dtype=np.int64), np.pi, np.allclose(a, [1, 2, 3]), np.maximum(a, 2), np.where(a > 1, a, 0), np.concatenate([a, a]), np.stack([a, a]), np.eye(2), np.linalg.norm(a))
a[0] = 10
a += 1
c = a
c *= 2
print(a, c is a, a.copy(), a.std(), a.argmax(), float(a[0]), int(a[1]), 22.0 in a, isinstance(a, np.ndarray), type(a), a.dtype == np.float64)
np.random.seed(0)
print(np.random.rand(2), np.random.randn(2, 2), np.random.randint(0, 10, 3), np.random.uniform(), np.random.normal(0, 1, size=2), np.random.choice([1, 2, 3], 2), np.random.permutation(4))
x = np.linspace(-np.pi, np.pi, 200)
y = np.sin(x)
w = [np.random.randn() for _ in range(4)]
for t in range(20):
    pred = w[0] + w[1] * x + w[2] * x ** 2 + w[3] * x ** 3
    loss = np.square(pred - y).sum()
    grad = 2.0 * (pred - y)
    g = [grad.sum(), (grad * x).sum(), (grad * x ** 2).sum(), (grad * x ** 3).sum()]
    w = [p - 1e-6 * q for p, q in zip(w, g)]
print(f"{loss:.6f} {w[0]:.4f}", np.float32(0.1), np.round(1.23456, 2), np.array([1, 2]).dtype, np.array([[True]]).dtype)
try: a[10]
except IndexError as err: print(err)
try: np.array([1, 2]) + np.array([1, 2, 3])
except ValueError as err: print(err)
try: a.nope
except AttributeError as err: print(err)
