"""grad, grad_and_value, vjp, jvp, linearize: derivatives of functions of nested tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from gradtrace.engine import Tensor, enable_grad
from gradtrace.engine.data.state import state
from gradtrace.func.levels import (
    Argnums,
    Level,
    check_outputs,
    enter_arguments,
    gradients,
    pick,
    positions,
    split_aux,
)
from gradtrace.func.pytree import apply, flatten, torch_function, unflatten

GRAD = "grad_and_value(f)(*args)"
VJP = "vjp(f, *primals)"
JVP = "jvp(f, primals, tangents)"


def wrapping(func: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Give `wrapper` the name of `func`, if it has one."""
    return wraps(func)(wrapper) if hasattr(func, "__name__") else wrapper


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes (gradient, value) of `func`, which returns a scalar (and aux,
    with has_aux).
    """

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recorded = state.grad_enabled
        with Level() as level, enable_grad():
            entered, wanted = enter_arguments(level, args, argnums)
            output = func(*entered, **kwargs)
            aux = None
            if has_aux:
                output, aux = split_aux(output, GRAD)
            _check_scalar(output)
            leaves, spec = flatten(wanted)
            create_graph = recorded and level.depends_on_outside((output,))
            grads = gradients((output,), leaves, create_graph=create_graph, retain_graph=True)
        value = level.leave(output)
        gradient = level.leave(unflatten(grads, spec))
        if has_aux:
            return gradient, (value, level.leave_aux(aux, has_aux))
        return gradient, value

    return wrapping(func, wrapper)


value_and_grad = grad_and_value


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.dim() != 0:
        raise RuntimeError(
            f"{GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`, which returns a scalar; (gradient,
    aux) with has_aux.
    """
    both = grad_and_value(func, argnums, has_aux)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapping(func, wrapper)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the output of `func`, and a function that maps cotangents (nested like the output) to
    input gradients.
    """
    output, backward, aux = vjp_of_arguments(func, primals, None, has_aux)
    return (output, backward, aux) if has_aux else (output, backward)


def vjp_of_arguments(
    func: Callable[..., Any], primals: tuple[Any, ...], argnums: Argnums, has_aux: bool
) -> tuple[Any, Callable[..., Any], Any]:
    """Return (output, backward, aux) of `vjp` with respect to the arguments at `argnums` (None:
    all, as a tuple).
    """
    with Level() as level, enable_grad():
        if argnums is None:
            wanted = primals = level.enter(primals)
        else:
            primals, wanted = enter_arguments(level, primals, argnums)
        output = func(*primals)
        aux = None
        if has_aux:
            output, aux = split_aux(output, VJP)
        outputs = check_outputs(output, VJP)
        for t in outputs:
            if not t.is_floating_point():
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {t.dtype}"
                )
    leaves, wanted_spec = flatten(wanted)
    _, output_spec = flatten(output)

    def backward(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        flat_cotangents, spec = flatten(cotangents)
        if spec != output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {spec.outline()}, primal output: "
                f"{output_spec.outline()}"
            )
        if create_graph is None:
            create_graph = state.grad_enabled and level.depends_on_outside(
                (*outputs, *flat_cotangents)
            )
        grads = gradients(
            outputs, leaves, flat_cotangents, create_graph=create_graph, retain_graph=retain_graph
        )
        return level.leave(unflatten(grads, wanted_spec))

    return level.leave(output), backward, level.leave_aux(aux, has_aux)


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the output of `func(*primals)` and its derivative along `tangents`, which are nested
    like the primals.

    Computed by differentiating the vjp with respect to its cotangents, in which it is linear.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat_primals, spec = flatten(primals)
    directions, directions_spec = flatten(tangents)
    if spec != directions_spec:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {directions_spec}"
        )
    _check_tensors(flat_primals, "primals")
    _check_tensors(directions, "tangents")
    check_sizes(flat_primals, directions)
    output, push, aux = pushforward(func, primals, None, has_aux, strict=strict)
    result = output, _widened(push(directions), flat_primals, directions)
    return (*result, aux) if has_aux else result


def _widened(derivative: Any, primals: list[Tensor], tangents: list[Tensor]) -> Any:
    """Cast the derivative to the wider dtype of a tangent, if a tangent has a wider dtype than its
    primal.
    """
    wider = [
        t.dtype
        for p, t in zip(primals, tangents, strict=True)
        if t.dtype.itemsize > p.dtype.itemsize
    ]
    if not wider:
        return derivative
    widest = max(wider, key=lambda dtype: dtype.itemsize)
    return apply(
        lambda t: (
            t.to(widest) if t.is_floating_point() and t.dtype.itemsize < widest.itemsize else t
        ),
        derivative,
    )


def pushforward(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    argnums: Argnums,
    has_aux: bool,
    *,
    strict: bool = False,
) -> tuple[Any, Callable[[list[Tensor]], Any], Any]:
    """Return (output, push, aux) for the arguments at `argnums` (None: all).

    `push` takes a list with a tangent for each of their tensors, and returns the derivative of the
    output along these tangents, nested like the output. The derivative of an integer output is
    zero.
    """
    zeros_like = torch_function("zeros_like")
    with Level(forward=True) as level, enable_grad():
        if argnums is None:
            wanted = primals = _enter_floats(level, primals)
        else:
            chosen = positions(argnums, len(primals))
            primals = tuple(
                _enter_floats(level, p) if i in chosen else p for i, p in enumerate(primals)
            )
            wanted = pick(primals, argnums)
        output = func(*primals)
        aux = None
        if has_aux:
            output, aux = split_aux(output, JVP)
        outputs = check_outputs(output, JVP)
        if strict and not all(t.requires_grad for t in outputs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        smooth = [t for t in outputs if t.is_floating_point()]
        cotangents = [level.leaf(zeros_like(t).detach()) for t in smooth]
        pulled = gradients(smooth, flatten(wanted)[0], cotangents, create_graph=True)
    _, spec = flatten(output)

    def push(tangents: list[Tensor]) -> Any:
        recorded = state.grad_enabled
        with enable_grad():
            create_graph = recorded and level.depends_on_outside((*smooth, *tangents))
            computed = iter(
                gradients(
                    pulled, cotangents, tangents, create_graph=create_graph, retain_graph=True
                )
            )
        derivatives = [next(computed) if t.is_floating_point() else zeros_like(t) for t in outputs]
        return level.leave(unflatten(derivatives, spec))

    return level.leave(output), push, level.leave_aux(aux, has_aux)


def _enter_floats(level: Level, value: Any) -> Any:
    for leaf in flatten(value)[0]:
        if isinstance(leaf, Tensor) and not leaf.is_floating_point():
            raise ValueError(
                f"Expected primal to be floating point or complex, but got: {leaf.dtype}"
            )
    return level.enter(value)


def _check_tensors(leaves: list[Any], name: str) -> None:
    if not leaves:
        raise RuntimeError(f"{JVP}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{JVP}: Expected {name} to only contain Tensors, got {type(leaf)}")


def check_sizes(primals: list[Tensor], tangents: list[Tensor]) -> None:
    for primal, tangent in zip(primals, tangents, strict=True):
        if primal.shape != tangent.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                f"original Tensor, this is not supported. Tensor is of size {list(primal.shape)} "
                f"while the given forward gradient is of size {list(tangent.shape)}."
            )


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the output of `func` and its derivative at these primals, as a function of
    tangents.
    """
    # PyTorch also calls it twice: for the output, and to trace the derivative
    output = func(*primals)
    _, push, _ = pushforward(func, primals, None, False)

    wanted, spec = flatten(primals)

    def derivative(*tangents: Any) -> Any:
        flat_tangents, given_spec = flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}"
            )
        for i, (t, p) in enumerate(zip(flat_tangents, wanted, strict=True)):
            for kind, own, expected in (("shape", t.shape, p.shape), ("dtype", t.dtype, p.dtype)):
                if own != expected:
                    raise RuntimeError(
                        f"tangent:{i} with {kind} {own} in flattened pytree doesn't match the "
                        f"{kind} {expected} of the corresponding primal."
                    )
        return push(flat_tangents)

    return output, derivative


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return `func` unchanged. PyTorch removes in-place operations for compilers, which does not
    change the values.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
            "removed from the program, and replaced with their out-of-place equivalents.\n     "
            "remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )
    return wrapping(func, lambda *args, **kwargs: func(*args, **kwargs))
