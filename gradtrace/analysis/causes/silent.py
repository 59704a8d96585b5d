"""Find mistakes that raise no error: a loss of broadcast shapes, a softmax applied twice or over the batch, a wrong
backward.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Facts
from gradtrace.analysis.causes.cause import Cause, at_line, highest, made_at, method_of, named, operands, operator
from gradtrace.engine.tables import function_table
from gradtrace.lang import syntax as ast
from gradtrace.lazy_names import words
from gradtrace.trace.record import Operation, TensorRecord, Value

LOSSES = function_table("analysis.causes.silent.LOSSES", ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"))
RESHAPED = ("index", *function_table("analysis.causes.silent.RESHAPED", ("unsqueeze", "view", "reshape")))
PASSING = (
    "index",
    "slice",
    *function_table(
        "analysis.causes.silent.PASSING",
        words("view reshape squeeze unsqueeze select transpose t permute flatten"),
    ),
)
Pair = tuple[TensorRecord, Value]


def unlike_shapes(facts: Facts) -> Cause | None:
    """Find a loss of the shapes (n, 1) and (n,), which broadcast, so that each prediction is compared with every
    target.
    """
    seen: set[tuple[int, int]] = set()
    for operation in facts.operations((*LOSSES, "sub")):
        if operation.span is None:
            continue
        place = (operation.span.line, operation.span.column)
        if place in seen:
            continue
        seen.add(place)
        pair = [unexpanded(facts, one) for one in operands(facts, operation)]
        if len(pair) == 2 and spreads(pair[0][1].shape, pair[1][1].shape) and is_loss(facts, operation, pair):
            return broadcast(facts, operation, pair)
    return None


def unexpanded(facts: Facts, pair: Pair) -> Pair:
    """Return the tensor before the loss expanded it to a common shape."""
    record = pair[0]
    made = None if record.operation is None else facts.trace.operations[record.operation]
    if made is None or operator(made) != "expand":
        return pair
    before = operands(facts, made)
    return before[0] if before else pair


def spreads(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the shapes are (n, 1) and (n,), in any order, so that they broadcast to (n, n)."""
    short, long = sorted((a, b), key=len)
    return len(short) == 1 and len(long) == 2 and long[1] == 1 and long[0] == short[0] > 1


def is_loss(facts: Facts, operation: Operation, pair: list[Pair]) -> bool:
    """Whether an operation is a loss, or a difference of a prediction and a given target that were not reshaped
    before.
    """
    if operator(operation) in LOSSES:
        return True
    if sum(record.requires_grad for record, _ in pair) != 1:
        return False
    for record, _ in pair:
        made = None if record.operation is None else facts.trace.operations[record.operation]
        if made is not None and operator(made) in RESHAPED:
            return False
    return True


def broadcast(facts: Facts, operation: Operation, pair: list[Pair]) -> Cause:
    (first, a), (second, b) = pair
    names = named(facts, first.id), named(facts, second.id)
    long = names[0] if len(a.shape) == 2 else names[1]
    n = a.shape[0]
    fix = f"{long}.squeeze(1)" if long.isidentifier() else f"({long}).squeeze(1)"
    evidence = [
        facts.at(f"{name} has the shape {value.shape}", span)
        for name, record, value in ((names[0], first, a), (names[1], second, b))
        if (span := made_at(facts, record)) is not None and span.line != (operation.span.line if operation.span else 0)
    ]
    return Cause(
        "broadcast",
        "",
        f"{operator(operation)}{at_line(operation.span)} compares {names[0]} of shape {a.shape} with {names[1]} of "
        f"shape {b.shape}: they broadcast to ({n}, {n}), each with each",
        operation.span,
        (*evidence, facts.at(f"{n} x {n} differences are taken in place of {n}", operation.span)),
        (f"{fix}, or {names[1] if long == names[0] else names[0]}.unsqueeze(1): both of one shape",),
    )


# ---- softmax


def behind(facts: Facts, tensor: int | None, names: tuple[str, ...]) -> Operation | None:
    """Return the operation with one of these names that made a tensor, through views and indices."""
    for _ in range(5):
        made = None if tensor is None else facts.trace.tensors[tensor].operation
        if made is None:
            return None
        operation = facts.trace.operations[made]
        if operator(operation) in names:
            return operation
        if operator(operation) not in PASSING:
            return None
        tensor = next((o.tensor for o in operation.inputs if o.tensor is not None), None)
    return None


