"""Batching rules: run an operator's record once on batched tensors.

`rule_of` selects a rule by the record's `dims` and `kind`; RULES has operators with special rules. A rule gets the
record, the number of samples, the arguments with batched tensors unwrapped, and the batch dimension of each argument
(None: the same for all samples). It returns the result and its batch dimension, or NotImplemented if a loop over the
samples is required.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.engine.operators.namespace import TRACED as xp
from gradtrace.engine.operators.op import Op
from gradtrace.engine.operators.tables import record_table
from gradtrace.func.by_sample import result_dtype
from gradtrace.func.pytree import torch_function

Args = list[Any]
Rule = Callable[[Op, int, Args, Args], Any]

RULES: dict[str, Rule] = record_table("func.rules.RULES", {})


def rule(*names: str) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return add


def rule_on_front(*names: str) -> Callable[[Callable[..., Any]], Rule]:
    """Register a rule of one tensor: it gets the record, the batch with samples in front, and the other arguments.

    It returns the result with samples in front, or NotImplemented.
    """

    def add(function: Callable[..., Any]) -> Rule:
        def apply(record: Op, size: int, args: Args, dims: Args) -> Any:
            out = function(record, front(args[0], dims[0], size), *args[1:])
            return out if out is NotImplemented else (out, 0)

        return rule(*names)(apply)

    return add


def front(x: Tensor, bdim: int | None, size: int) -> Any:
    """Return a tensor with its batch dim in front; expand one that is the same for all samples (`bdim` None)."""
    if bdim is None:
        return xp.expand(x, (size, *x.shape))
    if bdim == 0:
        return x
    return xp.permute(x, (bdim, *(i for i in range(x.ndim) if i != bdim)))


def logical_ndim(x: Tensor, bdim: int | None) -> int:
    return x.ndim - (bdim is not None)


def insert_ones(x: Tensor, count: int) -> Tensor:
    """Return a tensor with `count` dims of size 1 inserted after the first dim."""
    for _ in range(count):
        x = xp.unsqueeze(x, 1)
    return x


def rule_of(record: Op) -> Rule | None:
    """Return the batching rule of an operator; None if a loop over the samples is required."""
    return RULES.get(record.name) or (along_dims if record.dims else BY_KIND.get(record.kind))


# ---- elementwise


@rule_on_front("contiguous")
def contiguous(record: Op, x: Tensor) -> Any:
    return record(x)


def elementwise(record: Op, size: int, args: Args, dims: Args) -> Any:
    if not plain_are_shared(record, dims):
        return NotImplemented
    alone = record.arity == 1 or (record.promote == "compare" and not isinstance(args[1], Tensor))
    if alone and dims[0] is not None and not any(map(rank, args[record.arity :])):
        return record(*args), dims[0]
    operands = aligned(record, args, dims)
    out = record(*operands)
    # A few kernels ignore an operand, such as the empty tensor of a copy: then all samples have one result.
    whole = type(out) is tuple or rank(out) >= max(map(rank, operands))
    return (out if whole else front(out, None, size)), 0


def fill(record: Op, size: int, args: Args, dims: Args) -> Any:
    """Rule of operators that fill a tensor; NotImplemented if the tensor is the same for all samples."""
    return NotImplemented if dims[0] is None else elementwise(record, size, args, dims)


def plain_are_shared(record: Op, dims: Args) -> bool:
    """Return whether the plain (non-tensor) arguments are the same for all samples."""
    return all(d is None for d in dims[record.arity :])


def rank(value: Any) -> int:
    """Return the number of dims of an array or tensor, 0 for any other value."""
    return getattr(value, "ndim", 0)


def aligned(record: Op, args: Args, dims: Args) -> Args:
    """Return the arguments with samples in front and dims of size 1 after them, so that they broadcast like samples."""
    tensors = [i for i in range(record.arity) if isinstance(args[i], Tensor)]
    most = max(*(logical_ndim(args[i], dims[i]) for i in tensors), *map(rank, args[record.arity :]), 0)
    args = promoted(record, args, dims, tensors)
    for i in tensors:
        if dims[i] is not None:
            args[i] = insert_ones(front(args[i], dims[i], 0), most - logical_ndim(args[i], dims[i]))
    return args


def promoted(record: Op, args: Args, dims: Args, tensors: list[int]) -> Args:
    """Return the arguments cast to the dtype that single samples promote to; whole batches may promote differently."""
    if len({args[i].dtype for i in tensors}) < 2 or record.promote is None:
        return list(args)
    samples = [
        xp.select(x, dims[i], 0) if dims[i] is not None and x.shape[dims[i]] else x
        for i, x in enumerate(args[: record.arity])
    ]
    common = result_dtype([s for s in samples if s is not None])
    return [x if i not in tensors or x.dtype is common else xp.cast(x, common.np) for i, x in enumerate(args)]


# ---- along dims


def shifted(dim: Any, ndim: int) -> Any:
    """Convert a dim (or dims; None: all) of a sample with `ndim` dims to the dim of the batch, whose dim 0 is new."""
    if dim is None:
        return tuple(range(1, ndim + 1))
    if isinstance(dim, tuple):
        return tuple(d % ndim + 1 for d in dim)
    return dim % ndim + 1


@rule_on_front()
def along_dims(record: Op, x: Tensor, *plain: Any) -> Any:
    """Rule of operators of one tensor with dim arguments, which the record's `dims` names: shift them by one."""
    ndim = x.ndim - 1
    if ndim == 0:
        return NotImplemented
    names = zip(record.plain_names, plain, strict=False)
    return record(x, *(shifted(value, ndim) if name in record.dims else value for name, value in names))


