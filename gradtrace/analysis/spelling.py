"""Write advice with the program's own names: th.sqrt after `import torch as th`, sqrt after `from
torch import sqrt`.

Advice is composed with `torch` and `F`; a change of the text that uses a name which the program
lacks imports torch. A training step has the numbers of the program's loops beside its own.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Fix
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import edited
from gradtrace.annotations import Sequence
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Span, Trace

STARTS = ("torch.", "F.")
OURS = ("torch", "gradtrace")  # packages with PyTorch's names


def spelled(facts: Facts, cause: Cause) -> Cause:
    """Return a cause whose advice uses the names by which its program imports PyTorch, without
    advice that the text follows already, or that would not be a program.
    """
    evidence = cause.evidence
    said = [cause.symptom, cause.because, *(item.text for item in evidence)]
    symptom, because, *texts = with_counters(facts.trace, said)
    cause = cause._replace(
        symptom=symptom,
        because=because,
        evidence=[item._replace(text=text) for item, text in zip(evidence, texts, strict=True)],
        advice=tuple(text for text in cause.advice if is_change(facts, text)),
    )
    if not any(start in text for text in cause.advice for start in STARTS):
        return cause
    imports = [s for s in facts.text.statements if isinstance(s, (ast.Import, ast.ImportFrom))]
    names = bound(imports)
    # an expression has all names, and a starred import may have given torch
    if not names or ("torch" not in names and any(map(takes_all, imports))):
        return cause
    return cause._replace(
        advice=tuple(with_names(text, names, imports[0].lineno) for text in cause.advice)
    )


def with_counters(trace: Trace, texts: Sequence[str]) -> list[str]:
    """Return texts in which the first mention of a training step has the numbers of the program's
    loops in that step, unless they are the same. Of the steps without, the first one says that it
    is counted.
    """
    notes = {str(step.number): step.variables or "counted from 1" for step in trace.training}
    message = "" if trace.failure is None else trace.failure.message
    said = {""}

    def noted(text: str) -> str:
        start, *parts = f" {text}".split(" step ")
        for part in parts:
            number = part[: len(part) - len(part.lstrip("0123456789"))]
            note = notes.get(number, "")
            # a program's message has its own numbers
            is_own = f"step {number}" in message or note.partition("=")[2] == number
            shown = "" if is_own or note in said else f" ({note})"
            said.add(note)
            start += f" step {number}{shown}{part[len(number) :]}"
        return start[1:]

    return list(map(noted, texts))


def is_change(facts: Facts, advice: str) -> bool:
    if not isinstance(advice, Fix):
        return bool(advice)
    text = edited(facts.trace.source_text, advice.edits)
    return text != facts.trace.source_text and bool(places.Text(text).statements)


def bound(imports: list[ast.Import | ast.ImportFrom]) -> dict[str, str]:
    """Return the paths of PyTorch that the imports bind, each with its name; "torch.*": "" for a
    starred import.
    """
    paths: dict[str, str] = {}
    for statement in imports:
        module = getattr(statement, "module", None)
        for alias in statement.names:
            path = f"{module}.{alias.name}" if module else alias.name
            package, dot, rest = path.partition(".")
            if package not in OURS:
                continue
            if module is None and alias.asname is None:
                paths["torch"] = package
            else:
                paths[f"torch{dot}{rest}"] = "" if alias.name == "*" else alias.asname or alias.name
    return paths


def takes_all(statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import takes all names of a module of another package, which may have any."""
    return statement.names[0].name == "*" and not str(getattr(statement, "module", "")).startswith(
        OURS
    )


def with_names(advice: str, names: dict[str, str], line: int) -> str:
    """Return an advice with the program's names; `line` is that of its first import."""
    unknown: list[str] = []

    def spell(text: str) -> str:
        parts = []
        path = ""
        for char in f"{text} ":
            if char.isalnum() or char in "_.":
                path += char
                continue
            parts += [name_of(path, names, unknown) if path.startswith(STARTS) else path, char]
            path = ""
        return "".join(parts[:-1])

    text = spell(advice)
    if not isinstance(advice, Fix):
        return text
    edits = [(span, spell(new)) for span, new in advice.edits]
    if not unknown:
        return Fix(text, edits)
    return Fix(f"{text}, with import torch", [*edits, (Span(line, 0, line, 0), "import torch\n")])


def name_of(path: str, names: dict[str, str], unknown: list[str]) -> str:
    """Return the program's name for "torch.sqrt" or "F.relu"; without one the full path, which
    `unknown` gets too.
    """
    full = f"torch.nn.functional{path[1:]}" if path.startswith("F.") else path
    parts = full.split(".")
    for count in range(len(parts), 0, -1):
        first = ".".join(parts[:count])
        if first in names:
            return ".".join([names[first], *parts[count:]])
        if f"{first}.*" in names and count == len(parts) - 1:
            return parts[-1]
    unknown.append(full)
    return full
