"""Laws of results: what a step computes with grad reaches a loss that goes backward, and a loss
changes when the parameters do.
"""

from __future__ import annotations

from gradtrace.analysis import history, places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.copies import copied
from gradtrace.analysis.facts import Facts, is_zero, parsed
from gradtrace.analysis.laws.shapes import LOSSES
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.terms import (
    calls_method,
    highest,
    is_maximised,
    loads,
    loop_around,
    lowest,
    named,
    numbers_in,
    operator,
    own_span,
    plain,
    slope,
    stores,
    unit,
)
from gradtrace.analysis.words import folded
from gradtrace.annotations import Any, Iterator
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import called_by
from gradtrace.trace.record import Operation, Span, TensorId, TensorRecord, Value

SUMS = function_table("analysis.laws.results.SUMS", ("add", "sub"))
SCALES = function_table("analysis.laws.results.SCALES", ("mul", "div"))
CLASSIFIED = function_table("analysis.laws.results.CLASSIFIED", ("cross_entropy", "nll_loss"))
SAMPLES = words("bernoulli multinomial normal")
CUTTING = function_table(
    "analysis.laws.results.CUTTING",
    (*words("detach argmax argmin round sign floor ceil one_hot"), *SAMPLES),
)
COMPARED = (
    *LOSSES,
    *("cosine_similarity", "pairwise_distance", "triplet_margin_loss", "cosine_embedding_loss"),
)
SIGNLESS = function_table("analysis.laws.results.SIGNLESS", ("pow", "square", "abs"))
SQUARES = function_table("analysis.laws.results.SQUARES", ("pow", "square", "abs", "norm"))
# what leads from a penalty to a loss
LINEAR = (
    *SUMS,
    *SCALES,
    *function_table("analysis.laws.results.REDUCED", ("sum", "mean", "neg", "stack")),
)
MOST_SHIFT = 3  # places
FEW = 8  # indices that may be equal by chance
FEWEST = 2  # results of a call in a step
MOST_CALLS = 32  # of a loss, whose targets are counted


def terms_train(ledger: Ledger) -> Iterator[Cause]:
    """A term of a loss that depends on trained parameters has a gradient."""
    facts = ledger.facts
    trained = ledger.leaves
    for root in facts.roots:
        for term, operation in constant_terms(facts, root):
            record = facts.tensors[term]
            cut = facts.flow.cut_before(term)
            if cut is not None and not trained.isdisjoint(facts.flow.before([cut.tensor])):
                reason = history.describe(facts, cut)
                clause = f"it depends on the parameters only through {reason.because}"
            elif (copy := of_numbers(facts, beginning(facts, record), trained)) is not None:
                reason = copy
                clause = reason.because
            else:
                continue
            yield Cause(
                "constant term",
                f"the term {named(facts, term)} of {named(facts, root)}"
                f"{facts.at_line(operation.span)} has no gradient: {clause}",
                (*reason.evidence, facts.at("it is added as a constant here", operation.span)),
                reason.advice,
                tensors=trained,
            )


def constant_terms(facts: Facts, root: TensorId) -> Iterator[tuple[TensorId, Operation]]:
    """Yield the terms without history that a single number is the sum of, each with the operation
    that adds it.
    """
    waiting = [root]
    seen = {root}
    while waiting:
        maker = facts.maker(waiting.pop())
        if maker is None or operator(maker) not in (*SUMS, *SCALES):
            continue
        for operand in maker.tensors:
            record = facts.tensors[operand]
            if record.value is None or record.value.numel != 1 or operand in seen:
                continue
            seen.add(operand)
            if record.requires_grad:
                waiting.append(operand)
            elif operator(maker) in SUMS:
                yield scaled(facts, operand), maker


