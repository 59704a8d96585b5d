"""Run a call under vmap sample by sample, as the fallback for calls without a batching rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.namespace import TRACED
from gradtrace.func.batched import Batched
from gradtrace.func.pytree import flatten, torch_function, unflatten

Args = tuple[Any, ...]
Options = dict[str, Any]
AnyFunction = Callable[..., Any]


def highest(values: Any) -> Any:
    """Return the innermost vmap to which a value, also inside tuples and lists, belongs; None if there is none."""
    innermost = None
    for value in values:
        if isinstance(value, Batched):
            level = value.level
        elif type(value) in (tuple, list):
            level = highest(value)
        else:
            continue
        if level is not None and (innermost is None or level.number > innermost.number):
            innermost = level
    return innermost


def sample(value: Any, level: Any, i: int) -> Any:
    """Return sample i of a tensor that the vmap `level` batches; return any other value unchanged."""
    if isinstance(value, Batched) and value.level is level:
        return TRACED.select(value.value, value.bdim, i)
    if type(value) in (tuple, list):
        return type(value)(sample(v, level, i) for v in value)
    return value


def map_samples(function: AnyFunction, args: Args, options: Options, level: Any) -> Any:
    """Call `function` on each sample, and stack the nested results into batched tensors."""
    return stacked(call_samples(function, args, options, level), level)


def call_samples(function: AnyFunction, args: Args, options: Options, level: Any) -> list[Any]:
    leaves, spec = flatten((args, options))
    results = []
    for i in range(level.size):
        own_args, own_options = unflatten([sample(x, level, i) for x in leaves], spec)
        results.append(function(*own_args, **own_options))
    return results


def stacked(results: list[Any], level: Any) -> Any:
    """Combine nested results of the samples into one nested value of batched tensors."""
    if not results:
        raise RuntimeError("vmap: this operation cannot be done on a batch of size 0")
    columns = zip(*(flatten(result)[0] for result in results), strict=True)
    return unflatten([_column(column, level) for column in columns], flatten(results[0])[1])


def _column(column: tuple[Any, ...], level: Any) -> Any:
    if not isinstance(column[0], Tensor):
        return column[0]
    return Batched(torch_function("stack")(list(column)), 0, level)


def map_samples_in_place(function: AnyFunction, target: Batched, rest: Args, options: Options) -> Batched:
    """Call `function`, which modifies its first argument, on a view of the target for each sample."""
    call_samples(function, (target, *rest), options, target.level)
    return target


def expand_like(value: Tensor, arguments: list[Any]) -> Tensor:
    """Return a tensor as a batched one, with a copy for each sample, in every vmap to which an argument belongs."""
    levels = {}
    for x in arguments:
        while isinstance(x, Batched):
            levels[x.level.number] = x.level
            x = x.value
    for _, level in sorted(levels.items()):
        value = Batched(TRACED.clone(TRACED.expand(value, (level.size, *value.shape))), 0, level)
    return value


def result_dtype(operands: list[Any]) -> Any:
    """Return the common dtype of operands by type promotion, from their shapes and dtypes alone."""
    return dtypes.result_type(
        *((np.empty(o.shape, o.dtype.np) if isinstance(o, Tensor) else o, isinstance(o, Tensor)) for o in operands)
    )
