"""Batching rules of public functions that vmap cannot treat as operators, for example because they read array values.

A rule gets the function, its arguments and options with batched tensors among them, and the running vmap. It returns
the result, or NotImplemented if a loop over the samples is required.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.engine.operators.strided_view import extent
from gradtrace.engine.operators.tables import function_table
from gradtrace.func.batched import Batched
from gradtrace.func.pytree import apply, torch_function
from gradtrace.func.rules import front, insert_ones

Args = tuple[Any, ...]
RuleOptions = dict[str, Any]
Public = Callable[..., Any]  # the function that users call
FunctionRule = Callable[[Public, Args, RuleOptions, Any], Any]

SHARED_STATISTICS = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
    "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
    "False.If you are using a prebuilt module and do not need eval mode, please see the functorch website for "
    "resources on how to patch your module to work with vmap"
)

OUTSIDE = (
    "result = tensor.as_strided({0}, {1}, {2}) can access memory outside of `tensor`. `result` can access some memory "
    "in range [{2}, {3}], but `tensor` can only access some memory in range [{4}, {5}]. This is not supported inside "
    "of vmap, please try to rewrite the `as_strided` call as a sequence of PyTorch view operations"
)

FUNCTION_RULES: dict[str, FunctionRule] = function_table("func.function_rules.FUNCTION_RULES", {})


def rule(*names: str) -> Callable[[FunctionRule], FunctionRule]:
    def add(function: FunctionRule) -> FunctionRule:
        FUNCTION_RULES.update(dict.fromkeys(names, function))
        return function

    return add


def is_of_level(x: Any, level: Any) -> bool:
    return isinstance(x, Batched) and x.level is level


def in_front(x: Any, level: Any) -> Any:
    """Return the whole batch with samples first; a tensor that is the same for all samples is expanded."""
    return front(x.value, x.bdim, level.size) if is_of_level(x, level) else front(x, None, level.size)


def wrapped(found: Any, level: Any) -> Any:
    return apply(lambda x: Batched(x, 0, level) if isinstance(x, Tensor) else x, found)


def only_first(args: Args, options: RuleOptions, level: Any) -> bool:
    """Return whether only the first argument is batched."""
    return is_of_level(args[0], level) and not any(isinstance(x, Batched) for x in (*args[1:], *options.values()))


def dim_of(args: Args, options: RuleOptions, at: int, default: Any) -> tuple[Any, Args, RuleOptions]:
    """Return the argument `dim` (position `at`), and the arguments and options without it."""
    rest = {k: v for k, v in options.items() if k not in ("dim", "axis")}
    named = options.get("dim", options.get("axis", default))
    return (args[at], (*args[:at], *args[at + 1 :]), rest) if len(args) > at else (named, args, rest)


def with_dim(function: Public, x: Tensor, args: Args, options: RuleOptions, at: int) -> Any:
    dim, args, options = dim_of(args, options, at, -1)
    if dim is None:
        return NotImplemented
    return function(x, *args[1:], dim=dim % (x.ndim - 1) + 1, **options)


@rule("sort", "argsort", "topk", "msort")
def ordered(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    if not only_first(args, options, level) or not args[0].ndim:
        return NotImplemented
    x = in_front(args[0], level)
    if function.__name__ == "msort":
        return wrapped(torch_function("sort")(x, 1).values, level)
    return wrapped(with_dim(function, x, args, options, 2 if function.__name__ == "topk" else 1), level)


@rule("as_strided")
def strided(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of as_strided, whose offset counts in the storage of the whole batch: one more dim with the batch's stride.

    RuntimeError if a sample's view would leave the memory of this sample.
    """
    names = ("input", "size", "stride", "storage_offset")
    given = {**dict(zip(names, args, strict=False)), **options}
    x, size, stride = given["input"], tuple(given["size"]), tuple(given["stride"])
    if len(size) != len(stride):
        raise RuntimeError(
            "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
            f"{list(size)} and stride {list(stride)}"
        )
    start, offset = x.storage_offset(), given.get("storage_offset")
    offset = start if offset is None else offset
    end, last = extent(size, stride, offset), extent(x.shape, x.stride(), start)
    if 0 not in size and not start <= offset <= end <= last:
        raise RuntimeError(OUTSIDE.format(list(size), list(stride), offset, end, start, last))
    return Batched(function(x.value, (level.size, *size), (x.value.stride(x.bdim), *stride), offset), 0, level)


