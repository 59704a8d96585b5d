"""The options that several commands share, grouped by subject, and records of their values.

Each function returns new options for a command's `params`; a NamedTuple holds their values:

    inputs()    -> Inputs       values of the variables
    backward()  -> Backward     arguments of backward, named like PyTorch's parameters
    part()      -> parts.Part   the step of a loop, or the backward pass
    output()                    --format and --get
    limits()    -> Budget       resources that a program may use
    common()                    --color, --errors, --debug
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable, NamedTuple, TypeVar
from gradtrace.cli import colour, parts
from gradtrace.cli.argv import normal
from gradtrace.cli.command import ToolOption
from gradtrace.limits import BY_FIELD, DEEPEST, LIMITS, MOST_MEMORY, Budget

Record = TypeVar("Record")

FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "latex", "value")
DTYPES = ("float64", "float32")


class Inputs(NamedTuple):
    """The values of --set, --params and similar options; the module `command` describes `given` and `own`."""

    given: dict[str, str]
    own: set[str]
    set: tuple[str, ...]
    params: str | None
    no_grad: tuple[str, ...]
    dtype: str | None
    seed: int | None


class Backward(NamedTuple):
    """The values of the options for calling backward."""

    output: tuple[str, ...]
    backward: int | None
    no_backward: bool
    retain_graph: bool
    create_graph: bool
    grad_tensors: tuple[str, ...]
    inputs: tuple[str, ...]
    retain_grad: tuple[str, ...]
    zero_grad: bool


def take(record: type[Record], flags: dict[str, Any]) -> Record:
    """Return the record whose fields are given by a command's flags."""
    return record(**{name: flags[name] for name in record._fields})  # type: ignore[attr-defined]