def wrong_softmax(facts: Facts) -> Cause | None:
    """Find a softmax of probabilities, or a loss for log-probabilities that gets something else."""
    seen: set[str] = set()
    for operation in facts.operations(TWICE):
        name = operator(operation)
        if f"{name}{at_line(operation.span)}" in seen:
            continue
        seen.add(f"{name}{at_line(operation.span)}")
        tensor = next((o.tensor for o in operation.inputs if o.tensor is not None), None)
        earlier = behind(facts, tensor, TWICE[name])
        if earlier is not None and earlier.id != operation.id:
            return twice(facts, operation, earlier)
        if name == "nll_loss" and (found := not_logs(facts, operation, tensor)) is not None:
            return found
    return None


TWICE = function_table(
    "analysis.causes.silent.TWICE",
    {
        "log_softmax": ("softmax", "sigmoid"),
        "cross_entropy": ("softmax", "log_softmax", "sigmoid"),
        "softmax": ("softmax",),
        "nll_loss": ("softmax",),
        "binary_cross_entropy_with_logits": ("sigmoid", "softmax"),
    },
)


def twice(facts: Facts, operation: Operation, earlier: Operation) -> Cause:
    name, first = operator(operation), operator(earlier)
    loss = "cross_entropy" if name == "log_softmax" and "log_softmax" not in facts.text.line(operation.span) else name
    needs = "log-probabilities" if name == "nll_loss" else "logits"
    more = "" if name == "nll_loss" else f", and takes {'a sigmoid' if 'binary' in name else 'a softmax'} itself"
    remedy = f"leave out {first}{at_line(earlier.span)}: give {loss} the logits"
    if name == "nll_loss":
        remedy = f"F.log_softmax in place of {first}{at_line(earlier.span)}"
    twice_over = "" if name == "nll_loss" else ": it is applied twice"
    return Cause(
        "softmax twice" if name != "nll_loss" else "no logarithm",
        "",
        f"{loss}{at_line(operation.span)} needs {needs}{more}, but gets what {first}{at_line(earlier.span)} has "
        f"already made probabilities{twice_over}",
        earlier.span,
        (
            facts.at(f"{first} makes probabilities here", earlier.span),
            facts.at(f"{loss} gets them here", operation.span),
        ),
        (remedy,),
    )


def not_logs(facts: Facts, operation: Operation, tensor: int | None) -> Cause | None:
    """Explain nll_loss of a tensor with positive elements, which a log-probability cannot have."""
    value = None if tensor is None else facts.trace.tensors[tensor].value
    top = None if value is None else highest(value)
    if tensor is None or top is None or top <= 1e-6:
        return None
    name = named(facts, tensor)
    return Cause(
        "no logarithm",
        "",
        f"nll_loss{at_line(operation.span)} needs log-probabilities, and {name} goes up to {top:.3g}: it has no "
        "log_softmax",
        operation.span,
        (facts.at(f"{name} are logits here, not log-probabilities", operation.span),),
        (f"F.cross_entropy({name}, target), or F.nll_loss(F.log_softmax({name}, dim=1), target)",),
    )


def constant_sum(facts: Facts) -> Cause | None:
    """Find the sum of a softmax over its own dimension, which is always 1."""
    into = facts.flow.before(facts.roots)
    for operation in facts.operations(("softmax",)):
        result = facts.trace.tensors[operation.outputs[0]]
        dim, shape = dimension(operation), () if result.value is None else result.value.shape
        readers = [facts.trace.operations[i] for i in facts.flow.readers.get(result.id, ())]
        useful = [one for one in readers if not into.isdisjoint(one.outputs)]
        if not result.requires_grad or not shape or dim is None or not useful:
            continue
        if not all(adds_all(one, dim, len(shape)) for one in useful):
            continue
        adding, name = useful[0], named(facts, result.id)
        return Cause(
            "constant sum",
            f"{facts.root_names()} does not depend on what goes into softmax{at_line(operation.span)}",
            f"{operator(adding)}{at_line(adding.span)} adds up a whole softmax, which gives 1: the gradients cancel",
            adding.span,
            (
                facts.at(f"{name} sums to 1 over dim={dim}", operation.span),
                facts.at("and is summed over that dimension here", adding.span),
            ),
            (
                f"take one of the probabilities: {name}.max({dim}).values, {name}.gather(...)",
                f"or sum something else of it: ({name} * {name}.log()).sum({dim})",
            ),
        )
    return None