@rule_on_front("unsqueeze")
def unsqueezed(record: Op, x: Tensor, dim: int) -> Any:
    return record(x, dim % x.ndim + 1)


@rule_on_front("permute")
def permuted(record: Op, x: Tensor, order: Any) -> Any:
    return record(x, (0, *shifted(order, x.ndim - 1))) if x.ndim > 1 else NotImplemented


def flat_samples(x: Tensor) -> Tensor:
    """Return a batch of samples of at least one dim as a matrix with a row for each."""
    return xp.reshape(x, (x.shape[0], -1)) if x.ndim > 2 else x


@rule_on_front("sum", "mean", "prod", "max", "min", "median", "nanmedian")
def of_all(record: Op, x: Tensor, *plain: Any) -> Any:
    """Rule of reductions of all elements: reduce all dims except the batch dim."""
    if x.ndim == 1:
        return NotImplemented
    along = getattr(xp, record.name + "_dim")
    if record.name in ("sum", "mean"):
        return along(x, tuple(range(1, x.ndim)), False, plain[0])
    if record.name == "prod":
        return along(flat_samples(x), (1,), False, plain[0])
    return along(flat_samples(x), 1, False)[0]


@rule_on_front("argmax", "argmin")
def best(record: Op, x: Tensor, dim: int | None, keepdim: bool) -> Any:
    if x.ndim == 1 or (dim is None and keepdim):
        return NotImplemented
    if dim is None:
        return record(xp.reshape(x, (x.shape[0], -1)), 1, False)
    return record(x, shifted(dim, x.ndim - 1), keepdim)


# ---- shapes


@rule_on_front("view", "reshape", "unsafe_view")
def reshaped(record: Op, x: Tensor, shape: Any) -> Any:
    return record(x, (x.shape[0], *shape))


@rule_on_front("expand")
def expanded(record: Op, x: Tensor, shape: Any) -> Any:
    return record(insert_ones(x, len(shape) - (x.ndim - 1)), (x.shape[0], *shape))


@rule_on_front("repeat")
def repeated(record: Op, x: Tensor, counts: Any) -> Any:
    return record(insert_ones(x, len(counts) - (x.ndim - 1)), (1, *counts))


@rule_on_front("t")
def rotated(record: Op, x: Tensor) -> Any:
    return xp.transpose(x, 1, 2) if x.ndim == 3 else xp.alias(x)


@rule_on_front("squeeze_all")
def squeezed(record: Op, x: Tensor) -> Any:
    return xp.view(x, (x.shape[0], *(n for n in x.shape[1:] if n != 1)))


@rule_on_front("tril", "triu")
def triangle(record: Op, x: Tensor, diagonal: int) -> Any:
    return record(x, diagonal)


@rule("cat", "stack")
def joined(record: Op, size: int, args: Args, dims: Args) -> Any:
    parts = tuple(front(x, d, size) for x, d in zip(args[0], dims[0], strict=True))
    if record.name == "cat":  # samples of shape (0,) are ignored
        parts = tuple(x for x in parts if x.shape[1:] != (0,)) or parts
    ndim = parts[0].ndim - 1 + (record.name == "stack")
    return record(parts, args[1] % ndim + 1), 0


@rule_on_front("roll")
def rolled(record: Op, x: Tensor, shifts: Any, along: Any) -> Any:
    if x.ndim == 1:
        return NotImplemented
    if along:
        return record(x, shifts, shifted(along, x.ndim - 1))
    flat = xp.reshape(x, (x.shape[0], -1))
    return xp.reshape(record(flat, shifts, (1,)), tuple(x.shape))


@rule_on_front("trace")
def trace(record: Op, x: Tensor) -> Any:
    return xp.sum_dim(xp.diagonal(x, 0, 1, 2), (1,), False, None)


@rule_on_front("diag_embed")
def embedded(record: Op, x: Tensor, offset: int, dim1: int, dim2: int) -> Any:
    return record(x, offset, dim1 % x.ndim + 1, dim2 % x.ndim + 1)