def of_numbers(facts: Facts, leaf: TensorRecord, trained: frozenset[TensorId]) -> Cause | None:
    """Explain a leaf that was made of numbers of what was computed from the trained parameters."""
    if (cause := copied(facts, leaf)) is not None or leaf.operation is not None:
        return cause
    read = parsed(plain(leaf.label))
    names = set() if read is None else loads(read)
    statements = [s for name in names for s in facts.text.assignments(name)]
    for escape in facts.trace.escapes:
        span = escape.span
        if span is None or span.file or escape.tensor is None:
            continue
        if not any(span.line in places.lines_of(s) for s in statements):
            continue
        if not trained.isdisjoint(facts.flow.before([escape.tensor])):
            return Cause(
                "copied",
                f"it is made of the numbers of {escape.text}{facts.at_line(span)}",
                [facts.at("a number has no history", span)],
            )
    return None


def beginning(facts: Facts, record: TensorRecord) -> TensorRecord:
    """Return the tensor, a leaf at best, that another was computed from by operations of one
    operand.
    """
    maker = facts.maker(record.id)
    while maker is not None and len(maker.tensors) == 1:
        record = facts.tensors[maker.tensors[0]]
        maker = facts.maker(record.id)
    return record


def scaled(facts: Facts, tensor: TensorId) -> TensorId:
    """Return the tensor that a term is a multiple of by a number."""
    maker = facts.maker(tensor)
    while maker is not None and operator(maker) in SCALES and len(maker.tensors) == 1:
        tensor = maker.tensors[0]
        maker = facts.maker(tensor)
    return tensor


def loss_moves(ledger: Ledger) -> Iterator[Cause]:
    """A loss is computed again after the parameters have changed."""
    facts = ledger.facts
    moved = [entry for entry in ledger.trained if len(entry.updates) > 1 and entry.gradients]
    again = visited_again(facts)
    if len(facts.trace.training) < 3 or not moved or again is None:
        return
    function, passes = again
    label = facts.labels(facts.functions[function].outputs)
    span = facts.functions[function].span
    pass_ = facts.passes[passes[-1]]
    yield Cause(
        "computed once",
        f"{label}{facts.at_line(span)} is computed once, and {len(passes)} passes go backward "
        "through it, with updates between: their gradients are those of the first parameters",
        (facts.at("it is computed here", span), facts.backward(pass_)),
        (f"compute {label} inside of the loop, before backward",),
        tensors=frozenset(entry.leaf for entry in moved),
    )


def visited_again(facts: Facts) -> tuple[int, list[int]] | None:
    """Return a function that passes of three or more steps went through, and these passes; the one
    that was called last.
    """
    steps = {number: step.number for step in facts.trace.training for number in range(*step.passes)}
    visits: dict[int, dict[int | None, int]] = {}
    for turn in facts.steps:
        if facts.functions[turn.function].variable is None:
            visits.setdefault(turn.function, {})[steps.get(turn.number)] = turn.number
    again = [f for f, passes in visits.items() if len(passes) > 2]
    return None if not again else (max(again), list(visits[max(again)].values()))


def divided_once(ledger: Ledger) -> Iterator[Cause]:
    """A loss is divided once by the number of its micro-batches (a remark)."""
    facts = ledger.facts
    for pass_ in facts.passes[-1:]:
        for root in pass_.roots:
            divisions: dict[float, Operation] = {}
            maker = facts.maker(root)
            while maker is not None and operator(maker) in SCALES and len(maker.tensors) == 1:
                for number in numbers_in(maker, False) if operator(maker) == "div" else ():
                    if number > 1 and number in divisions:
                        yield Cause(
                            "divided twice",
                            f"{named(facts, root)} is divided by {number:g}"
                            f"{facts.at_line(maker.span)} and once more"
                            f"{facts.at_line(divisions[number].span)}",
                            (facts.at("divided here", maker.span), facts.backward(pass_)),
                        )
                    divisions[number] = maker
                maker = facts.maker(maker.tensors[0])


