"""Names that a program can use without binding them: Python's built-ins, and torch's mathematics.

This module contains names only, so parsing imports no operator.
"""

from __future__ import annotations

import builtins
import math

from gradtrace.annotations import Iterable
from gradtrace.lazy_names import words

SHORT = 5  # letters from which on a name with another letter is taken for a misspelt one
# In expressions without imports these names mean torch's functions.
MATHEMATICS = frozenset(
    words("""
    abs absolute acos acosh add addmm all allclose amax amin any arange arccos arcsin arctan arctan2 argmax argmin asin
    asinh atan atan2 atanh binary_cross_entropy bmm cat ceil chunk clamp clip clone concat conv1d conv2d cos cosh
    cosine_similarity cross cross_entropy cumprod cumsum det detach diag diff div dot einsum elu eq erf erfc exp exp2
    expm1 eye flatten flip float_power floor fmod frac full gather ge gelu gt huber_loss hypot inverse l1_loss
    layer_norm le leaky_relu lerp lgamma linear linspace log log10 log1p log2 log_softmax logaddexp logdet logsigmoid
    logsumexp lt masked_fill matmul max maximum mean median meshgrid min minimum mm mse_loss mul mv ne neg norm
    normalize ones ones_like outer permute pow prod rand randn reciprocal relu remainder repeat_interleave reshape
    round rsqrt selu sigmoid sign silu sin sinc sinh smooth_l1_loss softmax softplus sort sqrt square squeeze stack std
    sub sum tan tanh tensor tensordot tile trace transpose tril triu trunc unsqueeze var where xlogy zeros zeros_like
    """)
)
CONSTANTS = {
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "inf": math.inf,
    "nan": math.nan,
}
MODULES = {
    "torch": "torch",
    "math": "math",
    "F": "torch.nn.functional",
    "nn": "torch.nn",
}
# Names of other tools and books, and what they are called here.
SYNONYMS = {
    "ln": "log",
    "lg": "log10",
    "tg": "tan",
    "arctg": "atan",
    "sqr": "square",
    "logn": "log",
    "average": "mean",
    "power": "pow",
}
# Functions that torch does not have, as formulas, and the inputs for which these hold if not all.
FORMULAS = {
    "factorial": "exp(lgamma(x + 1)) for x > -1",
    "gamma": "exp(lgamma(x)) for x > 0",
    "cbrt": "sign(x)*abs(x)**(1/3)",
    "cot": "1/tan(x)",
    "sec": "1/cos(x)",
    "csc": "1/sin(x)",
    "coth": "1/tanh(x)",
    "sech": "1/cosh(x)",
    "csch": "1/sinh(x)",
    "acot": "atan(1/x)",
    "asec": "acos(1/x) for abs(x) >= 1",
    "acsc": "asin(1/x) for abs(x) >= 1",
    "acoth": "atanh(1/x) for abs(x) > 1",
}
BUILTINS = frozenset(vars(builtins))
# Built-in functions whose names are also those of quantities: prices of open and close, the input
# of a layer.
QUANTITIES = frozenset(("open", "input"))
# Built-in functions that no formula uses, so that in an expression these are names of variables.
UNUSUAL = QUANTITIES.union(
    words("""
    breakpoint bytearray bytes compile complex copyright credits eval exec globals help license locals memoryview
    """)
)
# Built-in functions and types that an expression may use.
CALCULATING = frozenset(
    words("abs all any bool divmod float int len list max min pow round sum tuple")
)


def is_known(name: str) -> bool:
    """Whether a name has a value in an expression that does not bind it."""
    if name in MATHEMATICS or name in CONSTANTS or name in MODULES:
        return True
    return name in BUILTINS and name not in UNUSUAL


def similar(name: str, names: Iterable[str]) -> str:
    """Return the known name that `name` misspells: it begins alike, and has the same letters or,
    if it is not short, all but one of them; "" if there is none.
    """
    from difflib import SequenceMatcher

    alike = [
        word
        for word in names
        if word[:1] == name[:1] and abs(len(word) - len(name)) <= 1 and word != name
    ]
    swapped = [word for word in alike if set(word) == set(name)]  # or doubled
    if swapped or len(name) < SHORT:
        return next(iter(swapped), "")
    for word in alike:
        blocks = SequenceMatcher(None, name, word).get_matching_blocks()
        if sum(block.size for block in blocks) >= max(len(name), len(word)) - 1:
            return word
    return ""
