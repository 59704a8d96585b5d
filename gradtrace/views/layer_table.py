"""The layers of a model with their parameters and multiply-accumulates, as text or data."""

from __future__ import annotations

from gradtrace.analysis.model_summary import LayerSummary, ModelSummary
from gradtrace.annotations import Iterator
from gradtrace.lazy_names import words
from gradtrace.views import layout, numbers, rows
from gradtrace.views.cells import bytes_text, visible
from gradtrace.views.layout import LayoutOptions, right

COLUMNS = words("name kind depth calls output output_bytes parameters trainable multiplications")
MANY = 60  # rows of a table


def summary_text(summary: ModelSummary, options: LayoutOptions) -> str:
    layers = summary.layers
    left = 0 if options.all else max(0, len(layers) - MANY)
    lines = layout.table(
        layers[: len(layers) - left],
        {
            "layer": lambda layer: "  " * layer.depth + title(layer),
            "output": lambda layer: str(layer.output) if layer.calls else "",
            "parameters": lambda layer: right(f"{layer.parameters:,}" if layer.parameters else ""),
            "multiply-adds": lambda layer: right(numbers.count(layer.multiplications)),
        },
        options,
        {"layer": 24},
    )
    lines += [*layout.left_out(left, "layers", options), ""]
    for sentence in sentences(summary):
        lines += layout.wrapped(sentence, "", options, options.width or 80)
    return layout.joined(lines)


def title(layer: LayerSummary) -> str:
    """Return the last part of a module's path with its class and the number of its calls."""
    name = layer.name.rpartition(".")[2] if layer.depth else layer.name
    kind = f" {layer.kind}" if layer.kind and layer.kind != name else ""
    return visible(f"{name}{kind}") + (f" x{layer.calls}" if layer.calls > 1 else "")


def sentences(summary: ModelSummary) -> Iterator[str]:
    frozen = summary.parameters - summary.trainable
    trained = f", {frozen:,} of them frozen" if frozen else ", all trainable"
    if summary.parameters:
        yield (
            f"{summary.parameters:,} parameters ({bytes_text(summary.parameter_bytes)}){trained}; each is "
            "counted once, where it is read first."
        )
    else:
        yield "The run reads no parameters."
    place = "" if summary.step is None else f" of step {summary.step}"
    of = f" of an input {summary.input}" if summary.input else ""
    outputs = summary.output_bytes
    layers = f"; outputs of the layers take {bytes_text(outputs)}" if outputs else ""
    multiplications = numbers.count(summary.multiplications) or 0
    yield (f"{multiplications} multiply-accumulates in the forward passes{place}{of}{layers}.")


def summary_data(summary: ModelSummary, format: str) -> str:
    return rows.write(
        rows.Results(
            "gradtrace/model-summary", summary._asdict(), "layers", COLUMNS, summary.layers
        ),
        format,
    )
