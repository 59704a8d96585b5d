"""Find the sign of a tensor's infinities, also where a record has only statistics of its elements."""

from __future__ import annotations

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import has_inf, operator
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation

# They store a number as it is.
FILLS = function_table(
    "analysis.causes.signs.FILLS", ("masked_fill", "where", "full", "full_like", "index_fill", "copy_")
)
# Of -inf and finite numbers they make nothing but these.
KEEPING = function_table(
    "analysis.causes.signs.KEEPING",
    ("add", "clone", "contiguous", "copy_", "index_fill", "masked_fill", "to", "tril", "triu", "where"),
)


def is_negative(facts: Facts, tensor: int) -> bool:
    """Whether the infinities of a tensor are known to be -inf: by its elements, or by what made them."""
    waiting = [tensor]
    for at in waiting:
        value, maker = facts.tensors[at].value, facts.maker(at)
        if value is not None and value.is_whole:
            if np.any(np.equal(value.data, np.inf)):
                return False
            continue
        earlier = () if maker is None else [i for i in maker.tensors if has_inf(facts.tensors[i].value)]
        if maker is None or not gives_negative(maker, bool(earlier)):
            return False
        waiting += [i for i in earlier if i not in waiting]
    return True


def gives_negative(maker: Operation, is_given: bool) -> bool:
    """Whether an operation has no other infinity than -inf in its result, if those that it is given are -inf."""
    name, record = operator(maker), record_of(maker.name)
    written = [text for text in maker.constants if "inf" in text]
    if any("-inf" not in text for text in written):
        return False
    if not is_given:
        return name.startswith("log") or (bool(written) and (name in FILLS or maker.name in FILLS))
    return (record is not None and record.kind == "view") or name in KEEPING or maker.name in KEEPING
