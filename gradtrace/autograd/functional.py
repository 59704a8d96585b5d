"""torch.autograd.functional: jacobian, hessian, vjp, jvp, vhp, hvp of functions of tensors.

https://pytorch.org/docs/stable/autograd.html#functional-higher-level-api. Inputs and outputs are a
tensor or a tuple of tensors; results are nested accordingly. Inputs are detached first, so nothing
is accumulated in their `.grad`; with `create_graph` they are used directly, so that the result can
be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor, enable_grad, grad, set_grad_enabled
from gradtrace.engine.data.state import state
from gradtrace.engine.operators.namespace import TRACED
from gradtrace.func.pytree import torch_function

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]
Function = Callable[..., Any]
RESULT = "outputs of the user-provided function"
NOT_STRICT = " This is not allowed in strict mode"
NO_V_FOR_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single "
    "Tensor with a single element."
)
NO_V_FOR_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a "
    "single Tensor with a single element."
)

# ---- arguments and results


def _as_tuple(value: Any, label: str, function: str) -> tuple[bool, Tensors]:
    """Return whether `value` was a tuple, and the tuple; raise TypeError for an element that is not
    a tensor.
    """
    was_tuple = isinstance(value, tuple)
    items = value if was_tuple else (value,)
    for i, item in enumerate(items):
        if isinstance(item, Tensor):
            continue
        where = f"the value at index {i}" if was_tuple else f"the given {label}"
        raise TypeError(
            f"The {label} given to {function} must be either a Tensor or a tuple of Tensors but "
            f"{where} has type {type(item)}."
        )
    return was_tuple, items


def _prepared(values: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """Return views of tensors to differentiate through with `create_graph`, else detached
    copies.
    """
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(need_graph)
        for x in values
    )


def _inputs(inputs: Any, function: str, create_graph: bool) -> tuple[bool, Tensors]:
    """Return whether the inputs are a tuple, and the tensors to differentiate with respect to."""
    was_tuple, xs = _as_tuple(inputs, "inputs", function)
    return was_tuple, _prepared(xs, create_graph, need_graph=True)


def _outputs(func: Function, xs: Tensors, function: str, strict: bool) -> tuple[bool, Tensors]:
    """Call the function; return whether its outputs are a tuple, and the outputs."""
    was_tuple, outs = _as_tuple(func(*xs), RESULT, function)
    _check_requires_grad(outs, "outputs", strict)
    return was_tuple, outs


def _finished(value: Any, create_graph: bool) -> Any:
    if create_graph:
        return value
    return (
        value.detach()
        if isinstance(value, Tensor)
        else tuple(_finished(v, create_graph) for v in value)
    )


def _result(values: Any, create_graph: bool, was_tuple: bool) -> Any:
    return _unpacked(_finished(values, create_graph), was_tuple)


def _unpacked(values: Any, was_tuple: bool) -> Any:
    return tuple(values) if was_tuple else values[0]


def _unpacked_twice(rows: Any, outputs_tuple: bool, inputs_tuple: bool) -> Any:
    return _unpacked([_unpacked(row, inputs_tuple) for row in rows], outputs_tuple)


def _check_v(v: Tensors, like: Tensors, was_tuple: bool) -> None:
    if len(like) != len(v):
        if was_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (vector, wanted) in enumerate(zip(v, like, strict=True)):
        if vector.shape != wanted.shape:
            where = f"Entry {i} in " if was_tuple else ""
            raise RuntimeError(
                f"{where}v has invalid size: should be {wanted.shape} but got {vector.shape}."
            )


def _vector(
    v: Any, like: Tensors, was_tuple: bool, function: str, create_graph: bool, missing: str
) -> Any:
    """Return the validated vector to multiply by; None means 1, for a single element only."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(missing)
        return None
    _, vectors = _as_tuple(v, "v", function)
    vectors = _prepared(vectors, create_graph, need_graph=False)
    _check_v(vectors, like, was_tuple)
    return vectors


