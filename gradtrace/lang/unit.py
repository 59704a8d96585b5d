"""The shared state of the compilers (a Machine for each run, a Unit for each scope), and access to variables.

A frame is a plain dict from names to values; the module's frame is the run's `env`. A variable that an inner function
also uses is kept in a cell, a list of one element, which the frames of both functions hold.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.engine.data.state import state
from gradtrace.errors import UnknownNameError
from gradtrace.lang import operators
from gradtrace.lang.attributes import Gate
from gradtrace.lang.budget import Meter
from gradtrace.lang.builtins import NAMES, REFUSED
from gradtrace.lang.names import CONSTANTS, MATHEMATICS
from gradtrace.lang.operators import Guarded
from gradtrace.lang.parse import Program, imported_modules
from gradtrace.lang.scope import NameScope
from gradtrace.lang.strings import Strings
from gradtrace.program import syntax as ast
from gradtrace.program.names import SYNONYMS
from gradtrace.program.source import Source, Span, span_of

if TYPE_CHECKING:
    from gradtrace.lang.own_modules import OwnModule, OwnModules

Frame = dict[str, Any]
Code = Callable[[Frame], Any]
Store = Callable[[Frame, Any], None]

UNBOUND: Any = type("Unbound", (), {"__slots__": (), "__repr__": lambda self: "<unbound>"})()
UNBOUND_LOCAL = "cannot access local variable '{}' where it is not associated with a value"
UNBOUND_FREE = "cannot access free variable '{}' where it is not associated with a value in enclosing scope"


class Operand(NamedTuple):
    """How a closure reads an operand: the frame variable `name`, or by `read` if `name` is None or unbound."""

    name: str | None
    read: Code


class Machine:
    """State shared by all scopes of one run.

    `find` returns the value of a name that the program does not bind: a built-in or, without imports, a mathematical
    function. `make_modules` creates the modules that it can import; it is called only if the program imports any.
    """

    def __init__(
        self,
        program: Program,
        meter: Meter,
        gate: Gate,
        strings: Strings,
        env: Frame,
        find: Callable[[str, Machine], Any],
        make_modules: Callable[[list[Span]], Any],
    ) -> None:
        self.source = program.source
        self.optional = {given.name for given in program.inputs if given.optional}
        self.imports_torch = program.imports_torch
        self.tree = program.tree
        self.sources: list[Source] = [program.source]  # by Span.file; an own module adds its own
        self.file = 0
        self.package = ""  # around an own module
        self.own_modules: OwnModules | None = None
        self.scopes = program.scopes
        self.module = program.scopes[program.tree]
        self.meter = meter
        self.gate = gate
        self.strings = strings
        self.env = env
        self.find = find
        self.make_modules = make_modules
        self._modules: Any = None
        self.spans: list[Span] = [Span(0, 0, 0, 0)]  # number 0 means no place
        self.first = 0  # smaller numbers are places in earlier programs, whose functions this one may call
        self.recording = False  # whether functions and loops set `state.scope`; set before compiling
        self.operators: dict[tuple[type, bool], Guarded] = {}

    @property
    def modules(self) -> Any:
        """Return the modules of the run."""
        if self._modules is None:
            self._modules = self.make_modules(self.spans)
        return self._modules

    def for_module(self, program: Program, frame: Frame, package: str) -> Machine:
        """Return the Machine of one of the program's own modules; it shares everything but text and variables."""
        inner = Machine(program, self.meter, self.gate, self.strings, frame, self.find, lambda spans: self.modules)
        inner.spans, inner.first, inner.recording = self.spans, self.first, self.recording
        inner.operators, inner.own_modules, inner.sources = self.operators, self.own_modules, self.sources
        inner.file, inner.package = len(self.sources), package
        self.sources.append(program.source)
        return inner

    def own_module(self, name: str, level: int = 0) -> OwnModule | None:
        """Return the program's own module that an import names; None if there is none."""
        if self.own_modules is None:
            return None
        from gradtrace.lang.own_modules import absolute

        return self.own_modules.get(absolute(name, level, self.package), self)

    def unbound_value(self, name: str) -> Any:
        """Return the value of a name that the program does not bind; raise KeyError if it has none."""
        return self.find(name, self)

    def origin(self, node: Any) -> int:
        """Register the node's span and return its number for `state.origin`."""
        self.spans.append(span_of(node, self.file))
        return len(self.spans) - 1

    def place(self, origin: int) -> Any:
        if not origin or origin < self.first:
            return None
        span = self.spans[origin]
        return (self.sources[span.file] if span.file else self.source).place(span)

    def is_bound(self, name: str) -> bool:
        """Whether the name is a variable of the module or an input."""
        return name in self.module.bound or name in self.env


