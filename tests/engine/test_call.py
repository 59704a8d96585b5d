"""The call of a record, as a unit: raw data and masks, the fast path and the general one, recorders."""

import inspect
import math

import pytest

import gradtrace as torch
from gradtrace.engine.calls.call import (
    enable_fast_path,
    has_fast_path,
    is_float,
    on_numbers,
    unwrap,
    unwrap_nested,
)
from gradtrace.engine.data.state import state, using
from gradtrace.engine.operators.op import records
from gradtrace.ops.families import load_for


@pytest.fixture
def x():
    return torch.tensor(3.0, dtype=torch.float64, requires_grad=True)


def test_unwrap_gives_raw_data_and_a_mask_of_what_requires_grad(x):
    other = torch.tensor(2.0, dtype=torch.float64)
    assert unwrap(records["mul"], (x, other)) == ([3.0, 2.0], 0b01)
    assert unwrap(records["mul"], (other, x))[1] == 0b10
    assert unwrap(records["mul"], (other, 5.0)) == ([2.0, 5.0], 0)


def test_one_bit_stands_for_a_sequence_of_tensors(x):
    load_for("cat")
    raws, mask = unwrap(records["cat"], (x.reshape(1), x.reshape(1)))
    assert mask == 1 and [raw.tolist() for raw in raws] == [[3.0], [3.0]]
    assert unwrap_nested((1, [x])) == (1, [3.0])


@pytest.mark.parametrize(("value", "expected"), [(1.0, True), (math.nan, True), (True, False)])
def test_is_float(value, expected):
    assert (
        is_float(torch.tensor(value, dtype=torch.float64 if expected else torch.bool)._data)
        is expected
    )


def test_numbers_need_no_numpy(x):
    assert on_numbers(records["mul"], [2.0, 3.0]) and not on_numbers(
        records["mul"], [torch.ones(2)._data, 3.0]
    )
    assert type((x * 2)._data) is float


@pytest.mark.parametrize("name", ["sin", "mul", "exp"])
def test_pointwise_records_have_a_fast_path(name):
    load_for(name)
    assert has_fast_path(records[name])


@pytest.mark.parametrize("name", ["cat", "sum"])
def test_others_have_none(name):
    assert not has_fast_path(load_for(name) or records[name])


def test_a_view_leaves_the_fast_path_for_good():
    x = torch.ones(2, dtype=torch.float64)
    assert enable_fast_path(x) is not None
    x.view(2)
    x.add_(1)
    assert enable_fast_path(x) is None


@pytest.mark.parametrize("shape", [(), (3,)])
def test_both_ways_give_the_same_result_and_graph(shape):
    """`call` is the general way, the public function has the fast path in front of it."""
    a = torch.full(shape, 0.7, dtype=torch.float64, requires_grad=True)
    b = torch.full(shape, -1.3, dtype=torch.float64, requires_grad=True)
    fast, general = a * b, records["mul"].call(a, b)
    assert fast.tolist() == general.tolist() and fast.grad_fn.name() == general.grad_fn.name()
    assert fast.grad_fn.next_functions == general.grad_fn.next_functions
    gradients = [torch.autograd.grad(y.sum(), (a, b)) for y in (fast, general)]
    assert [g.tolist() for g in gradients[0]] == [g.tolist() for g in gradients[1]]


def test_nothing_is_recorded_without_a_gradient(x):
    with torch.no_grad():
        assert (x * 2).grad_fn is None
    assert (x.detach() * 2).grad_fn is None and torch.sign(x).grad_fn is not None


def test_a_recorder_sees_every_call(x):
    seen = []
    with using(
        recorder=lambda name, args, out, origin: seen.append((name, len(args), out.tolist()))
    ):
        (x * 2).sin()
    assert [name for name, *_ in seen] == [
        "mul_scalar" if "mul_scalar" in records else "mul",
        "sin",
    ]
    assert seen[0][2] == 6.0 and state.recorder is None


def test_several_results_share_a_node():
    values, indices = torch.tensor([3.0, 1.0], requires_grad=True).sort()
    assert values.grad_fn is not None and indices.grad_fn is None
    parts = torch.ones(4, requires_grad=True).split(2)
    assert parts[0].grad_fn is parts[1].grad_fn and parts[1].output_nr == 1


def test_operands_that_do_not_broadcast_are_refused():
    with pytest.raises(
        RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"
    ):
        torch.ones(2) * torch.ones(3)


def test_a_method_without_its_parentheses_prints_as_pytorchs():
    x = torch.ones(2, requires_grad=True)
    address = f"object at {id(x):#x}>"
    assert repr(x.retain_grad) == f"<built-in method retain_grad of Tensor {address}"
    assert str(x.numpy) == f"<built-in method numpy of Tensor {address}"
    y = x * 2
    retain = y.retain_grad
    retain()
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
    assert inspect.signature(torch.Tensor.tolist).parameters.keys() == {"self", "extra"}
