"""gradcheck and gradgradcheck: compare gradients with finite differences.

https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html. The inputs are
perturbed in place, one element at a time, and restored; Jacobians have a row for each input element
and a column for each output element.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

from gradtrace.engine import Tensor, grad
from gradtrace.engine.data.lazy import np
from gradtrace.func.gradcheck_demands import (
    GradcheckError,
    check_undefined,
    check_zero_gives_zero,
    differentiable,
    requiring_grad,
)
from gradtrace.ops.fused import as_tuple
from gradtrace.ops.random.distributions import uniform
from gradtrace.ops.random.generator import draw

Array = Any
Checked = Callable[..., Any]  # the function to check
Inputs = tuple[Any, ...]
NOTHING_TO_CHECK = (
    "gradcheck expects at least one input tensor to require gradient, but none of "
    "them have requires_grad=True."
)
NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
    "times gives different values, although analytical gradient matches numerical gradient.The "
    "tolerance for nondeterminism was {}.\n\nNOTE: If your op relies on non-deterministic "
    "operations i.e., it is listed here:\n"
    "https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html\nthis "
    "failure might be expected.\n\nIf you are adding a new operator, please file an issue and "
    "then use one of the\nworkarounds. The workaround depends on how your test invokes "
    "gradcheck/gradgradcheck.\nIf the test\n- manually invokes gradcheck/gradgradcheck, then call "
    "gradcheck/gradgradcheck\n  with `nondet_tol=<tol>` as a keyword argument.\n"
    "- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test\n  "
    "to have `gradcheck_nondet_tol=<tol>`.\n- is a Module test (e.g., in common_nn.py), then "
    "modify the corresponding\n"
    "  module_test entry to have `gradcheck_nondet_tol=<tol>`\n"
)
SLOW_MODE_MESSAGE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \nin "
    "fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \nabout "
    "fast mode. Below, we recompute numerical and analytical jacobians in slow "
    "mode:\n\nNumerical:\n {}\nAnalytical:\n{}\n\nThe max per-element difference (slow mode) "
    "is: {}.\n"
)


class Tolerances(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float


def _check_inputs(inputs: Inputs) -> None:
    """Warn of inputs that require grad and are not float64; raise an error if one of them overlaps
    itself or if there are none.
    """
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x.dtype.name != "float64":
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                stacklevel=4,
            )
        if not all(step > 0 or size <= 1 for step, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
    if not requiring_grad(inputs):
        raise ValueError(NOTHING_TO_CHECK)


# ---- numerical


def _difference(
    func: Checked, inputs: Inputs, change: Callable[[int], None], eps: float, where: str
) -> list[Array]:
    """Return flat (f(+) - f(-)) / 2 eps for each output; `change(sign)` perturbs an input,
    `change(0)` restores it.
    """
    change(-1)
    below = [np.array(out._data) for out in as_tuple(func(*inputs))]
    change(+1)
    above = [np.array(out._data) for out in as_tuple(func(*inputs))]
    change(0)
    for a, b in zip(below, above, strict=True):
        for name, of_a, of_b in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
            if of_a != of_b:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {name} when inputs are "
                    f"perturbed {where}by {eps}, but got: {name}s {of_a} and {of_b}."
                )
    return [
        ((b - a) / (2 * eps)).reshape(-1) if a.dtype != bool else np.zeros(a.size)
        for a, b in zip(below, above, strict=True)
    ]


def _numerical_jacobians(func: Checked, inputs: Inputs, eps: float) -> list[list[Array]]:
    """Return, for each input that requires grad and each output, a Jacobian (input elements, output
    elements).
    """
    return [_numerical_jacobian(func, inputs, x, eps) for x in requiring_grad(inputs)]


def _numerical_jacobian(func: Checked, inputs: Inputs, x: Tensor, eps: float) -> list[Array]:
    array = x.array
    rows = []
    for index in product(*map(range, array.shape)):
        start = array[index].copy()

        def change(sign: int, index: Any = index, start: Any = start) -> None:
            array[index] = start + sign * eps if sign else start

        rows.append(_difference(func, inputs, change, eps, f"on index {index} "))
    if not rows:
        return [np.zeros((0, out.numel())) for out in as_tuple(func(*inputs))]
    return [np.stack([row[k] for row in rows]) for k in range(len(rows[0]))]


# ---- analytical


def _vjps(output: Tensor, inputs: list[Tensor], weights: Array) -> list[Array]:
    """Return the gradients of the inputs for the given gradient of one output; zeros for None."""
    cotangent = Tensor._wrap(np.array(weights).reshape(output.shape))
    grads = grad(output, inputs, cotangent, retain_graph=True, allow_unused=True)
    return [
        np.zeros(x.shape, x.dtype.np) if g is None else np.array(g._data)
        for g, x in zip(grads, inputs, strict=True)
    ]


def _analytical_jacobians(output: Tensor, inputs: list[Tensor], nondet_tol: float) -> list[Array]:
    """Return a Jacobian of one output for each input, computed twice because backward must be
    deterministic.
    """
    first = _jacobian_rows(output, inputs)
    second = _jacobian_rows(output, inputs)
    _check_reentrant(first, second, nondet_tol)
    return first


def _jacobian_rows(output: Tensor, inputs: list[Tensor]) -> list[Array]:
    count = output.numel()
    columns = []
    for j in range(count):
        weights = np.zeros(count, output.dtype.np)
        weights[j] = 1.0
        columns.append([g.reshape(-1) for g in _vjps(output, inputs, weights)])
    return [
        np.stack([column[i] for column in columns], axis=1) if columns else np.zeros((x.numel(), 0))
        for i, x in enumerate(inputs)
    ]


def _check_reentrant(first: list[Array], second: list[Array], tolerance: float) -> None:
    for a, b in zip(first, second, strict=True):
        if a.size and np.abs(a - b).max() > tolerance:
            raise GradcheckError(NOT_REENTRANT.format(tolerance))


# ---- comparison


def _close(a: Array, b: Array, rtol: float, atol: float) -> bool:
    return bool(np.allclose(a, b, rtol, atol))


def _mismatch(analytical: Any, numerical: Any, output: int, input_number: int) -> str:
    return (
        f"Jacobian mismatch for output {output} with respect to input {input_number},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def _slow_check(func: Checked, func_out: Any, inputs: Inputs, tol: Tolerances) -> None:
    """Compare the full Jacobians, element by element."""
    per_input = _numerical_jacobians(func, inputs, tol.eps)
    outs = as_tuple(func_out)
    number = 0
    for k, out in enumerate(outs):
        if not out.requires_grad:
            continue
        analytical = _analytical_jacobians(out, requiring_grad(inputs), tol.nondet_tol)
        for i, a in enumerate(analytical):
            n = per_input[i][k].astype(out.dtype.np, copy=False)
            if not _close(a, n, tol.rtol, tol.atol):
                raise GradcheckError(_mismatch(Tensor._wrap(a), Tensor._wrap(n), number, i))
        number += 1
    if not number and any(jac.any() for jacs in per_input for jac in jacs):
        raise GradcheckError("Numerical gradient for function expected to be zero")


def _random_unit(x: Tensor, generator: Any) -> Array:
    """Return a random positive vector of length 1 with the tensor's number of elements."""
    vector = generator.random(x.numel())
    return (vector / np.linalg.norm(vector)).astype(x.dtype.np)


