"""Laws of losses: which way they are made better, what they compare, and what they are made of."""

from __future__ import annotations

from math import prod

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts, number_of
from gradtrace.analysis.laws.results import SCALES, SUMS, scaled
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.terms import (
    calls_method,
    is_maximised,
    loads,
    made_by,
    named,
    numbers_in,
    operator,
    slope,
    stores,
    unit,
)
from gradtrace.analysis.words import short_number
from gradtrace.annotations import Any, Iterator
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Operation, TensorId

MEANS = function_table("analysis.laws.losses.MEANS", ("mean", "sum"))
TAKING = (
    "index",
    *function_table("analysis.laws.losses.TAKING", ("gather", "select", "squeeze", "nll_loss")),
)
HINGES = function_table("analysis.laws.losses.HINGES", words("relu clamp clamp_min maximum"))
SOFTMAX = function_table(
    "analysis.laws.losses.SOFTMAX", words("cross_entropy log_softmax logsumexp")
)
PRODUCTS = function_table(
    "analysis.laws.losses.PRODUCTS", words("matmul mm einsum cosine_similarity")
)
VIEWS = (
    *words("index numpy_T mT T"),
    *function_table("analysis.laws.losses.VIEWS", words("t transpose permute unsqueeze")),
)
PROBABILITIES = function_table("analysis.laws.losses.PROBABILITIES", ("softmax", "exp", "sigmoid"))
LIKELIHOODS = words("log_prob log_likelihood logpdf")
FEW = 3  # samples


def likelihood_falls(ledger: Ledger) -> Iterator[Cause]:
    """A log-probability is maximised: a loss is its negative."""
    facts = ledger.facts
    losses = [facts.tensors[i] for step in facts.trace.training for i in step.roots[-1:]]
    numbers = [x for t in losses if (x := number_of(t)) is not None]
    if len(numbers) < 2 or numbers[-1] >= numbers[0]:
        return
    root = named(facts, losses[-1].id)
    operation = log_probability(facts, losses[-1].id)
    if operation is not None and max(numbers) <= 0:
        begin = f"{root} is a mean of log-probabilities"
        span = operation.span
    else:
        call = likelihood_call(facts, root)
        if call is None:
            return
        begin = f"{root} is the log-likelihood {facts.text.cut(call)}"
        span = places.span_of(call)
    yield Cause(
        "likelihood falls",
        f"{begin}, and the steps make it smaller "
        f"({short_number(numbers[0])} -> {short_number(numbers[-1])}): what was observed "
        "becomes less probable",
        (
            facts.at("these are log-probabilities", span),
            facts.backward(facts.storing[-1]),
        ),
        (f"(-{root}).backward()",),
        tensors=ledger.leaves,
    )


def log_probability(facts: Facts, tensor: TensorId) -> Operation | None:
    """Return the operation that made the log-probabilities which a number is the mean or the sum
    of, by positive factors.
    """
    maker = facts.maker(tensor)
    while maker is not None:
        name = operator(maker)
        if name in ("log_softmax", "logsigmoid", "log_prob"):
            return maker
        is_ratio = name == "sub" and len(maker.tensors) == 2
        if is_ratio and made_by(facts, maker.tensors[1], ("logsumexp",)):
            return maker
        is_positive = (
            name in SCALES and len(maker.tensors) == 1 and all(x > 0 for x in numbers_in(maker))
        )
        if name not in (*MEANS, *TAKING) and not is_positive:
            return None
        maker = facts.maker(maker.tensors[0])
    return None


def likelihood_call(facts: Facts, name: str) -> Any:
    """Return the call of a log-likelihood whose mean or sum is assigned to a variable; else
    None.
    """
    for statement in facts.text.assignments(name):
        value = getattr(statement, "value", None)
        while isinstance(value, ast.Call) and getattr(value.func, "attr", "") in MEANS:
            value = value.func.value  # type: ignore[attr-defined]
        if isinstance(value, ast.Call) and is_likelihood(facts, value.func):
            return value
    return None


