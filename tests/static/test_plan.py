"""Plans: recorded once, made smaller without a change in any bit, run as floats, arrays and rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradtrace as gt
from gradtrace import static
from gradtrace.batch.mapper import RowMap
from gradtrace.errors import UnsupportedError

ODD = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, math.inf, -math.inf, math.nan, 1e308, -1e-308, 5e-324, 3.7]

FUNCTIONS = {
    "notes": lambda x, w: (x + w) * (w + 1),
    "identities": lambda x, w: (x * 1 + w / 1 - 0.0) * -1 + x.neg().neg() - (-w) / 4,
    "powers": lambda x, w: x**2 + w**1 + x**3 + w**0.5,
    "division": lambda x, w: (x / w) / (w / 2) + 1 / x,
    "exp": lambda x, w: gt.exp(-x * x) * gt.log(w) / (1 - w),
    "choice": lambda x, w: gt.where(x > w, x * w, w - x) + gt.relu(x) + gt.sigmoid(w),
    "erf": lambda x, w: gt.erf(x / w) + gt.tanh(x) * gt.erf(w),
    "clamp": lambda x, w: gt.clamp(x, -1, 1) * gt.maximum(x, w) - gt.minimum(x, 2 * w),
    "signs of zero": lambda x, w: (-x - w) * w + (x * 0 - w * 0) - (-w - x) / -x,
    "a number's power": lambda x, w: 2**x * gt.tensor(1.5, dtype=gt.float64) ** w,
    "unused": lambda x, w: x * x,
    "shared": lambda x, w: gt.sin(x + w) * gt.cos(w + x) + gt.sin(x + w),
}


def plan_of(function, order=1, **examples):
    return static.optimise(static.trace(function, examples, order))


def same(a, b):
    """Equal to the last bit; the sign of a NaN may differ."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    nan = np.isnan(a) & np.isnan(b)
    return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | nan).all())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_scalar_plan_gives_the_engines_bits(name, eager):
    function = FUNCTIONS[name]
    run = static.PlanProgram(plan_of(function, x=1.5, w=2.5))
    for x in ODD:
        for w in ODD:
            for got, want in zip(run(x, w), eager(function, x=x, w=w), strict=True):
                assert same(got, want), (x, w, got, want)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_give_the_engines_bits(name, threads, eager):
    function = FUNCTIONS[name]
    plan = plan_of(function, x=1.5, w=2.5)
    n = len(ODD) ** 2 * 50
    x, w = (
        np.array([a for a in ODD for _ in ODD] * 50),
        np.array([b for _ in ODD for b in ODD] * 50),
    )
    columns = RowMap(plan, block=1000)({"x": x, "w": w}, n, threads)
    for got, want in zip(columns.values(), eager(function, x=x, w=w), strict=True):
        assert same(got, want)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_give_the_engines_bits(name, eager):
    function = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    first = [rng.random((80, 90)), rng.random((80, 90))]
    run = static.PlanProgram(plan_of(function, x=first[0], w=first[1]))
    for _ in range(2):
        x, w = rng.normal(size=(80, 90)), rng.random((80, 90))
        for got, want in zip(run(x, w), eager(function, x=x, w=w), strict=True):
            assert same(got, want)


@given(st.floats(), st.floats())
def test_no_pass_changes_a_bit(x, w):
    for function in (FUNCTIONS["identities"], FUNCTIONS["division"], FUNCTIONS["powers"]):
        recorded = static.trace(function, {"x": 1.0, "w": 2.0})
        assert all(
            map(
                same,
                static.PlanProgram(static.optimise(recorded))(x, w),
                static.PlanProgram(recorded)(x, w),
            )
        )


def test_what_the_passes_remove_is_counted():
    recorded = static.trace(FUNCTIONS["shared"], {"x": 1.0, "w": 2.0})
    plan = static.optimise(recorded)
    assert len(plan.steps) < len(recorded.steps)
    counts = dict(plan.removed)
    assert counts["common subexpressions shared"] >= 3
    assert [s.op for s in plan.steps].count("sin") == 1


