# numpy's functions, random numbers and print options beside tensors
import numpy as np, torch
from numpy.linalg import inv

print(np.zeros(torch.ones(2, 3).shape), np.ones(torch.ones(2, 3).size()).shape)
U, S, V = np.linalg.svd(np.eye(2))
print(S)
r = np.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
print(r.eigenvalues, r[1].shape)
print(np.linalg.qr(np.eye(2)).R)
np.set_printoptions(precision=3, suppress=True)
print(np.array([1.23456789, 1e-5]))
print(torch.tensor([1.23456789]).numpy())
np.set_printoptions(precision=8, suppress=False)
rng = np.random.default_rng(3)
print(rng.normal(size=3), rng.integers(0, 10, 4), rng.random(2), rng.permutation(4))
rs = np.random.RandomState(1)
print(rs.rand(2), rs.randn(2), rs.randint(0, 5, 3))
np.random.seed(0)
print(
    np.random.binomial(10, 0.5, 3),
    np.random.beta(1, 2, 2),
    np.random.poisson(3.0, 2),
    np.random.multivariate_normal(np.zeros(2), np.eye(2), 2),
)
s = np.random.get_state()
a = np.random.rand(2)
np.random.set_state(s)
print(a == np.random.rand(2))
print(np.c_[np.ones(2), np.zeros(2)], np.r_[1, 2, np.arange(2)], np.r_[0:3])
print(np.finfo(np.float32).eps, np.iinfo(np.int32).max, np.vectorize(lambda x: x * 2)(np.arange(3)))
np.testing.assert_allclose(np.ones(2), np.ones(2) + 1e-9)
try:
    np.testing.assert_array_equal(np.ones(2), np.zeros(2))
except AssertionError as e:
    print("failed")
print(
    np.histogram(np.arange(5.0), bins=2),
    np.polyfit(np.arange(3.0), np.arange(3.0) * 2, 1).round(6),
    np.interp(0.5, [0, 1], [0, 2]),
    np.pad(np.ones(2), 1),
    np.bincount(np.array([0, 1, 1])),
    np.percentile(np.arange(5.0), 50),
    np.array_split(np.arange(5), 2),
    np.gradient(np.arange(3.0) ** 2),
    np.nan_to_num(np.array([np.nan, 1.0])),
    np.nextafter(1.0, 2.0),
)
x = np.arange(6).reshape(2, 3)
print(x.nbytes, x.itemsize, x.take([0, 1]), x.trace())
print(
    torch.tensor([1.0, 2.0]) == np.array([1.0, 3.0]),
    (np.array([1.0, 3.0]) == torch.tensor([1.0, 2.0])).sum(),
    torch.tensor([1.0, 2.0]) * np.array([1.0, 3.0]),
)
print(torch.FloatTensor([np.ones(2), np.zeros(2)]), torch.tensor(np.array([np.ones(2), np.zeros(2)])))
print(len(np.__version__) > 3, np.__version__.split(".")[0], np.array2string(np.ones(2), separator=", "))
