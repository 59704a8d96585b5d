"""Call backward on a run according to the command's options."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import hints, values
from gradtrace.cli.options import Backward, names
from gradtrace.errors import ProgramError, UsageError

if TYPE_CHECKING:
    from gradtrace.engine import Tensor


# what has the effect of an option where the program calls backward itself
IN_PROGRAM = {
    "retain_graph": "backward(retain_graph=True)",
    "create_graph": "backward(create_graph=True)",
    "grad_tensors": "backward(gradient)",
    "inputs": "backward(inputs=[...])",
    "retain_grad": "retain_grad()",
    "zero_grad": "zero_grad()",
}


def differentiate(
    run: Any,
    roots: list[Tensor],
    tensors: dict[str, Tensor],
    vectors: list[Any],
    how: Backward,
    called: bool = False,
) -> int:
    """Call backward as the options say, and return how often; raise ProgramError, with a hint, if
    it fails.

    `vectors` is raw data, one for each of the --grad-tensors; `called` says that the program called
    backward itself. Exceptions raised in code of the program are not converted.
    """
    asked = how.backward is not None
    if how.no_backward or not roots:
        return 0
    by_name = {**tensors, **tensors_of(run.env)}
    candidates = [*by_name.values(), *results(run)]
    if not asked and (
        called or any(has_grad(t) for t in candidates) or any(has_grad(t) for t in read(run))
    ):
        return left_out(how, "the program calls backward itself", IN_PROGRAM)
    if not asked and not any(t.requires_grad for t in roots):
        return left_out(how, "the output does not require grad")
    grads = [
        values.tensor(raw, roots[min(i, len(roots) - 1)].dtype.name, True)
        for i, raw in enumerate(vectors)
    ]
    targets = [named(run, by_name, name, "--inputs") for name in names(how.inputs)]
    if len(grads) > len(roots):
        message = f"got {len(roots)} tensors and {len(grads)} gradients"
        raise UsageError(message, "give --grad-tensors once for each output")
    done = 0
    try:
        for tensor in retained(run, by_name, candidates, names(how.retain_grad)):
            tensor.retain_grad()
        for done in range(how.backward or 1):
            if done and how.zero_grad:
                clear(candidates)
            call(roots, grads or None, targets or None, how)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        if is_raised_by_program(error, run):
            raise
        raise refused(run, error, done) from error
    return how.backward or 1


def is_raised_by_program(error: Exception, run: Any) -> bool:
    """Whether an error came up in code of the program, which is its place then."""
    files = {source.name for source in run.sources}
    frames = error.__traceback__
    while frames is not None:
        if frames.tb_frame.f_code.co_filename in files:
            return True
        frames = frames.tb_next
    return False


def left_out(how: Backward, why: str, ways: dict[str, str] | None = None) -> int:
    """Warn about options without effect, as backward is not called, with the ways to write them in
    the program; return 0, the number of calls.
    """
    written = ", ".join(text for field, text in (ways or {}).items() if getattr(how, field))
    tell_idle(how, (*IN_PROGRAM,), why, written and f"; write {written} in it")
    return 0


def tell_idle(how: Backward, fields: tuple[str, ...], why: str, remedy: str = "") -> None:
    """Note on stderr that the given options have no effect because of `why`."""
    idle = [f"--{field.replace('_', '-')}" for field in fields if getattr(how, field)]
    if idle:
        from gradtrace.cli import report

        report.write(
            f"gradtrace: {why}: {', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no "
            f"effect{remedy}"
        )


def call(
    roots: list[Tensor], vectors: list[Tensor] | None, targets: list[Tensor] | None, how: Backward
) -> None:
    import warnings

    from gradtrace.engine import backward
    from gradtrace.engine.data.state import state

    state.origin = 0
    with warnings.catch_warnings():
        # its advice on create_graph and memory is for processes that live on
        warnings.simplefilter("ignore", UserWarning)
        backward(
            roots, vectors, True if how.retain_graph else None, how.create_graph, inputs=targets
        )


def tensors_of(env: dict[str, Any]) -> dict[str, Tensor]:
    from gradtrace.engine import Tensor

    return {name: value for name, value in env.items() if isinstance(value, Tensor)}


def results(run: Any) -> list[Tensor]:
    """Return every tensor that a recorded operation returned."""
    from gradtrace.engine import Tensor

    tensors: list[Tensor] = []
    for _, _, out, _ in run.records or ():
        tensors += [
            t for t in (out if isinstance(out, (list, tuple)) else (out,)) if isinstance(t, Tensor)
        ]
    return tensors


def read(run: Any) -> list[Tensor]:
    """Return every tensor argument of a recorded operation, also unnamed leaves: f(ones(2,
    requires_grad=True)).
    """
    from gradtrace.engine import Tensor

    return [arg for _, args, _, _ in run.records or () for arg in args if isinstance(arg, Tensor)]


def has_grad(tensor: Tensor) -> bool:
    """Whether a tensor has a gradient, without the warning that `.grad` of a non-leaf gives."""
    return tensor._x is not None and tensor._x.grad is not None


def named(run: Any, tensors: dict[str, Tensor], name: str, option: str) -> Tensor:
    """Return the tensor of a variable, or of an expression written as in the table of tensors."""
    if name in tensors:
        return tensors[name]
    from gradtrace.engine import Tensor
    from gradtrace.trace.history import bound_names
    from gradtrace.trace.labels import SourceText
    from gradtrace.views.names import full_name
    from gradtrace.views.pick import bare

    source = SourceText(run)
    wanted = bare(name)
    for _, _, out, origin in reversed(run.records):
        if isinstance(out, Tensor) and bare(source.excerpt(origin)) == wanted:
            return out
    bound = {**dict(bound_names(run.env)), **tensors}
    if (full := full_name(name, bound, option)) is not None:
        return bound[full]
    raise UsageError(f"{option}: no tensor '{name}'", hints.near(name, bound))


def retained(
    run: Any, tensors: dict[str, Tensor], results: list[Tensor], wanted: tuple[str, ...]
) -> list[Tensor]:
    """Return the tensors that --retain-grad names; for "all", every computed tensor that requires
    grad.
    """
    from gradtrace.engine.calls.view_rules import known_grad_fn

    if "all" in wanted and "all" not in tensors:
        return [t for t in results if t.requires_grad and known_grad_fn(t) is not None]
    return [named(run, tensors, name, "--retain-grad") for name in wanted]


def clear(tensors: list[Tensor]) -> None:
    for tensor in tensors:
        if has_grad(tensor):
            del tensor.grad


def refused(run: Any, error: Exception, done: int) -> ProgramError:
    """Convert an error of the command's call of backward, after `done` calls, to a ProgramError
    placed at the result's expression.
    """
    span = root_span(run)
    place = None if span is None else place_of(run, span)
    text = "" if place is None else place.text[place.column - 1 :]
    told = ProgramError(str(error), hints.of_backward(str(error), text, done), place)
    if origin := vars(error).get("__forward__", 0):
        told.forward = place_of(run, run.spans[origin])
    return told


def place_of(run: Any, span: Any) -> Any:
    """Return the place of a span in its source file."""
    return (run.sources[span.file] if span.file else run.program.source).place(span)


def root_span(run: Any) -> Any:
    from gradtrace.engine import Tensor
    from gradtrace.engine.calls.view_rules import known_grad_fn
    from gradtrace.program.source import span_of

    fn = known_grad_fn(run.root) if isinstance(run.root, Tensor) else None
    if fn is not None and 0 < fn.origin < len(run.spans):
        return run.spans[fn.origin]
    return span_of(run.program.tree.body[-1])
