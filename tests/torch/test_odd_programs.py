"""Programs that use rare parts of PyTorch run the same under a recording, and the record says what it could not see."""

import contextlib
import io

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_map  # noqa: E402

import gradtrace.torch as gt  # noqa: E402
from gradtrace.torch import recording  # noqa: E402
from gradtrace.trace import file  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
LEVELS = ["structure", "summary", "compare", "values"]
X = torch.randn(8, 16, generator=torch.Generator().manual_seed(1))


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def answered(recorded):
    """Ask everything that a recording answers; return its notes on what was left out."""
    assert recorded.why()
    assert recorded.stats()
    assert recorded.steps()
    assert "<svg" in recorded.draw()._repr_mimebundle_()["image/svg+xml"]
    assert file.read("step.gt", io.BytesIO(recording.file_content(recorded.trace())))
    return "".join(recorded.trace().left_out)


def same(function, level):
    """Run a function with and without a recording; return what was left out of the record."""
    wanted = function()
    with gt.record(level) as recorded:
        found = function()
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
    return answered(recorded)


def gradients(module):
    return [p.grad for p in module.parameters()]


@pytest.mark.parametrize("level", LEVELS)
def test_jit_trace_is_left_out_and_the_traced_module_is_recorded(level):
    def run():
        model = net()
        traced = torch.jit.trace(model, X)
        loss = traced(X).pow(2).mean()
        loss.backward()
        return [loss.detach(), *gradients(model), traced.code]

    assert "operations inside torch.jit.trace" in same(run, level)


def test_the_code_of_torch_fx_is_no_line_of_the_program():
    traced = torch.fx.symbolic_trace(net())
    with gt.record() as recorded:
        loss = traced(X).sum()
        loss.backward()
    files = {operation.span.file for operation in recorded.trace().operations}
    assert files == {""}
    assert answered(recorded) == ""


def test_the_wrapper_of_a_deprecated_function_is_no_line_of_the_program():
    with gt.record() as recorded:
        model = nn.utils.weight_norm(nn.Linear(16, 4))
        model(X).sum().backward()
    assert {operation.span.file for operation in recorded.trace().operations} == {""}
    assert answered(recorded) == ""


@pytest.mark.parametrize("level", LEVELS)
def test_swapped_tensors_are_swapped_in_the_record(level):
    a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([a], 0.5)
    with gt.record(level) as recorded:
        (a * b.sum()).sum().backward()
        optimizer.step()
        first, second = a.grad, b.grad
        torch.utils.swap_tensors(a, b)
        assert (a.shape, b.shape) == ((3,), (2,))
        assert a.grad is second
        assert b.grad is first
        loss = (a * 2).sum()
        loss.backward()
    assert a.grad.tolist() == [4.0, 4.0, 4.0]
    assert {t.value.shape for t in recorded.trace().named if t.name == "a"} == {(3,)}
    assert answered(recorded) == ""


def test_modules_that_swap_their_parameters_are_converted_as_without_a_recording():
    model = net()
    before = list(model.parameters())
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with gt.record() as recorded:
            model(X).sum().backward()
            model.zero_grad()
            model.double()
            model(X.double()).sum().backward()
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert all(a is b for a, b in zip(before, model.parameters(), strict=True))
    assert {p.grad.dtype for p in model.parameters()} == {torch.float64}
    assert answered(recorded) == ""


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("level", LEVELS)
def test_a_dispatch_mode_sees_the_programs_operations_alone(level):
    def run():
        model = net()
        with Log() as log:
            loss = model(X).sum()
            loss.backward()
        return [log.seen, *gradients(model)]

    assert same(run, level) == ""


seen = []


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(str(func))
        args, kwargs = tree_map(
            lambda a: a.inner if isinstance(a, Wrapped) else a, (args, kwargs or {})
        )
        return tree_map(
            lambda a: Wrapped(a) if isinstance(a, torch.Tensor) else a, func(*args, **kwargs)
        )


@pytest.mark.parametrize("level", LEVELS)
def test_a_subclass_that_computes_in_python_is_not_read(level):
    def run():
        seen.clear()
        w = Wrapped(torch.ones(4)).requires_grad_()
        (w * 2).sin().sum().backward()
        return [list(seen), w.grad.inner]

    assert "the elements of tensors of these kinds: Wrapped" in same(run, level)


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode()


