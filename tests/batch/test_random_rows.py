"""Random programs on columns of numbers, vectors and matrices: each row is what a run on that row alone gives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradtrace as gt
from gradtrace import static
from gradtrace.batch.mapper import RowMap
from gradtrace.errors import UnsupportedError

F = gt.nn.functional
ONE = {
    "sum": gt.sum,
    "sum 0": lambda a: a.sum(0),
    "sum -1": lambda a: a.sum(-1, keepdim=True),
    "mean": gt.mean,
    "mean 0": lambda a: a.mean(0),
    "var": lambda a: a.var(),
    "std -1": lambda a: a.std(-1),
    "norm": lambda a: a.norm(),
    "prod 0": lambda a: a.prod(0),
    "max": lambda a: a.max(),
    "median": lambda a: a.median(),
    "amin 0": lambda a: a.amin(0),
    "logsumexp": lambda a: gt.logsumexp(a, -1),
    "softmax": lambda a: gt.softmax(a, -1),
    "log_softmax": lambda a: gt.log_softmax(a, 0),
    "cumsum": lambda a: a.cumsum(0),
    "cumprod": lambda a: a.cumprod(-1),
    "flip": lambda a: a.flip(0),
    "sort": lambda a: a.sort(-1)[0],
    "t": lambda a: a.t(),
    "unsqueeze": lambda a: a.unsqueeze(0),
    "squeeze": lambda a: a.squeeze(),
    "first": lambda a: a[0],
    "slice": lambda a: a[..., 1:],
    "turn": lambda a: a.reshape(-1),
    "expand": lambda a: a.expand(2, *a.shape),
    "repeat": lambda a: a.repeat(2),
    "tril": lambda a: a.tril(),
    "roll": lambda a: a.roll(1, 0),
    "layer_norm": lambda a: F.layer_norm(a, a.shape[-1:]),
    "exp": lambda a: (a * 0.3).exp(),
    "tanh": gt.tanh,
    "sigmoid": gt.sigmoid,
    "relu": gt.relu,
    "erf": gt.erf,
    "abs": gt.abs,
    "log1p": lambda a: (a * a).log1p(),
    "sqrt": lambda a: (a * a + 1).sqrt(),
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "gelu": F.gelu,
    "softplus": F.softplus,
    "clamp": lambda a: a.clamp(-1, 1),
    "where": lambda a: gt.where(a > 0, a, a * 0.1),
    "fill": lambda a: a.masked_fill(a > 0.5, 2.0),
    "prod": lambda a: a.prod(),
    "minus": lambda a: 1 - a,
    "over": lambda a: a / 4,
    "constant": lambda a: a * gt.tensor([1.0, -2.0, 3.0], dtype=gt.float64),
    "index": lambda a: a[[0, -1]],
    "gather": lambda a: a.index_select(0, gt.tensor([0, 0])),
    "detach": lambda a: a.detach(),
}
TWO = {
    "add": gt.add,
    "sub": gt.sub,
    "mul": gt.mul,
    "div": lambda a, b: a / (b * b + 1),
    "maximum": gt.maximum,
    "atan2": gt.atan2,
    "matmul": gt.matmul,
    "dot": gt.dot,
    "outer": gt.outer,
    "cat": lambda a, b: gt.cat([a, b]),
    "stack": lambda a, b: gt.stack([a, b]),
    "mse": F.mse_loss,
    "linear": lambda a, b: F.linear(a, b),
    "einsum": lambda a, b: gt.einsum("i,ji->j", a, b),
    "choose": lambda a, b: gt.where(a > b, a, b),
    "cosine": lambda a, b: F.cosine_similarity(a, b, dim=0),
    "cdist": gt.cdist,
    "bmm": lambda a, b: gt.bmm(a.unsqueeze(0), b.t().unsqueeze(0)),
}
INPUTS = {"x": (3,), "w": (), "m": (2, 3)}
ROWS = 5
pytestmark = pytest.mark.filterwarnings("ignore")  # of shapes that one would not mean
Steps = st.lists(
    st.tuples(st.sampled_from([*ONE, *TWO]), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=7,
)


def kept_steps(steps):
    """The steps whose operands fit: the language's other errors are not what is tried here."""
    pool, kept = [gt.ones(shape, dtype=gt.float64) * 0.5 for shape in INPUTS.values()], []
    for name, i, j in steps:
        try:
            out = applied(pool, name, i, j)
        except (RuntimeError, IndexError, ValueError):
            continue
        if out.is_floating_point() and 0 < out.numel() < 200:
            pool.append(out)
            kept.append((name, i, j))
    return kept


def applied(pool, name, i, j):
    a, b = pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]
    return ONE[name](a) if name in ONE else TWO[name](a, b)


def program_of(steps):
    def run(x, w, m):
        pool = [x, w, m]
        for step in steps:
            pool.append(applied(pool, *step))
        return pool[-1] * w

    return run


def on_one_row(function, columns, row):
    leaves = [gt.tensor(c[row], dtype=gt.float64, requires_grad=True) for c in columns.values()]
    y = function(*leaves)
    grads = gt.autograd.grad(y.sum(), leaves, materialize_grads=True)
    return [y.detach().numpy(), *(g.numpy() for g in grads)]


@pytest.mark.slow
@settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
@given(steps=Steps, seed=st.integers(0, 2**16))
def test_rows_never_mix(steps, seed):
    function = program_of(kept_steps(steps))
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=(ROWS, *shape)) for name, shape in INPUTS.items()}
    try:
        plan = static.optimise(static.trace(function, {name: c[0] for name, c in columns.items()}))
    except UnsupportedError:
        return
    found = RowMap(plan, block=2)(columns, ROWS, threads=2)
    for row in range(ROWS):
        for (label, _), want in zip(plan.outputs, on_one_row(function, columns, row), strict=True):
            np.testing.assert_allclose(
                found[label][row], want, rtol=1e-9, atol=1e-11, err_msg=f"{label}, row {row}"
            )


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_each_of_them_is_tried(name):
    """No operator of the lists fails on every operand."""
    assert any(kept_steps([(name, i, j)]) for i in range(3) for j in range(3))
