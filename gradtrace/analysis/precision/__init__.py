"""Which operations lose the precision of a measured run.

answer(trace) -> PrecisionAnswer               the losses that reach the loss or a parameter's
                                               gradient
answer(trace, tensor) -> PrecisionAnswer       those that reach this tensor's value and gradient
"""

from gradtrace.analysis.precision.answer import Loss as Loss
from gradtrace.analysis.precision.answer import PrecisionAnswer as PrecisionAnswer
from gradtrace.analysis.precision.answer import Target as Target
from gradtrace.analysis.precision.answer import answer as answer
from gradtrace.analysis.precision.answer import digits as digits
from gradtrace.analysis.precision.answer import target_in as target_in
