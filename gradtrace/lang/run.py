"""Running a program: closures made, inputs bound, modes restored whatever happens."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from gradtrace.engine import dtypes
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.errors import GradtraceError, LanguageError, ProgramError, UnknownNameError
from gradtrace.lang.budget import Budget, Meter
from gradtrace.lang.builtins import BUILTINS, printer
from gradtrace.lang.functions import assigned_names
from gradtrace.lang.names import CONSTANTS, MATHEMATICS
from gradtrace.lang.parse import Program
from gradtrace.lang.scope import Frame, Unit
from gradtrace.lang.source import Span


class Run(NamedTuple):
    """What a run left: its variables, its root, the operators it called and the spans they came from."""

    program: Program
    env: dict[str, Any]
    root: Any
    outputs: tuple[tuple[str, Tensor], ...]
    records: list[Any]
    spans: list[Span]
    inputs: dict[str, Tensor]


def run(program: Program, inputs: dict[str, Tensor] | None = None, *, budget: Budget | None = None, stdout: Any = None,
        stderr: Any = None, record: bool = False, outputs: Any = (), dtype: Any = None) -> Run:
    """Runs a program. ProgramError for what it raises, LanguageError for what the language lacks, BudgetError.

    `dtype` is the default dtype of the run, by name or object; None: float64 without imports, else float32.
    """
    import warnings

    meter = Meter(budget or Budget())
    spans: list[Span] = [Span(0, 0, 0, 0)]
    records: list[Any] = []
    env = dict(inputs or {})
    before = (state.grad_enabled, state.inference, state.origin, state.recorder, state.anomaly)
    default = dtypes.get_default_dtype()
    wanted = dtypes.BY_NAME[dtype] if isinstance(dtype, str) else dtype
    try:
        with warnings.catch_warnings():
            dtypes.set_default_dtype(wanted or (dtypes.float32 if program.imports_torch else dtypes.float64))
            state.recorder = (lambda *r: records.append(r)) if record else None
            root = execute(program, env, meter, spans, stdout or sys.stdout)
    finally:
        state.grad_enabled, state.inference, state.origin, state.recorder, state.anomaly = before
        dtypes.set_default_dtype(default)
    chosen = tuple((name, chosen_output(program, env, name)) for name in outputs)
    return Run(program, env, root, chosen, records, spans, dict(inputs or {}))


def chosen_output(program: Program, env: dict[str, Any], name: str) -> Tensor:
    found = env.get(name)
    if not isinstance(found, Tensor):
        raise UnknownNameError(f"the program has no tensor named '{name}'", "choose one that it assigns")
    return found


def execute(program: Program, env: dict[str, Any], meter: Meter, spans: list[Span], stdout: Any) -> Any:
    """Compiles and runs the statements one by one; returns the root."""
    from gradtrace.lang.expressions import compile_expression
    from gradtrace.lang.statements import compile_block

    tree = program.tree
    names, _ = assigned_names(tree.body)
    offered = {**BUILTINS, "print": printer(stdout, meter)}
    unit = Unit(program.source, meter, spans, finder(offered, program), names | set(env))
    frame = Frame(None)
    frame.vars = env
    root: Any = None
    last: Any = None
    try:
        for node in tree.body:
            kind = type(node).__name__
            state.origin = unit.origin(node)
            if kind == "Expr":
                root = last = compile_expression(node.value, unit)(frame)  # type: ignore[attr-defined]
                continue
            compile_block([node], unit)(frame)
            if kind in ("Assign", "AugAssign", "AnnAssign"):
                last = assigned_tensor(node, env, last)
    except GradtraceError as error:
        if error.place is None:
            error.place = program.source.place(spans[state.origin])
        raise
    except KeyboardInterrupt:
        raise
    except RecursionError:
        raise ProgramError("RecursionError: maximum recursion depth exceeded", "", here(program, spans)) from None
    except Exception as error:
        raise failure(program, spans, error) from error
    finally:
        env.pop("  error", None)
    return root if root is not None else last


def assigned_tensor(node: Any, env: dict[str, Any], last: Any) -> Any:
    targets = getattr(node, "targets", None) or [node.target]
    for target in targets:
        found = env.get(getattr(target, "id", ""))
        if isinstance(found, Tensor):
            last = found
    return last


def here(program: Program, spans: list[Span]) -> Any:
    return program.source.place(spans[state.origin]) if state.origin else None


def failure(program: Program, spans: list[Span], error: Exception) -> GradtraceError:
    """The uncaught exception of a program as one of ours, with the place where it arose."""
    named = getattr(error, "gradtrace", None)
    if isinstance(named, LanguageError):
        return named
    where = here(program, spans)
    module = getattr(error, "gradtrace_name", None)
    if module is not None:
        from gradtrace.lang.namespaces import nearest

        return UnknownNameError(f"{module[0]}.{module[1]} is not offered", nearest(*module), where)
    return ProgramError(f"{type(error).__name__}: {error}", "", where)


def finder(offered: dict[str, Any], program: Program) -> Any:
    """How names that the program does not bind are found; KeyError for those that are nowhere."""

    def find(name: str) -> Any:
        if program.imports_torch:
            return offered[name]
        if name in MATHEMATICS:
            return mathematics(name, offered)
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in offered:
            return offered[name]
        return module_or_error(name)

    return find


def module_or_error(name: str) -> Any:
    from gradtrace.lang.namespaces import namespace

    known = {"torch": "torch", "math": "math", "nn": "torch.nn", "F": "torch.nn.functional"}
    return namespace(known[name])


def mathematics(name: str, offered: dict[str, Any]) -> Any:
    """torch's function of this name that also takes plain numbers; built-ins keep their own way with those."""
    from gradtrace import ops

    function = ops.find(ops.api.functions, name) or ops.find(ops.api.functional, name)
    plain = offered.get(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = [isinstance(a, (int, float)) for a in args]
        if not args or not numbers[0] or function.__name__ in _MAKERS:
            if plain is not None and args and not isinstance(args[0], Tensor):
                return plain(*args, **kwargs)
            return function(*args, **kwargs)
        if plain is not None and all(numbers):
            return plain(*args, **kwargs)
        return function(Tensor._wrap(float(args[0])), *args[1:], **kwargs)

    call.__name__ = name
    return call


_MAKERS = frozenset(["arange", "linspace", "eye", "full", "ones", "zeros", "rand", "randn", "tensor", "ones_like", "zeros_like", "pow", "where"])