def names(values: Iterable[str]) -> tuple[str, ...]:
    """Split the values of an option, each `a` or `a,b`, into a tuple of names."""
    parts = (normal(part.strip()) for value in values for part in value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def source() -> list[ToolOption]:
    return [
        ToolOption(
            ["-e", "expression"],
            metavar="TEXT",
            expose_value=False,
            section="Inputs",
            help="The expression, even if it looks like a file's name.",
        )
    ]


def inputs() -> list[ToolOption]:
    place = "Inputs"
    return [
        ToolOption(
            ["-s", "--set"],
            metavar="NAME=VALUE",
            multiple=True,
            section=place,
            help="Set a variable, also one whose name an option has.",
        ),
        ToolOption(["--params"], metavar="FILE.json", section=place, help="Set many: an object of names and values."),
        ToolOption(
            ["--no-grad"], metavar="NAMES", multiple=True, section=place, help="These variables do not require grad."
        ),
        ToolOption(
            ["--dtype"],
            choices=DTYPES,
            metavar="|".join(DTYPES),
            section=place,
            help="Default: float64, or float32 where the source imports torch.",
        ),
        ToolOption(
            ["--seed"], type=int, metavar="N", section=place, help="Seed of random numbers (torch.manual_seed)."
        ),
    ]


def backward() -> list[ToolOption]:
    place = "Backward"
    return [
        ToolOption(
            ["--output"],
            metavar="NAMES",
            multiple=True,
            section=place,
            help="The tensors to call backward on. Default: the last one.",
        ),
        ToolOption(["--backward"], type=int, min=1, metavar="N", section=place, help="Call backward N times."),
        ToolOption(["--no-backward"], is_flag=True, section=place, help="Do not call backward."),
        ToolOption(["--retain-graph"], is_flag=True, section=place, help="Keep saved values for another backward."),
        ToolOption(["--create-graph"], is_flag=True, section=place, help="Make the gradients differentiable."),
        ToolOption(
            ["--grad-tensors"],
            metavar="VALUE",
            multiple=True,
            section=place,
            help="The vector of the vector-Jacobian product, one for each output.",
        ),
        ToolOption(
            ["--inputs"],
            metavar="NAMES",
            multiple=True,
            section=place,
            help="Accumulate gradients only into these tensors.",
        ),
        ToolOption(
            ["--retain-grad"],
            metavar="NAMES|all",
            multiple=True,
            section=place,
            help="Keep the gradients of these non-leaf tensors.",
        ),
        ToolOption(["--zero-grad"], is_flag=True, section=place, help="Clear the gradients between the N calls."),
    ]


def format(formats: tuple[str, ...] = FORMATS) -> list[ToolOption]:
    return [
        ToolOption(
            ["--format"],
            choices=formats,
            default="table",
            metavar="FORMAT",
            section="Output",
            help=f"One of: {', '.join(formats)}. Default: table.",
        )
    ]


def part() -> list[ToolOption]:
    place = "Training loop"
    return [
        ToolOption(
            ["--step"], metavar="N|all", check=parts.step_of, section=place, help="Show one step of the training loop."
        ),
        ToolOption(
            ["--pass", "pass_number"],
            type=int,
            min=1,
            metavar="N",
            section=place,
            help="Show one backward pass, with the operations that it differentiates.",
        ),
    ]


def engine() -> list[ToolOption]:
    """Return --engine and --python, for --help and completion only: `torch_engine` reads them before the command."""
    place = "Real PyTorch"
    return [
        ToolOption(
            ["--engine"],
            choices=("torch",),
            metavar="torch",
            expose_value=False,
            section=place,
            help="Run the file in real PyTorch, with full rights; its arguments follow --.",
        ),
        ToolOption(
            ["--python"],
            metavar="PATH",
            expose_value=False,
            section=place,
            help="The Python that has torch. Default: this one.",
        ),
    ]


def output(formats: tuple[str, ...] = FORMATS) -> list[ToolOption]:
    place = "Output"
    return [
        *format(formats),
        ToolOption(
            ["--get"],
            metavar="NAME.FIELD",
            multiple=True,
            section=place,
            help="Print one bare value: w.grad, y, y.shape, w.grad[0], root.value.",
        ),
    ]


def limits() -> list[ToolOption]:
    """Return an option for each limit, with its environment variable, and for the folders that a program may use."""
    ranges: dict[str, dict[str, Any]] = {
        "seconds": {"type": float, "min_open": True},
        "call_depth": {"min": 1, "max": DEEPEST},
    }
    defaults = Budget()._asdict()
    described = {"memory_bytes": f"half of the machine's memory, at most {MOST_MEMORY:,}"}
    return [
        ToolOption(
            [limit.flag, limit.field],
            metavar="N",
            envvar=limit.variable,
            section="Limits",
            type=int,
            min=0,
            help=f"{limit.help}. Default: {described.get(limit.field, f'{defaults[limit.field]:,}')}.",
        )._replace(**ranges.get(limit.field, {}))
        for limit in LIMITS
    ] + [
        ToolOption(
            ["--allow-write"],
            metavar="DIR",
            section="Limits",
            help="A folder that the program may write in (np.save, TensorBoard). Default: none.",
        ),
        ToolOption(
            ["--allow-import"],
            metavar="DIR",
            section="Limits",
            help="A folder whose .py files the program may import, in the same language. Default: none.",
        ),
        ToolOption(
            ["--require-wall"],
            is_flag=True,
            expose_value=False,
            section="Limits",
            help="Refuse to run the program where the kernel does not confine it (gradtrace doctor).",
        ),
    ]


def budget(flags: dict[str, Any]) -> Budget:
    """Return the limits that flags and environment give, and remove them from `flags`."""
    given = {field: flags.pop(field) for field in (*BY_FIELD, "allow_write", "allow_import")}
    return Budget()._replace(**{field: value for field, value in given.items() if value is not None})


def common() -> list[ToolOption]:
    return [
        ToolOption(
            ["--color"],
            choices=colour.CHOICES,
            metavar="auto|always|never",
            help="Default: auto, colour on a terminal.",
        ),
        ToolOption(
            ["--errors"],
            choices=("text", "json"),
            expose_value=False,
            metavar="text|json",
            help="How errors are written. Default: text.",
        ),
        ToolOption(["--debug"], is_flag=True, expose_value=False, help="Show Python's traceback of an error."),
    ]
