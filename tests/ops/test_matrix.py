"""Products: values, names and errors as PyTorch prints them, derivatives against finite differences."""

import numpy as np
import pytest

import gradtrace as torch

RNG = np.random.default_rng(2)


def arrays(*shapes):
    return [RNG.normal(size=shape) for shape in shapes]


def test_prints_what_pytorch_prints(expression, printed, printed_by_gradtrace):
    assert printed_by_gradtrace(expression) == printed


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (4, 3, 2)),
        ((2, 2, 3), (2, 3, 2)),
        ((1, 2, 3), (2, 3, 2)),
        ((2, 2, 3), (1, 3, 2)),
        ((2, 1, 2, 3), (3, 3, 2)),
        ((2, 2, 3), (3,)),
        ((3,), (2, 3, 2)),
        ((2, 0), (0, 2)),
    ],
)
def test_matmul(shapes, derivatives):
    left, right = arrays(*shapes)
    derivatives(lambda a, b: a @ b, left, right)
    np.testing.assert_allclose((torch.tensor(left) @ torch.tensor(right)).array, left @ right)
    derivatives(lambda a: a @ torch.tensor(right), left)
    derivatives(lambda b: torch.tensor(left) @ b, right)


PRODUCTS = {
    "mm": (lambda a, b: torch.mm(a, b), (2, 3), (3, 2)),
    "mv": (lambda a, b: torch.mv(a, b), (2, 3), (3,)),
    "dot": (lambda a, b: torch.dot(a, b), (3,), (3,)),
    "vdot": (lambda a, b: torch.vdot(a, b), (3,), (3,)),
    "bmm": (lambda a, b: torch.bmm(a, b), (2, 2, 3), (2, 3, 2)),
    "outer": (lambda a, b: torch.outer(a, b), (2,), (3,)),
    "inner": (lambda a, b: torch.inner(a, b), (2, 3), (4, 3)),
    "inner scalar": (lambda a, b: torch.inner(a, b), (), (2, 3)),
    "kron": (lambda a, b: torch.kron(a, b), (2, 2), (3,)),
    "cross": (lambda a, b: torch.cross(a, b, dim=1), (2, 3), (1, 3)),
    "cdist": (lambda a, b: torch.cdist(a, b), (2, 3), (4, 3)),
    "cdist 1": (lambda a, b: torch.cdist(a, b, p=1), (2, 2, 3), (4, 3)),
    "tensordot": (lambda a, b: torch.tensordot(a, b, ([1, 2], [1, 0])), (2, 3, 4), (4, 3, 2)),
    "tensordot all": (lambda a, b: torch.tensordot(a, b, 2), (2, 3), (2, 3)),
    "tensordot one": (lambda a, b: torch.tensordot(a, b, ([1], [0])), (2, 1), (3, 2)),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.7), (2, 3), (3,)),
    "linear": (lambda a, b: torch.nn.functional.linear(a, b), (2, 2, 3), (4, 3)),
}
TERNARY = {
    "addmm": ((2,), (2, 3), (3, 2)),
    "addmv": ((), (2, 3), (3,)),
    "addr": ((2, 3), (2,), (3,)),
    "addbmm": ((2, 5), (3, 2, 4), (3, 4, 5)),
    "baddbmm": ((2, 5), (3, 2, 4), (3, 4, 5)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, derivatives):
    function, *shapes = PRODUCTS[name]
    if name.startswith("cdist"):  # its backward has no derivative, as in PyTorch
        tensors = [torch.tensor(a, requires_grad=True) for a in arrays(*shapes)]
        assert torch.autograd.gradcheck(function, tensors)
        return
    derivatives(function, *arrays(*shapes), tolerance=1e-5)


@pytest.mark.parametrize("name", TERNARY)
@pytest.mark.parametrize("factors", [{}, {"beta": 0.5, "alpha": 2.0}, {"beta": 0}])
def test_added_products(name, factors, derivatives):
    derivatives(lambda *t: getattr(torch, name)(*t, **factors), *arrays(*TERNARY[name]))
    whole = getattr(torch, name)(*map(torch.tensor, arrays(*TERNARY[name]))).shape
    first, *rest = arrays(tuple(whole), *TERNARY[name][1:])
    derivatives(lambda a, b, c: getattr(a * 2, name + "_")(b, c, **factors), first, *rest)


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_pointwise_ternary(name, derivatives):
    a, b, c = arrays((2, 3), (3,), (2, 1))
    derivatives(lambda *t: getattr(torch, name)(*t, value=2.5), a, b, np.abs(c) + 1)
    derivatives(lambda a, b, c: getattr(a * 1, name + "_")(b, c), a, b, np.abs(c) + 1)
    derivatives(lambda a, b, c: torch.lerp(a, b, c), a, b, c)


EQUATIONS = [
    "ij,jk->ik",
    "ij,ij->",
    "ij->ji",
    "ij->",
    "i,j->ij",
    "ij,j->i",
    "ij,kj->ik",
    "bi,bi->b",
    "i,ij,j->",
    "ij,jk,kl->il",
    "bij,bjk->bik",
    "bhid,bhjd->bhij",
    "i,i->i",
    "ijk->ik",
    "ij,jk->k",
    "i,j,k->kji",
    "ij,k->ij",
    "ij,jk",
]
SIZES = {"i": 2, "j": 3, "k": 4, "l": 2, "b": 2, "h": 1, "d": 3}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation, derivatives):
    shapes = [tuple(SIZES[c] for c in part) for part in equation.partition("->")[0].split(",")]
    values = arrays(*shapes)
    expected = np.einsum(equation, *values)
    np.testing.assert_allclose(torch.einsum(equation, *map(torch.tensor, values)).array, expected)
    derivatives(lambda *t: torch.einsum(equation, *t), *values)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ii->i", ((3, 3),)),
        ("ii->", ((3, 3),)),
        ("iji->j", ((2, 3, 2),)),
        ("...ij,...jk->...ik", ((2, 1, 3, 4), (3, 4, 5))),
        ("b...,b...->...", ((2, 3), (2, 1))),
        ("ij...->...", ((2, 3, 4),)),
        ("ijij->", ((2, 3, 2, 3),)),
        ("ij,jk->ik", ((2, 1), (3, 4))),
        ("i,->i", ((3,), ())),
    ],
)
def test_einsum_with_diagonals_and_broadcasting(equation, shapes, derivatives):
    derivatives(lambda *t: torch.einsum(equation, *t), *arrays(*shapes))