STRICT_MESSAGES = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must "
        "be computed in a differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {} is independent of the inputs of the "
        f"user-provided function.{NOT_STRICT}."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with "
        "respect to input {} is independent of the input."
        + NOT_STRICT
        + ". You should ensure that your function is twice differentiable "
        "and that the jacobian depends on the inputs (this would be violated by a linear function "
        "for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {} is independent of "
        f"the input.{NOT_STRICT}. You should ensure that your function is thrice differentiable "
        "and that the hessian depends on the inputs."
    ),
}
INDEPENDENT = {
    "row": "Output {} of the user-provided function is independent of input {}." + NOT_STRICT + ".",
    "back": "The output of the user-provided function is independent of input {}."
    + NOT_STRICT
    + ".",
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs "
        "when using the double backward trick to compute forward mode gradients." + NOT_STRICT + "."
    ),
    "double_back": "The jacobian of the user-provided function is independent of input {}."
    + NOT_STRICT
    + ".",
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian."
        + NOT_STRICT
        + " as it prevents from using the double backward trick to replace forward mode AD."
    ),
}
CONSTANT = (
    "The {} of the user-provided function is independent of input {}."
    + NOT_STRICT
    + " when create_graph=True."
)


def _check_requires_grad(tensors: Any, kind: str, strict: bool) -> None:
    if not strict:
        return
    for i, t in enumerate(tensors):
        if t is None:
            raise RuntimeError(INDEPENDENT["back"].format(i))
        if not t.requires_grad:
            raise RuntimeError(STRICT_MESSAGES[kind].format(i))


