"""The part of `tf.nn` and `tf.losses` that small networks need."""

from __future__ import annotations

from typing import Any

from gradtrace.static.graph import Tensor, apply, function_of, operation_function

relu, sigmoid, tanh = (
    operation_function("Relu", "relu"),
    operation_function("Sigmoid", "sigmoid"),
    operation_function("Tanh", "tanh"),
)


def _along(op_type: str, torch_name: str) -> Any:
    def function(logits: Any, axis: int = -1, name: str | None = None) -> Tensor:
        run = function_of(torch_name)
        return apply(op_type, lambda x: run(x, axis), [logits], name)

    function.__name__ = function.__qualname__ = torch_name
    function.__doc__ = f"{torch_name} along an axis."
    return function


softmax, log_softmax = _along("Softmax", "softmax"), _along("LogSoftmax", "log_softmax")


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Return half the sum of squares."""
    return apply("L2Loss", lambda x: (x * x).sum() / 2, [t], name)


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None
) -> Tensor:
    """Return the cross entropy between the distribution `labels` and softmax(logits), for each row."""

    def cross_entropy(y: Any, x: Any) -> Any:
        return -(y * function_of("log_softmax")(x, dim)).sum(dim)

    return apply("SoftmaxCrossEntropyWithLogits", cross_entropy, [labels, logits], name)


softmax_cross_entropy_with_logits_v2 = softmax_cross_entropy_with_logits


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Tensor:
    """Return the elementwise cross entropy between z = `labels` and sigmoid(x), x = `logits`.

    It is computed as max(x, 0) - x z + log1p(exp(-|x|)).
    """

    def cross_entropy(z: Any, x: Any) -> Any:
        return x.clamp(min=0) - x * z + (-x.abs()).exp().log1p()

    return apply("logistic_loss", cross_entropy, [labels, logits], name)


def mean_squared_error(labels: Any, predictions: Any) -> Tensor:
    """Return the mean of the squared differences (tf.losses)."""
    return apply("mean_squared_error", lambda y, p: ((p - y) * (p - y)).mean(), [labels, predictions])


__all__ = [
    "l2_loss", "log_softmax", "relu", "sigmoid", "sigmoid_cross_entropy_with_logits", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2", "tanh",
]  # fmt: skip