def test_fast_math_only_when_asked_for():
    recorded = static.trace(lambda x: x + 0 + x * 0 + x / 3, {"x": 1.0}, 0)
    exact, fast = static.optimise(recorded), static.optimise(recorded, fast=True)
    assert [s.op for s in exact.steps] == ["add", "mul", "add", "div", "add"]
    assert [s.op for s in fast.steps] == ["mul", "add"]


def test_second_derivatives():
    plan = plan_of(lambda x, w: x**3 * w, 2, x=2.0, w=5.0)
    assert [label for label, _ in plan.outputs] == [
        "y",
        "dy/dx",
        "dy/dw",
        "d2y/dx2",
        "d2y/dxdw",
        "d2y/dw2",
    ]
    assert static.PlanProgram(plan)(2.0, 5.0) == (40.0, 60.0, 8.0, 60.0, 12.0, 0.0)


def test_arrays_with_reductions_and_products(eager):
    def function(x, w, b):
        return ((x @ w + b).tanh() ** 2).mean(0).sum() + x.sum() * b

    rng = np.random.default_rng(1)
    made = {"x": rng.normal(size=(30, 4)), "w": rng.normal(size=(4, 200)), "b": np.float64(0.3)}
    run = static.PlanProgram(plan_of(function, **made))
    x = {"x": rng.normal(size=(30, 4)), "w": rng.normal(size=(4, 200)), "b": np.float64(-0.3)}
    for got, want in zip(run(*x.values()), eager(function, **x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_dtypes_and_casts():
    def function(x, k):
        return x * k + k / 2

    x, k = np.float32([1, 2, 3]), np.array([4, 5, 6])
    run = static.PlanProgram(plan_of(function, x=x, k=k))
    value, grad = run(x, k)
    assert value.dtype == np.float32 and grad.dtype == np.float32
    assert value.tolist() == [6, 12.5, 21] and grad.tolist() == [4, 5, 6]


def test_in_place_operations_and_constants():
    def function(x):
        total = gt.zeros(3, dtype=gt.float64)
        total += x
        total *= 3
        return total.sum() + gt.tensor([1.0, 2.0, 3.0]).double() @ x

    run = static.PlanProgram(plan_of(function, x=np.ones(3)))
    assert [np.asarray(v).tolist() for v in run(np.array([1.0, 2, 3]))] == [32.0, [4.0, 5.0, 6.0]]


def test_a_custom_function():
    class Double(gt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 2 + 0 * x * y

    run = static.PlanProgram(plan_of(lambda x: Double.apply(x) * x, x=3.0))
    assert run(5.0) == (50.0, 20.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x > 0 else -x,
        lambda x: x * float(x),
        lambda x: x * x.item(),
        lambda x: x * x.detach().numpy(),
        lambda x: gt.ones(5)[x.long()] * x,
    ],
)
def test_what_depends_on_a_value_is_refused(function):
    with pytest.raises(UnsupportedError, match="cannot be frozen"):
        static.trace(function, {"x": 2.0})


def test_random_numbers_are_refused():
    with pytest.raises(UnsupportedError, match="random"):
        static.trace(lambda x: x + gt.randn(1), {"x": 2.0})


def test_names_of_inputs_may_be_anything():
    plan = plan_of(lambda x, w: x * w, x=1.0, w=2.0)
    plan = plan._replace(
        inputs=(("__import__('os')", plan.inputs[0][1]), ("class", plan.inputs[1][1]))
    )
    assert static.PlanProgram(plan)(3.0, 4.0)[0] == 12.0


def test_built_once_run_many_times():
    run = static.PlanProgram(plan_of(FUNCTIONS["notes"], x=2.0, w=1.0))
    for k in range(100):
        assert run(float(k), 1.0)[0] == (k + 1) * 2
    assert (run.built, run.runs) == (1, 100)


def test_constants_changed_in_place():
    def function(x):
        scale = gt.ones(3, dtype=gt.float64)
        y = x + scale
        scale[1] = 5.0
        part = scale[1:]
        part *= 2
        return (y * scale).sum()

    run = static.PlanProgram(plan_of(function, x=np.ones(3)))
    assert [np.asarray(v).tolist() for v in run(np.array([1.0, 2, 3]))] == [40.0, [1.0, 10.0, 2.0]]


def test_writing_into_a_part_is_refused():
    def function(x):
        out = gt.zeros(2, dtype=gt.float64)
        out[0] = x
        return out.sum()

    with pytest.raises(UnsupportedError, match="in-place"):
        static.trace(function, {"x": 1.0})


def test_backward_within_the_program():
    def function(x):
        (x * x * x).sum().backward()
        first = x.grad.clone()
        (x * x).sum().backward()  # adds up
        return (x.grad * 2 + first).sum()

    leaf = {"x": np.array([1.0, 2.0])}
    run = static.PlanProgram(plan_of(function, 0, **leaf))
    assert run(np.array([1.0, 2.0]))[0] == 57.0 and run(np.array([3.0, 0.0]))[0] == 93.0


def test_grad_without_a_graph_of_its_own_is_constant_for_the_outer_gradient():
    def function(x):
        (slope,) = gt.autograd.grad(x * x * x, x)
        return slope * x

    assert static.PlanProgram(plan_of(function, x=2.0))(3.0) == (81.0, 27.0)


def test_a_stored_gradient_is_constant_for_the_outer_gradient():
    def function(x):
        (x * x * x).sum().backward()
        return x.grad * x

    assert static.PlanProgram(plan_of(function, x=2.0))(3.0) == (81.0, 27.0)


def test_an_optimiser_on_what_depends_on_an_input_is_refused():
    def function(x):
        w = gt.ones(2, dtype=gt.float64, requires_grad=True)
        optimiser = gt.optim.SGD([w], lr=0.1)
        (w * x).sum().backward()
        optimiser.step()
        return (w * x).sum()

    with pytest.raises(UnsupportedError, match="cannot be frozen"):
        static.trace(function, {"x": np.ones(2)})


def test_a_constant_that_gives_the_shape_stays(eager):
    def function(x, w):
        return (
            -x
            * gt.full((3, 4), 2.0, dtype=gt.float64)
            / gt.full((2, 3, 4), 4.0, dtype=gt.float64)
            * w
        ).sum()

    inputs = {"x": np.arange(4.0), "w": np.float64(3.0)}
    for got, want in zip(
        static.PlanProgram(plan_of(function, **inputs))(*inputs.values()),
        eager(function, **inputs),
        strict=True,
    ):
        np.testing.assert_array_equal(got, want)


def test_rows_that_are_the_same_for_all():
    """A result that no input reaches, two outputs that are one value, and an input as an output."""

    def function(x, w):
        total = gt.arange(70_000, dtype=gt.float64).sum()  # too large to be folded
        return x.t() + w + 0 * total

    columns = {"x": np.arange(12.0).reshape(2, 2, 3), "w": np.array([1.0, 2.0])}
    plan = static.optimise(static.trace(function, {"x": np.ones((2, 3)), "w": 1.0}, order=0))
    found = RowMap(plan)(columns, 2)["y"]
    assert found.tolist() == [(columns["x"][i].T + columns["w"][i]).tolist() for i in range(2)]
    plan = static.optimise(static.trace(lambda x, w: x * w, {"x": 1.0, "w": 1.0}))
    twice = plan._replace(outputs=(*plan.outputs, ("again", plan.outputs[0][1])))
    x = np.array([2.0, 3.0])
    assert {k: v.tolist() for k, v in RowMap(twice)({"x": x, "w": x + 1}, 2).items()} == {
        "y": [6.0, 12.0],
        "dy/dx": [3.0, 4.0],
        "dy/dw": [2.0, 3.0],
        "again": [6.0, 12.0],
    }
