"""Find mistakes that raise no error: a loss of broadcast shapes, a softmax applied twice or over
the batch, a wrong backward.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import (
    code_of,
    enclosed,
    highest,
    lowest,
    made_by,
    method_of,
    named,
    operator,
    result,
    scopes_of,
    unit,
)
from gradtrace.annotations import Any
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.trace.record import FunctionCheck, Operation, Span, TensorRecord, Value

PASSING = (
    "index",
    "slice",
    *function_table(
        "analysis.causes.silent.PASSING",
        words("view reshape squeeze unsqueeze select transpose t permute flatten"),
    ),
)


# ---- softmax


def behind(facts: Facts, tensor: int | None, names: tuple[str, ...]) -> Operation | None:
    """Return the operation with one of these names that made a tensor, through views and
    indices.
    """
    for _ in range(5):
        maker = facts.maker(tensor)
        if maker is None or operator(maker) in names:
            return maker
        if operator(maker) not in PASSING:
            return None
        tensor = next(iter(maker.tensors), None)
    return None


def wrong_softmax(facts: Facts) -> Cause | None:
    """Find a softmax of probabilities, or a loss for log-probabilities that gets something else."""
    seen: set[str] = set()
    for operation in facts.calls_of((*TWICE, "_ctc_loss")):
        if unit(facts, operation) in seen:
            continue
        seen.add(unit(facts, operation))
        name = loss_name(operation)
        tensor = next(iter(operation.tensors), None)
        earlier = behind(facts, tensor, TWICE[name])
        if earlier is not None and earlier.id != operation.id:
            return twice(facts, operation, earlier)
        if name in OF_LOGS and (cause := not_logs(facts, operation, tensor)) is not None:
            return cause
    return None


SOFTMAX = function_table("analysis.causes.silent.SOFTMAX", ("softmax", "log_softmax"))
OF_LOGS = function_table("analysis.causes.silent.OF_LOGS", ("nll_loss", "kl_div", "ctc_loss"))
TWICE = function_table(
    "analysis.causes.silent.TWICE",
    {
        "log_softmax": ("softmax", "sigmoid"),
        "cross_entropy": ("softmax", "sigmoid"),  # a second log_softmax changes nothing
        "softmax": ("softmax",),
        "nll_loss": ("softmax",),
        "kl_div": ("softmax", "sigmoid"),
        "ctc_loss": ("softmax",),
        "binary_cross_entropy_with_logits": ("sigmoid", "softmax"),
    },
)


def loss_name(operation: Operation) -> str:
    """Return the public name of a loss: "ctc_loss" for the operator "_ctc_loss"."""
    return operator(operation).lstrip("_")


def twice(facts: Facts, operation: Operation, earlier: Operation) -> Cause:
    name = loss_name(operation)
    first = operator(earlier)
    evidence = facts.at(f"{first} makes probabilities here", earlier.span)
    if name in OF_LOGS:
        return Cause(
            "no logarithm",
            f"{unit(facts, operation)} needs log-probabilities, but gets what "
            f"{unit(facts, earlier)} has already made probabilities",
            (evidence, facts.at(f"{name} gets them here", operation.span)),
            (f"F.log_softmax in place of {unit_to_change(facts, earlier)}",),
        )
    loss = (
        "cross_entropy"
        if name == "log_softmax" and "log_softmax" not in facts.text.line(operation.span)
        else name
    )
    taken = "a sigmoid" if "binary" in name else "a softmax"
    return Cause(
        "softmax twice",
        f"{loss}{facts.at_line(operation.span)} needs logits, and takes {taken} itself, but gets "
        f"what {unit(facts, earlier)} has already made probabilities: it is applied twice",
        (evidence, facts.at(f"{loss} gets them here", operation.span)),
        (f"leave out {unit_to_change(facts, earlier)}: give {loss} the logits",),
    )


def not_logs(facts: Facts, operation: Operation, tensor: int | None) -> Cause | None:
    """Explain nll_loss, kl_div or ctc_loss of a tensor with positive elements, which a
    log-probability cannot have.
    """
    value = None if tensor is None else facts.tensors[tensor].value
    top, low = (None, None) if value is None else (highest(value), lowest(value))
    if tensor is None or top is None or low is None or top <= 1e-6:
        return None
    loss = loss_name(operation)
    name = named(facts, tensor)
    code = code_of(name) or "..."
    call = f"F.{loss}({{}}, target)"
    of_logits = f"F.log_softmax({code}, dim={1 if loss == 'nll_loss' else -1})"
    is_table = low >= 0 and top <= 1
    advice = call.format(of_logits)
    if loss == "nll_loss":
        advice = f"F.cross_entropy({code}, target), or {advice}"
    elif is_table:
        advice = (
            f"{call.format(f'{enclosed(code)}.log()')}, or log_softmax of the logits that "
            f"{name} comes from"
        )
    return Cause(
        "no logarithm",
        f"{loss}{facts.at_line(operation.span)} needs log-probabilities, and {name} goes up to "
        f"{top:.3g}: it has no "
        f"{'logarithm' if is_table else 'log_softmax'}{below_zero(facts, operation)}",
        (
            facts.at(
                f"{name} has positive elements here, as no log-probability has", operation.span
            ),
        ),
        (advice,),
    )


def below_zero(facts: Facts, operation: Operation) -> str:
    """Return a clause about a KL divergence whose sum or mean is negative; "" for any other
    result.
    """
    value = result(facts, operation) if operator(operation) == "kl_div" else None
    low = None if value is None or value.numel != 1 else lowest(value)
    return (
        ""
        if low is None or low >= -1e-6
        else f", and the result is {low:.4g}: a divergence is never negative"
    )


def constant_sum(facts: Facts) -> Cause | None:
    """Find the sum of a softmax over its own dimension, which is always 1."""
    into = facts.flow.before(facts.roots)
    for operation in facts.calls_of(("softmax",)):
        result = facts.tensors[operation.outputs[0]]
        dim = dimension(operation)
        useful = [
            reader for reader in facts.readers(result.id) if not into.isdisjoint(reader.outputs)
        ]
        if not result.requires_grad or not result.shape or dim is None or not useful:
            continue
        if not all(adds_all(reader, dim, len(result.shape)) for reader in useful):
            continue
        adding = useful[0]
        name = named(facts, result.id)
        code = enclosed(code_of(name)) or "..."
        return Cause(
            "constant sum",
            f"{unit(facts, adding)} adds up a whole softmax, which gives 1: the gradients cancel",
            (
                facts.at(f"{name} sums to 1 over dim={dim}", operation.span),
                facts.at("and is summed over that dimension here", adding.span),
            ),
            (
                f"take one of the probabilities: {code}.max({dim}).values, {code}.gather(...)",
                f"or sum something else of it: ({code} * {code}.log()).sum({dim})",
            ),
            symptom=f"{facts.root_names()} does not depend on what goes into "
            f"{unit(facts, operation)}",
        )
    return None


def dimension(operation: Operation) -> int | None:
    """Return the single dim that an operation was given, by name or as its first constant."""
    dim = operation.option("dim") or next(iter(operation.constants), "")
    return int(dim) if dim.lstrip("-").isdigit() else None


def written_dimension(facts: Facts, operation: Operation) -> tuple[str, Span | None]:
    """Return the dim of a softmax as the program writes it, and where: at its call, or where its
    layer is made.
    """
    layer = layer_of(facts, operation)
    place = operation.span if layer is None else places.head_of(layer)
    calls = facts.text.calls_at(place)
    call = next((c for c in calls if "softmax" in facts.text.cut(c.func).lower()), None)
    arguments = (
        [] if call is None else [k.value for k in call.keywords if k.arg == "dim"] or call.args[-1:]
    )
    texts = [facts.text.cut(argument) for argument in arguments]
    return next(
        (text for text in texts if text.lstrip("-").isdigit()), str(dimension(operation))
    ), place


def layer_of(facts: Facts, operation: Operation) -> Any:
    """Return the call that makes the layer of an operator, such as the only nn.Softmax(...) of the
    text; None if the operator is called itself.
    """
    layer = next((s.detail for s in scopes_of(facts, operation) if s.kind == "module"), "")
    name = operator(operation).replace("_", "")
    if layer.lower() != name or name in facts.text.line(operation.span).lower().replace("_", ""):
        return None
    calls = [
        call for call in facts.text.calls if facts.text.cut(call.func).rpartition(".")[2] == layer
    ]
    return calls[0] if len(calls) == 1 else None


def unit_to_change(facts: Facts, operation: Operation) -> str:
    """Return an operator with the line that is to be changed: "nn.Softmax on line 6" where its
    layer is made.
    """
    layer = layer_of(facts, operation)
    return (
        unit(facts, operation)
        if layer is None
        else facts.text.cut(layer.func) + facts.at_line(places.head_of(layer))
    )


def adds_all(operation: Operation, dim: int, ndim: int) -> bool:
    """Whether an operation sums over this dimension, or over all dimensions."""
    if operator(operation) not in ("sum", "mean"):
        return False
    own = dimension(operation)
    same = operator(operation) == "sum" and own is not None and own % ndim == dim % ndim
    return (operation.option("dim") is None and not operation.constants) or same


def over_the_batch(facts: Facts) -> Cause | None:
    """Find a softmax over the samples of a batch, on the path to a loss with a label for each
    sample.
    """
    for operation in facts.calls_of(SOFTMAX):
        record, value = next(iter(facts.operands(operation)), (None, None))
        dim = dimension(operation)
        if (
            record is None
            or value is None
            or dim is None
            or len(value.shape) < 2
            or value.shape[-1] < 2
        ):
            continue
        if dim % len(value.shape) == len(value.shape) - 1:
            continue
        classes = value.shape[-1]
        samples = value.numel // classes
        by_label = labelled(facts, operation, samples)
        user = by_label or compared(facts, operation)
        if user is None:
            continue
        is_table = len(value.shape) == 2
        said, place = written_dimension(facts, operation)
        sums = (
            "each column sums to 1, not each row"
            if is_table
            else "its last dimension does not sum to 1"
        )
        over = (
            f"the {samples} samples" if is_table else f"{value.shape[dim]} of the {samples} samples"
        )
        return Cause(
            "softmax over the batch",
            f"{unit(facts, operation)} is taken over dim={said}, {over} of the batch, not over "
            f"the {classes} classes of each",
            (
                facts.at(
                    f"{named(facts, record.id)} has the shape {value.shape}; {sums}",
                    operation.span,
                ),
                facts.at(
                    f"{'a label' if by_label else 'a distribution'} for each row is used here",
                    user.span,
                ),
            ),
            (
                f"dim={1 if is_table and said[:1] != '-' else -1} in place of "
                f"dim={said}{facts.at_line(place)}",
            ),
        )
    return None


def compared(facts: Facts, operation: Operation) -> Operation | None:
    """Return the kl_div of a result with another softmax, one that is taken over the classes."""

    def is_over_classes(target: TensorRecord, value: Value) -> bool:
        maker = made_by(facts, target.id, SOFTMAX)
        dim = None if maker is None else dimension(maker)
        return dim is not None and dim % len(value.shape) == len(value.shape) - 1

    def compares(reader: Operation) -> bool:
        return operator(reader) == "kl_div" and any(
            is_over_classes(*pair) for pair in facts.operands(reader)[1:2]
        )

    return facts.reader_after(operation, compares, 3, 4)


def labelled(facts: Facts, operation: Operation, samples: int) -> Operation | None:
    """Return the operation that picks one element of each row of a result, or of its logarithm."""

    def picks(reader: Operation) -> bool:
        labels = [
            t
            for t, _ in facts.operands(reader)[1:]
            if t.dtype == "int64" and t.shape[:1] == (samples,)
        ]
        return operator(reader) in ("nll_loss", "gather") or (
            operator(reader) == "index" and len(labels) == 2
        )

    return facts.reader_after(operation, picks, 3, 4)


# ---- Functions of the program


def wrong_backward(facts: Facts) -> Cause | None:
    """Find a Function whose backward disagrees with finite differences of its forward."""
    bad = next((check for check in facts.trace.checks if check.verdict == "wrong"), None)
    if bad is None:
        return None
    method = method_of(facts, bad.name, "backward")
    returned = (
        None
        if method is None
        else next((n for n in ast.walk(method) if isinstance(n, ast.Return)), None)
    )
    head = bad.span if returned is None else places.head_of(returned)
    fix = "derive forward again: it does not depend on this input there"
    if bad.numeric:
        fix = (
            f"derive forward again: backward returns {bad.analytic / bad.numeric:.4g} times what "
            "it should there"
        )
    returns = f"{bad.analytic:.6g}"
    if not bad.analytic and gives_none(facts, bad):
        returns = "None"
        fix = f"return the gradient for input {bad.input}: backward returns None for it"
    return Cause(
        "wrong backward",
        f"{bad.name}.backward{facts.at_line(head)} disagrees with finite differences of its "
        f"forward: for element {bad.element} of input {bad.input} it gives {returns} "
        f"where they give {bad.numeric:.6g}",
        (
            facts.at("the derivative is returned here", head),
            facts.at(f"{bad.name} was checked on the arguments of this call", bad.span),
        ),
        (fix, f"and check it: torch.autograd.gradcheck({bad.name}.apply, inputs in float64)"),
        tensors=leaves_behind(facts, bad.name),
    )


def gives_none(facts: Facts, check: FunctionCheck) -> bool:
    """Whether a Function's backward returned None for the input of a check."""
    functions = {o.function for o in facts.operations if o.name == check.name}
    return any(
        step.downstream[check.input : check.input + 1] == (None,)
        for step in facts.steps
        if step.function in functions
    )


def leaves_behind(facts: Facts, name: str) -> frozenset[int]:
    """Return the leaves whose gradients come through a Function of the program."""
    before = facts.flow.before(i for o in facts.operations if o.name == name for i in o.tensors)
    return frozenset(
        i for i in before if facts.tensors[i].is_leaf and facts.tensors[i].requires_grad
    )