def _grad(
    outputs: Any,
    inputs: Tensors,
    grad_outputs: Any = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> tuple[Any, ...]:
    """Return autograd.grad of the outputs that have a history; None for inputs they do not depend
    on.
    """
    gradients = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    pairs = [
        (o, g) for o, g in zip(outputs, gradients, strict=True) if o is not None and o.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        tuple(o for o, _ in pairs),
        inputs,
        tuple(g for _, g in pairs),
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )


def _with_zeros(
    grads: Any, like: Tensors, strict: bool, create_graph: bool, messages: tuple[str, str]
) -> Tensors:
    """Replace None gradients by zeros; in strict mode raise RuntimeError for them, and for
    constants.

    `messages` are those of both errors, with a place for the number of the gradient.
    """
    independent, constant = messages
    zeros_like = torch_function("zeros_like")
    result = []
    for i, (g, x) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(independent.format(i))
            g = zeros_like(x)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(constant.format(i))
        result.append(g)
    return tuple(result)


def _product(
    outputs: Any,
    inputs: Tensors,
    vector: Any,
    like: Tensors,
    create_graph: bool,
    strict: bool,
    stage: str,
) -> Tensors:
    """Return the product of the vector and the derivative of the outputs, with the shapes of
    `like`.
    """
    constant = CONSTANT.format("hessian" if "double" in stage else "jacobian", "{}")
    with set_grad_enabled(create_graph or state.grad_enabled):
        grads = _grad(outputs, inputs, vector, create_graph)
        return _with_zeros(grads, like, strict, create_graph, (INDEPENDENT[stage], constant))


# ---- first derivatives


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return (outputs, vector-Jacobian product); v is nested like the outputs."""
    with enable_grad():
        inputs_tuple, xs = _inputs(inputs, "vjp", create_graph)
        outputs_tuple, outs = _outputs(func, xs, "vjp", strict)
        vector = _vector(v, outs, outputs_tuple, "vjp", create_graph, NO_V_FOR_OUTPUT)
    product = _product(outs, xs, vector, xs, create_graph, strict, "back")
    return _result(outs, create_graph, outputs_tuple), _result(product, create_graph, inputs_tuple)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return (outputs, Jacobian-vector product), by differentiating the vjp; v is nested like the
    inputs.
    """
    with enable_grad():
        inputs_tuple, xs = _inputs(inputs, "jvp", create_graph)
        vector = _vector(v, xs, inputs_tuple, "jvp", create_graph, NO_V_FOR_INPUT)
        outputs_tuple, outs = _outputs(func, xs, "jvp", strict)
        unknown = tuple(torch_function("zeros_like")(o, requires_grad=True) for o in outs)
        pulled = _grad(outs, xs, unknown, create_graph=True)
        _check_requires_grad(pulled, "grad_inputs", strict)
    product = _product(pulled, unknown, vector, outs, create_graph, strict, "back_trick")
    return _result(outs, create_graph, outputs_tuple), _result(product, create_graph, outputs_tuple)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Compute the Jacobian: for each output, for each input, a tensor of output.shape +
    input.shape.
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    with enable_grad():
        inputs_tuple, xs = _inputs(inputs, "jacobian", create_graph)
        outputs_tuple, outs = _outputs(func, xs, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        rows = tuple(_jacobian_of(out, i, xs, create_graph, strict) for i, out in enumerate(outs))
    return _unpacked_twice(_finished(rows, create_graph), outputs_tuple, inputs_tuple)


def _check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "reverse-mode":
        return
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )


def _jacobian_of(
    out: Tensor, number: int, xs: Tensors, create_graph: bool, strict: bool
) -> Tensors:
    """Return the Jacobian of one output with respect to each input, row by row."""
    messages = INDEPENDENT["row"].format(number, "{}"), CONSTANT.format("jacobian", number)
    flat = out.reshape(-1)
    rows = []
    for j in range(out.numel()):
        grads = _grad((flat[j],), xs, create_graph=create_graph, retain_graph=True)
        rows.append(_with_zeros(grads, xs, strict, create_graph, messages))
    stack = torch_function("stack")
    return tuple(
        stack([row[i] for row in rows]).view(out.shape + x.shape)
        if rows
        else x.new_zeros(out.shape + x.shape)
        for i, x in enumerate(xs)
    )


# ---- second derivatives


def _single_output(func: Function, xs: Tensors, function: str, strict: bool) -> Tensor:
    was_tuple, outs = _outputs(func, xs, function, strict)
    if was_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return outs[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Compute the Hessian of a scalar: for each pair of inputs, a tensor of input.shape +
    input.shape.
    """
    inputs_tuple, xs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*xs: Tensor) -> Any:
        return _single_output(func, xs, "hessian", strict).squeeze()

    def first(*xs: Tensor) -> Any:
        jac = jacobian(scalar, xs, create_graph=True)
        _check_requires_grad(jac, "jacobian", strict)
        return jac

    forward = outer_jacobian_strategy == "forward-mode"
    if forward:
        _check_strategy(outer_jacobian_strategy, create_graph, strict, vectorize)
    result = jacobian(
        first, xs, create_graph=create_graph or forward, strict=strict, vectorize=vectorize
    )
    if forward:  # PyTorch keeps the graph of the inner jacobian for these
        result = tuple(tuple(map(_aliased, row)) for row in result)
    return _unpacked_twice(result, inputs_tuple, inputs_tuple)


def _aliased(t: Tensor) -> Tensor:
    return TRACED.reshape_alias(t, tuple(t.shape)) if t.requires_grad else t


def _first_of(
    func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool, function: str
) -> tuple[bool, Tensors, Any, Tensor, Tensors]:
    """Do the common first part of vhp and hvp: (inputs are a tuple, inputs, v, output, gradient
    with a graph).
    """
    inputs_tuple, xs = _inputs(inputs, function, create_graph)
    vector = _vector(v, xs, inputs_tuple, function, create_graph, NO_V_FOR_INPUT)
    out = _single_output(func, xs, function, strict)
    jac = _grad((out,), xs, create_graph=True)
    _check_requires_grad(jac, "jacobian", strict)
    return inputs_tuple, xs, vector, out, jac


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return (output, vector-Hessian product)."""
    with enable_grad():
        inputs_tuple, xs, vector, out, jac = _first_of(func, inputs, v, create_graph, strict, "vhp")
    product = _product(jac, xs, vector, xs, create_graph, strict, "double_back")
    return _finished(out, create_graph), _result(product, create_graph, inputs_tuple)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return (output, Hessian-vector product), by differentiating the gradient's vjp with respect
    to its vector.
    """
    with enable_grad():
        inputs_tuple, xs, vector, out, jac = _first_of(func, inputs, v, create_graph, strict, "hvp")
        unknown = tuple(torch_function("zeros_like")(x, requires_grad=True) for x in xs)
        twice = _grad(jac, xs, unknown, create_graph=True)
        _check_requires_grad(jac, "hessian", strict)
    product = _product(twice, unknown, vector, xs, create_graph, strict, "double_back_trick")
    return _finished(out, create_graph), _result(product, create_graph, inputs_tuple)
