"""Parameters that one run has in one piece and the other one in several: the weights of three
projections, concatenated.

Of the pieces a tensor is made that no run has: their values and gradients, concatenated, version by
version. It is paired with the whole, so that values, gradients and updates are compared as those of
any parameter.
"""

from __future__ import annotations

from gradtrace.analysis.compare.distance import turned
from gradtrace.analysis.compare.runs import RecordedRun, is_product, is_view
from gradtrace.annotations import Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.trace.record import Value

MOST = 64  # pieces of a parameter
NAMED = 3  # pieces, in the name of what they make together


def pieces_of(
    whole: Value | None, run: RecordedRun, parameters: Sequence[int]
) -> tuple[list[int], int, bool]:
    """Return the parameters that make a value if they are concatenated, the dim, and whether each
    is transposed for that; no parameters if none do.
    """
    if whole is None or not whole.is_whole or not whole.numel or not whole.shape:
        return [], 0, False
    if is_constant(whole):
        return [], 0, False
    for transposed in (False, True) if len(whole.shape) == 2 else (False,):
        for dim in range(len(whole.shape)):
            pieces = consecutive(whole, run, parameters, dim, transposed)
            if len(pieces) > 1:
                return pieces, dim, transposed
    return [], 0, False


def is_constant(value: Value) -> bool:
    """Whether all elements are equal: others have them too."""
    return bool((value.elements == value.elements.flat[0]).all())


def bias_of(run: RecordedRun, weight: int) -> int | None:
    """Return the parameter that is added where a weight is used, at once or to their product."""
    waiting = [weight]
    for tensor in waiting:
        for use in run.uses.get(tensor, ())[:1]:
            operation = run.operations[use]
            origins = [run.origin(i) for i in operation.tensors if i != tensor]
            bias = next((i for i in origins if i is not None and is_bias(run, i)), None)
            if bias is not None:
                return bias
            if is_view(operation) or is_product(operation):
                waiting += operation.outputs[:1]
    return None


def is_bias(run: RecordedRun, tensor: int) -> bool:
    return run.tensors[tensor].is_parameter and len(run.shape(tensor)) == 1


def consecutive(
    whole: Value, run: RecordedRun, parameters: Sequence[int], dim: int, transposed: bool
) -> list[int]:
    """Return the parameters that a value consists of along a dim, in order; [] if a stretch of it
    is in none.
    """
    waiting = list(parameters)
    pieces: list[int] = []
    begin = 0
    while begin < whole.shape[dim]:
        for i in waiting:
            piece = turned(run.tensors[i].value) if transposed else run.tensors[i].value
            if piece is None or not piece.is_whole or not piece.numel:
                continue
            if len(piece.shape) != len(whole.shape):
                continue
            end = begin + piece.shape[dim]
            window = tuple(
                slice(begin, end) if n == dim else slice(None) for n in range(len(whole.shape))
            )
            part = whole.elements[window]
            if part.shape == piece.shape and bool((part == piece.elements).all()):
                break
        else:
            return []
        waiting.remove(i)
        pieces.append(i)
        begin = end
        if len(pieces) > MOST:
            return []
    return pieces


def concatenated(values: Sequence[Value | None], dim: int, transposed: bool) -> Value | None:
    """Return the values in one piece; None if one of them is not known whole."""
    parts = [turned(value) if transposed else value for value in values]
    if any(part is None or not part.is_whole for part in parts):
        return None
    elements = np.concatenate([part.elements for part in parts if part is not None], dim)
    first = parts[0]
    assert first is not None
    return Value(elements.shape, first.dtype, elements)


def fuse(run: RecordedRun, pieces: Sequence[int], dim: int, transposed: bool) -> int:
    """Add a tensor to a run that has what some parameters hold, in one piece, with its later
    versions. Return its first version.
    """
    chains = [run.versions[run.tensors[i].first] for i in pieces]
    chains = [
        [i for i in chain[chain.index(piece) :] if run.tensors[i].operation is None]
        for chain, piece in zip(chains, pieces, strict=True)
    ]
    names = [run.label(i) for i in pieces]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    label = f"{', '.join(names[:NAMED])}{more}"
    first = len(run.tensors)
    run.versions[first] = []
    run.names[first] = label
    before = None
    for parts in zip(*chains, strict=False):
        number = len(run.tensors)
        value = concatenated([run.tensors[i].value for i in parts], dim, transposed)
        record = run.tensors[parts[0]]._replace(
            id=number, first=first, value=value, label=label, name=label
        )
        run.tensors.append(record)
        run.versions[first].append(number)
        run.before[number] = before
        before = number
        uses = sorted({use for i in parts for use in run.uses.get(i, ())})
        if uses:
            run.uses[number] = uses
        grad = concatenated([run.grads.get(i) for i in parts], dim, transposed)
        if grad is not None:
            run.grads[number] = grad
        if parts[0] in run.stored:
            run.stored[number] = run.stored[parts[0]]
        if not run.live.isdisjoint(parts):
            run.live.add(number)
        run.pieces.update(dict.fromkeys(parts, number))
        run.parts[number] = parts
    run.writes[first] = run.writes.get(run.tensors[pieces[0]].first, [])
    return first
