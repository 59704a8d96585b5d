"""Linear algebra: values and errors as PyTorch prints them, derivatives against finite differences."""

import numpy as np
import pytest

import gradtrace as torch

RNG = np.random.default_rng(3)
L = torch.linalg


def matrix(*shape):
    """Well-conditioned where square."""
    a = RNG.normal(size=shape)
    return a + 3 * np.eye(*shape[-2:])


def positive(n, *batch):
    a = RNG.normal(size=(*batch, n, n))
    return a @ a.swapaxes(-1, -2) + np.eye(n)


def symmetric(x):
    return x @ x.mT + torch.eye(x.shape[-1], dtype=torch.float64)


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


@pytest.mark.parametrize(
    "name",
    [
        "inv",
        "det",
        "slogdet",
        "matrix_exp",
        "lu",
        "lu_factor",
        "qr",
        "pinv",
        "svdvals",
        "cond",
    ],
)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 2, 2)])
def test_functions_of_a_square_matrix(name, shape, derivatives):
    derivatives(lambda a: getattr(L, name)(a), matrix(*shape), tolerance=1e-4)


@pytest.mark.parametrize("name", ["lu", "lu_factor", "qr", "pinv", "svdvals", "cond"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (2, 3, 2)])
def test_functions_of_a_matrix(name, shape, derivatives):
    derivatives(lambda a: getattr(L, name)(a), matrix(*shape), tolerance=1e-4)


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 2, 3, 6])
def test_matrix_power(power, derivatives):
    a = matrix(3, 3)
    expected = np.linalg.matrix_power(a, power)
    np.testing.assert_allclose(L.matrix_power(torch.tensor(a), power).array, expected, rtol=1e-9)
    derivatives(lambda a: L.matrix_power(a, power), a / 3, tolerance=1e-4)


@pytest.mark.parametrize(
    ("a", "b", "left"),
    [
        ((3, 3), (3,), True),
        ((3, 3), (3, 2), True),
        ((3, 3), (2, 3), False),
        ((2, 3, 3), (2, 3), True),
        ((2, 3, 3), (3, 2), True),
        ((3, 3), (2, 3, 2), True),
    ],
)
def test_solve(a, b, left, derivatives):
    derivatives(lambda x, y: L.solve(x, y, left=left), matrix(*a), RNG.normal(size=b))


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(
    ("a", "b", "left"),
    [
        ((3, 3), (3, 2), True),
        ((3, 3), (2, 2, 3), False),
        ((2, 3, 3), (3, 2), True),
    ],
)
def test_solve_triangular(a, b, left, upper, unit, derivatives):
    derivatives(
        lambda x, y: L.solve_triangular(x, y, upper=upper, left=left, unitriangular=unit),
        matrix(*a),
        RNG.normal(size=b),
    )


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_family(upper, derivatives):
    derivatives(lambda x: L.cholesky(symmetric(x), upper=upper), matrix(3, 3), tolerance=1e-5)
    derivatives(lambda x: torch.cholesky(symmetric(x), upper), matrix(2, 2, 2), tolerance=1e-5)
    triangle = torch.triu if upper else torch.tril
    derivatives(lambda x: torch.cholesky_inverse(triangle(x), upper), matrix(3, 3), tolerance=1e-5)
    derivatives(
        lambda b, x: torch.cholesky_solve(b, triangle(x), upper),
        RNG.normal(size=(3, 2)),
        matrix(3, 3),
        tolerance=1e-5,
    )


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_the_older_triangular_solve(upper, transpose, derivatives):
    derivatives(
        lambda b, x: torch.triangular_solve(b, x, upper, transpose),
        RNG.normal(size=(3, 2)),
        matrix(3, 3),
    )


