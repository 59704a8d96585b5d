"""Options as rows, the groups of them that several commands share, and records of their values.

A row is the usage of an option, as --help shows it, and its help; `flag`, `option`, `choice` and
`number` say what the value is. A group is a section of --help-all; --help leaves out what is
`rare`. The records hold the values of the groups:

    INPUTS    -> Inputs       values of the variables
    BACKWARD  -> Backward     arguments of backward, named like PyTorch's parameters
    PART      -> Part         the step of a loop, or the backward pass
    (Output)  -> Look         how the result is printed
    LIMITS    -> Budget       resources that a program may use

and a Request holds these records with the program.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, TypeVar
from gradtrace.cli.argv import normal
from gradtrace.errors import UsageError
from gradtrace.limits import BY_FIELD, MOST_MEMORY, Budget
from gradtrace.limits import LIMITS as ALL_LIMITS

if TYPE_CHECKING:
    from gradtrace.program.parse import Program
    from gradtrace.trace import Trace

Record = TypeVar("Record")

GENERAL, LIMITING = "General", "Limits"  # the last sections of --help-all
FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "latex")
VALUE_FORMATS = (*FORMATS, "value")  # of `eval`: also the bare value
ALL = "all"  # of --step
MANY = "..."  # after the metavar of an option that may be given several times


class ToolOption(NamedTuple):
    """An option of the tool itself, which --help-all lists under `section`; --help leaves it out if
    it `is_rare`.

    It is a flag, or takes one value: text, one of `choices`, or a number of `type` int or float
    from `min` (excluded if `min_open`) to `max`. `check` converts the text to the value, or raises
    UsageError.
    """

    names: list[str]  # as written, "-s" and "--set"; one without dashes is the parameter's
    help: str = ""
    section: str = GENERAL
    metavar: str | None = None
    type: type = str
    choices: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    min_open: bool = False
    is_flag: bool = False
    multiple: bool = False
    default: Any = None
    envvar: str | None = None
    expose_value: bool = True
    check: Callable[[str], Any] | None = None
    is_rare: bool = False

    @property
    def field(self) -> str:
        """The name of the callback's parameter that gets the value."""
        return self.names[-1].removeprefix("--").replace("-", "_")

    @property
    def missing(self) -> Any:
        """The value that the callback gets if the option is not given."""
        if self.multiple:
            return ()
        return False if self.is_flag else self.default


# ---- rows


def option(
    usage: str, help: str, field: str = "", check: Callable[[str], Any] | None = None
) -> ToolOption:
    """Return the option of a text: "--params FILE.json", "-s --set NAME=VALUE ...". `field` names
    its parameter.
    """
    *names, metavar = usage.removesuffix(MANY).split()
    names += [field] if field else []
    return ToolOption(names, help, metavar=metavar, multiple=usage.endswith(MANY), check=check)


def choice(
    usage: str,
    help: str,
    default: str | None = None,
    choices: tuple[str, ...] = (),
    field: str = "",
) -> ToolOption:
    """Return the option of one of several words, by default those of its usage: "--theme
    light|dark".
    """
    *names, metavar = usage.split()
    choices = choices or tuple(metavar.split("|"))
    names += [field] if field else []
    return ToolOption(names, help, metavar=metavar, choices=choices, default=default)


def number(
    usage: str,
    help: str,
    min: float | None = None,
    max: float | None = None,
    default: float | None = None,
    type: type = int,
    field: str = "",
) -> ToolOption:
    """Return the option of a number from `min` to `max`: "--dpi N"."""
    *names, metavar = usage.split()
    names += [field] if field else []
    return ToolOption(names, help, metavar=metavar, type=type, min=min, max=max, default=default)


def flag(name: str, help: str, field: str = "") -> ToolOption:
    return ToolOption([name, field] if field else [name], help, is_flag=True)


def hidden(row: ToolOption) -> ToolOption:
    """Return an option that no callback gets, since it is read before the command."""
    return row._replace(expose_value=False)


def rare(*rows: ToolOption) -> list[ToolOption]:
    """Return options that only --help-all shows."""
    return [row._replace(is_rare=True) for row in rows]


def section(title: str, *rows: ToolOption) -> list[ToolOption]:
    """Return the options under the title that --help-all gives them."""
    return [ToolOption(names, help, title, *others) for names, help, _, *others in rows]


# ---- groups


def step_of(text: str) -> str:
    if text == ALL or (text.isdecimal() and int(text)):
        return text
    raise UsageError(f"--step: '{text}' is not a step", "1, 2, ... or all")