class Unit:
    """The compile-time state of one scope."""

    def __init__(self, machine: Machine, scope: NameScope) -> None:
        self.machine = machine
        self.scope = scope
        self.meter = machine.meter
        self.gate = machine.gate
        self.origin = machine.origin
        self.is_bound = machine.is_bound

    def compile(self, node: ast.AST) -> Code:
        """Compile an expression."""
        from gradtrace.lang.expressions import compile_expression

        return compile_expression(node, self)

    def located(self, node: Any) -> tuple[Code, int]:
        """Compile an expression; return its closure and its origin."""
        return self.compile(node), self.origin(node)

    def operator(self, kind: type, inplace: bool = False) -> Guarded:
        """Return the guarded operator of an ast node type."""
        known = self.machine.operators.get((kind, inplace))
        if known is None:
            apply = operators.INPLACE[kind] if inplace else operators.BINARY[kind]
            known = operators.guarded_binary(kind, self.meter, self.machine.strings, apply)
            self.machine.operators[kind, inplace] = known
        return known

    def child(self, node: ast.AST) -> Unit:
        return Unit(self.machine, self.machine.scopes[node])

    # ---- reading

    def frame_variable(self, node: ast.AST | None) -> str | None:
        """Return the name of a variable that can be read directly from the frame; None for other nodes."""
        if type(node) is not ast.Name:
            return None
        kind = self.scope.kind_of(node.id)
        at_home = kind == "local" or (kind == "global" and self.scope.kind == "module" and self.is_bound(node.id))
        return node.id if at_home else None

    def operand(self, node: ast.expr) -> Operand:
        name = self.frame_variable(node)
        return Operand(name, self.compile(node) if name is None else self.fallback(node))  # type: ignore[arg-type]

    def load(self, node: ast.Name) -> Code:
        """Return the closure that reads a variable."""
        name, kind = node.id, self.scope.kind_of(node.id)
        fallback = self.fallback(node)
        if kind in ("cell", "free"):
            key = self.scope.cell_key(name)

            def from_cell(f: Frame) -> Any:
                value = f[key][0]
                return fallback(f) if value is UNBOUND else value

            return from_cell
        if kind == "global" and not self.is_bound(name):
            return self.constant_or(name, fallback)
        frame = self.machine.env if kind == "global" else None

        def from_frame(f: Frame) -> Any:
            try:
                return f[name]
            except KeyError:
                return fallback(f)

        def from_module(f: Frame) -> Any:
            try:
                return frame[name]  # type: ignore[index]
            except KeyError:
                return fallback(f)

        return from_frame if frame is None or self.scope.kind == "module" else from_module

    def constant_or(self, name: str, fallback: Code) -> Code:
        """Return the closure of a name that the program never binds; a built-in is looked up once, at compile time."""
        try:
            value = self.machine.unbound_value(name)
        except KeyError:
            return fallback
        return lambda f: value

    def fallback(self, node: ast.Name) -> Code:
        """Return the closure used when a variable is unbound: it returns a built-in, or raises NameError."""
        name, kind, span = node.id, self.scope.kind_of(node.id), span_of(node)
        if kind == "free":
            origin = self.machine.origin(node)
            return lambda f: raise_error(NameError(UNBOUND_FREE.format(name)), origin)
        if kind == "cell" or (kind == "local" and self.scope.kind != "class"):
            origin = self.machine.origin(node)
            return lambda f: raise_error(UnboundLocalError(UNBOUND_LOCAL.format(name)), origin)
        machine = self.machine

        def evaluate(f: Frame) -> Any:
            if name in machine.env:
                return machine.env[name]
            try:
                return machine.unbound_value(name)
            except KeyError:
                raise name_error(name, machine, span) from None

        return evaluate

    # ---- writing

    def store(self, name: str) -> Store:
        """Return the closure that assigns a variable."""
        kind = self.scope.kind_of(name)
        if kind in ("cell", "free"):
            key = self.scope.cell_key(name)

            def to_cell(f: Frame, value: Any) -> None:
                f[key][0] = value

            return to_cell
        env = self.machine.env

        def to_module(f: Frame, value: Any) -> None:
            env[name] = value

        def to_frame(f: Frame, value: Any) -> None:
            f[name] = value

        return to_module if kind == "global" else to_frame

    def stored_variable(self, node: ast.AST) -> str | None:
        """Return the name of a variable that can be assigned directly in the frame; None for other nodes."""
        if type(node) is not ast.Name:
            return None
        kind = self.scope.kind_of(node.id)
        return node.id if kind == "local" or (kind == "global" and self.scope.kind == "module") else None

    def discard(self, name: str) -> Code:
        """Return the closure that removes a variable if it exists."""
        kind = self.scope.kind_of(name)
        if kind in ("cell", "free"):
            key = self.scope.cell_key(name)
            return lambda f: f[key].__setitem__(0, UNBOUND)
        env = self.machine.env
        return (lambda f: env.pop(name, None)) if kind == "global" else (lambda f: f.pop(name, None))

    def delete(self, node: ast.Name) -> Code:
        """Return the closure of `del` for a variable; it raises NameError if the variable has no value."""
        name, kind, fallback = node.id, self.scope.kind_of(node.id), self.fallback(node)
        if kind in ("cell", "free"):
            key = self.scope.cell_key(name)

            def in_cell(f: Frame) -> None:
                if f[key][0] is UNBOUND:
                    fallback(f)
                f[key][0] = UNBOUND

            return in_cell
        machine, span = self.machine, span_of(node)
        env = machine.env if kind == "global" else None

        def in_frame(f: Frame) -> None:
            frame = f if env is None else env
            if name in frame:
                del frame[name]
            elif env is None:
                fallback(f)
            else:
                raise name_error(name, machine, span)

        return in_frame


