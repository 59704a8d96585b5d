"""gradcheck and gradgradcheck of every differentiable operator.

Cases come from `cases` (one list for each operator, by hand), `more_cases` (what only records have) and `generated`
(families over shapes, broadcasts and dims). Each runs on plain arrays, on arrays that are not contiguous, and where it
may on expanded ones. A differentiable record that no case reaches fails the last test: a new operator needs a case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtrace as torch
from gradtrace import ops
from gradtrace.engine.data.state import state
from gradtrace.engine.operators.op import records
from tests.ops import cases, generated
from tests.ops import composed_cases as composed
from tests.ops import more_cases as more

FIRST_ORDER = cases.FIRST_ORDER | more.FIRST_ORDER
BY_HAND = {**cases.CASES, **more.CASES, **composed.CASES}
BY_FAMILY = generated.every_case()
# Records with a rule but nothing to compare: they raise on purpose, replace a value by one drawn at random, or round
# to float32, where differences say nothing (the recorded programs have casts).
WITHOUT_CASE = {
    "heaviside",
    "native_channel_shuffle",
    "cast",
    "mkldnn_rnn_layer",
    "unique2",
    "unique_consecutive",
    "cdist_backward",
    "pdist_backward",
    "where_mixed",
    "standard_gamma_sample",  # these two have no derivative
    "dirichlet_sample",
}


def transposed(array: Any) -> Any:
    """The same numbers, with the dims' strides in the opposite order."""
    if array.ndim < 2:
        return torch.tensor(array)
    return torch.tensor(np.ascontiguousarray(array.T)).permute(*range(array.ndim - 1, -1, -1))


def stepped(array: Any) -> Any:
    """The same numbers, every second element of a larger array, beginning at the second."""
    if array.ndim == 0:
        return torch.tensor([0.0, float(array)], dtype=torch.float64)[1]
    wide = np.full((*array.shape[:-1], 2 * array.shape[-1] + 1), 9.0)
    wide[..., 1::2] = array
    return torch.tensor(wide)[..., 1::2]


LAYOUTS = {"plain": torch.tensor, "transposed": transposed, "stepped": stepped}


def leaves(arrays: Any, layout: str) -> tuple[Any, ...]:
    return tuple(LAYOUTS[layout](np.asarray(a, np.float64)).requires_grad_() for a in arrays)


def floating(function: Any) -> Any:
    """The function's differentiable results as a tuple: what the checks take."""

    def outputs(*args: Any) -> tuple[Any, ...]:
        result = function(*args)
        several = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(out for out in several if out.is_floating_point())

    return outputs


def expanded(function: Any, shape: tuple[int, ...]) -> Any:
    return lambda x, *rest: function(x.expand(shape), *rest)


def check(name: str, function: Any, arrays: Any, layout: str) -> None:
    inputs = leaves(arrays, layout)
    with np.errstate(all="ignore"):
        assert torch.autograd.gradcheck(floating(function), inputs, atol=1e-5, rtol=1e-4)
        if name not in FIRST_ORDER:
            assert torch.autograd.gradgradcheck(
                floating(function), inputs, atol=1e-5, rtol=1e-4, fast_mode=True
            )


@pytest.mark.sampled(120)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str, layout: str) -> None:
    if layout != "plain" and name in more.CONTIGUOUS_ONLY:
        pytest.skip("PyTorch asks for a contiguous input")
    for function, *arrays in BY_HAND[name]:
        check(name, function, arrays, layout)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", BY_FAMILY)
def test_by_family(name: str) -> None:
    for i, (function, *arrays) in enumerate(BY_FAMILY[name]):
        check(name, function, arrays, "plain")
        if any(np.ndim(a) for a in arrays):
            check(name, function, arrays, ("transposed", "stepped")[i % 2])


@pytest.mark.parametrize("name", [*generated.UNARY, *generated.BINARY, *generated.REDUCTIONS])
def test_expanded(name: str) -> None:
    """An operand all of whose rows are one row in memory."""
    function, first, *rest = BY_FAMILY[name][4 if name in generated.REDUCTIONS else 2]
    shape = np.shape(first) or (3,)
    check(
        name,
        expanded(function, shape),
        [np.asarray(first)[..., :1] if np.ndim(first) else first, *rest],
        "plain",
    )


@pytest.mark.parametrize("name", composed.PLAIN)
def test_without_derivative(name: str) -> None:
    for function, *arrays in composed.PLAIN[name]:
        result = function(*leaves(arrays, "plain"))
        several = result if isinstance(result, tuple) else (result,)
        assert not any(getattr(out, "requires_grad", False) for out in several)


@pytest.mark.parametrize("name", composed.INTEGER)
def test_of_integers(name: str) -> None:
    for function, *arrays in composed.INTEGER[name]:
        assert function(*map(torch.tensor, arrays)).dtype is torch.int64


@pytest.mark.parametrize("name", composed.CASTS)
def test_the_gradient_of_a_cast_is_cast_back(name: str) -> None:
    for function, *arrays in composed.CASTS[name]:
        (x,) = leaves(arrays, "plain")
        out = function(x)
        assert out.requires_grad == out.is_floating_point()
        if out.requires_grad:
            assert torch.autograd.grad(out.sum(), x)[0].equal(torch.ones_like(x))


@pytest.mark.parametrize("name", composed.RAISE)
def test_without_a_formula(name: str) -> None:
    for function, *arrays in composed.RAISE[name]:
        out = function(*leaves(arrays, "plain"))
        with pytest.raises(RuntimeError, match="not implemented"):
            out.sum().backward()


def test_no_record_is_forgotten() -> None:
    ops.load()
    seen: set[str] = set()

    def note(name: str, args: Any, out: Any, origin: int) -> None:
        several = out if isinstance(out, tuple) else (out,)
        if any(t.requires_grad for t in several):
            seen.add(name.rstrip("_"))

    state.set(recorder=note)
    try:
        for name, several in (*BY_HAND.items(), *BY_FAMILY.items()):
            for function, *arrays in several:
                derive_twice(function, leaves(arrays, "plain"), twice=name not in FIRST_ORDER)
    finally:
        state.set(recorder=None)
    wanted = {
        name for name, record in records.items() if record.has_gradient and not record.undefined
    }
    assert sorted(wanted - seen - WITHOUT_CASE) == []


def derive_twice(function: Any, inputs: Any, twice: bool) -> None:
    """Runs the first rules, and the second ones, for what they record."""
    outputs = [out for out in floating(function)(*inputs) if out.requires_grad]
    weights = [torch.ones_like(out).requires_grad_() for out in outputs]
    found = torch.autograd.grad(outputs, inputs, weights, create_graph=twice, allow_unused=True)
    again = [g for g in found if g is not None and g.requires_grad]
    if again:
        more_weights = [torch.ones_like(g).requires_grad_() for g in again]
        torch.autograd.grad(
            again, [*inputs, *weights], more_weights, create_graph=True, allow_unused=True
        )