def _fast_check(func: Checked, func_out: Any, inputs: Inputs, tol: Tolerances) -> None:
    """Compare one number for each output and input: a random combination of the Jacobian's rows and
    columns.
    """
    generator = np.random.default_rng(0)
    tensors = requiring_grad(inputs)
    outputs = differentiable(func_out)
    us = [_random_unit(x, generator) for x in tensors]
    vs = [_random_unit(out, generator) for out in outputs]
    directional = [_along(func, inputs, x, u, tol.eps) for x, u in zip(tensors, us, strict=True)]
    keep = [k for k, out in enumerate(as_tuple(func_out)) if out.requires_grad]
    if not outputs and any(
        np.abs(d).max(initial=0) > tol.nondet_tol for row in directional for d in row
    ):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    for j, (out, v) in enumerate(zip(outputs, vs, strict=True)):
        first = _vjps(out, tensors, v)
        second = _vjps(out, tensors, v)
        _check_reentrant(first, second, tol.nondet_tol)
        for i, (g, u) in enumerate(zip(first, us, strict=True)):
            a = float(g.reshape(-1) @ u)
            n = float(v @ directional[i][keep[j]])
            if not _close(a, n, tol.rtol, tol.atol * float(u.sum()) * float(v.sum())):
                raise GradcheckError(
                    _mismatch(a, n, j, i) + _in_slow_mode(func, inputs, out, i, keep[j], tol)
                )