SOURCE = section(
    "Inputs",
    *rare(
        hidden(
            option("-e TEXT", "The expression, even if it looks like a file's name.", "expression")
        )
    ),
)
INPUTS = section(
    "Inputs",
    *rare(
        option("-s --set NAME=VALUE ...", "Set a variable, also one whose name an option has."),
        option("--params FILE.json", "Set many: an object of names and values."),
        option("--no-grad NAMES ...", "These variables do not require grad."),
        choice(
            "--dtype float64|float32",
            "Default: float64, or float32 where the source imports torch.",
        ),
    ),
    number("--seed N", "Seed of random numbers (torch.manual_seed)."),
)
# of every command: `backward` is called on it, or it is differentiated, planned, computed by row
RESULT = option("--output NAMES ...", "The tensors that are the result. Default: the last one.")
BACKWARD = section(
    "Backward",
    *rare(
        RESULT,
        number("--backward N", "Call backward N times.", 1),
        flag("--no-backward", "Do not call backward."),
        flag("--retain-graph", "Keep saved values for another backward."),
        flag("--create-graph", "Make the gradients differentiable."),
        option(
            "--grad-tensors VALUE ...",
            "The vector of the vector-Jacobian product, one for each output.",
        ),
        option("--inputs NAMES ...", "Accumulate gradients only into these tensors."),
        option("--retain-grad NAMES|all ...", "Keep the gradients of these non-leaf tensors."),
        flag("--zero-grad", "Clear the gradients between the N calls."),
    ),
)
PART = section(
    "Training loop",
    option("--step N|all", "Show one step of the training loop.", check=step_of),
    *rare(
        number(
            "--pass N",
            "Show one backward pass, with the operations that it differentiates.",
            1,
            field="pass_number",
        )
    ),
)
RECORDING = [*INPUTS, *BACKWARD, *PART]
# for --help and completion only: `torch_engine` reads them before the command
ENGINE = section(
    "Real PyTorch",
    hidden(
        choice(
            "--engine torch",
            "Run the file in real PyTorch, with full rights. Its arguments follow --.",
        )
    ),
    *rare(hidden(option("--python PATH", "The Python that has torch. Default: this one."))),
)
COMMON = section(
    GENERAL,
    *rare(
        choice(
            "--color auto|always|never",
            "Default: auto, colour on a terminal.",
            choices=("auto", "always", "never"),
        ),
        hidden(choice("--errors text|json|github", "How errors are written. Default: text.")),
        hidden(flag("--debug", "Show Python's traceback of an error.")),
    ),
)
PRECISION = flag("--precision", "Say which operations lose digits, by a wider type.")
ALL_ROWS = section("Output", flag("--all", "Show every row, even in long tables."))


def format_of(formats: tuple[str, ...] = FORMATS) -> list[ToolOption]:
    """Return --format for these formats of data, or for a few that need no explanation."""
    help = f"One of: {', '.join(formats)}. Default: table."
    shown = "FORMAT"
    if len(formats) < len(FORMATS):
        help = "Default: table."
        shown = "|".join(formats)
    return section("Output", choice(f"--format {shown}", help, "table", formats))


def limits() -> list[ToolOption]:
    """Return an option for each limit, with its environment variable, and for the folders that a
    program may use.
    """
    ranges: dict[str, dict[str, Any]] = {
        "seconds": {"type": float, "min_open": True},
    }
    defaults = {
        field: f"{value:,}" for field, value in Budget()._asdict().items() if field in BY_FIELD
    }
    defaults["memory_bytes"] = f"half of the machine's memory, at most {MOST_MEMORY:,}"
    numbers = [
        number(
            f"{limit.flag} N",
            f"{limit.help}. Default: {defaults[limit.field]}.",
            0,
            field=limit.field,
        )._replace(envvar=limit.variable, **ranges.get(limit.field, {}))
        for limit in ALL_LIMITS
    ]
    return section(
        LIMITING,
        *rare(
            *numbers,
            option(
                "--allow-write DIR",
                "A folder that the program may write in (np.save, TensorBoard). Default: none.",
            ),
            option(
                "--allow-read PATH ...",
                "A file, or a folder whose files, the program may read (open, np.load, csv). Default: "
                "none.",
            ),
            option(
                "--allow-import DIR",
                "A folder whose .py files the program may import. Default: none.",
            ),
            hidden(
                flag(
                    "--require-wall",
                    "Refuse to run the program where the kernel does not confine it (gradtrace "
                    "doctor).",
                )
            ),
        ),
    )


LIMITS = limits()


def of_source(*groups: list[ToolOption]) -> list[ToolOption]:
    """Return the options of a command on a source: -e, its own groups, limits and what every
    command has.
    """
    return [row for group in (SOURCE, *groups, LIMITS, COMMON) for row in group]


