"""What the texts of two programs say of a difference: seeds, draws, and where things are made."""

from __future__ import annotations

from gradtrace.analysis.places import Text, around
from gradtrace.annotations import Any
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Trace

SEEDS = words("manual_seed seed seed_everything set_seed manual_seed_all")
DRAWS = words(
    "rand randn randint randperm normal bernoulli multinomial rand_like randn_like randint_like "
    "uniform random shuffle sample rsample choice random_split normal_ uniform_ trunc_normal_ "
    "kaiming_normal_ kaiming_uniform_ xavier_normal_ xavier_uniform_ orthogonal_ random_ bernoulli_"
)
DISTRIBUTIONS = {"normal": "randn", "uniform": "rand", "random": "rand", "rsample": "sample"}
SEPARATORS = str.maketrans("", "", " =,()[]")
ORDERS = words("randperm shuffle sample choice permutation random_split RandomSampler")


class ProgramText:
    """The program's own text of one run."""

    def __init__(self, trace: Trace) -> None:
        self.text = Text(trace.source_text)
        self.recorded = {o.span.line for o in trace.operations if o.span and not o.span.file}

    def calls(self, names: tuple[str, ...]) -> list[tuple[str, int]]:
        """Return text and line of the calls of functions with these names, in order of lines."""
        chosen = [
            call for call in self.text.calls if self.called(call) in names and self.may_run(call)
        ]
        return sorted(
            ((self.text.cut(call), call.lineno) for call in chosen), key=lambda call: call[1]
        )

    def may_run(self, call: Any) -> bool:
        """Whether a call is outside of functions, or in functions of which each has a recorded
        operation or is called by name in another line.
        """
        for function in around(self.text.functions, call.lineno):
            lines = range(function.lineno, (function.end_lineno or 0) + 1)
            is_called = any(
                self.called(node) == function.name and node.lineno not in lines
                for node in self.text.calls
            )
            if not is_called and self.recorded.isdisjoint(lines):
                return False
        return True

    def draws_order(self) -> bool:
        """Whether the program makes a random order: it shuffles, samples or permutes."""
        return bool(self.calls(ORDERS)) or any(
            option.arg == "shuffle" and self.text.cut(option.value) != "False"
            for call in self.text.calls
            for option in call.keywords
        )

    def called(self, call: Any) -> str:
        return self.text.cut(call.func).rpartition(".")[2]

    def module_line(self, path: str, kind: str) -> int | None:
        """Return the line where a module of a class is made: of the only call of the class, or of
        the only one that is assigned to the last name of the module's path.
        """
        calls = [call for call in self.text.calls if self.called(call) == kind]
        parent, _, name = path.rpartition(".")
        if len(calls) != 1 and name.isdigit():
            layers = [
                node.value.args[int(name)]
                for node in self.text.assignments(parent)
                if isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and self.called(node.value) == "Sequential"
                and int(name) < len(node.value.args)
            ]
            calls = [layer for layer in layers if layer in calls]
        elif len(calls) != 1:
            calls = [
                node.value
                for node in self.text.simple
                if isinstance(node, ast.Assign)
                and node.value in calls
                and self.text.cut(node.targets[0]).rpartition(".")[2] == name
            ]
        return calls[0].lineno if len(calls) == 1 else None

    def drawn_line(self, name: str) -> int | None:
        """Return the line of the only assignment of a variable, if it is of drawn numbers."""
        bound = self.text.assignments(name.partition(" #")[0].partition("[")[0])
        values = [node for node in bound if isinstance(node, ast.Assign)]
        if len(values) != 1:
            return None
        calls = [part for part in ast.walk(values[0].value) if isinstance(part, ast.Call)]
        is_drawn = any(self.called(call) in DRAWS for call in calls)
        return values[0].lineno if is_drawn else None


def is_draw(label: str) -> bool:
    """Whether the text that made a tensor calls a function that draws numbers."""
    return label.partition("(")[0].rpartition(".")[2] in DRAWS


def is_constant(text: str) -> bool:
    """Whether the arguments of a call are numbers."""
    arguments = text.partition("(")[2].rstrip(")")
    return arguments.translate(SEPARATORS).isdigit()


class TwoTexts:
    """The texts of two programs."""

    def __init__(self, a: Trace, b: Trace) -> None:
        self.a = ProgramText(a)
        self.b = ProgramText(b)

    def seeds(self) -> str:
        """Return the first seeds that differ, in words; "" if they are equal."""
        first = self.a.calls(SEEDS)
        second = self.b.calls(SEEDS)
        if len(first) != len(second):
            name, calls, others = (
                ("A", first, second) if len(first) > len(second) else ("B", second, first)
            )
            texts = [text for text, _ in others]
            extra = next((call for call in calls if call[0] not in texts), calls[-1])
            return f"only {name} calls {extra[0]} (line {extra[1]})"
        for (text_a, line_a), (text_b, line_b) in zip(first, second, strict=True):
            if text_a != text_b and is_constant(text_a) and is_constant(text_b):
                return f"{text_a} (line {line_a}) in A, {text_b} (line {line_b}) in B"
        return ""

    def draws(self) -> str:
        """Return a call that draws numbers and is in one text alone, in words."""
        first = self.a.calls(DRAWS)
        second = self.b.calls(DRAWS)
        name, own, others = (
            ("A", first, second) if len(first) > len(second) else ("B", second, first)
        )
        if len(own) == len(others):
            return ""
        rest = list(own)
        for equal in (True, False):
            for call in list(others):
                twin = next((x for x in rest if is_twin(x[0], call[0], equal)), None)
                if twin is not None:
                    rest.remove(twin)
                    others.remove(call)
        if others or not rest:
            return ""
        text, line = rest[0]
        return f"only {name} draws with {text} (line {line})"


def is_twin(text: str, twin: str, equal: bool) -> bool:
    """Whether two calls are of one text, or may otherwise draw the same numbers: by functions of
    one distribution, and not with other numbers as sizes.
    """
    if equal:
        return text == twin
    sizes = is_constant(text) and is_constant(twin)
    return not sizes and distribution_of(text) == distribution_of(twin)


def distribution_of(text: str) -> str:
    """Return the name of the distribution that a call draws from."""
    name = text.partition("(")[0].rpartition(".")[2].strip("_").removesuffix("_like")
    return DISTRIBUTIONS.get(name, name)