def differences_vary(ledger: Ledger) -> Iterator[Cause]:
    """Two results of the parameters that a step compares are not always equal (a remark).

    x - x.detach() is 0 on purpose: it has the gradient of x.
    """
    facts = ledger.facts
    lines: dict[Span | None, list[Operation]] = {}
    for operation in facts.calls_of(("sub", *COMPARED)):
        ends = [facts.tensors[i] for i in operation.tensors[:2]]
        is_pair = len(ends) == 2 and ends[0] is not ends[1]
        if is_pair and all(t.requires_grad and not t.is_leaf for t in ends):
            lines.setdefault(operation.span, []).append(operation)
    for span, operations in of_each_turn(facts, lines):
        pairs = [[facts.tensors[i].value for i in o.tensors[:2]] for o in operations]
        are_equal = len(pairs) > 2 and all(is_equal(facts, o) for o in operations)
        if are_equal and not all(is_zero(value) for pair in pairs for value in pair):
            first, second = (named(facts, i) for i in operations[-1].tensors[:2])
            is_difference = operator(operations[-1]) == "sub"
            taken = (
                f"their difference is taken{facts.at_line(span)}"
                if is_difference
                else f"{unit(facts, operations[-1])} compares them"
            )
            yield Cause(
                "always equal",
                f"{first} and {second} are equal each of the {len(operations)} times that {taken}",
                (facts.at("they are equal here", span),),
            )


def is_equal(facts: Facts, operation: Operation) -> bool:
    """Whether the two tensors that an operation compares are known to have the same elements."""
    if operator(operation) == "sub":
        return is_zero(facts.tensors[operation.outputs[0]].value)
    first, second = (facts.tensors[i].value for i in operation.tensors[:2])
    if first is None or second is None or not (first.is_whole and second.is_whole):
        return False
    return first == second


def of_each_turn(
    facts: Facts, lines: dict[Span | None, list[Operation]]
) -> Iterator[tuple[Span | None, list[Operation]]]:
    """Yield the operations of each line, those apart that a line has several of in a step."""
    steps = len(facts.trace.training)
    for span, operations in lines.items():
        count, rest = divmod(len(operations), max(steps, 1))
        several = count if steps and not rest else 1
        yield from ((span, operations[i::several]) for i in range(several))


def differences_apart(ledger: Ledger) -> Iterator[Cause]:
    """Differences lose their signs before they are added up (a remark)."""
    facts = ledger.facts
    for operation in facts.last_of_each_line:
        if operator(operation) not in SIGNLESS or not operation.tensors:
            continue
        total = facts.maker(operation.tensors[0])
        if (
            total is None
            or operator(total) not in ("sum", "mean")
            or facts.tensors[total.outputs[0]].shape
        ):
            continue
        difference = facts.maker(total.tensors[0])
        value = None if difference is None else facts.tensors[difference.outputs[0]].value
        if difference is None or operator(difference) != "sub" or value is None:
            continue
        trained = [facts.tensors[i].requires_grad for i in difference.tensors]
        low, high = lowest(value) or 0.0, highest(value) or 0.0
        if sorted(trained) == [False, True] and low < 0 < high:
            yield Cause(
                "signs cancel",
                f"{unit(facts, operation)} is taken of a {operator(total)} of differences "
                f"({named(facts, difference.outputs[0])}), which cancel: they go from {low:.3g} to "
                f"{high:.3g}",
                (facts.at("they are added up before this", operation.span),),
            )
            return


def penalties_added(ledger: Ledger) -> Iterator[Cause]:
    """A loss does not fall because parameters grow (a remark)."""
    facts = ledger.facts
    if is_maximised(facts):
        return
    grown: dict[Span | None, list[TensorId]] = {}
    added: dict[TensorId, bool] = {}
    for operation in facts.calls_of((*SQUARES, "linalg_vector_norm")):
        own = [i for i in operation.tensors if facts.flow.tensor(i) in ledger.leaves]
        if not own or not facts.tensors[own[0]].is_parameter or slope(facts, operation) >= 0:
            continue
        if operator(operation) == "pow" and numbers_in(operation) != [2.0]:
            continue
        if all(is_added(facts, i, added) for i in operation.outputs):
            grown.setdefault(own_span(facts, operation), []).append(facts.flow.tensor(own[0]))
    for span, tensors in grown.items():
        names = folded([named(facts, i) for i in dict.fromkeys(tensors)], "parameters")
        yield Cause(
            "rewarded size",
            f"the loss falls as {names} grow{'s' * (len(set(tensors)) == 1)}: what is "
            f"computed{facts.at_line(span)} enters it with a minus",
            (facts.at("the size is computed here", span),),
        )


