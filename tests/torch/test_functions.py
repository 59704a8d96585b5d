"""The program's own Functions are compared with finite differences when `why` is asked, and only then."""

import weakref

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")
from gradtrace.torch import private  # noqa: E402


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


class Once(Square):
    """Its saved tensors are there for one access; in PyTorch 2.4 for each."""

    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * x, x + 1

    @staticmethod
    def backward(ctx, grad, other):
        x, _ = ctx.saved_tensors
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


class Itself(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class Times(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


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


@pytest.mark.parametrize("function", [Square, Once], ids=lambda one: one.__name__)
def test_a_right_backward_of_several_results_is_found_right(function):
    r = recorded(function.apply)
    assert verdicts(r) == [(function.__name__, "ok")]
    (node,) = [one for one in r.trace().functions if one.name == f"{function.__name__}Backward"]
    assert [one.name for one in node.saved] == ["saved_tensors[0]"]


def test_a_function_whose_apply_was_taken_before_is_one_operation():
    trace = recorded(Square.apply).trace()
    assert [(one.name, one.grad_fn) for one in trace.operations[:2]] == [
        ("Square", "SquareBackward"),
        ("sum", "SumBackward0"),
    ]


def stored_before(function):
    return function.apply


def stored_in_another_recording(function):
    with gt.record():
        return function.apply


def stored_in_c(function):
    """What `function.apply` is in PyTorch 2.15, with `in_c`."""
    return torch._C._FunctionBase.__dict__["apply"].__get__(None, function)


@pytest.fixture
def in_c(monkeypatch):
    """Record as in PyTorch 2.15, whose `apply` is a function in C."""
    monkeypatch.setattr(private, "STORES_C", True)


STORED = [(Square,), (Reversed,), (Itself,), (Doubled,), (Times, 3.0)]


@pytest.mark.parametrize("stored", [stored_before, stored_in_another_recording, stored_in_c])
@pytest.mark.parametrize("case", STORED, ids=lambda case: case[0].__name__)
def test_a_stored_apply_is_recorded_as_one_that_is_looked_up(case, stored, in_c):
    function, *args = case

    def told(apply):
        r = recorded(lambda x: (apply or function.apply)(x * 1, *args))
        trace = r.trace()
        operations = [
            (one.label, one.grad_fn, one.span, one.inputs, one.outputs) for one in trace.operations
        ]
        return operations, [one.name for one in trace.functions], r.why("x"), r.trace().checks

    wanted = told(None)
    assert wanted[0][1][1] == f"{function.__name__}Backward"
    assert told(stored(function)) == wanted


def test_a_stored_apply_keeps_no_result_alive(in_c):
    apply, x = stored_in_c(Square), torch.ones(2, requires_grad=True)
    with gt.record() as r:
        first, second = apply(x)
        held = weakref.ref(first), weakref.ref(second)
        del first, second
        assert held[0]() is held[1]() is None
        apply(x)[0].sum().backward()
    assert [one.name for one in r.trace().operations[:2]] == ["Square", "sum"]
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("function", [Hard, Reversed], ids=lambda one: one.__name__)
def test_an_estimate_on_purpose_is_not_judged(function):
    assert verdicts(recorded(function.apply)) == [(function.__name__, "not tried")]


def test_other_arguments_and_large_ones_are_not_tried():
    r = recorded(Scale.apply, {"by": 2})
    assert verdicts(r) == [("Scale", "not tried")]
    assert r.trace().checks[0].note == "its arguments are not tensors and numbers alone"
    assert verdicts(recorded(Square.apply, size=20_000)) == [("Square", "not tried")]
    assert verdicts(recorded(Cube.apply, 2.0, level="structure")) == []
