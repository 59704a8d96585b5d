"""The program's own Functions are compared with finite differences when `why` is asked, and only then."""

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")


class Cube(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x, factor):
        Cube.calls += 1
        print("forward")
        torch.rand(1)
        ctx.save_for_backward(x)
        return x**3 * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x**2, None


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x, x + 1

    @staticmethod
    def backward(ctx, grad, other):
        (x,) = ctx.saved_tensors
        return grad * 2 * x + other


class Hard(torch.autograd.Function):
    """A straight-through estimate, which no finite difference agrees with."""

    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Scale(torch.autograd.Function):
    """Gets more than tensors and numbers."""

    @staticmethod
    def forward(ctx, x, options):
        return x * options["by"]

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def recorded(work, *args, dtype=torch.float64, size=4, level="summary"):
    x = torch.linspace(0.5, 2, size, dtype=dtype, requires_grad=True)
    with gt.record(level) as r:
        out = work(x, *args)
        total = sum(one.sum() for one in (out if isinstance(out, tuple) else (out,)))
        total.backward()
    return r


def verdicts(r):
    r.why()
    return [(one.name, one.verdict) for one in r.trace().checks]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_a_wrong_backward_is_found(dtype):
    r = recorded(Cube.apply, 2.0, dtype=dtype)
    said = " ".join(r.why("x").split())
    assert "Cube.backward" in said and "disagrees with finite differences of its forward" in said


def test_what_asking_runs_again_is_not_noticed(capsys):
    r = recorded(Cube.apply, 2.0)
    calls, state = Cube.calls, torch.get_rng_state()
    capsys.readouterr()
    r.stats(), r.trace(), r.steps()
    assert Cube.calls == calls
    r.why()
    assert Cube.calls > calls
    assert torch.equal(state, torch.get_rng_state())
    assert capsys.readouterr().out == ""
    once = Cube.calls
    r.why()
    assert Cube.calls == once


def test_a_right_backward_of_several_results_is_found_right():
    r = recorded(Square.apply)
    assert verdicts(r) == [("Square", "ok")]


def test_a_function_whose_apply_was_taken_before_is_one_operation():
    trace = recorded(Square.apply).trace()
    assert [(one.name, one.grad_fn) for one in trace.operations[:2]] == [
        ("Square", "SquareBackward"),
        ("sum", "SumBackward0"),
    ]


@pytest.mark.parametrize("function", [Hard, Reversed], ids=lambda one: one.__name__)
def test_an_estimate_on_purpose_is_not_judged(function):
    assert verdicts(recorded(function.apply)) == [(function.__name__, "not tried")]


def test_other_arguments_and_large_ones_are_not_tried():
    r = recorded(Scale.apply, {"by": 2})
    assert verdicts(r) == [("Scale", "not tried")]
    assert r.trace().checks[0].note == "its arguments are not tensors and numbers alone"
    assert verdicts(recorded(Square.apply, size=20_000)) == [("Square", "not tried")]
    assert verdicts(recorded(Cube.apply, 2.0, level="structure")) == []