def _along(func: Checked, inputs: Inputs, x: Tensor, u: Array, eps: float) -> list[Array]:
    """Return the derivative of every output along the direction u of one input."""
    array = x.array
    start = array.copy()
    step = (u * eps).reshape(array.shape)

    def change(sign: int) -> None:
        array[...] = start + sign * step if sign else start

    return _difference(func, inputs, change, eps, "")


def _in_slow_mode(
    func: Checked, inputs: Inputs, output: Tensor, input_number: int, number: int, tol: Tolerances
) -> str:
    numerical = _numerical_jacobians(func, inputs, tol.eps)[input_number][number]
    analytical = _analytical_jacobians(output, requiring_grad(inputs), float("inf"))[input_number]
    largest = float(np.abs(numerical - analytical).max(initial=0))
    return SLOW_MODE_MESSAGE.format(Tensor._wrap(numerical), Tensor._wrap(analytical), largest)


# ---- the two checks


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check that the gradients of `func` at `inputs` match central differences within atol + rtol *
    |analytical|.

    Returns True, or raises GradcheckError (returns False without `raise_exception`). Raises
    ValueError if no input requires grad. `check_grad_dtypes`, `check_batched_grad` and `masked` are
    accepted and ignored.
    """
    if not check_backward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    tol = Tolerances(eps, atol, rtol, nondet_tol)
    xs = as_tuple(inputs)
    try:
        _gradcheck(func, xs, tol, fast_mode, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _gradcheck(
    func: Checked, inputs: Inputs, tol: Tolerances, fast_mode: bool, check_undefined_grad: bool
) -> None:
    _check_inputs(inputs)
    func_out = func(*inputs)
    outputs = differentiable(func_out)
    compare = _fast_check if fast_mode else _slow_check
    compare(func, func_out, inputs, tol)
    if not outputs:
        return
    check_zero_gives_zero(outputs, requiring_grad(inputs))
    if check_undefined_grad:
        check_undefined(func, len(outputs), inputs)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: run gradcheck on the gradient of `func`, as a function of `inputs`
    and `grad_outputs`.

    `grad_outputs` are random by default. `gen_non_contig_grad_outputs`, `check_grad_dtypes`,
    `check_batched_grad`, `check_rev_over_rev` and `masked` are accepted and ignored.
    """
    xs = as_tuple(inputs)
    if grad_outputs is None:
        output_gradients = tuple(map(_random_gradient, differentiable(func(*xs))))
    else:
        output_gradients = as_tuple(grad_outputs)
    inputs_differ = [isinstance(x, Tensor) and x.requires_grad for x in xs]
    gradients_differ = [g.requires_grad for g in output_gradients]

    def first_gradient(*args: Any) -> tuple[Tensor, ...]:
        own = _marked(args[: len(xs)], inputs_differ)
        weights = _marked(args[len(xs) :], gradients_differ)
        wanted = tuple(x for x, differs in zip(own, inputs_differ, strict=True) if differs)
        outputs = differentiable(func(*own))
        grads = grad(outputs, wanted, weights, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        first_gradient,
        xs + output_gradients,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        fast_mode=fast_mode,
    )


def _random_gradient(out: Tensor) -> Tensor:
    """Return a tensor like `out` of numbers in [-1, 1) that the program's generator draws, as
    PyTorch does; it requires grad.
    """
    values = uniform(draw(None), out.numel(), out.dtype.np, -1.0, 1.0).reshape(tuple(out.shape))
    return Tensor._wrap(values).requires_grad_()


def _marked(values: tuple[Any, ...], differ: list[bool]) -> tuple[Any, ...]:
    return tuple(v.requires_grad_() if d else v for v, d in zip(values, differ, strict=True))
