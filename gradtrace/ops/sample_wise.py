"""Public functions that read values or create tensors in addition to calling records.

A running vmap intercepts each call of a record (`state.batching`). These functions also read the values of their
arguments (to sort or index), draw random numbers, or create tensors, so vmap must intercept their own calls.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.state import state
from gradtrace.lazy_names import words

if TYPE_CHECKING:
    from gradtrace.ops.api import F

# Called once for all samples; each sample then gets its own copy.
LIKES = frozenset(words("zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty"))
RANDOM = frozenset(
    words("""
        rand randn rand_like randn_like randint randint_like randperm normal bernoulli multinomial uniform_ normal_
        bernoulli_ random_ exponential_ log_normal_ cauchy_ geometric_ poisson binomial dropout dropout1d dropout2d
        dropout3d alpha_dropout feature_alpha_dropout gumbel_softmax rrelu
    """)
)
# Their results would have a different shape for each sample, or are not tensors.
DYNAMIC = frozenset(words("nonzero argwhere masked_select unique unique_consecutive allclose equal where"))
READS = frozenset(
    words("""
        cosine_similarity gaussian_nll_loss as_strided fill_diagonal_ argsort binary_cross_entropy
        binary_cross_entropy_with_logits bincount bucketize cross_entropy embedding embedding_bag gather histc index_add
        index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_select isclose isin kthvalue
        masked_fill masked_fill_ masked_scatter masked_scatter_ multi_margin_loss multilabel_margin_loss nanquantile
        nll_loss one_hot put put_ quantile repeat_interleave scaled_dot_product_attention scatter scatter_ scatter_add
        scatter_add_ scatter_reduce scatter_reduce_ searchsorted sort msort take take_along_dim topk ldexp block_diag
        cholesky inv solve lu_factor batch_norm cond instance_norm grid_sample max_unpool1d max_unpool2d
        diagonal_scatter renorm combinations tensor_split index_reduce index_reduce_
    """)
)
# Batched: one call on a larger batch computes all samples (`func/function_rules.py`).
BATCHED = frozenset(
    words("""
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d conv1d conv2d conv3d eigvalsh layer_norm linear
        matrix_power matrix_rank max_pool1d max_pool2d max_pool3d pinv svdvals
    """)
)
SAMPLE_WISE = BATCHED | LIKES | RANDOM | DYNAMIC | READS


def sample_wise(function: F) -> F:
    """Wrap a function so that a running vmap intercepts its calls."""

    def call(*args: Any, **options: Any) -> Any:
        if state.batching is None:
            return function(*args, **options)
        return state.batching.call(function, call, args, options)

    return copy_metadata(call, function)


def copy_metadata(call: Any, function: Callable[..., Any]) -> Any:
    """Copy metadata as functools.wraps does; importing functools is slow."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(call, name, getattr(function, name))
    vars(call).update(vars(function))
    call.__wrapped__ = function
    return call
