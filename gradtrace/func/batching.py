"""vmap: a function of one sample, run over a dimension of its arguments, the results stacked.

It runs the function once for each sample, so it saves the loop in the text, not the time of it; gradients flow through
the slices and the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.func.pytree import Spec, broadcast, flatten, torch_function, unflatten
from gradtrace.func.transforms import wrapping


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function over batches: `in_dims` says which dimension of each argument is the batch (None: not batched),
    `out_dims` where it goes in each output."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        leaves, spec = flatten(args)
        dims = _input_dims(func, in_dims, args, leaves, spec)
        results = []
        for i in range(_batch_size(leaves, dims)):
            sample = [x if d is None else x.select(d, i) for x, d in zip(leaves, dims, strict=True)]
            results.append(func(*unflatten(sample, spec), **kwargs))
        return _stacked(func, results, out_dims)

    return wrapping(func, wrapper)


def _name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return str(func.__name__)
    return f"functools.partial({_name(func.func)}, ...)" if hasattr(func, "func") else repr(func)


def _check_out_dims(func: Any, out_dims: Any) -> None:
    for d in flatten(out_dims)[0]:
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )


def _input_dims(func: Any, in_dims: Any, args: tuple[Any, ...], leaves: list[Any], spec: Spec) -> list[Any]:
    """The batch dimension of each leaf, counted from the start."""
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    dims = broadcast(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    return [_input_dim(where, x, d) for x, d in zip(leaves, dims, strict=True)]


def _input_dim(where: str, x: Any, d: Any) -> int | None:
    if d is None:
        return None
    if not isinstance(d, int):
        raise ValueError(
            f"{where}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{where}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim"
        )
    n = x.dim()
    if not -n <= d < n:
        raise ValueError(
            f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {n} so expected "
            f"in_dim to satisfy -{n} <= in_dim < {n}."
        )
    return d % n


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    sizes = [x.size(d) for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    if sizes[0] == 0:
        raise ValueError("vmap: the mapped dimension has size 0, so the function cannot be run to know its outputs")
    return int(sizes[0])


def _stacked(func: Any, results: list[Any], out_dims: Any) -> Any:
    leaves = [flatten(result)[0] for result in results]
    spec = flatten(results[0])[1]
    given = out_dims[0] if spec.kind is None and isinstance(out_dims, tuple) and len(out_dims) == 1 else out_dims
    dims = broadcast(given, spec)
    if dims is None or (spec.kind is None and isinstance(given, (tuple, list, dict))):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    name, stack = _name(func), torch_function("stack")
    outputs = []
    for k, dim in enumerate(dims):
        column = [leaf[k] for leaf in leaves]
        if dim is None:
            outputs.append(column[0])
            continue
        for x in column:
            if not isinstance(x, Tensor):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set "
                    "out_dims= to None for output?"
                )
        outputs.append(stack(column, dim))
    return unflatten(outputs, spec)
