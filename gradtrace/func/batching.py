"""vmap: map a function of one sample over a batch by running it once on batched tensors (`batched.py`).

Each operator runs on the whole batch by its batching rule (`rules.py`), or in a loop over the samples if it has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.func.batched import Batched
from gradtrace.func.interpret import interpreter
from gradtrace.func.levels import Running
from gradtrace.func.pytree import TreeSpec, broadcast, flatten, torch_function, unflatten
from gradtrace.func.transforms import wrapping
from gradtrace.ops.api import check_dim
from gradtrace.ops.random.generator import default_generator


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Vectorise a function (torch.func.vmap). `in_dims` is the batch dimension of each argument (None: not batched),
    `out_dims` its position in each output."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        leaves, spec = flatten(args)
        dims = _input_dims(func, in_dims, args, leaves, spec)
        size = _batch_size(leaves, dims)
        step = size if chunk_size is None or size == 0 else chunk_size
        if step >= size:
            return _run(func, leaves, dims, spec, kwargs, out_dims, Vmap(size, randomness))
        parts: list[Any] = []
        before = default_generator.get_state()
        for start in range(0, size, step):
            count = min(step, size - start)
            if randomness == "same":
                default_generator.set_state(before)
            chunk = [x if d is None else x.narrow(d, start, count) for x, d in zip(leaves, dims, strict=True)]
            parts.append(_run(func, chunk, dims, spec, kwargs, out_dims, Vmap(count, randomness)))
        return _concatenated(parts, out_dims)

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


def _input_dims(func: Any, in_dims: Any, args: tuple[Any, ...], leaves: list[Any], spec: TreeSpec) -> list[Any]:
    """Return the batch dimension of each leaf, non-negative."""
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
    return int(sizes[0])


class Vmap(Running):
    """A running vmap over `size` samples."""

    batches = True
    interpreter = interpreter

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__(randomness)
        self.size = size
        self.drawing = False  # whether a random operation is running sample by sample


def _run(
    func: Any, leaves: list[Any], dims: list[Any], spec: TreeSpec, options: dict[str, Any], out_dims: Any, level: Vmap
) -> Any:
    with level:
        batched = [x if d is None else Batched(x, d, level) for x, d in zip(leaves, dims, strict=True)]
        output = func(*unflatten(batched, spec), **options)
        result, out_spec = flatten(output)
        wanted = _output_dims(func, out_dims, out_spec)
        results = [_result(_name(func), x, d, level) for x, d in zip(result, wanted, strict=True)]
    return unflatten(results, out_spec)


def _output_dims(func: Any, out_dims: Any, spec: TreeSpec) -> list[Any]:
    given = out_dims[0] if spec.kind is None and isinstance(out_dims, tuple) and len(out_dims) == 1 else out_dims
    dims = broadcast(given, spec)
    if dims is None or (spec.kind is None and isinstance(given, (tuple, list, dict))):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _result(name: str, x: Any, dim: Any, level: Vmap) -> Any:
    """Return an output with its samples along `dim`; None requires an output that is the same for all samples."""
    own = isinstance(x, Batched) and x.level is level
    if dim is None:
        if own:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return x
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= "
            "to None for output?"
        )
    if isinstance(x, Batched) and own:
        dim = check_dim(dim, x.value.ndim)
        return x.value if dim == x.bdim else torch_function("movedim")(x.value, x.bdim, dim)
    sizes = list(x.shape)
    sizes.insert(check_dim(dim, x.ndim + 1), level.size)
    return x.expand(sizes)


def _concatenated(parts: list[Any], out_dims: Any) -> Any:
    """Concatenate the outputs of the chunks along their batch dims."""
    columns = zip(*(flatten(part)[0] for part in parts), strict=True)
    spec = flatten(parts[0])[1]
    dims = _output_dims(None, out_dims, spec)
    cat = torch_function("cat")
    return unflatten([c[0] if d is None else cat(list(c), d) for c, d in zip(columns, dims, strict=True)], spec)
