"""What a run of a program gives, and how its result is chosen."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Sequence
from gradtrace.engine.calls.view_rules import known_grad_fn
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.state import WriteWatcher, state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import UnknownNameError
from gradtrace.limits import Budget
from gradtrace.program import syntax as ast
from gradtrace.program.parse import Program
from gradtrace.program.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

# from the list of records, and bytes for what is overwritten
MakeKeeper = Callable[[list[Any], int], WriteWatcher]


class Run(NamedTuple):
    """The result of a run: variables, root (the result), recorded operator calls and their source
    spans.
    """

    program: Program
    env: dict[str, Any]
    root: Any
    outputs: tuple[tuple[str, Tensor], ...]
    records: list[Any]
    spans: list[Span]
    inputs: dict[str, Tensor]
    scopes: list[Any] = []  # for each record: the innermost engine Scope of the call, or None
    # what `record` made: the contents of its tensors before they were overwritten
    keeper: Any = None
    # by Span.file: the program, and the modules of its own that it imported
    sources: list[Source] = []
    # what variables of functions held: `trace.frame_variables.FunctionVariables`
    functions: Sequence[Any] = ()


class EarlierRecords(NamedTuple):
    """Records of the programs run so far in a shared namespace; later programs append to them."""

    records: list[Any]
    scopes: list[Any]
    spans: list[Any]
    keeper: WriteWatcher | None


class SharedNamespace(NamedTuple):
    """State shared by programs that run one after another, such as the cells of a notebook."""

    module: ModuleType
    past: EarlierRecords | None = None
    # called after a program, before its global changes are undone
    leave: Callable[[], None] | None = None
    recorder: Any = None  # gets operator calls where the program is not recorded


class RunOptions(NamedTuple):
    """How a program runs.

    record      keep the operator calls, as passed to `state.recorder`, and what they overwrite, in
                the keeper that this makes (`trace.keeper.Keeper`); a GradtraceError has the calls
                so far in `run`
    outputs     the names of the tensors to use as outputs in place of the last value
    dtype       the default dtype, by name or object; None: float64 without imports, else float32
    watcher     gets the events other than operator calls (`engine/data/state.py`)
    planner     is called instead of the recorder, also after the program's end, and for values that
                a plan would lose
    show        gets the value of each expression statement and its repr
    stdout      gets what the program prints; None: sys.stdout; so `stderr`
    within      the namespace to run in
    """

    budget: Budget | None = None
    record: MakeKeeper | None = None
    outputs: Sequence[str] = ()
    dtype: Any = None
    watcher: Any = None
    planner: Any = None
    show: Callable[[Any, str], None] | None = None
    stdout: Any = None
    stderr: Any = None
    within: SharedNamespace | None = None


def note_place(name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
    """Note the place of an operator's call in its node."""
    for result in out if type(out) is tuple else (out,):
        # a Function of the program returns anything
        node = result._fn if isinstance(result, Tensor) else None
        if node is not None and not node.origin:
            node.origin = origin


def make_recorder(records: list[Any], scopes: list[Any], watcher: Any) -> Callable[..., None]:
    """Return a recorder that keeps every call with its scope, notes its place in its node, and
    notifies the watcher.
    """

    def keep(name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        note_place(name, args, out, origin)
        records.append((name, args, out, origin))
        scopes.append(state.scope)
        if watcher is not None:
            watcher.called(name, args, out, origin)

    return keep


def default_dtype(program: Program, dtype: Any) -> Any:
    """Return the dtype of a run: the one asked for, by name or object, or that of the program's
    kind.
    """
    if dtype is None:
        return dtypes.float32 if program.imports_torch else dtypes.float64
    return dtypes.BY_NAME[dtype] if isinstance(dtype, str) else dtype


def is_result(value: Any) -> bool:
    """Whether an expression's value can be the program's result (not None, nor the model that
    `eval()` returns).
    """
    return isinstance(value, (Tensor, int, float, list, tuple, str))


def assigned_root(tree: ast.Module, env: dict[str, Any]) -> Any:
    """Return the last assigned tensor, preferring computed tensors to leaves that require grad
    (parameters).
    """
    tensors = [env[name] for name in assigned_names(tree.body) if isinstance(env.get(name), Tensor)]
    computed = [t for t in tensors if not (t.requires_grad and known_grad_fn(t) is None)]
    return (computed or tensors or [None])[-1]


def assigned_names(body: list[Any]) -> Iterator[str]:
    """Yield the names that a module assigns, in the order of the text, without those in functions
    and classes.
    """
    todo = list(reversed(body))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        for target in targets:
            yield from (
                (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
                if target is not None
                else ()
            )
        for field in ("finalbody", "orelse", "handlers", "body"):
            todo.extend(reversed(getattr(node, field, None) or ()))


def chosen_output(env: dict[str, Any], name: str) -> Tensor:
    output = env.get(name)
    if not isinstance(output, Tensor):
        raise UnknownNameError(
            f"the program has no tensor named '{name}'", "choose one that it assigns"
        )
    return output
