"""Records of a run's rounding errors: `Trace.precision`, if the run was measured (--precision).

Each floating-point result, forward or backward, is compared with two others: with the same
operation on the same inputs in a wider type (the error that it *adds*), and with a run of
everything before in the wider type, the *shadow* (the error that it has; the rest of it is
*inherited*). The wider type is float64; for float64 it is the 80-bit long double. Norms are
Euclidean over all elements. Errors are relative to the norm of the shadow, in units of the dtype's
rounding: half the distance from 1 to the next number (2**-11 for float16, 2**-8 for bfloat16,
2**-24 for float32, 2**-53 for float64). So 0.5 to 1 is what rounding the exact result costs. An
error is inf where only one of the result and the compared one is finite, or where that one is 0 and
the result is not; it is 0 where both are equal, also if neither is finite.

A parameter begins each training step as it is: the shadow takes its present value, without an
error.
"""

from __future__ import annotations

from math import frexp, inf, ldexp

from gradtrace.annotations import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gradtrace.trace.record import OperationCount, OperationId, PassId, TensorId


class ErrorSource(NamedTuple):
    """One input of a measured operation, and the part of the result's error that came with it.

    `share` is the projection <h, e> / <e, e>: e is the result's error (result minus shadow), h the
    change of the operation's wide result when this input's error is added to those before it (the
    first with the actual value of the first input and the shadows of the others, and so on). All
    shares and that of the added error have the sum 1.
    """

    tensor: TensorId
    of_gradient: bool  # the tensor's gradient in the same pass, instead of its value
    share: float


class Measured(NamedTuple):
    """One floating-point result of an operation, compared with the wider type.

    Of a backward pass it is the gradient that the operation's node sends to one input. Where
    several operations send a gradient to one tensor, a row with `operation` None has their sum,
    after the rows of the parts.
    """

    operation: OperationId | None
    passed: PassId | None  # None: forward; else the number of the backward pass
    # whose value it is, or whose gradient: the result (forward), the input (backward)
    tensor: TensorId
    dtype: str
    wide_input: str  # the widest floating dtype among the inputs; "" if there is none
    elements: int
    # how many numbers are summed up for each element: the length of a reduction or contraction,
    # else 1
    terms: int
    norm: float  # of the shadow
    added: float  # ||result - wide(inputs)|| / ||shadow||
    inherited: float  # ||wide(inputs) - shadow|| / ||shadow||
    error: float  # ||result - shadow|| / ||shadow||
    # of the inputs that have errors; () if they were not told apart
    sources: tuple[ErrorSource, ...] = ()
    overflowed: int = 0  # elements that are inf or nan where wide(inputs) is finite
    # elements that are 0 where wide(inputs) is smaller than normal numbers, and not 0
    underflowed: int = 0
    subnormal: int = 0  # elements that are subnormal
    saturated: int = 0  # elements that are exactly 1 or -1 where wide(inputs) is not
    # the largest finite magnitude in wide(inputs); in the shadow, if that is only of a sample
    largest: float = 0.0
    # the smallest one that is not 0; of PyTorch's only if something is subnormal or underflowed
    smallest: float = 0.0
    summand: float = 0.0  # the largest finite magnitude in the inputs
    rounds: bool = False  # the shadow is a sum of two numbers that even the wider type rounded
    # elements that the shadow would decide otherwise (argmax, comparisons); it follows the run
    decisions: int = 0


class UpdateLoss(NamedTuple):
    """What rounding left of an optimiser's update of one parameter."""

    tensor: TensorId  # the parameter's version before it
    after: OperationCount  # how many operations had run before
    dtype: str
    elements: int
    wanted: int  # elements whose update in the wider type is not 0
    lost: int  # those of them that did not change
    norm: float  # of the update in the wider type
    error: float  # ||update made - update wanted|| / norm
    largest: float = 0.0  # the largest magnitude of an element's update among the lost ones
    broken: int = 0  # elements that are not finite, and would be in the wider type


class LossScale(NamedTuple):
    """One step() of a GradScaler."""

    after: OperationCount  # how many operations had run before
    scale: float
    skipped: bool  # a gradient was not finite
    # the largest power of 2 with which every measured gradient would have been finite; 0 if unknown
    fits: float
    tensors: tuple[TensorId, ...] = ()  # the parameters whose gradients were not finite
    operations: tuple[OperationId, ...] = ()  # whose backward made the first of them


def fitting_scale(limit: float) -> float:
    """Return the largest power of 2 up to a limit; 0.0 (unknown) for a limit that is not positive
    and finite.
    """
    return ldexp(1.0, frexp(limit)[1] - 1) if 0 < limit < inf else 0.0


class Unmeasured(NamedTuple):
    """An operation that was not measured, and why. The shadow takes its actual result."""

    operation: OperationId
    reason: str


class Precision(NamedTuple):
    """The measured errors of a run. `measured` is in the order in which the results were
    computed.
    """

    measured: tuple[Measured, ...]
    updates: tuple[UpdateLoss, ...] = ()
    scales: tuple[LossScale, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
