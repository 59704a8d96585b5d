"""Connectionist temporal classification: the loss of a label sequence without an alignment.

Graves et al., "Connectionist Temporal Classification", 2006: the labels with blanks between them
are the states of a chain, and the likelihood is summed over all paths by the forward and backward
recurrences in log space. As in PyTorch the gradient is exp(log_probs) minus the states' posteriors,
which is correct if log_probs is a log_softmax.
"""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.engine.operators.op import loss_op
from gradtrace.engine.reverse.saved import watch
from gradtrace.ops.api import functional, public
from gradtrace.ops.nn.loss import reduction_named
from gradtrace.ops.pointwise.choice import where

REDUCTIONS = ("none", "mean", "sum")
PLACE = "(while checking arguments for ctc_loss_allocate_outputs)"
Rows = tuple[tuple[int, ...], ...]


def chain(labels: Sequence[int], blank: int) -> tuple[Array, Array]:
    """Return the states (the labels with blanks around each), and which states can be reached by
    skipping a blank.
    """
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)
    skips[2:] = states[2:] != states[:-2]
    return states, skips


def advance_paths(paths: Array, skips: Array) -> Array:
    """Return the log weight of paths into each state: from itself, the previous state or (`skips`)
    the one before.
    """
    moved = np.full_like(paths, -np.inf)
    moved[1:] = paths[:-1]
    jumped = np.full_like(paths, -np.inf)
    jumped[2:] = paths[:-2]
    return np.logaddexp(np.logaddexp(paths, moved), np.where(skips, jumped, -np.inf))


def forward(emitted: Array, skips: Array) -> Array:
    """Return the log weight of all paths up to each time and state; `emitted` (T, states) holds log
    probabilities.
    """
    result = np.full_like(emitted, -np.inf)
    result[0, :2] = emitted[0, :2]
    for t in range(1, len(emitted)):
        result[t] = advance_paths(result[t - 1], skips) + emitted[t]
    return result


def likelihood(paths: Array) -> float:
    return float(np.logaddexp.reduce(paths[-1, -2:]))


def negative_logs(log_probs: Array, labels: Rows, lengths: Ints, blank: int, *_: object) -> Array:
    result = np.full(len(lengths), np.inf)
    for n, (row, length) in enumerate(zip(labels, lengths, strict=True)):
        states, skips = chain(row, blank)
        if length:
            result[n] = -likelihood(
                forward(log_probs[:length, n, states].astype(np.float64), skips)
            )
        elif not row:
            result[n] = -0.0
    return result.astype(log_probs.dtype)


def slopes(
    g: Array, log_probs: Array, labels: Rows, lengths: Ints, blank: int, zero_infinity: bool
) -> Array:
    out = np.zeros_like(log_probs)
    for n, (row, length) in enumerate(zip(labels, lengths, strict=True)):
        if not length:
            continue
        states, skips = chain(row, blank)
        logs = log_probs[:length, n].astype(np.float64)
        emitted = logs[:, states]
        paths = forward(emitted, skips)
        total = likelihood(paths)
        if zero_infinity and total == -np.inf:
            continue
        # The backward recurrence is the forward one on the reversed chain, where a skip starts at
        # its other end.
        later = forward(emitted[::-1, ::-1], np.concatenate([skips, [False, False]])[:1:-1])[
            ::-1, ::-1
        ]
        shares = np.full_like(logs, -np.inf)
        for s, state in enumerate(states):
            shares[:, state] = np.logaddexp(shares[:, state], paths[:, s] + later[:, s])
        out[:length, n] = (np.exp(logs) - np.exp(shares - total - logs)) * float(g[n])
    return out


# fmt: off
ctc_backward = loss_op("_ctc_loss_backward(g, log_probs; labels, lengths, blank, zero_infinity)", slopes,
    undefined=True)
ctc = loss_op("_ctc_loss(log_probs; labels, lengths, blank, zero_infinity)",
    negative_logs,
    "-log(sum[a](prod[t](exp(log_probs[t, a[t]])))); collapse(a) == labels", unsupported_dtypes="bi ctc_loss_cpu",
    log_probs="_ctc_loss_backward(grad, log_probs, labels, lengths, blank, zero_infinity)")
# fmt: on


def as_lengths(name: str, value: int | Sequence[int] | Tensor, batch: int) -> Ints:
    if isinstance(value, Tensor):
        if value.dtype.is_floating_point or value.dtype.name == "bool":
            raise RuntimeError(f"{name} must be integral")
        value = value.array.reshape(-1).tolist()
    result = tuple(int(v) for v in ((value,) if isinstance(value, int) else value))
    if len(result) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    for length in result:
        if length < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {length} {PLACE}"
            )
    return result


def as_labels(targets: Array, lengths: Ints, classes: int) -> Rows:
    """Return the labels of each sample, from rows (N, S) or a concatenation."""
    if targets.ndim == 1:
        if len(targets) != sum(lengths):
            raise RuntimeError(
                f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size "
                f"{len(targets)} for argument #2 'targets' {PLACE}"
            )
        ends = np.cumsum(lengths)
        rows = [targets[end - n : end] for end, n in zip(ends, lengths, strict=True)]
    else:
        if targets.shape[1] < max(lengths, default=0):
            raise RuntimeError(
                f"Expected tensor to have size at least {max(lengths)} at dimension 1, but got size "
                f"{targets.shape[1]} for argument #2 'targets' {PLACE}"
            )
        rows = [targets[i, :n] for i, n in enumerate(lengths)]
    labels = tuple(tuple(int(v) for v in row) for row in rows)
    for label in (v for row in labels for v in row):
        if not 0 <= label < classes:
            raise RuntimeError(
                f"ctc_loss: a target is {label}, but log_probs has classes 0 to {classes - 1}"
            )
    return labels


@public("ctc_loss", forms="f")
def ctc_of_torch(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: int | Sequence[int] | Tensor,
    target_lengths: int | Sequence[int] | Tensor,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """Compute nn.functional.ctc_loss with reduction 0 (none), 1 (mean) or 2 (sum)
    (torch.ctc_loss).
    """
    return ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        REDUCTIONS[reduction],
        zero_infinity,
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: int | Sequence[int] | Tensor,
    target_lengths: int | Sequence[int] | Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log likelihood of label sequences (torch.nn.functional.ctc_loss).

    log_probs (T, N, C) or (T, C) is a log_softmax; targets are (N, S), (S), or all samples' labels
    concatenated. The mean divides each loss by its target's length first. Raises RuntimeError for
    inconsistent lengths and labels.
    """
    reduction = reduction_named(reduction)
    batched = log_probs.ndim == 3
    logs = log_probs if batched else log_probs.unsqueeze(1)
    steps, batch, classes = logs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    lengths = as_lengths("input_lengths", input_lengths, batch)
    sizes = as_lengths("target_lengths", target_lengths, batch)
    for length in lengths:
        if length > steps:
            raise RuntimeError(
                f"Expected input_lengths to have value at most {steps}, but got value {length} {PLACE}"
            )
    labels = as_labels(targets.array if batched else targets.array.reshape(1, -1), sizes, classes)
    result = watch(ctc(logs, labels, lengths, blank, zero_infinity), targets)
    if zero_infinity:
        result = where(result == np.inf, Tensor._wrap(np.zeros((), result.dtype.np)), result)
    if reduction == "mean":
        return (result / Tensor._wrap(np.maximum(sizes, 1).astype(result.dtype.np))).mean()
    if reduction == "sum":
        return result.sum()
    return result if batched else result.squeeze(0)


functional["ctc_loss"] = ctc_loss
