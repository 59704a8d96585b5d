"""Places in a program's text: the statements that bind a name, the statement at a place, the block
around it.

These functions need only the text of a trace, which is parsed once for each `Text`.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable, Iterator
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Span

MODES = ("no_grad", "inference_mode", "set_grad_enabled")


class Text:
    """A program's text, parsed once, with methods that find statements and calls in it."""

    def __init__(self, text: str, files: Iterable[tuple[str, str]] = ()) -> None:
        self.lines = text.split("\n")
        self.files = {name: content.split("\n") for name, content in files}
        self.bytes = [line.encode("utf-8", "replace") for line in self.lines]
        try:
            self.tree: ast.Module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.tree = ast.Module([], [])
        self._around: dict[Span, Any] = {}  # by span: the innermost statement
        self._bindings: dict[str, list[Any]] = {}  # by variable: the statements that bind it
        self.statements = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]

    @property
    def simple(self) -> list[Any]:
        """The statements that contain no other statements, in the order of the text."""
        nodes = [node for node in self.statements if not hasattr(node, "body")]
        return sorted(nodes, key=starts)

    @property
    def functions(self) -> list[Any]:
        """The functions in the text, each before those inside of it."""
        return [node for node in self.statements if isinstance(node, ast.FunctionDef)]

    @property
    def blocks(self) -> list[list[Any]]:
        """The bodies of the module, and of its functions, loops and branches."""
        nodes = [self.tree, *self.statements]
        return [body for node in nodes if (body := getattr(node, "body", None))]

    @property
    def calls(self) -> list[Any]:
        """The calls in the text."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    def calls_at(self, span: Span | None) -> list[Any]:
        """Return the calls that begin on the line of a span in the main file."""
        return (
            []
            if span is None or span.file
            else [node for node in self.calls if node.lineno == span.line]
        )

    def line(self, span: Span | None) -> str:
        """Return the source line at a span, without its indentation."""
        lines = self.lines if span is None or not span.file else self.files.get(span.file, [])
        return (
            lines[span.line - 1].strip() if span is not None and 0 < span.line <= len(lines) else ""
        )

    def cut(self, node: Any) -> str:
        """Return the text of a syntax node, on one line."""
        lines = self.bytes[node.lineno - 1 : node.end_lineno]
        if not lines:
            return ""
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return " ".join(b" ".join(lines).decode("utf-8", "replace").split())

    def statement(self, span: Span | None) -> Any:
        """Return the innermost statement that contains a span, or None."""
        if span is None or span.file:
            return None
        if span not in self._around:
            self._around[span] = self._innermost(span)
        return self._around[span]

    def _innermost(self, span: Span) -> Any:
        around = [
            node
            for node in self.statements
            if starts(node) <= (span.line, span.column)
            and (span.end_line, span.end_column) <= (node.end_lineno, node.end_col_offset)
        ]
        return max(around, key=starts, default=None)

    def assignments(self, name: str) -> list[Any]:
        """Return the statements that bind a variable, in the order of the text. For `net.0.weight`
        the variable is `net`.
        """
        if not self._bindings:
            for node in sorted(self.statements, key=lambda node: (node.lineno, node.col_offset)):
                for target in dict.fromkeys(targets(node)):
                    self._bindings.setdefault(target, []).append(node)
        return list(self._bindings.get(name.partition(".")[0].partition("[")[0], ()))

    def seen_from(self, lines: Iterable[int], bound: list[Any]) -> list[Any]:
        """Return the statements among `bound` that are in a function which one of the lines is in,
        or else outside of functions; all of them if there are none such. Other functions have other
        variables of the same name.
        """
        functions = self.functions
        if not functions:
            return bound
        ran = {function for line in lines for function in around(functions, line)}
        inside = [(function, set(around(functions, function.lineno))) for function in bound]
        own = [function for function, outer in inside if outer and outer <= ran]
        return own or [function for function, outer in inside if not outer] or bound

    def mode_around(self, span: Span | None) -> Any:
        """Return the innermost `with torch.no_grad():` or decorator `@torch.no_grad()` around a
        place, or None.
        """
        if span is None or span.file:
            return None
        around: list[Any] = []
        for node in self.statements:
            if not node.lineno <= span.line <= (node.end_lineno or 0):
                continue
            if isinstance(node, ast.With) and any(
                self.is_mode(item.context_expr) for item in node.items
            ):
                around.append(node)
            elif isinstance(node, ast.FunctionDef):
                around += [
                    decorator for decorator in node.decorator_list if self.is_mode(decorator)
                ]
        return max(around, key=starts, default=None)

    def is_mode(self, node: Any) -> bool:
        return any(mode in self.cut(node) for mode in MODES)

    @property
    def switched_off(self) -> Any:
        """Return the first statement `torch.set_grad_enabled(False)`, which no `with` block ends,
        or None.
        """
        for node in self.simple:
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and self.cut(call).endswith("set_grad_enabled(False)"):
                return node
        return None


def starts(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def around(functions: list[Any], line: int) -> list[Any]:
    """Return the functions whose text a line is in."""
    return [
        function for function in functions if function.lineno <= line <= (function.end_lineno or 0)
    ]


HOOKS = (
    "register_hook",
    "register_prehook",
    "register_post_accumulate_grad_hook",
    "register_full_backward_hook",
)


def hook_call(text: Text, hook: str, name: str) -> Any:
    """Return the call that registers this hook (if there are several, the one on this tensor), or
    None.
    """
    calls = [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in HOOKS
    ]
    calls = [node for node in calls if hook == "<lambda>" or hook in text.cut(node)]
    own = [node for node in calls if text.cut(node.func.value) == name]  # type: ignore[attr-defined]
    return next(iter(own or calls), None)


def direct_forwards(text: Text) -> list[Any]:
    """Return the calls of a Function's `forward` without apply: they run as plain code, and
    backward is never called.
    """
    functions = {
        node.name
        for node in text.statements
        if isinstance(node, ast.ClassDef)
        and any(text.cut(base).rpartition(".")[2] == "Function" for base in node.bases)
    }
    return [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "forward"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in functions
    ]


def span_of(node: Any) -> Span:
    return Span(
        node.lineno,
        node.col_offset,
        node.end_lineno or node.lineno,
        node.end_col_offset or node.col_offset,
    )


def head_of(node: Any) -> Span:
    """Return the place of a statement's first line: of a `with` statement without its body."""
    return Span(node.lineno, node.col_offset, node.lineno, node.col_offset + 1)


def encloses(outer: Span, inner: Span | None) -> bool:
    """Whether a place contains another one in the same file."""
    if inner is None or outer.file != inner.file:
        return False
    return outer[:2] <= inner[:2] and inner[2:4] <= outer[2:4]


def lines_of(node: Any) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1)


def targets(node: Any) -> Iterator[str]:
    """Return the names that a statement binds."""
    expressions: list[Any] = []
    if isinstance(node, ast.Assign):
        expressions = list(node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For)):
        expressions = [node.target]
    elif isinstance(node, ast.With):
        expressions = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in expressions:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def uncalled(text: Text, methods: tuple[str, ...]) -> list[Any]:
    """Return the statements that name a method without calling it: `loss.backward`."""
    return [
        node
        for node in text.simple
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in methods
    ]


def optimiser_call(text: Text, statement: Any) -> Any:
    """Return the call that makes an optimiser (torch.optim.SGD, optim.Adam) within a statement, or
    None.
    """
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and "optim." in text.cut(node.func):
            return node
    return None


def method_call(statement: Any, names: tuple[str, ...]) -> Any:
    """Return the first call `X.name(...)` or `name(...)` of one of the names within a statement, or
    None.
    """
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Call):
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            if called in names:
                return node
    return None