def raise_error(error: Exception, origin: int) -> Any:
    """Raise the error of an unbound variable, at the variable's place rather than the last operation's."""
    state.origin = origin
    raise error


def name_error(name: str, machine: Machine, span: Span) -> NameError:
    """Return a NameError with Python's message; its `_gradtrace` is the error shown if uncaught."""
    error = NameError(f"name '{name}' is not defined", name=name)
    error.__gradtrace__ = describe_unbound(name, machine, span)  # type: ignore[attr-defined]
    return error


def describe_unbound(name: str, machine: Machine, span: Span) -> UnknownNameError:
    import difflib

    place = machine.source.place(span)
    if name in REFUSED:
        return UnknownNameError(f"'{name}' is not available in gradtrace scripts", REFUSED[name], place)
    if name in SYNONYMS:
        return UnknownNameError(f"name '{name}' is not defined", f"it is '{SYNONYMS[name]}' here", place)
    known = sorted({*NAMES, *MATHEMATICS, *CONSTANTS, *machine.env, *machine.module.bound})
    close = [n for n in difflib.get_close_matches(name, known, 2) if n != name]
    hint = f"did you mean '{close[0]}'?" if close else "assign it before it is used"
    if name in machine.module.bound:
        hint = "it gets its value further down; assign it before it is used"
    elif name in machine.optional and not close:
        hint += f", or give it a value: --{name} VALUE"
    # In an expression file, where any free name is an input, Python's class of the error says nothing.
    error = "NameError: " if imported_modules(machine.tree) else ""
    return UnknownNameError(f"{error}name '{name}' is not defined", hint, place)
