"""Every operator as a plan: what was made from one input is right for another, or was refused."""

import numpy as np
import pytest

import gradtrace as gt
from gradtrace import static
from gradtrace.batch.mapper import RowMap
from gradtrace.errors import UnsupportedError
from tests.ops import cases

CASES = [
    pytest.param(name, i, id=f"{name}-{i}")
    for name, found in cases.CASES.items()
    for i in range(len(found))
]


def first_result(function):
    """The operator as a function of named tensors with one floating result."""

    def run(**tensors):
        out = function(*tensors.values())
        outs = out if isinstance(out, (tuple, list)) else (out,)
        return next(t for t in outs if isinstance(t, gt.Tensor) and t.is_floating_point())

    return run


def eager(function, inputs):
    leaves = {name: gt.tensor(x, requires_grad=True) for name, x in inputs.items()}
    y = function(**leaves)
    grads = (
        gt.autograd.grad(y.sum(), list(leaves.values()), allow_unused=True)
        if y.requires_grad
        else [None] * 9
    )
    zeros = [np.zeros(x.shape) for x in inputs.values()]
    return [
        y.detach().numpy(),
        *(z if g is None else g.numpy() for g, z in zip(grads, zeros, strict=False)),
    ]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_plan_is_right_for_other_inputs(name, case):
    function, *arrays = cases.CASES[name][case]
    run = first_result(function)
    rng = np.random.default_rng(3)
    inputs = {f"x{i}": np.array(a, np.float64) for i, a in enumerate(arrays)}
    # columns in another order: as regular as before, but the largest element is elsewhere
    others = {
        k: a[..., rng.permutation(a.shape[-1])] if a.ndim else np.array(a * 1.01)
        for k, a in inputs.items()
    }
    others = {
        k: np.array(a, order="C") for k, a in others.items()
    }  # random numbers follow the layout
    if name in (
        "linalg.cholesky",
        "cholesky_inverse",
        "linalg.eigh",
        "linalg.eigvalsh",
        "cholesky_solve",
    ):
        others = inputs
    try:
        want = [eager(run, inputs), eager(run, others)]
    except RuntimeError:
        others = inputs
        want = [eager(run, inputs), eager(run, inputs)]
    try:
        plan = static.optimise(static.trace(run, inputs))
    except UnsupportedError:
        return
    program = static.PlanProgram(plan)
    for given, expected in zip((inputs, others), want, strict=True):
        for got, right in zip(program(*given.values()), expected, strict=False):
            np.testing.assert_allclose(got, right, rtol=1e-10, atol=1e-12)
    rows = RowMap(plan)({k: np.stack([inputs[k], others[k]]) for k in inputs}, 2)
    for got, a, b in zip(rows.values(), *want, strict=False):
        np.testing.assert_allclose(got, np.stack([a, b]), rtol=1e-10, atol=1e-12)