def is_likelihood(facts: Facts, function: Any) -> bool:
    """Whether a function is named a log-likelihood, or is an object of a class that is."""
    name = facts.text.cut(function)
    if name.rpartition(".")[2] in LIKELIHOODS:
        return True
    values = (getattr(s, "value", None) for s in facts.text.assignments(name))
    calls = (value for value in values if isinstance(value, ast.Call))
    return any(facts.text.cut(call.func).endswith("LogLikelihood") for call in calls)


def margins_count(ledger: Ledger) -> Iterator[Cause]:
    """A margin is inside of the hinge: behind it, it changes the loss and no gradient (a
    remark).
    """
    facts = ledger.facts
    waiting = [root for pass_ in facts.storing[-1:] for root in pass_.roots]
    while waiting:
        maker = facts.maker(waiting.pop())
        if maker is None or operator(maker) not in (*SUMS, *SCALES, *MEANS):
            continue
        waiting += maker.tensors
        hinge = made_by(facts, next(iter(maker.tensors), None), HINGES)
        numbers = numbers_in(maker, False)
        if operator(maker) in SUMS and len(maker.tensors) == 1 and hinge is not None and numbers:
            yield Cause(
                "margin outside",
                f"{numbers[0]:g} is added to the result of {unit(facts, hinge)}: it changes the "
                "loss, and no gradient",
                (facts.at("added here", maker.span),),
            )
            return


def others_compared(ledger: Ledger) -> Iterator[Cause]:
    """No sample is compared with itself in a classification of samples (a remark)."""
    facts = ledger.facts
    for loss in reversed(facts.calls_of(SOFTMAX)):
        maker = facts.maker(scaled(facts, loss.tensors[0])) if loss.tensors else None
        if maker is None or operator(maker) not in PRODUCTS or len(maker.tensors) != 2:
            continue
        left, right = (viewed(facts, i) for i in maker.tensors)
        shape = facts.tensors[maker.outputs[0]].shape
        if left == right and len(shape) == 2 and shape[0] == shape[1] >= FEW:
            yield Cause(
                "compared with itself",
                f"{unit(facts, loss)} has on its diagonal the products of {named(facts, left)} "
                f"with itself{facts.at_line(maker.span)}: nothing masks them",
                (facts.at("each row is multiplied by itself too", maker.span),),
            )
            return


def viewed(facts: Facts, tensor: TensorId) -> TensorId:
    """Return the tensor that another one is a view of, with all its elements."""
    numel = prod(facts.tensors[tensor].shape)
    maker = facts.maker(tensor)
    while maker is not None and operator(maker) in VIEWS and len(maker.tensors) == 1:
        if prod(facts.tensors[maker.tensors[0]].shape) != numel:
            break
        tensor = maker.tensors[0]
        maker = facts.maker(tensor)
    return tensor


def results_kept(ledger: Ledger) -> Iterator[Cause]:
    """A loop adds up what its turns give, where parameters lack a gradient (a remark)."""
    facts = ledger.facts
    is_lacking = any(not entry.gradients for entry in ledger.trained)
    for block in facts.text.blocks if is_lacking else ():
        for number, loop in enumerate(block):
            if not isinstance(loop, ast.For):
                continue
            before = {name for s in block[:number] for name in stores(s)}
            after = {name for s in block[number + 1 :] for name in loads(s)}
            read = loads(loop)
            for statement in loop.body:
                names = stores(statement) if type(statement) is ast.Assign else set()
                for name in names & before & after - read:
                    place = places.head_of(statement)
                    yield Cause(
                        "bound again",
                        f"each turn of the loop binds {name} again{facts.at_line(place)}, and only "
                        "the last one's goes on",
                        (facts.at(f"{name} is bound again here", place),),
                    )


