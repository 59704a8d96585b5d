"""Random programs on random and on odd numbers: a plan has the engine's bits, by rows and on whole arrays."""

import math
import random

import numpy as np
import pytest

import gradtrace as gt
from gradtrace import static
from gradtrace.batch.mapper import RowMap

F = gt.nn.functional
ONE = [
    gt.exp,
    gt.log,
    gt.sin,
    gt.sqrt,
    gt.abs,
    gt.tanh,
    gt.sigmoid,
    gt.relu,
    gt.erf,
    gt.neg,
    gt.square,
    gt.atan,
    gt.log1p,
    gt.expm1,
    gt.reciprocal,
    gt.rsqrt,
    gt.sign,
    gt.floor,
    gt.round,
    gt.erfc,
    gt.cosh,
    F.softplus,
    F.gelu,
    F.silu,
    F.elu,
    F.leaky_relu,
    lambda a: a**0.5,
    lambda a: a**3,
    lambda a: a**-1,
    lambda a: 1 / a,
    lambda a: 2 - a,
    lambda a: a * 1,
    lambda a: a / 4,
    lambda a: -a,
    lambda a: a - 0.0,
    lambda a: a + 0,
    lambda a: gt.clamp(a, -1, 1),
    lambda a: 2**a,
    lambda a: a % 2,
]
TWO = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a**b,
    gt.maximum,
    gt.minimum,
    gt.atan2,
    gt.fmod,
    lambda a, b: gt.where(a > b, a, b),
    lambda a, b: gt.where(a < 0, b, a * b),
]
ODD = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    math.inf,
    -math.inf,
    math.nan,
    1e300,
    -1e-308,
    3.7,
    -2.5,
    0.3,
    -0.7,
]
SHAPES = [
    ((80, 90), (80, 90)),
    ((80, 90), (90,)),
    ((80, 90), ()),
    ((70, 1), (1, 80)),
    ((9000,), (9000,)),
]


def tree(chance, depth):
    if depth == 0 or chance.random() < 0.1:
        return chance.choice(["x", "w", "x", "w", chance.choice([0.0, 1.0, 2.0, -1.5, 0.5])])
    if chance.random() < 0.45:
        return (chance.choice(ONE), tree(chance, depth - 1))
    return (chance.choice(TWO), tree(chance, depth - 1), tree(chance, depth - 1))


def function_of(node):
    def value(node, x, w):
        if isinstance(node, str):
            return x if node == "x" else w
        if isinstance(node, float):
            return gt.tensor(node, dtype=gt.float64)
        return node[0](*(value(part, x, w) for part in node[1:]))

    return lambda x, w: value(node, x, w) + 0 * x


def eager(function, x, w):
    leaves = [
        gt.tensor(v, requires_grad=True)
        if np.ndim(v)
        else gt.tensor(float(v), dtype=gt.float64).requires_grad_()
        for v in (x, w)
    ]
    y = function(*leaves)
    grads = gt.autograd.grad(y.sum(), leaves, materialize_grads=True, create_graph=True)
    return [y.detach().numpy(), *(g.detach().numpy() for g in grads)]


def same(a, b):
    nan = np.isnan(a) & np.isnan(b)
    return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | nan).all())


@pytest.mark.parametrize("seed", range(60))
def test_by_rows(seed):
    function = function_of(tree(random.Random(seed), 4))
    plan = static.optimise(static.trace(function, {"x": 1.3, "w": 0.7}))
    mapped = RowMap(plan, block=50)
    x, w = np.array([a for a in ODD for _ in ODD]), np.array([b for _ in ODD for b in ODD])
    columns = mapped({"x": x, "w": w}, len(x), threads=1 + seed % 2)
    for got, want in zip(columns.values(), eager(function, x, w), strict=True):
        assert same(got, want)


@pytest.mark.parametrize("seed", range(60))
def test_on_whole_arrays(seed):
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    function, shapes = function_of(tree(chance, 4)), chance.choice(SHAPES)
    x, w = (rng.normal(size=shape) for shape in shapes)
    program = static.PlanProgram(static.optimise(static.trace(function, {"x": x, "w": w})))
    x, w = (rng.choice(ODD, size=shape) for shape in shapes)
    for got, want in zip(program(x, w), eager(function, x, w), strict=True):
        assert same(got, want)