def dimension(operation: Operation) -> int | None:
    """Return the single dim that an operation was given."""
    text = next((o.text.partition("=")[2] for o in operation.inputs if o.text.startswith("dim=")), "")
    return int(text) if text.lstrip("-").isdigit() else None


def adds_all(operation: Operation, dim: int, ndim: int) -> bool:
    """Whether an operation sums over this dimension, or over all dimensions."""
    if operator(operation) not in ("sum", "mean"):
        return False
    dims = [o.text for o in operation.inputs if o.text.startswith("dim=")]
    own = dimension(operation)
    return not dims or (operator(operation) == "sum" and own is not None and own % ndim == dim % ndim)


def over_the_batch(facts: Facts) -> Cause | None:
    """Find a softmax over the samples of a batch, on the path to a loss with a label for each sample."""
    for operation in facts.operations(("softmax", "log_softmax")):
        dim = next((o.text.partition("=")[2] for o in operation.inputs if o.text.startswith("dim=")), "")
        pair = operands(facts, operation)
        if dim not in ("0", "-2") or not pair or len(pair[0][1].shape) != 2 or pair[0][1].shape[1] < 2:
            continue
        user = labelled(facts, operation, pair[0][1].shape[0])
        if user is None:
            continue
        name = named(facts, pair[0][0].id)
        return Cause(
            "softmax over the batch",
            "",
            f"{operator(operation)}{at_line(operation.span)} is taken over dim={dim}, the {pair[0][1].shape[0]} "
            f"samples of the batch, not over the {pair[0][1].shape[1]} classes of each",
            operation.span,
            (
                facts.at(
                    f"{name} has the shape {pair[0][1].shape}; each column sums to 1, not each row", operation.span
                ),
                facts.at("a label for each row is used here", user.span),
            ),
            (f"dim=1 in place of dim={dim}{at_line(operation.span)}",),
        )
    return None


def labelled(facts: Facts, operation: Operation, samples: int) -> Operation | None:
    """Return the operation that picks one element of each row of a result, or of its logarithm."""
    waiting = list(operation.outputs)
    for _ in range(3):
        after: list[int] = []
        for tensor in waiting:
            for reader in facts.flow.readers.get(facts.flow.tensor(tensor), ())[:4]:
                found = facts.trace.operations[reader]
                labels = [v for _, v in operands(facts, found)[1:] if v.dtype == "int64" and v.shape[:1] == (samples,)]
                if operator(found) in ("nll_loss", "gather") or (operator(found) == "index" and len(labels) == 2):
                    return found
                after += found.outputs
        waiting = after
    return None


# ---- Functions of the program


def wrong_backward(facts: Facts) -> Cause | None:
    """Find a Function whose backward disagrees with finite differences of its forward."""
    bad = next((one for one in facts.trace.checks if one.verdict == "wrong"), None)
    if bad is None:
        return None
    method = method_of(facts, bad.name, "backward")
    returned = None if method is None else next((n for n in ast.walk(method) if isinstance(n, ast.Return)), None)
    head = bad.span if returned is None else places.head_of(returned)
    return Cause(
        "wrong backward",
        "",
        f"{bad.name}.backward{at_line(head)} disagrees with finite differences of its forward: for element "
        f"{bad.element} of input {bad.input} it gives {bad.analytic:.6g} where they give {bad.numeric:.6g}",
        head,
        (
            facts.at("the derivative is returned here", head),
            facts.at(f"{bad.name} was checked on the arguments of this call", bad.span),
        ),
        (
            f"derive forward again: backward returns {bad.analytic / bad.numeric:.4g} times what it should there"
            if bad.numeric
            else "derive forward again: it does not depend on this input there",
            f"and check it: torch.autograd.gradcheck({bad.name}.apply, inputs in float64)",
        ),
        leaves_behind(facts, bad.name),
    )


def leaves_behind(facts: Facts, name: str) -> frozenset[int]:
    """Return the leaves whose gradients come through a Function of the program."""
    inputs = [
        o.tensor for one in facts.trace.operations if one.name == name for o in one.inputs if o.tensor is not None
    ]
    found = facts.flow.before(inputs)
    return frozenset(i for i in found if facts.trace.tensors[i].is_leaf and facts.trace.tensors[i].requires_grad)