def is_added(facts: Facts, tensor: TensorId, added: dict[TensorId, bool]) -> bool:
    """Whether a result reaches a loss through sums and factors alone; `added` has what is known of
    others.
    """
    way: list[TensorId] = []
    waiting = [tensor]
    while waiting:
        at = waiting.pop()
        if at not in added:
            way.append(at)
            added[at] = True
            readers = facts.readers(at)
            added[at] = bool(readers) or at in facts.begins
            for reader in readers:
                others = [i for i in reader.tensors if i != at and facts.tensors[i].requires_grad]
                is_factor = operator(reader) in SCALES and bool(others)
                added[at] &= not is_factor and reader.name.rstrip("_") in LINEAR
                waiting += reader.outputs
        if not added[at]:
            added.update(dict.fromkeys(way, False))
            return False
    return True


def paths_remain(ledger: Ledger) -> Iterator[Cause]:
    """A result keeps the gradient of its terms: x + (y - x) is y (a remark)."""
    facts = ledger.facts
    seen = set()
    for operation in facts.calls_of(("add",)):
        ends = operation.tensors
        for term, rest in (ends, ends[::-1]) if len(ends) == 2 else ():
            maker = facts.maker(rest)
            if operation.span in seen or not facts.tensors[term].requires_grad or maker is None:
                continue
            if operator(maker) == "sub" and maker.tensors[1:] == (term,):
                seen.add(operation.span)
                name = named(facts, term)
                result = named(facts, maker.tensors[0])
                yield Cause(
                    "path cancelled",
                    f"{name} is added{facts.at_line(operation.span)} to {result} - {name}: no "
                    f"gradient of the sum reaches {name}, as it would with detach() around the "
                    "difference",
                    (facts.at("the two paths cancel here", operation.span),),
                )


def results_used(ledger: Ledger) -> Iterator[Cause]:
    """What is computed is used: by another operation, a loss, or the program (a remark).

    A statement that is a call alone drops its result; a name that a loop binds is lost when the
    next turn binds it again.
    """
    facts = ledger.facts
    escaped = {escape.tensor for escape in facts.trace.escapes}
    inside = [range(pass_.after, pass_.until) for pass_ in facts.passes]
    for operation in facts.last_of_each_line:
        if any(operation.id in ran for ran in inside):
            continue
        if any(facts.readers(i) or i in escaped or i in facts.begins for i in operation.outputs):
            continue
        if not operation.outputs or operation.name.endswith("_") or not operation.tensors:
            continue
        statement = facts.text.statement(operation.span)
        where = dropped(facts, statement, operation.name)
        if where:
            yield Cause(
                "dropped result",
                f"{facts.text.cut(statement)}{facts.at_line(operation.span)} {where}",
                (facts.at("nothing reads the result", operation.span),),
            )


def dropped(facts: Facts, statement: Any, name: str) -> str:
    """Return how a statement loses the result of its call of an operator; "" if it may be used."""
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call):
        called = getattr(value.func, "attr", "")
        return "gives a new tensor, and its result is not used" if called == name else ""
    loop = loop_around(facts, statement) if isinstance(statement, ast.Assign) else None
    if loop is None or not isinstance(loop, ast.For):
        return ""
    lost = stores(statement) & stores(loop.target)
    after = [s for s in loop.body if s.lineno > statement.lineno]
    if not lost or any(lost & loads(s) for s in after):
        return ""
    names = ", ".join(sorted(lost))
    return f"binds the loop's variable {names} to a new tensor: nothing is changed in place"


