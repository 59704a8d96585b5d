"""`gradtrace jacobian SOURCE`: all first derivatives, as matrices."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options, output, screen, values
from gradtrace.cli.command import SourceCommand, ToolOption
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.analysis.matrices import Block
    from gradtrace.cli.derivatives import Choice
    from gradtrace.lang import Program

HELP = """Show the Jacobian of the result of SOURCE by each of its leaves: a row for each element of the result, a
column for each element of the leaf. They come from the engine, row by row, not from differences.

With --grad-tensors the rows are weighted and added up, as backward does with such a vector. A script is stopped where
it first calls backward; what it calls that on is the result."""

EXAMPLES = """Examples:
  gradtrace jacobian "x @ w" --x "1,2;3,4" --w 5,6
  gradtrace jacobian "x * x" --x 1,2,3 --grad-tensors 1,0,-1
  gradtrace jacobian model.py --output y --wrt w -o jacobian.npy"""

FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "latex")


def array_file(name: str) -> str:
    """Check the file name of -o before anything is computed; UsageError unless it is .npy or .npz."""
    if name.rpartition(".")[2].lower() not in ("npy", "npz") or "." not in name:
        raise UsageError(f"-o: cannot tell what to write from '{name}'", "end it in .npy or .npz")
    return name


def shared() -> list[ToolOption]:
    """Return the options that `jacobian` and `hessian` share."""
    place = "Derivatives"
    return [
        ToolOption(
            ["--wrt"],
            metavar="NAMES",
            multiple=True,
            section=place,
            help="Differentiate by these tensors. Default: every leaf that requires grad.",
        ),
        ToolOption(
            ["--output", "result"],
            metavar="NAMES",
            multiple=True,
            section=place,
            help="Differentiate these tensors. Default: the result.",
        ),
        ToolOption(
            ["-o", "output_file"],
            metavar="FILE",
            check=array_file,
            section="Output",
            help="Write the numbers to an .npy (one matrix) or .npz.",
        ),
        ToolOption(["--all"], is_flag=True, section="Output", help="Print large matrices in full."),
    ]


def jacobian(
    program: Program,
    format: str,
    color: str | None,
    wrt: tuple[str, ...],
    result: tuple[str, ...],
    grad_tensors: tuple[str, ...],
    output_file: str | None,
    all: bool,
    **flags: Any,
) -> None:
    from gradtrace.cli import derivatives, session
    from gradtrace.views import matrices as view

    inputs = options.take(options.Inputs, flags)
    budget = options.budget(flags)
    read = session.evaluator(session.dtype_of(program, inputs.dtype), budget)
    vectors = [values.read(text, "--grad-tensors", read) for text in grad_tensors]
    blocks = derivatives.at_the_end(program, inputs, budget, result, wrt, lambda choice: blocks_of(choice, vectors))
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


command = SourceCommand(
    "jacobian",
    jacobian,
    [
        *options.source(),
        *shared()[:2],
        ToolOption(
            ["--grad-tensors"],
            metavar="VALUE",
            multiple=True,
            section="Derivatives",
            help="Weights for the rows; their weighted sum is the vector-Jacobian product.",
        ),
        *options.inputs(),
        *options.format(FORMATS),
        *shared()[2:],
        *options.limits(),
        *options.common(),
    ],
    HELP,
    EXAMPLES,
)
