"""Loss functions as modules; each calls the function of the same name in `nn.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import function_of, store
from gradtrace.ops.nn.loss import legacy_reduction


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return `reduction`, or the reduction that the deprecated flags ask for if one is given."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_reduction(size_average, reduce)


class _Loss(Module):
    """A loss that calls a function of `nn.functional`, named by arguments of the class statement:

        class SmoothL1Loss(_Loss, function="smooth_l1_loss", passes="beta")

    The function gets the inputs, and as keywords the reduction and the attributes that `passes`
    names.
    """

    _function = ""
    _passes: tuple[str, ...] = ()

    def __init_subclass__(cls, function: str = "", passes: str = "", **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if function:
            cls._function = function
            cls._passes = words(passes)

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = _reduction(size_average, reduce, reduction)

    def _call(self, *inputs: Any) -> Any:
        passed = {name: getattr(self, name) for name in self._passes}
        return function_of(self)(*inputs, reduction=self.reduction, **passed)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._call(input, target)


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss, function="l1_loss"):
    """Mean absolute difference."""


class MSELoss(_Loss, function="mse_loss"):
    """Mean squared difference."""


class SmoothL1Loss(_Loss, function="smooth_l1_loss", passes="beta"):
    """Squared error where |input - target| < `beta`, absolute error elsewhere."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss, function="huber_loss", passes="delta"):
    """Squared error where |input - target| <= `delta`, linear elsewhere."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


class NLLLoss(_WeightedLoss, function="nll_loss", passes="weight ignore_index"):
    """Negative log-likelihood of class indices, from log-probabilities (N, C, ...)."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class CrossEntropyLoss(
    _WeightedLoss, function="cross_entropy", passes="weight ignore_index label_smoothing"
):
    """Cross-entropy of logits (N, C, ...) with class indices or class probabilities."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        store(self, locals(), "ignore_index label_smoothing")


class BCELoss(_WeightedLoss, function="binary_cross_entropy", passes="weight"):
    """Binary cross-entropy of probabilities."""


class BCEWithLogitsLoss(
    _Loss, function="binary_cross_entropy_with_logits", passes="weight pos_weight"
):
    """Binary cross-entropy of logits; `pos_weight` weights the positive targets."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_Loss, function="kl_div", passes="log_target"):
    """Kullback-Leibler divergence, from log-probabilities."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class PoissonNLLLoss(_Loss, function="poisson_nll_loss", passes="log_input full eps"):
    """Negative log-likelihood of counts under a Poisson distribution."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        store(self, locals(), "log_input full eps")

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._call(log_input, target)


class GaussianNLLLoss(_Loss, function="gaussian_nll_loss", passes="full eps"):
    """Negative log-likelihood under a normal distribution with the given variances."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        store(self, locals(), "full eps")

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:  # type: ignore[override]
        return self._call(input, target, var)


class SoftMarginLoss(_Loss, function="soft_margin_loss"):
    """log(1 + exp(-target * input))."""


class MultiLabelMarginLoss(_Loss, function="multilabel_margin_loss"):
    """Hinge loss of class scores (N, C) with several labels per sample."""


class MultiLabelSoftMarginLoss(
    _WeightedLoss, function="multilabel_soft_margin_loss", passes="weight"
):
    """Binary cross-entropy of several labels per sample."""


class MultiMarginLoss(_WeightedLoss, function="multi_margin_loss", passes="p margin weight"):
    """Hinge loss of class scores (N, C) with one class index per sample."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D "
                "instead"
            )
        store(self, locals(), "p margin")


class _MarginLoss(_Loss):
    default_margin = 0.0

    def __init__(
        self,
        margin: float | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = self.default_margin if margin is None else margin


class HingeEmbeddingLoss(_MarginLoss, function="hinge_embedding_loss", passes="margin"):
    """The distance of similar pairs (target 1), max(0, margin - distance) of dissimilar ones
    (-1).
    """

    default_margin = 1.0


class CosineEmbeddingLoss(_MarginLoss, function="cosine_embedding_loss", passes="margin"):
    """1 - cosine for similar pairs (target 1), max(0, cosine - margin) for dissimilar ones (-1)."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._call(input1, input2, target)


class MarginRankingLoss(_MarginLoss, function="margin_ranking_loss", passes="margin"):
    """max(0, -target * (input1 - input2) + margin), to rank pairs of inputs."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._call(input1, input2, target)


def _positive_margin(name: str, margin: float) -> float:
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")
    return margin


class TripletMarginLoss(_Loss, function="triplet_margin_loss", passes="margin p eps swap"):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative))."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = _positive_margin("TripletMarginLoss", margin)
        store(self, locals(), "p eps swap")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._call(anchor, positive, negative)


class TripletMarginWithDistanceLoss(
    _Loss, function="triplet_margin_with_distance_loss", passes="distance_function margin swap"
):
    """TripletMarginLoss with a custom distance function."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(None, None, reduction)
        self.margin = _positive_margin("TripletMarginWithDistanceLoss", margin)
        if distance_function is None:
            from gradtrace.nn.modules.shape import PairwiseDistance

            distance_function = PairwiseDistance()
        self.distance_function = distance_function
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._call(anchor, positive, negative)


class CTCLoss(_Loss, function="ctc_loss", passes="blank zero_infinity"):
    """Connectionist temporal classification."""

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        store(self, locals(), "blank zero_infinity")

    def forward(  # type: ignore[override]
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return self._call(log_probs, targets, input_lengths, target_lengths)
