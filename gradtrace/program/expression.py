"""Evaluate an expression in the process itself: a walk over its syntax tree, without numpy where
there are no arrays.

    with evaluating(parse("(x + w) * (w + 1)"), inputs) as run: ...

An expression is the user's own text, or it is evaluated in a process that has given up its rights.
It contains only what `grammar` allows. So it calls the functions that `mathematics` returns and no
others, and reads attributes without an underscore at the front, of tensors, numbers and what
describes them (`OPEN`): none of these leads to a module, a file or code, so nothing but numbers can
be reached. This is the whole gate. Time and memory are bounded by the watchdog, and where a few
characters ask for a value that fills the memory at once, by the operators themselves.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator
from gradtrace.context import context
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import device
from gradtrace.engine.data.node import Node
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import GradtraceError, ProgramError, UnknownNameError
from gradtrace.limits import Budget
from gradtrace.program import result
from gradtrace.program import syntax as ast
from gradtrace.program.budget import Clock, exceeded, is_out_of_memory, out_of_memory
from gradtrace.program.depth import deep
from gradtrace.program.grammar import dotted, is_expression
from gradtrace.program.mathematics import value_in_module, value_of_name
from gradtrace.program.names import (
    BUILTINS,
    CONSTANTS,
    MATHEMATICS,
    MODULES,
    similar,
)
from gradtrace.program.operators import COMPARISONS, OPERATORS, UNARY, check_bits
from gradtrace.program.parse import Program, too_deep
from gradtrace.program.restore import restored
from gradtrace.program.result import Run, RunOptions
from gradtrace.program.source import Place, Span, span_of
from gradtrace.program.values import is_text
from gradtrace.program.watchdog import watched

__all__ = ["Evaluation", "evaluating", "is_expression"]

# The types of values whose public attributes an expression may read, and of a list those that do
# not change it.
OPEN = (Tensor, Node, bool, int, float, tuple, dtypes.dtype, device)
OF_LISTS = ("count", "index")
DEPTH = 1000  # of calls within each other
AN_ITEM = 8  # bytes of a list's item


@context
def evaluating(
    program: Program, inputs: dict[str, Tensor] | None = None, options: RunOptions = RunOptions()
) -> Iterator[Run]:
    """Evaluate an expression and give its run, whose dtype, limits and error places apply until the
    context ends.

    Raise ProgramError for its exceptions, UnknownNameError, or BudgetError.
    """
    budget = options.budget or Budget()
    watcher = options.watcher
    planner = options.planner
    evaluation = Evaluation(program, dict(inputs or {}), budget.memory_bytes)
    records: list[Any] = []
    scopes: list[Any] = []
    keeper = None if options.record is None else options.record(records, budget.record_bytes)

    def finished(root: Any, chosen: tuple[tuple[str, Tensor], ...]) -> Run:
        env = evaluation.env
        spans = evaluation.spans
        input_values = dict(inputs or {})
        return Run(
            program,
            env,
            root,
            chosen,
            records,
            spans,
            input_values,
            scopes,
            keeper,
            [program.source],
        )

    with restored(), deep(DEPTH), watched(Clock(budget, program.seconds), evaluation.place):
        dtypes.set_default_dtype(result.default_dtype(program, options.dtype))
        state.set(
            grad_enabled=True,
            inference=False,
            devices=(),
            recorder=planner if keeper is None else result.make_recorder(records, scopes, watcher),
            watcher=watcher,
            keeper=keeper,
            planner=planner,
            scope=None,
            origin=0,
        )
        last: Any = None
        try:
            with explained(evaluation):
                last = evaluation.execute(program.tree, options.show)
        except GradtraceError as error:
            if keeper is not None:
                error.run = finished(None, ())
            raise
        chosen = tuple(
            (name, result.chosen_output(evaluation.env, name)) for name in options.outputs
        )
        root = last if last is not None else result.assigned_root(program.tree, evaluation.env)
        state.set(recorder=planner, origin=0)
        with explained(evaluation):
            yield finished(root, chosen)


class Evaluation:
    """The evaluation of one expression: its variables, and the places of its operators
    (`state.origin` has an index).

    There is a method for each type of node, which returns the node's value.
    """

    def __init__(self, program: Program, env: dict[str, Any], memory: int) -> None:
        self.source = program.source
        self.env = env
        self.memory = memory
        self.bound = set(result.assigned_names(program.tree.body))
        self.spans = [Span(0, 0, 0, 0)]  # number 0 means no place

    def execute(self, tree: ast.Module, show: Callable[[Any, str], None] | None = None) -> Any:
        """Execute the statements; return the value of the last one that is a result, or None."""
        last: Any = None
        for position, node in enumerate(tree.body):
            if isinstance(node, ast.Assign):
                value = self.value(node.value)
                self.env.update((target.id, value) for target in node.targets)  # type: ignore[attr-defined]
            elif isinstance(node, ast.Expr) and not (
                is_text(node) and not position and tree.body[1:]
            ):
                value = self.value(node.value)
                last = value if result.is_result(value) else last
                if show is not None and value is not None:
                    show(value, repr(value))
        return last

    def value(self, node: Any) -> Any:
        """Return the value of an expression."""
        return RULES[type(node)](self, node)

    def begin(self, node: Any) -> None:
        """Make the node the place of the operation that follows."""
        self.spans.append(span_of(node))
        state.origin = len(self.spans) - 1

    def place(self) -> Place | None:
        """Return the place of the current operation."""
        return self.source.place(self.spans[state.origin]) if state.origin else None

    # ---- names, attributes, calls

    def constant(self, node: ast.Constant) -> Any:
        return node.value

    def name(self, node: ast.Name) -> Any:
        if node.id in self.env:
            return self.env[node.id]
        if node.id not in self.bound:
            try:
                return value_of_name(node.id)
            except KeyError:
                pass
        raise self.unknown(node)

    def unknown(self, node: ast.Name) -> UnknownNameError:
        """Return the error for a name that has no value."""
        name = node.id
        hint = "gradtrace ops lists the functions"
        names = sorted({*BUILTINS, *MATHEMATICS, *CONSTANTS, *MODULES, *self.env, *self.bound})
        from gradtrace.program import torch_homes

        if name in self.bound:
            hint = "it gets its value further down; assign it before it is used"
        elif meant := torch_homes.of_name(name):
            hint = meant
        elif close := "" if torch_homes.is_of_numpy(name) else similar(name, names):
            hint = f"did you mean '{close}'?"
        return UnknownNameError(
            f"name '{name}' is not defined", hint, self.source.place(span_of(node))
        )

    def attribute(self, node: ast.Attribute) -> Any:
        module, _ = dotted(node.value)
        if module.partition(".")[0] in MODULES:
            self.begin(node)
            return value_in_module(module, node.attr)
        value = self.value(node.value)
        self.begin(node)
        is_open = isinstance(value, OPEN) or (type(value) is list and node.attr in OF_LISTS)
        if not is_open and hasattr(value, node.attr):
            problem = f"{type(value).__name__}.{node.attr} is not available in an expression"
            raise UnknownNameError(problem, "use another attribute, or write a program in a file")
        return getattr(value, node.attr)

    def call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        args = [self.value(part) for part in node.args]
        named = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        self.begin(node)
        return function(*args, **named)

    # ---- operators

    def binary(self, node: ast.BinOp) -> Any:
        row = [node]
        while isinstance(row[-1].left, ast.BinOp):  # a sum of 10,000 terms is nested as deeply
            row.append(row[-1].left)
        value = self.value(row[-1].left)
        for part in reversed(row):
            right = self.value(part.right)
            self.begin(part)
            apply = self.multiply if type(part.op) is ast.Mult else OPERATORS[type(part.op)]
            value = apply(value, right)
        return value

    def multiply(self, a: Any, b: Any) -> Any:
        """Return a * b, unless that is a list or an integer that is too large."""
        if type(a) is int and type(b) is int:
            check_bits(a.bit_length() + b.bit_length())
        elif type(a) in SEQUENCES and type(b) is int:
            self.check_size(len(a) * b)
        elif type(b) in SEQUENCES and type(a) is int:
            self.check_size(len(b) * a)
        return a * b

    def check_size(self, count: int) -> None:
        if count * AN_ITEM > self.memory:
            raise exceeded(
                "memory_bytes", f"a value of {count * AN_ITEM} bytes is larger than {self.memory}"
            )

    def unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        self.begin(node)
        return UNARY[type(node.op)](value)

    def boolean(self, node: ast.BoolOp) -> Any:
        *parts, last = node.values
        for part in parts:
            value = self.value(part)
            self.begin(part)
            if (not value) is isinstance(node.op, ast.And):
                return value
        return self.value(last)

    def comparison(self, node: ast.Compare) -> Any:
        left: Any = self.value(node.left)
        answer: Any = True
        for kind, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part)
            self.begin(node)
            answer = COMPARISONS[type(kind)](left, right)
            if part is not node.comparators[-1] and not answer:
                break
            left = right
        return answer

    def conditional(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        self.begin(node.test)
        return self.value(node.body if test else node.orelse)

    # ---- items, lists

    def item(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        key = self.value(node.slice)
        self.begin(node)
        return value[key]

    def slice(self, node: ast.Slice) -> Any:
        return slice(
            *[
                None if part is None else self.value(part)
                for part in (node.lower, node.upper, node.step)
            ]
        )

    def items(self, node: ast.List | ast.Tuple) -> Any:
        values = [self.value(part) for part in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)


RULES: dict[type, Callable[[Evaluation, Any], Any]] = {
    ast.Constant: Evaluation.constant,
    ast.Name: Evaluation.name,
    ast.Attribute: Evaluation.attribute,
    ast.Call: Evaluation.call,
    ast.BinOp: Evaluation.binary,
    ast.UnaryOp: Evaluation.unary,
    ast.BoolOp: Evaluation.boolean,
    ast.Compare: Evaluation.comparison,
    ast.IfExp: Evaluation.conditional,
    ast.Subscript: Evaluation.item,
    ast.Slice: Evaluation.slice,
    ast.List: Evaluation.items,
    ast.Tuple: Evaluation.items,
}
SEQUENCES = (list, tuple, str)


# ---- errors


class explained:
    """Context manager that converts an expression's exceptions to GradtraceErrors with a place.

    It suppresses SystemExit, by which a watcher ends a run whose backward it has measured.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: object) -> bool:
        if not isinstance(error, Exception):
            return isinstance(error, SystemExit) and error.code in (None, 0)
        place = self.evaluation.place()
        if isinstance(error, GradtraceError):
            error.place = error.place or place
            return False
        if is_out_of_memory(error):
            late = out_of_memory()
            late.place = place
            raise late from error
        if isinstance(error, RecursionError):
            raise too_deep() from None
        text = str(error)
        name = type(error).__name__
        uncaught = ProgramError(f"{name}: {text}" if text else name, nearest(error), place)
        if origin := vars(error).get("__forward__", 0):
            uncaught.forward = self.evaluation.source.place(self.evaluation.spans[origin])
        raise uncaught from error


def nearest(error: Exception) -> str:
    """Return a hint with the most similar attribute for one that does not exist; "" for any other
    error.
    """
    if not isinstance(error, AttributeError) or error.obj is None:
        return ""
    from gradtrace.program import torch_homes

    name = str(error.name)
    if isinstance(error.obj, Tensor) and (hint := torch_homes.of_attribute(error.obj, name)):
        return hint
    close = similar(name, (word for word in dir(error.obj) if not word.startswith("_")))
    return f"nearest: {close}" if close else ""