def blank_apart(ledger: Ledger) -> Iterator[Cause]:
    """No target of ctc_loss is its blank (a remark)."""
    facts = ledger.facts
    for loss in reversed(facts.calls_of(("ctc_loss", "_ctc_loss"))):
        texts = [text.partition("blank=")[2] for text in loss.constants]
        blank = next((int(text) for text in texts if text), 0)
        values = [value for _, value in facts.operands(loss)]
        if len(values) < 2 or not values[1].dtype.startswith("int") or not values[1].is_whole:
            continue
        targets = values[1].data
        if len(values) > 3 and targets.ndim == 2 and values[3].is_whole:
            targets = targets[np.arange(targets.shape[1]) < values[3].data.reshape(-1, 1)]
        count = int((targets == blank).sum())
        if count:
            yield Cause(
                "blank in targets",
                f"{count} of the {targets.size} targets of {unit(facts, loss)} are {blank}, which "
                "is the blank",
                (facts.at("the targets come in here", loss.span),),
            )
        return


def entropy_rises(ledger: Ledger) -> Iterator[Cause]:
    """A policy's entropy enters its loss with a minus (a remark)."""
    facts = ledger.facts
    if not calls_method(facts, "log_prob") or is_maximised(facts):
        return
    ends = [o for o in facts.last_of_each_line if o.text.endswith(".entropy()")]
    for operation in ends:  # the last operation of the call gives the entropy
        if slope(facts, operation) > 0:
            yield Cause(
                "entropy falls",
                f"the loss grows with {operation.text}{facts.at_line(operation.span)}: the steps "
                "lower the entropy, which a bonus, with a minus, would raise",
                (facts.at("the entropy is computed here", operation.span),),
            )
            return


def weights_constant(ledger: Ledger) -> Iterator[Cause]:
    """What weights log-probabilities has no gradient (a remark)."""
    facts = ledger.facts
    if not (calls_method(facts, "log_prob") and calls_method(facts, "sample")):
        return
    for product in facts.last_of_each_line:
        if operator(product) != "mul" or len(product.tensors) != 2:
            continue
        for logged, weight in (product.tensors, product.tensors[::-1]):
            record = facts.tensors[weight]
            if not record.requires_grad or record.is_leaf or not record.shape:
                continue
            if made_by(facts, weight, PROBABILITIES) is not None:
                continue
            if is_log_probability(facts, logged) and not is_log_probability(facts, weight):
                yield Cause(
                    "trained weight",
                    f"{named(facts, weight)}, which multiplies {named(facts, logged)}"
                    f"{facts.at_line(product.span)}, has a gradient: the loss of the policy trains "
                    "what it was computed from too",
                    (facts.at("they are multiplied here", product.span),),
                )
                return


def is_log_probability(facts: Facts, tensor: TensorId) -> bool:
    """Whether a tensor is what a call of log_prob() gave, or the negative of it."""
    maker = facts.maker(tensor)
    while maker is not None and operator(maker) in ("neg", "squeeze", "sum"):
        tensor = maker.tensors[0]
        if ".log_prob(" in maker.text:
            return True
        maker = facts.maker(tensor)
    return maker is not None and ".log_prob(" in maker.text and operator(maker) != "mul"


def batches_differ(ledger: Ledger) -> Iterator[Cause]:
    """A loop over the starts of batches uses its variable (a remark)."""
    facts = ledger.facts
    text = facts.text
    lines = {pass_.span.line for pass_ in facts.passes if pass_.span and not pass_.span.file}
    for loop in (node for node in text.statements if isinstance(node, ast.For)):
        call = loop.iter
        if not isinstance(call, ast.Call) or text.cut(call.func) != "range":
            continue
        if len(call.args) != 3 or lines.isdisjoint(places.lines_of(loop)):
            continue
        names = stores(loop.target)
        if names and not any(names & loads(statement) for statement in loop.body):
            place = places.head_of(loop)
            yield Cause(
                "same batch",
                f"no statement of the loop{facts.at_line(place)} uses {', '.join(sorted(names))}, "
                f"which goes over {text.cut(call)}: each turn computes with the same data",
                (facts.at("the loop begins here", place),),
            )
            return
