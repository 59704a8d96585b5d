"""`gradtrace jacobian SOURCE`: all first derivatives, as matrices."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options, output, screen, values
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, flag, option, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.analysis.matrices import Block
    from gradtrace.cli.derivatives import Choice

HELP = """Show the Jacobian of the result of SOURCE by each of its leaves: a row for each element of the result, a
column for each element of the leaf. They come from the engine, row by row, not from differences.

With --grad-tensors the rows are weighted and added up, as backward does with such a vector. A script is stopped where
it first calls backward; what it calls that on is the result."""

EXAMPLES = """Examples:
  gradtrace jacobian "x @ w" --x "1,2;3,4" --w 5,6
  gradtrace jacobian "x * x" --x 1,2,3 --grad-tensors 1,0,-1
  gradtrace jacobian model.py --output y --wrt w -o jacobian.npy"""


def array_file(name: str) -> str:
    """Check the file name of -o before anything is computed; UsageError unless it is .npy or .npz."""
    if name.rpartition(".")[2].lower() not in ("npy", "npz") or "." not in name:
        raise UsageError(f"-o: cannot tell what to write from '{name}'", "end it in .npy or .npz")
    return name


DERIVATIVES = section(
    "Derivatives",
    option("--wrt NAMES ...", "Differentiate by these tensors. Default: every leaf that requires grad."),
    option("--output NAMES ...", "Differentiate these tensors. Default: the result.", "result"),
)
OUTPUT = section(
    "Output",
    option("-o FILE", "Write the numbers to an .npy (one matrix) or .npz.", "output_file", array_file),
    flag("--all", "Print large matrices in full."),
)


def jacobian(
    request: Request,
    format: str,
    color: str | None,
    wrt: tuple[str, ...],
    result: tuple[str, ...],
    output_file: str | None,
    all: bool,
) -> None:
    from gradtrace.cli import derivatives
    from gradtrace.cli.inputs import evaluator
    from gradtrace.views import matrices as view

    read = evaluator(request.dtype, request.budget)
    vectors = [values.read(text, "--grad-tensors", read) for text in request.how.grad_tensors]
    blocks = derivatives.at_the_end(request, result, wrt, lambda choice: blocks_of(choice, vectors))
    if output_file is not None:
        from gradtrace.files import write_output

        write_output(output_file, view.jacobian_file(blocks, output_file.rpartition(".")[2].lower()))
    elif format == "table":
        output.write(view.jacobian_text(blocks, screen.options(color, all)))
    else:
        output.write(view.render_jacobian(blocks, format))


def blocks_of(choice: Choice, vectors: list[Any]) -> list[Block]:
    from gradtrace.analysis import matrices
    from gradtrace.trace.derivatives import jacobian_values

    found = []
    for i, (name, out) in enumerate(choice.outputs):
        weights = weights_for(out, vectors[min(i, len(vectors) - 1)]) if vectors else None
        for (by, tensor), matrix in zip(choice.wrt, jacobian_values(out, [t for _, t in choice.wrt]), strict=True):
            found.append(matrices.block(name, by, tuple(out.shape), tuple(tensor.shape), matrix, weights))
    return found


def weights_for(out: Any, raw: Any) -> Any:
    """Return the weights for one output; a single number is repeated for all elements."""
    import numpy as np

    vector = np.asarray(raw, float)
    if vector.size not in (1, out.numel()):
        raise UsageError(
            f"--grad-tensors has {vector.size} elements, the output has {out.numel()}",
            "give one for each, or a single number",
        )
    return np.broadcast_to(vector.reshape(-1), (out.numel(),))


WEIGHTS = option("--grad-tensors VALUE ...", "Weights for the rows; their weighted sum is the vector-Jacobian product.")
command = SourceCommand(
    "jacobian",
    jacobian,
    options.of_source(DERIVATIVES, section("Derivatives", WEIGHTS), options.INPUTS, options.format_of(), OUTPUT),
    HELP,
    EXAMPLES,
)