def test_eigenvalues_and_vectors(derivatives):
    derivatives(lambda x: L.eigvalsh(symmetric(x)), matrix(3, 3), tolerance=1e-4)
    derivatives(
        lambda x: [part**2 for part in L.eigh(symmetric(x))], matrix(2, 3, 3), tolerance=1e-4
    )
    a = torch.tensor(positive(4))
    values, vectors = L.eigh(a)
    np.testing.assert_allclose(((vectors * values) @ vectors.mT).array, a.array, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_singular_vectors(shape, derivatives):
    def invariant(a):
        u, s, vh = L.svd(a, full_matrices=False)
        return u**2, s, vh**2, u @ (s.unsqueeze(-1) * vh)

    derivatives(invariant, matrix(*shape), tolerance=1e-4)
    derivatives(lambda a: torch.svd(a)[2] ** 2, matrix(*shape), tolerance=1e-4)


def test_repeated_values_have_gradients_as_long_as_no_vector_is_asked_for():
    a = torch.eye(3, dtype=torch.float64).requires_grad_()
    L.eigvalsh(a).sum().backward()
    L.svdvals(a).sum().backward()
    assert a.grad.tolist() == (2 * np.eye(3)).tolist()
    zero = torch.zeros(2, 2, requires_grad=True)
    L.matrix_norm(zero, "nuc").backward()
    assert bool(zero.grad.isfinite().all())


@pytest.mark.parametrize(
    "values",
    [
        [[1.0, 2.0], [2.0, 4.0]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ],
)
def test_the_determinant_of_a_singular_matrix(values):
    """PyTorch gives zeros, unless the pass is recorded: then the cofactors."""
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (plain,) = torch.autograd.grad(L.det(x), x)
    assert not bool(plain.any())
    (recorded,) = torch.autograd.grad(L.det(x), x, create_graph=True)
    a = np.array(values)
    for i, j in np.ndindex(a.shape):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        assert recorded[i, j].item() == pytest.approx((-1) ** (i + j) * np.linalg.det(minor))


def test_large_determinants():
    a = matrix(40, 40)
    assert L.det(torch.tensor(a)).item() == pytest.approx(np.linalg.det(a))
    assert L.slogdet(torch.tensor(a))[1].item() == pytest.approx(np.linalg.slogdet(a)[1])


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve(left, adjoint, derivatives):
    def solved(a, b):
        return L.lu_solve(*L.lu_factor(a), b, left=left, adjoint=adjoint)

    a, b = RNG.normal(size=(2, 3, 3)), RNG.normal(size=(3, 3))
    turned = a.swapaxes(-1, -2) if adjoint else a
    x = solved(torch.tensor(a), torch.tensor(b)).array
    np.testing.assert_allclose(
        turned @ x if left else x @ turned, np.broadcast_to(b, x.shape), atol=1e-9
    )
    derivatives(solved, a, b, tolerance=1e-4)
    derivatives(lambda a: torch.lu_unpack(*L.lu_factor(a)), RNG.normal(size=(3, 4)), tolerance=1e-4)


@pytest.mark.parametrize("driver", ["gelsy", "gelsd"])
@pytest.mark.parametrize(
    ("a", "b"), [((4, 2), (4, 1)), ((4, 2), (4,)), ((2, 4), (2, 3)), ((2, 4, 2), (2, 4, 1))]
)
def test_least_squares(a, b, driver, derivatives):
    derivatives(
        lambda x, y: L.lstsq(x, y, driver=driver)[:2],
        matrix(*a),
        RNG.normal(size=b),
        tolerance=1e-4,
    )


OTHERS = {
    "tensorinv": (lambda a: L.tensorinv(a, ind=1), (4, 2, 2)),
    "tensorsolve": (lambda a, b: L.tensorsolve(a, b), (2, 2, 4), (2, 2)),
    "vander": (lambda a: L.vander(a, N=4), (3,)),
    "torch.vander": (lambda a: torch.vander(a), (3,)),
    "vecdot": (lambda a, b: L.vecdot(a, b, dim=0), (2, 3), (2, 3)),
    "multi_dot": (lambda *t: L.multi_dot(t), (3,), (3, 4), (4, 5), (5, 2)),
    "chain_matmul": (lambda *t: torch.chain_matmul(*t), (2, 3), (3, 4), (4, 2)),
    "householder_product": (lambda a, tau: L.householder_product(a, tau), (4, 3), (2,)),
    "batched householder": (lambda a, tau: torch.orgqr(a, tau), (2, 3, 2), (2, 2)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name, derivatives):
    function, *shapes = OTHERS[name]
    values = [RNG.normal(size=shape) for shape in shapes]
    if name.startswith("tensor"):
        values[0] = (np.eye(4) * 3 + RNG.normal(size=(4, 4))).reshape(shapes[0])
    derivatives(function, *values, tolerance=1e-5)