@pytest.mark.parametrize(
    ("context", "kind"),
    [(fake, "FakeTensor"), (lambda: torch.device("meta"), "meta")],
    ids=["fake", "meta"],
)
@pytest.mark.parametrize("level", LEVELS)
def test_tensors_without_elements_are_recorded_by_shape(context, kind, level):
    with gt.record(level) as recorded, context():
        model = net()
        loss = model(torch.ones(8, 16)).sum()
        loss.backward()
    assert [p.grad.shape for p in model.parameters()] == [p.shape for p in model.parameters()]
    assert len(recorded.trace().passes) == 1
    assert f"the elements of tensors of these kinds: {kind}" in answered(recorded)


JAGGED = pytest.param(
    torch.jagged,
    marks=pytest.mark.skipif(
        torch.__version__ < (2, 5), reason="PyTorch 2.4 cannot pad jagged tensors"
    ),
)


@pytest.mark.parametrize("layout", [torch.strided, JAGGED], ids=str)
@pytest.mark.parametrize("level", LEVELS)
def test_nested_tensors_are_recorded_without_their_elements(layout, level):
    def run():
        a, b = torch.ones(3, 4, requires_grad=True), torch.ones(5, 4, requires_grad=True)
        nested = torch.nested.as_nested_tensor([a, b], layout=layout) * 2
        torch.nested.to_padded_tensor(nested, 0.0).sum().backward()
        return [a.grad, b.grad]

    left_out = same(run, level)
    assert left_out.lower().count("left out") == 1
    assert "nested" in left_out.lower()


@pytest.mark.parametrize("level", LEVELS)
def test_a_complex_number_alone_is_drawn_without_its_value(level):
    def run():
        p = torch.ones(3, dtype=torch.complex64, requires_grad=True)
        (p * p).sum().abs().backward()
        return [p.grad]

    assert "complex64" in same(run, level)


def test_batches_of_gradients_are_said_to_be_left_out():
    def run():
        w = torch.ones(3, requires_grad=True)
        return torch.autograd.grad(w * w, w, torch.eye(3), is_grads_batched=True)

    assert "passes with a batch of gradients (is_grads_batched)" in same(run, "summary")


def test_lazy_modules_are_recorded_from_their_first_call():
    def run():
        torch.manual_seed(0)
        model = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(2))
        model(X).pow(2).sum().backward()
        return gradients(model)

    assert same(run, "summary") == ""


def test_a_recording_entered_by_an_exit_stack_has_the_programs_names():
    def enter(stack):
        model = net()
        recorded = stack.enter_context(gt.record())
        model(X).sum().backward()
        return model, recorded, stack.close()

    recorded = enter(contextlib.ExitStack())[1]
    assert recorded.trace().source_name.endswith("test_odd_programs.py")
    assert {"model.0.weight", "model.2.bias"} <= {t.name for t in recorded.trace().named}


def test_a_recording_that_was_not_entered_cannot_end():
    with pytest.raises(RuntimeError, match="not entered"):
        gt.record().__exit__(None, None, None)


@pytest.mark.parametrize("context", [fake, lambda: torch.device("meta")], ids=["fake", "meta"])
def test_a_guarded_step_without_elements_runs_as_it_is(context):
    with context():
        model = net()

        @gt.guard
        def step():
            loss = model(torch.ones(8, 16)).sum()
            loss.backward()
            return loss

        assert step().shape == ()
    assert [p.grad.shape for p in model.parameters()] == [p.shape for p in model.parameters()]


def test_gradients_that_could_not_be_read_are_not_said_to_be_zero():
    w = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    with gt.record() as recorded:
        (w * w).exp().abs().sum().backward()
    assert "are 0" not in recorded.stats()


def other_function():
    w = torch.zeros(2)
    return w


def test_a_variable_of_another_function_is_not_taken_for_the_leaf():
    with gt.record() as recorded:
        w = torch.ones(2, requires_grad=True)
        w.data.add_(1)
        (w * 2).sum().backward()
    assert "w = torch.ones(2, requires_grad=True)" in recorded.why("w")
    assert "torch.zeros" not in recorded.why("w")


def test_a_parameter_is_shown_where_its_module_was_made():
    model = net()
    with gt.record() as recorded:
        model(X).sum().backward()
    line = test_a_parameter_is_shown_where_its_module_was_made.__code__.co_firstlineno + 1
    assert f"line {line} " in recorded.why("model.0.weight")


@pytest.mark.parametrize("level", LEVELS)
def test_a_gradient_that_an_optimiser_in_backward_has_cleared_is_said_to_be_cleared(level):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], 0.5)

    def update(_):
        optimizer.step()
        optimizer.zero_grad()

    w.register_post_accumulate_grad_hook(update)
    with gt.record(level) as recorded:
        loss = (w * 2).sum()
        loss.backward()
    assert w.tolist() == [0.0, 0.0]
    assert "it was set to None on line" in recorded.why("w")