def turns_alike(ledger: Ledger) -> Iterator[Cause]:
    """If something reads what a call gives in one turn, something does in the others (a remark)."""
    facts = ledger.facts
    if not facts.trace.training:
        return
    kept = {escape.tensor for escape in facts.trace.escapes} | facts.begins
    calls: dict[Span, list[TensorId]] = {}
    for operation in facts.operations[slice(*facts.trace.training[-1].operations)]:
        span = operation.span
        # what the program itself calls, not what a layer that it calls runs
        is_own = operation.grad_enabled and called_by(operation.text) == operation.name
        if span is not None and not span.file and is_own and len(operation.outputs) == 1:
            calls.setdefault(span, []).append(operation.outputs[0])
    for span, results in calls.items():
        dropped = [i for i in results if not facts.readers(i) and i not in kept]
        count = len(results)
        if count > FEWEST and count > len(dropped) >= count / 2 and is_trained(facts, results):
            name = facts.tensors[results[0]].op
            yield Cause(
                "partly dropped",
                f"{name}{facts.at_line(span)} gives {count} results in a step, and nothing reads "
                f"{len(dropped)} of them",
                (facts.at("some of them are read", span),),
            )
            return


def is_trained(facts: Facts, tensors: list[TensorId]) -> bool:
    return all(facts.tensors[i].requires_grad and facts.tensors[i].is_last for i in tensors)


def losses_reached(ledger: Ledger) -> Iterator[Cause]:
    """A single number that is computed with grad in each step goes backward (a remark)."""
    facts = ledger.facts
    if len(facts.trace.training) < 2:
        return
    escaped = {escape.tensor for escape in facts.trace.escapes}
    for operation in facts.last_of_each_line:
        record = facts.tensors[operation.outputs[0]] if operation.outputs else None
        if record is None or not record.requires_grad or record.is_leaf or record.shape:
            continue
        if record.id in facts.begins or record.id in escaped or facts.readers(record.id):
            continue
        if places.method_call(facts.text.statement(operation.span), ("print",)) is not None:
            continue
        yield Cause(
            "dropped loss",
            f"{named(facts, record.id)}{facts.at_line(operation.span)} has a gradient to give, and "
            "no backward reaches it",
            (facts.at("it is computed here, and nothing reads it", operation.span),),
        )


def targets_differ(ledger: Ledger) -> Iterator[Cause]:
    """The targets of a classification are its inputs shifted by one, or others (a remark)."""
    facts = ledger.facts
    lookups = [
        (lookup, value)
        for lookup in facts.calls_of(("embedding",))
        for _, value in facts.operands(lookup)
        if is_index(value) and len(value.shape) > 1
    ]
    for loss in reversed(facts.calls_of(CLASSIFIED)):
        for _, targets in filter(lambda pair: is_index(pair[1]), facts.operands(loss)[1:2]):
            shifts = {
                shift: lookup
                for lookup, tokens in lookups
                if (shift := shift_between(tokens.data, targets.data)) is not None
            }
            if not shifts or 1 in shifts:
                continue
            shift, lookup = next(iter(shifts.items()))
            by = f"shifted by {shift}" if shift else "in the same places"
            yield Cause(
                "targets are inputs",
                f"the targets of {unit(facts, loss)} are the numbers that {unit(facts, lookup)} "
                f"looks up, {by}",
                (facts.at("the inputs", lookup.span), facts.at("the targets", loss.span)),
            )
            return


def is_index(value: Value) -> bool:
    return value.dtype.startswith("int") and value.is_whole and value.numel >= FEW


def shift_between(tokens: Any, targets: Any) -> int | None:
    """Return by how many places targets are shifted against tokens (rows of a batch): 0 to 3, as a
    language model's by 1; None if they are others.
    """
    rows = len(tokens)
    if targets.size % rows or not targets.size:
        return None
    targets = targets.reshape(rows, -1)
    if abs(targets.shape[1] - tokens.shape[1]) > MOST_SHIFT:
        return None
    for shift in (1, 0, 2, MOST_SHIFT):
        width = min(targets.shape[1], tokens.shape[1] - shift)
        own = targets[:, :width]
        counted = own >= 0
        if counted.sum() < FEW:
            continue
        if (own == tokens[:, shift : shift + width])[counted].all():
            return shift
    return None