# ---- values


class Inputs(NamedTuple):
    """The values of --set, --params and similar options; the module `command` describes `given` and
    `own`.
    """

    given: dict[str, str] = {}
    own: frozenset[str] = frozenset()
    set: tuple[str, ...] = ()
    params: str | None = None
    no_grad: tuple[str, ...] = ()
    dtype: str | None = None
    seed: int | None = None


class Backward(NamedTuple):
    """The values of the options for calling backward."""

    output: tuple[str, ...] = ()
    backward: int | None = None
    no_backward: bool = False
    retain_graph: bool = False
    create_graph: bool = False
    grad_tensors: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    retain_grad: tuple[str, ...] = ()
    zero_grad: bool = False


class Part(NamedTuple):
    """The values of --step and --pass."""

    step: str | None = None
    pass_number: int | None = None

    @property
    def chosen(self) -> bool:
        """Whether --step or --pass selects a single step or pass."""
        return self.step not in (None, ALL) or self.pass_number is not None

    def of(self, trace: Trace, picture: bool = False) -> Trace:
        """Return the selected part of a trace; for a picture, by default, the last step of a
        training loop.
        """
        if (
            trace.failure is not None
            and picture
            and trace.training
            and not self.chosen
            and self.step is None
        ):
            return failed_step(trace)
        last = picture and self.step is None and bool(trace.training) and ends_the_run(trace)
        if not self.chosen and not last:
            return trace
        from gradtrace.trace.window import pass_window, step_window

        if self.step not in (None, ALL) and self.pass_number is not None:
            raise UsageError("--step and --pass choose two parts", "give one of them")
        if self.pass_number is not None:
            return pass_window(trace, self.pass_number)
        return step_window(trace, len(trace.training) if last else int(self.step or 0), not picture)


def ends_the_run(trace: Trace) -> bool:
    """Whether the last step computes the program's result, so that a picture of this step shows
    it.
    """
    last = trace.training[-1]
    operations = range(*last.operations)
    return all(trace.tensors[i].operation in operations for i in trace.roots)


def failed_step(trace: Trace) -> Trace:
    """Return the step of a loop in which the program failed."""
    from gradtrace.trace.window import window

    first, last = trace.training[-1].operations
    start = last if last + 1 < len(trace.operations) else first
    return window(
        trace,
        range(start, len(trace.operations)),
        range(0),
        trace.operations[-1].outputs,
        True,
        None,
    )


class Look(NamedTuple):
    """The values of --format, --color and --all."""

    format: str = "table"
    color: str | None = None
    all: bool = False


class Request(NamedTuple):
    """What a command line asks to run: a program, its inputs, how to call backward, its limits, the
    part to show.
    """

    program: Program
    inputs: Inputs = Inputs()
    how: Backward = Backward()
    budget: Budget = Budget()
    part: Part = Part()
    look: Look = Look()

    @property
    def dtype(self) -> str:
        """The run's floating dtype: --dtype, else the record's, else float32 with torch and float64
        without.
        """
        recorded = None if self.program.record is None else self.program.record.dtype
        return (
            self.inputs.dtype
            or recorded
            or ("float32" if self.program.imports_torch else "float64")
        )

    @property
    def seed(self) -> int | None:
        """The seed of the run: that of --seed, else that of the recorded run."""
        record = self.program.record
        return record.seed if self.inputs.seed is None and record is not None else self.inputs.seed


def request(flags: dict[str, Any]) -> Request:
    """Return the request that a command's flags make, and remove what it holds from `flags`."""
    program = flags.pop("program")
    limits = budget(flags)
    return Request(
        program,
        take(Inputs, flags),
        take(Backward, flags),
        limits,
        take(Part, flags),
        take(Look, flags),
    )


def take(record: type[Record], flags: dict[str, Any]) -> Record:
    """Return the record of the flags that are named like its fields, and remove these from
    `flags`.
    """
    fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    return record(**{name: flags.pop(name) for name in fields if name in flags})


def budget(flags: dict[str, Any]) -> Budget:
    """Return the limits that flags and environment give, and remove them from `flags`."""
    limits = {
        field: flags.pop(field)
        for field in (*BY_FIELD, "allow_write", "allow_import", "allow_read")
    }
    return Budget()._replace(
        **{field: value for field, value in limits.items() if value is not None}
    )


def names(values: Iterable[str]) -> tuple[str, ...]:
    """Split the values of an option, each `a` or `a,b`, into a tuple of names."""
    parts = (normal(part.strip()) for value in values for part in value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))
