"""`gradtrace jacobian SOURCE`: all first derivatives, as matrices; and the parts that `hessian`
shares.

Both commands run a program up to its call of backward, choose what to differentiate, and print or
write matrices.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar
from gradtrace.cli import hints, options, output, running, session, values
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.inputs import evaluator, prepare
from gradtrace.cli.options import Look, Request, flag, names, option, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.analysis.matrices import Block
    from gradtrace.engine import Tensor

T = TypeVar("T")

HELP = """Show the Jacobian of the result of SOURCE by each of its leaves: a row for each element of the result, a
column for each element of the leaf. They come from the engine, row by row, not from differences.

With --grad-tensors the rows are weighted and added up, as backward does with such a vector. A script is stopped where
it first calls backward; what it calls that on is the result."""

EXAMPLES = """Examples:
  gradtrace jacobian "x @ w" --x "1,2;3,4" --w 5,6
  gradtrace jacobian "x * x" --x 1,2,3 --grad-tensors 1,0,-1
  gradtrace jacobian model.py --output y --wrt w -o jacobian.npy"""


def array_file(name: str) -> str:
    """Check the file name of -o before anything is computed; UsageError unless it is .npy or
    .npz.
    """
    if name.rpartition(".")[2].lower() not in ("npy", "npz") or "." not in name:
        raise UsageError(f"-o: cannot tell what to write from '{name}'", "end it in .npy or .npz")
    return name


DERIVATIVES = section(
    "Derivatives",
    option(
        "--wrt NAMES ...", "Differentiate by these tensors. Default: every leaf that requires grad."
    ),
    options.RESULT._replace(names=["--output", "result"]),
)
OUTPUT = section(
    "Output",
    option(
        "-o FILE", "Write the numbers to an .npy (one matrix) or .npz.", "output_file", array_file
    ),
    flag("--all", "Print large matrices in full."),
)


def jacobian(
    request: Request, wrt: tuple[str, ...], result: tuple[str, ...], output_file: str | None
) -> None:
    from gradtrace.views import matrices as view

    read = evaluator(request.dtype, request.budget)
    vectors = [values.read(text, "--grad-tensors", read) for text in request.how.grad_tensors]
    blocks = at_the_end(request, result, wrt, lambda choice: blocks_of(choice, vectors))
    show(
        request.look,
        output_file,
        view.jacobian_file,
        view.jacobian_text,
        view.render_jacobian,
        blocks,
    )


def show(
    look: Look, output_file: str | None, as_file: Any, as_text: Any, as_data: Any, matrices: Any
) -> None:
    """Write the matrices to the file of -o, or print them without one."""
    if output_file is None:
        output.show(look, as_text, as_data, matrices)
        return
    from gradtrace.files import write_output

    write_output(output_file, as_file(matrices, output_file.rpartition(".")[2].lower()))


def blocks_of(choice: Choice, vectors: list[Any]) -> list[Block]:
    """Return the matrix of each output by each tensor, weighted by `vectors` if there are any."""
    from gradtrace.analysis import matrices
    from gradtrace.trace.derivatives import jacobian_values

    blocks = []
    inputs = [tensor for _, tensor in choice.wrt]
    for i, (name, out) in enumerate(choice.outputs):
        weights = weights_for(out, vectors[min(i, len(vectors) - 1)]) if vectors else None
        jacobians = jacobian_values(out, inputs)
        for (by, tensor), matrix in zip(choice.wrt, jacobians, strict=True):
            blocks.append(
                matrices.block(name, by, tuple(out.shape), tuple(tensor.shape), matrix, weights)
            )
    return blocks


def weights_for(out: Any, raw: Any) -> Any:
    """Return a weight for each element of an output; a single number is repeated. UsageError for
    another number of elements.
    """
    import numpy as np

    vector = np.asarray(raw, float)
    if vector.size not in (1, out.numel()):
        raise UsageError(
            f"--grad-tensors has {vector.size} elements, the output has {out.numel()}",
            "give one for each, or a single number",
        )
    return np.broadcast_to(vector.reshape(-1), (out.numel(),))


# ---- what to differentiate


class Choice(NamedTuple):
    """The outputs to differentiate and the tensors to differentiate by, each with its name."""

    outputs: list[tuple[str, Tensor]]
    wrt: list[tuple[str, Tensor]]
    bound: dict[str, Tensor]  # what --output can name


def at_the_end(
    request: Request, output: tuple[str, ...], wrt: tuple[str, ...], work: Callable[[Choice], T]
) -> T:
    """Run the program and return `work(choice)`, called at its end while the run's settings still
    apply.
    """
    from gradtrace.engine.data.state import state
    from gradtrace.program.result import RunOptions
    from gradtrace.trace.keeper import Keeper
    from gradtrace.trace.probe import Stop

    tensors = prepare(request)
    stop = Stop()
    answer: list[T] = []
    recording = RunOptions(stdout=sys.stderr, record=Keeper, watcher=stop)
    with running.executing(request, tensors, recording) as run:
        state.set(watcher=None)
        choice = chosen(session.boxed(run), tensors, stop, names(output), names(wrt))
        if not choice.wrt:
            raise UsageError("no variable requires grad", hints.of_no_grad(request.inputs.no_grad))
        answer.append(work(choice))
    if not answer:
        raise UsageError(
            f"{request.program.source.name} ended itself while it was differentiated",
            "leave out exit()",
        )
    return answer[0]


def chosen(
    run: Any, tensors: dict[str, Tensor], stop: Any, output: tuple[str, ...], wrt: tuple[str, ...]
) -> Choice:
    """Return the tensors that --output and --wrt name, by default the program's result and all
    leaves that require grad; UsageError if there are none.
    """
    from gradtrace.trace.history import bound_names

    by_name = {**tensors, **dict(bound_names(run.env))}
    by_id = {id(tensor): name for name, tensor in reversed(by_name.items())}
    if output:
        outputs = [named_tensor(by_name, name, "--output") for name in output]
    else:
        roots = stop.outputs or session.roots_of(run)
        outputs = [(by_id.get(id(t)) or result_text(run, t), t) for t in roots]
    if not outputs:
        raise UsageError("the program's value is not a tensor", "choose one with --output NAME")
    variables = [named_tensor(by_name, name, "--wrt") for name in wrt]
    for name, tensor in variables:
        if not tensor.requires_grad:
            raise UsageError(
                f"--wrt: {name} does not require grad", "let it require grad, or choose another"
            )
    leaves = [(name, t) for name, t in by_name.items() if t.is_leaf and t.requires_grad]
    return Choice(outputs, variables or leaves, by_name)


def named_tensor(tensors: dict[str, Tensor], name: str, option: str) -> tuple[str, Tensor]:
    """Return the whole name of a tensor, and the tensor; UsageError if it does not exist."""
    from gradtrace.views.names import full_name

    full = full_name(name, tensors, option)
    if full is None:
        raise UsageError(f"{option}: no tensor '{name}'", hints.near(name, tensors))
    return full, tensors[full]


def result_text(run: Any, tensor: Tensor) -> str:
    """Return the expression that computes an unnamed result."""
    from gradtrace.trace.labels import SourceText

    fn = tensor.grad_fn
    text = SourceText(run).excerpt(fn.origin) if fn is not None else ""
    return text or "y"


WEIGHTS = option(
    "--grad-tensors VALUE ...",
    "Weights for the rows; their weighted sum is the vector-Jacobian product.",
)
command = SourceCommand(
    "jacobian",
    jacobian,
    options.of_source(
        DERIVATIVES, section("Derivatives", WEIGHTS), options.INPUTS, options.format_of(), OUTPUT
    ),
    HELP,
    EXAMPLES,
)