@rule("index")
def indexed(record: Op, size: int, args: Args, dims: Args) -> Any:
    """Rule of indexing by adjacent index arrays that are the same for all samples."""
    indices = args[1]
    advanced = [i for i, item in enumerate(indices) if not isinstance(item, slice)]
    if advanced != list(range(advanced[0], advanced[-1] + 1)):
        return NotImplemented
    return record(front(args[0], dims[0], size), (slice(None), *indices)), 0


@rule_on_front("constant_pad")
def padded(record: Op, x: Tensor, pad: Any, value: Any) -> Any:
    return record(x, (*pad, *(0,) * (2 * x.ndim - len(pad))), value)


def of_matrices(record: Op, size: int, args: Args, dims: Args) -> Any:
    """Rule of functions of one stack of matrices: the samples are one more dim of the stack."""
    if record.arity > 1:
        return NotImplemented
    x = front(args[0], dims[0], size)
    return (record(x, *args[1:]), 0) if x.ndim > 2 else NotImplemented


def loss(record: Op, size: int, args: Args, dims: Args) -> Any:
    """Rule of losses: compute the loss of each element on broadcast operands, then reduce each sample."""
    if record.promote is None or any(map(rank, args[record.arity : -1])):
        return NotImplemented
    each = record(*aligned(record, args, dims)[:-1], "none")
    if args[-1] == "none":
        return each, 0
    return of_all(xp.mean if args[-1] == "mean" else xp.sum, size, [each, None], [0])


# ---- products of matrices


@rule("dot", "vdot")
def dot(record: Op, size: int, args: Args, dims: Args) -> Any:
    if any(logical_ndim(x, d) != 1 for x, d in zip(args, dims, strict=True)):
        raise RuntimeError("Got wrong shapes for dot")
    if None not in dims:
        return product(record, size, args, dims)
    a, b = (x if d is None else front(x, d, size) for x, d in zip(args, dims, strict=True))
    return (matmul(a, b) if dims[1] is None else matmul(a, xp.t(b))), 0


RANKS = record_table("func.rules.RANKS", {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3)})


def check_ranks(name: str, args: Args, dims: Args) -> None:
    ranks, wanted = tuple(logical_ndim(x, d) for x, d in zip(args, dims, strict=True)), RANKS.get(name)
    if wanted is not None and ranks != wanted:
        raise RuntimeError(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {ranks[0]}and b has dim {ranks[1]}but "
            f"expected them to have dim {wanted[0]} and dim {wanted[1]}"
        )


@rule("mv")
def mv(record: Op, size: int, args: Args, dims: Args) -> Any:
    check_ranks("mv", args, dims)
    a, b = (x if d is None else front(x, d, size) for x, d in zip(args, dims, strict=True))
    if None not in dims:
        return product(record, size, args, dims)
    return (matmul(a, b), 0) if dims[1] is None else (matmul(a, xp.t(b)), 1)


@rule("mm", "matmul", "bmm")
def product(record: Op, size: int, args: Args, dims: Args) -> Any:
    """Rule of matrix products: one matmul of stacks of matrices, in which a vector is a matrix of one row or column."""
    check_ranks(record.name, args, dims)
    a, b = (x if d is None else front(x, d, size) for x, d in zip(args, dims, strict=True))
    vectors = [logical_ndim(x, d) == 1 for x, d in zip(args, dims, strict=True)]
    a = xp.unsqueeze(a, a.ndim - 1) if vectors[0] else a
    b = xp.unsqueeze(b, b.ndim) if vectors[1] else b
    ranks = [x.ndim - (d is not None) for x, d in zip((a, b), dims, strict=True)]
    a, b = (insert_ones(x, max(ranks) - r) if d is not None else x for x, d, r in zip((a, b), dims, ranks, strict=True))
    out = matmul(a, b)
    if vectors[0]:
        out = xp.squeeze_dim(out, out.ndim - 2)
    if vectors[1]:
        out = xp.squeeze_dim(out, out.ndim - 1)
    return out, 0


def matmul(a: Tensor, b: Tensor) -> Any:
    return torch_function("matmul")(a, b)


@rule("addmm", "addmv", "baddbmm")
def added_product(record: Op, size: int, args: Args, dims: Args) -> Any:
    """Rule of addmm, addmv and baddbmm: compute beta * input + alpha * (a @ b) in separate steps."""
    start, a, b, beta, alpha = args
    done, _ = product(record, size, [a, b], dims[1:3]) if dims[1:3] != [None, None] else (matmul(a, b), None)
    done = done if alpha == 1 else done * alpha
    start = start if beta == 1 else start * beta
    bdims = [dims[0], None if dims[1:3] == [None, None] else 0]
    return elementwise(xp.add, size, [start, done], bdims)


BY_KIND: dict[str, Rule] = {"elementwise": elementwise, "fill": fill, "linalg": of_matrices, "loss": loss}
