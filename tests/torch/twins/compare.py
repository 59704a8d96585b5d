"""How two Traces of one script differ: gradtrace's own, and that of the same script recorded in real PyTorch.

Each aspect is a list of lines that must be equal; ids and the order of independent records do not count, for they may
differ between engines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.failures import explain_failure
from gradtrace.analysis.training import training
from gradtrace.analysis.why import explain
from gradtrace.trace import FunctionRecord, TensorRecord, Trace, Value
from gradtrace.trace.window import step_window

# Numbers may differ by this, relative and absolute: kernels differ in the last bits of float32, loops let that grow.
RELATIVE, ABSOLUTE = 2e-3, 1e-5
NUMBER = re.compile(r"-?(\d+\.?\d*(e[+-]\d+)?|inf|nan)")


def kinds(trace: Trace) -> Iterator[str]:
    """What each variable is. The version of a parameter is left out: PyTorch's layers write to theirs to begin with."""
    for t in variables(trace):
        flags = [
            flag
            for flag in ("requires_grad", "is_leaf", "retains_grad", "is_parameter")
            if getattr(t, flag)
        ]
        version = "" if t.is_parameter else f"version {t.version}"
        yield f"{t.name}: {t.kind} {t.grad_fn} {' '.join(flags)} {version}"


def labels(trace: Trace) -> Iterator[str]:
    """Every function that the roots of backward were computed by, with its line; of a named leaf the name.

    Operations are not compared one by one: gradtrace notes the operators that it computes with (mm, view), and in
    PyTorch what is seen are the calls of the program (matmul, reshape). Both make the same functions.
    """
    below: dict[int, list[int]] = {}
    for edge in trace.function_edges:
        below.setdefault(edge.source, []).append(edge.target)
    waiting = [
        i
        for one in trace.passes
        for root in one.roots
        if (i := trace.tensors[root].function) is not None
    ]
    seen = set(waiting)
    while waiting:
        new = {i for i in below.get(waiting.pop(), ()) if i not in seen}
        seen |= new
        waiting += new
    yield from sorted(label(trace, trace.functions[index]) for index in seen)


def label(trace: Trace, function: FunctionRecord) -> str:
    if function.variable is None:
        return f"line {function.span.line if function.span else None} {function.name}"
    return f"{function.name} of {trace.tensors[function.variable].name}"


def edges(trace: Trace) -> Iterator[str]:
    """The backward graph below each variable, written as nested calls."""
    below: dict[int, list[tuple[int, int, int]]] = {}
    for edge in trace.function_edges:
        below.setdefault(edge.source, []).append((edge.input_index, edge.target, edge.output_nr))
    for t in variables(trace):
        if t.function is not None:
            yield f"{t.name}: {' '.join(walk(trace, below, t.function))}"


def walk(trace: Trace, below: dict[int, list[tuple[int, int, int]]], start: int) -> Iterator[str]:
    """The functions below one, each once, numbered in the order of the walk so that sharing shows."""
    numbers = {start: 0}
    waiting = [start]
    while waiting:
        index = waiting.pop()
        function = trace.functions[index]
        found = []
        for place, target, output in sorted(below.get(index, ())):
            if target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
            found.append(f"{place}:{numbers[target]}.{output}")
        yield f"{numbers[index]}={function.name}({', '.join(found)})"


def values(trace: Trace) -> Iterator[str]:
    """The value and gradient of each variable."""
    for t in variables(trace):
        yield f"{t.name} = {shown(t.value)}, grad {shown(t.grad)}"


def steps(trace: Trace) -> Iterator[str]:
    """Each pass, and each function's turn with what came and what went."""
    for one in trace.passes:
        yield f"pass {one.number} line {one.span.line if one.span else None} {one.keep} {one.create_graph} {one.stores}"
    for step in trace.steps:
        function = trace.functions[step.function]
        if not step.ran or function.name == "AccumulateGrad":  # its turn comes at another time
            continue
        came, went = map(several, (step.upstream, step.downstream))
        yield f"{step.number} {function.name} {came} -> {went}"
    for step_of_training in trace.training:
        line = step_of_training.span.line if step_of_training.span else None
        yield f"training step {step_of_training.number} ends on line {line}"


def several(values: tuple[Value | None, ...]) -> str:
    """Gradients; None at the end does not count, for it stands for what has no edge."""
    text = " ".join(map(shown, values))
    return re.sub("( ?None)+$", "", text)


def why(trace: Trace) -> Iterator[str]:
    """The answer about each variable, and about the failure."""
    failure = explain_failure(trace)
    if failure is not None:
        yield failure.sentence
    facts = Facts(trace)
    for t in variables(trace):
        answer = explain(facts, t)
        yield f"{answer.sentence} [{answer.status}, {answer.code}]"


def parts(trace: Trace) -> Iterator[str]:
    """What is said of the first step of a training loop, of the second and of the last alone."""
    for number in sorted({1, 2, len(trace.training)} & set(range(1, len(trace.training) + 1))):
        step = step_window(trace, number)
        for line in (*values(step), *why(step)):
            yield f"step {number}: {line}"


def numbers(trace: Trace) -> Iterator[str]:
    """A training loop in numbers."""
    if not trace.training:
        return
    found = training(trace)
    yield found.verdict
    for row in found.rows:
        yield f"step {row.number}: loss {row.loss}, gradients {row.grad_norm}, update {row.update}, {row.bad}"


def variables(trace: Trace) -> Iterable[TensorRecord]:
    """By name: which of two variables was bound first does not count."""
    return [trace.tensors[index] for _, index in sorted(trace.names)]


def shown(value: Value | None) -> str:
    """Shape, dtype and elements."""
    if value is None:
        return "None"
    if not value.is_whole:
        return f"{value.shape} {value.dtype} ..."
    data = value.data
    numbers = data.flatten().tolist() if hasattr(data, "flatten") else [data]
    return f"{value.shape} {value.dtype} [{' '.join(map(str, numbers))}]"


def same(ours: str, theirs: str) -> bool:
    """Whether two lines are equal but for the last digits of their numbers."""
    if ours == theirs:
        return True
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.finditer(ours), NUMBER.finditer(theirs), strict=True)
    return all(a[0] == b[0] or close(a[0], b[0]) for a, b in pairs)


def close(a: str, b: str) -> bool:
    """Two numbers of which one is not an integer: counts and lines must be equal."""
    return not (a + b).isdigit() and math.isclose(
        float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE
    )


ASPECTS: dict[str, Callable[[Trace], Iterator[str]]] = {
    "kinds": kinds,
    "labels": labels,
    "edges": edges,
    "values": values,
    "steps": steps,
    "why": why,
    "parts": parts,
    "numbers": numbers,
}


def differences(own: Trace, real: Trace) -> dict[str, str]:
    """By aspect the first line that differs, of both."""
    found = {}
    for aspect, lines in ASPECTS.items():
        ours, theirs = list(lines(own)), list(lines(real))
        place = next(
            (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if not same(a, b)), None
        )
        if place is not None or len(ours) != len(theirs):
            place = min(len(ours), len(theirs)) if place is None else place
            pair = [part[place] if place < len(part) else "nothing more" for part in (ours, theirs)]
            found[aspect] = f"gradtrace: {pair[0]}\nPyTorch:   {pair[1]}"
    return found