@rule("gather", "scatter", "scatter_add")
def by_index(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of gather, scatter and scatter_add, whose arguments are (input, dim, index, ...)."""
    if options or len(args) < 3 or not args[0].ndim or not isinstance(args[2], Tensor):
        return NotImplemented
    x, dim, index, *rest = args
    rest = [in_front(v, level) if isinstance(v, Tensor) and v.ndim else v for v in rest]
    if any(isinstance(v, Batched) for v in rest):
        return NotImplemented
    return wrapped(function(in_front(x, level), dim % x.ndim + 1, in_front(index, level), *rest), level)


@rule("index_select")
def selected(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of index_select: gather with the index expanded over the other dims, as in PyTorch."""
    if options or len(args) != 3 or not only_first(args, options, level) or not args[0].ndim or args[2].ndim != 1:
        return NotImplemented
    x, dim, index = in_front(args[0], level), args[1] % args[0].ndim + 1, args[2]
    shape = [1] * x.ndim
    shape[dim] = index.numel()
    spread = index.view(shape).expand([n if i != dim else index.numel() for i, n in enumerate(x.shape)])
    return wrapped(torch_function("gather")(x, dim, spread), level)


@rule("masked_fill")
def filled(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    if options or len(args) != 3 or isinstance(args[2], Tensor):
        return NotImplemented
    x, mask, value = args
    most = max(x.ndim, mask.ndim)
    whole, where = (insert_ones(in_front(v, level), most - v.ndim) for v in (x, mask))
    return wrapped(function(whole, where, value), level)


@rule("linear")
def affine(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of linear: compute input @ weight.T, then add the bias."""
    if options or len(args) < 2 or not args[1].ndim:
        return NotImplemented
    product = args[0].matmul(args[1].t())
    return product if len(args) < 3 or args[2] is None else product + args[2]


@rule("nll_loss")
def likelihood(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of nll_loss: gather the log-probability of each target, negate, then sum or average over the targets."""
    names = ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction")
    given = {**dict(zip(names, args, strict=False)), **options}
    input, target, ignore = given["input"], given["target"], given.get("ignore_index", -100)
    if given.get("weight") is not None or given.get("size_average") or given.get("reduce") or not input.ndim:
        return NotImplemented
    if target.dtype.name != "int64" or target.ndim != input.ndim - 1:
        return NotImplemented
    dim = 0 if input.ndim == 1 else 1
    used = target != ignore
    where = torch_function("where")
    picked = input.gather(dim, where(used, target, 0).unsqueeze(dim)).squeeze(dim)
    each = where(used, -picked, 0.0)
    reduction = given.get("reduction", "mean")
    if reduction == "none":
        return each
    return each.sum() / used.sum().to(input.dtype) if reduction == "mean" else each.sum()


@rule("cross_entropy")
def entropy(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of cross_entropy with class indices: nll_loss of log_softmax."""
    simple = len(args) == 2 and set(options) <= {"reduction", "ignore_index"}
    if not simple or args[1].is_floating_point() or not args[0].ndim:
        return NotImplemented
    return likelihood(function, (args[0].log_softmax(0 if args[0].ndim == 1 else 1), args[1]), options, level)


@rule("binary_cross_entropy", "binary_cross_entropy_with_logits")
def binary(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    reduction = options.get("reduction", "mean")
    if len(args) != 2 or set(options) - {"reduction"} or args[0].shape != args[1].shape:
        return NotImplemented
    each = wrapped(function(*(in_front(x, level) for x in args), reduction="none"), level)
    return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


@rule("layer_norm")
def normalised(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of layer_norm: normalise without weight and bias, then apply these."""
    names = ("input", "normalized_shape", "weight", "bias", "eps")
    given = {**dict(zip(names, args, strict=False)), **options}
    if not is_of_level(given["input"], level):
        return NotImplemented
    out = wrapped(
        function(in_front(given["input"], level), given["normalized_shape"], eps=given.get("eps", 1e-5)), level
    )
    out = out if given.get("weight") is None else out * given["weight"]
    return out if given.get("bias") is None else out + given["bias"]


@rule("inv", "cholesky", "matrix_power", "matrix_rank", "cond", "pinv", "svdvals", "eigvalsh")
def of_matrices(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of functions that accept a stack of matrices: the samples are one more dim of the stack."""
    if not only_first(args, options, level) or args[0].ndim < 2:
        return NotImplemented
    return wrapped(function(in_front(args[0], level), *args[1:], **options), level)


@rule("scaled_dot_product_attention")
def attention(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    if len(args) != 3 or any(isinstance(v, Tensor) for v in options.values()):
        return NotImplemented
    if len({x.ndim for x in args}) > 1:
        return NotImplemented
    return wrapped(function(*(in_front(x, level) for x in args), **options), level)


@rule("embedding", "one_hot")
def looked_up(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of embedding and one_hot, which treat each index separately; all samples share one table."""
    if not only_first(args, options, level):
        return NotImplemented
    return wrapped(function(in_front(args[0], level), *args[1:], **options), level)


IMAGE_NAMES = ("conv", "max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool")
CHANNELS_FIRST = {f"{name}{n}d": n + 2 for n in (1, 2, 3) for name in IMAGE_NAMES}


@rule(*CHANNELS_FIRST)
def images(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of convolution and pooling: merge the samples into the function's batch dim."""
    if not only_first(args, options, level):
        return NotImplemented
    x, ndim = in_front(args[0], level), CHANNELS_FIRST[function.__name__]
    if x.ndim == ndim:
        return wrapped(function(x, *args[1:], **options), level)
    if x.ndim != ndim + 1 or not level.size:
        return NotImplemented
    result = function(x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), *args[1:], **options)
    return wrapped(apply(lambda t: t.reshape(x.shape[0], x.shape[1], *t.shape[1:]), result), level)


@rule("batch_norm")
def statistics(function: Public, args: Args, options: RuleOptions, level: Any) -> Any:
    """Rule of batch_norm: RuntimeError if it would update running statistics that all samples share."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    named = function.__name__ == "batch_norm"  # functional's batch_norm, not torch.batch_norm
    updates = named and len(args) > 5 and args[5] and isinstance(args[0], Batched)
    if updates and any(isinstance(x, Tensor) and not isinstance(x, Batched) for x in args[1:3]):
        raise RuntimeError(SHARED_STATISTICS)
    return NotImplemented
