"""vmap: call a function once for each sample of a batch, and stack the results.

A sample is a view, so gradients flow through it. Values and errors of the arguments are PyTorch's;
what PyTorch cannot batch (`item()`, a condition on a value, a result whose shape depends on values)
works as in any loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.engine.data.state import using
from gradtrace.func.pytree import TreeSpec, broadcast, flatten, torch_function, unflatten
from gradtrace.func.transforms import wrapping
from gradtrace.ops.api import check_dim
from gradtrace.ops.random.generator import default_generator

RANDOM_MESSAGE = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' "
    "or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Map a function of one sample over a batch (torch.func.vmap). `in_dims` is the batch dimension
    of each argument (None: not batched), `out_dims` its position in each output.

    With the randomness "different" the samples draw one after another, so their numbers are not
    those of PyTorch, which draws for all samples at once. `chunk_size` only limits memory in
    PyTorch, and has no effect here.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        leaves, spec = flatten(args)
        dims = _input_dims(func, in_dims, args, leaves, spec)
        size = _batch_size(leaves, dims)
        before = default_generator.get_state() if randomness == "same" else None
        outputs = []
        with refused_draws(randomness):
            for sample in _samples(leaves, dims, size):
                if before is not None:
                    default_generator.set_state(before)
                outputs.append(func(*unflatten(sample, spec), **kwargs))
        return _stacked(func, outputs, out_dims, size)

    return wrapping(func, wrapper)


def refused_draws(randomness: str) -> using:
    """Return a context in which random numbers are refused if `randomness` is "error"."""
    return using(refused_draws=RANDOM_MESSAGE) if randomness == "error" else using()


def _name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return str(func.__name__)
    return f"functools.partial({_name(func.func)}, ...)" if hasattr(func, "func") else repr(func)


def _check_out_dims(func: Any, out_dims: Any) -> None:
    for d in flatten(out_dims)[0]:
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None "
                "or a python collection of ints representing where in the outputs the vmapped "
                "dimension should appear."
            )


def _input_dims(
    func: Any, in_dims: Any, args: tuple[Any, ...], leaves: list[Any], spec: TreeSpec
) -> list[Any]:
    """Return the batch dimension of each leaf, non-negative."""
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
            "are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    dims = broadcast(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    return [_input_dim(where, x, d) for x, d in zip(leaves, dims, strict=True)]


def _input_dim(where: str, x: Any, d: Any) -> int | None:
    if d is None:
        return None
    if not isinstance(d, int):
        raise ValueError(
            f"{where}: Got in_dim={d} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{where}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot "
            "vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    n = x.dim()
    if not -n <= d < n:
        raise ValueError(
            f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality "
            f"{n} so expected in_dim to satisfy -{n} <= in_dim < {n}."
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


def _samples(leaves: list[Any], dims: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield the arguments of each sample. An empty batch yields one sample of zeros, which shows
    the structure and shapes of the result.
    """
    pairs = list(zip(leaves, dims, strict=True))
    if not size:
        yield [x if d is None else x.new_zeros(x.shape[:d] + x.shape[d + 1 :]) for x, d in pairs]
    for i in range(size):
        yield [x if d is None else x.select(d, i) for x, d in pairs]


def _stacked(func: Any, outputs: list[Any], out_dims: Any, size: int) -> Any:
    """Stack the outputs of the samples, which are nested alike, along `out_dims`."""
    spec = flatten(outputs[0])[1]
    columns = zip(*(flatten(output)[0] for output in outputs), strict=True)
    dims = _output_dims(func, out_dims, spec)
    return unflatten(
        [_result(_name(func), c, d, size) for c, d in zip(columns, dims, strict=True)], spec
    )


def _output_dims(func: Any, out_dims: Any, spec: TreeSpec) -> list[Any]:
    dims_tree = out_dims
    if spec.kind is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims_tree = out_dims[0]
    dims = broadcast(dims_tree, spec)
    if dims is None or (spec.kind is None and isinstance(dims_tree, (tuple, list, dict))):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
            f"with the structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but "
            f"outputs has structure {spec}."
        )
    return dims


def _result(name: str, samples: tuple[Any, ...], dim: Any, size: int) -> Any:
    """Return an output with its samples along `dim`; None requires an output that is the same for
    all samples.
    """
    first = samples[0]
    if dim is None:
        equal = torch_function("equal")
        if isinstance(first, Tensor) and not all(x is first or equal(x, first) for x in samples):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return first
    if not isinstance(first, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(first)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    dim = check_dim(dim, first.ndim + 1)
    result = torch_function("stack")(samples, dim)
    return result if size else result.narrow(dim, 0, 0)
