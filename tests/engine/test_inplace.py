"""In-place operations, as units: history, versions, views, what is refused."""

import numpy
import pytest

import gradtrace as torch
from gradtrace.engine.calls.inplace import (
    change_data,
    check_result,
    flat_index,
    inplace,
    place_kernel,
    replace_kernel,
)
from gradtrace.engine.calls.inplace import take_kernel as take
from gradtrace.engine.operators.op import records


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)


def test_the_history_is_replaced_and_the_version_counts(x):
    y = x * 2
    before = y.grad_fn
    assert y._version == 0 and inplace(records["mul"], y, 3.0) is y
    assert y._version == 1 and y.grad_fn is not before and y.grad_fn.next_functions[0][0] is before
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]


def test_a_rule_that_needs_the_operand_gets_its_old_value(x):
    y = x * 1
    inplace(records["mul"], y, y.detach().clone())
    inplace(records["exp"], y)
    y.sum().backward()
    assert numpy.allclose(x.grad.tolist(), [v * numpy.exp(v * v) for v in (1.0, 2.0, 3.0)])


def test_a_view_writes_into_its_base(x):
    base = x * 1
    view = base[1:]
    view.mul_(10)
    assert (
        base.tolist() == [1.0, 20.0, 30.0] and base.grad_fn.name() == "torch::autograd::CopySlices"
    )
    assert view.grad_fn.name() == "AsStridedBackward0" and view._version == base._version == 1
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0]


def test_copy_slices_twice_and_to_second_order(x):
    base = x * 1
    base[0:2].mul_(x[1:])
    base[1:].mul_(2)
    (g,) = torch.autograd.grad((base**2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    # f = (x0 x1)^2 + (2 x1 x2)^2 + (2 x2)^2 at (1, 2, 3)
    assert g.tolist() == [2 * 1 * 4, 2 * 2 * 1 + 8 * 2 * 9, 8 * 3 * 4 + 8 * 3]
    assert second.tolist() == [8 + 8, 8 + (2 + 72) + 96, 96 + (32 + 8)]


def test_flat_index_gives_positions_in_the_base():
    base = torch.arange(12.0).reshape(3, 4)
    assert flat_index(base, base[1:, ::2]).tolist() == [[4, 6], [8, 10]]
    assert flat_index(base, base.t()).tolist() == numpy.arange(12).reshape(3, 4).T.tolist()
    assert flat_index(base, base[0].expand(2, 4)).tolist() == [[0, 1, 2, 3]] * 2


def test_kernels_take_place_and_replace():
    a, index = numpy.arange(4.0), numpy.array([3, 1, 1])
    assert take(a, index).tolist() == [3.0, 1.0, 1.0]
    assert place_kernel(numpy.ones(3), index, (4,)).tolist() == [
        0.0,
        2.0,
        0.0,
        1.0,
    ]  # one place, two summands
    assert replace_kernel(a, 9.0, index).tolist() == [0.0, 9.0, 2.0, 9.0] and a.tolist() == [
        0.0,
        1.0,
        2.0,
        3.0,
    ]


def test_a_saved_tensor_that_was_changed_is_refused(x):
    a = x * 1
    y = a * a
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda x: x.add_(1),
            "a leaf Variable that requires grad is being used in an in-place operation",
        ),
        (lambda x: x[0].add_(1), "a view of a leaf Variable that requires grad"),
        (lambda x: (x.detach() > 0).add_(1.5), "result type Float can't be cast"),
        (
            lambda x: torch.ones(1).add_(torch.ones(2)),
            r"shape \[1\] doesn't match the broadcast shape \[2\]",
        ),
        (lambda x: (x * 1).expand(2, 3).add_(1), "more than one element of the written-to tensor"),
    ],
)
def test_what_cannot_be_done_is_refused(x, change, message):
    with pytest.raises(RuntimeError, match=message):
        change(x)
    assert x.tolist() == [1.0, 2.0, 3.0] and x._version == 0


def test_check_result_compares_shapes():
    check_result(torch.ones(2), numpy.ones(2, numpy.float32))
    with pytest.raises(RuntimeError, match="broadcast shape"):
        check_result(torch.ones(2), numpy.ones((2, 2), numpy.float32))


def test_change_data_has_no_history(x):
    change_data(x, numpy.zeros(3))
    assert x.tolist() == [0.0, 0.0, 0.0] and x.is_leaf and x._version == 1


@pytest.mark.parametrize(
    "reshape", [lambda y: y.unsqueeze_(0), lambda y: y.as_strided_((1, 3), (3, 1))]
)
def test_a_retained_gradient_has_the_shape_before_a_reshape_in_place(x, reshape):
    y = x * 1
    y.retain_grad()
    reshape(
        y
    )  # as in PyTorch, retain_grad stays on the old grad_fn, which the gradient of y itself does not reach
    (g,) = torch.autograd.grad(y.sum(), y, retain_graph=True)
    assert g.shape == (1, 3) and y.grad is None and y.retains_grad
    y.sum().backward()
    assert y.grad.shape == (3,)


def expanded():
    return torch.arange(6.0).reshape(2, 1, 3).expand(2, 2, 3)


@pytest.mark.parametrize(
    "made, strides",  # of PyTorch 2.13
    [
        (lambda: expanded().clone(), (6, 3, 1)),
        (lambda: expanded().permute(2, 1, 0).clone(), (1, 3, 6)),
        (lambda: expanded().permute(2, 1, 0).flip(1), (1, 3, 6)),
        (lambda: torch.zeros_like(expanded().permute(2, 1, 0)), (1, 3, 6)),
        (lambda: torch.rand_like(expanded().permute(2, 1, 0)), (1, 3, 6)),
        (lambda: torch.tensor([1.0, 2.0]).expand(2, 2).flip(()), (2, 1)),
        (lambda: torch.rot90(torch.tensor([1.0, 2.0]).expand(2, 2)), (1, 2)),
    ],
)
def test_a_copy_of_an_expanded_tensor_has_pytorch_s_layout(made, strides):
    assert made().stride() == strides