def targets_vary(ledger: Ledger) -> Iterator[Cause]:
    """The targets of a classification are of many classes (a remark)."""
    facts = ledger.facts
    calls: dict[Span | None, list[Operation]] = {}
    for loss in facts.calls_of(CLASSIFIED):
        operands = facts.operands(loss)
        if len(operands) > 1 and is_label(operands[1][1]) and operands[0][1].shape:
            calls.setdefault(loss.span, []).append(loss)
    for losses in reversed(calls.values()):
        pairs = [facts.operands(loss) for loss in losses]
        labels = np.concatenate([pair[1][1].data.ravel() for pair in pairs[-MOST_CALLS:]])
        shape = pairs[-1][0][1].shape
        classes = max(shape[min(1, len(shape) - 1)], 2)
        ignored = losses[-1].option("ignore_index") or ""
        is_counted = (labels >= 0) & (labels != (int(ignored) if ignored.isdecimal() else -1))
        values, counts = np.unique(labels[is_counted], return_counts=True)
        share = counts.max() / counts.sum() if len(counts) else 0.0
        if share == 1 and is_joined(facts, losses[-1]):
            continue  # the logits of one positive before those of all negatives
        if share > max(0.6, 4 / classes) and counts.sum() >= 4 * FEW:
            yield Cause(
                "one target",
                f"{share:.0%} of the targets of {unit(facts, losses[-1])} are "
                f"{values[counts.argmax()]}",
                (facts.at("they are compared here", losses[-1].span),),
            )
            return


def is_joined(facts: Facts, loss: Operation) -> bool:
    """Whether the logits of a loss were put together of several tensors."""
    maker = facts.maker(beginning(facts, facts.tensors[loss.tensors[0]]).id)
    return maker is not None and operator(maker) in ("cat", "concat", "stack")


def is_label(value: Value) -> bool:
    return value.dtype.startswith("int") and value.is_whole and bool(value.shape)


def targets_constant(ledger: Ledger) -> Iterator[Cause]:
    """The target of a regression has no gradient (a remark)."""
    facts = ledger.facts
    for loss in reversed(facts.calls_of(LOSSES)):
        operands = facts.operands(loss)[:2]
        if loss.grad_enabled and len(operands) == 2 and all(t.requires_grad for t, _ in operands):
            target = operands[1][0]
            yield Cause(
                "trained target",
                f"{named(facts, target.id)}, the target of {unit(facts, loss)}, has a gradient: "
                "the loss trains both sides",
                (facts.at("it is compared here", loss.span),),
            )
            return


def cuts_meant(ledger: Ledger) -> Iterator[Cause]:
    """A way from a trained parameter to a loss is cut by the program on purpose (a remark)."""
    facts = ledger.facts
    ends = {pass_.span: pass_.roots for pass_ in facts.passes}
    ways = [(roots, facts.flow.before(roots)) for roots in ends.values()]
    behind = facts.flow.after(ledger.leaves)
    lines: dict[object, Cause] = {}
    is_scored = calls_method(facts, "log_prob")
    for how, span, source, results in cutting(facts):
        if span is None or span.file or source not in behind or span in lines:
            continue
        if is_scored and how in SAMPLES:  # its gradient comes through the log-probability
            continue
        cut = [roots for roots, before in ways if not before.isdisjoint(results)]
        if cut:
            lines[span] = Cause(
                "cut",
                f"{facts.labels(cut[-1])} depends on {named(facts, source)} through {how}"
                f"{facts.at_line(span)}, where no gradient comes back",
                (facts.at("no gradient comes back here", span),),
            )
    yield from lines.values()


def cutting(facts: Facts) -> Iterator[tuple[str, Span | None, TensorId, tuple[TensorId, ...]]]:
    """Yield what sends no gradient back, its place, the tensor that it was given and its results:
    operations, then reads of `.data`.
    """
    for operation in facts.calls_of(CUTTING):
        if operation.tensors and facts.tensors[operation.tensors[0]].requires_grad:
            span = own_span(facts, operation)
            yield operation.name, span, operation.tensors[0], operation.outputs
    for escape in facts.trace.escapes:
        if escape.how == "data" and escape.tensor is not None and escape.out is not None:
            yield ".data", escape.span, escape.tensor, (escape.out,)
