"""Run a command line that stands in a document: `$ gradtrace ...`, or the cell of a magic, for
`gradtrace verify`.

A document is a stranger's text. Its command line is run in a process of its own, behind the
kernel's wall, and only if it asks for no right: no file to write, no folder, no real PyTorch, no
other limits, and no file to read outside of what `verify --allow-read` names. `hindrance` says why
one is not run. The process that is started reads the same words by the same rules and may do what
they ask for, so options are judged after they were split by `argv.split`, as it does, and only
harmless ones pass.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from gradtrace.annotations import Callable, Iterator, NamedTuple, Sequence
from gradtrace.cli import argv, grants, plain
from gradtrace.limits import LIMITS, Budget
from gradtrace.sandbox import channel, confine

COMMANDS = (
    *(
        "eval",
        "run",
        "jacobian",
        "hessian",
        "graph",
        "why",
        "paths",
        "trace",
        "stats",
        "ledger",
        "check",
        "diff",
    ),
    "plan",
)
# The tool's own options that ask for no right. Every other one is refused, so a new option is,
# until it stands here.
HARMLESS = frozenset(
    (
        *(
            "--all",
            "--anomaly",
            "--atol",
            "--autograd-nodes",
            "--backward",
            "--color",
            "--color-by",
            "--columns",
            "--compare",
        ),
        *(
            "--create-graph",
            "--depth",
            "--derivatives",
            "--detail",
            "--direction",
            "--dpi",
            "--dtype",
            "--element",
        ),
        *(
            "--errors",
            "--exact",
            "--expand",
            "--fast-math",
            "--fit",
            "--follow",
            "--format",
            "--from",
            "--get",
        ),
        *(
            "--grad-tensors",
            "--help",
            "--help-all",
            "--inputs",
            "--levels",
            "--max",
            "--most",
            "--no-backward",
            "--no-grad",
        ),
        *(
            "--no-gradients",
            "--no-legend",
            "--no-values",
            "--only",
            "--order",
            "--output",
            "--pass",
            "--precision",
        ),
        *(
            "--require-wall",
            "--retain-grad",
            "--retain-graph",
            "--rtol",
            "--seed",
            "--set",
            "--set-b",
            "--simple",
            "--size",
        ),
        *(
            "--sort",
            "--step",
            "--style",
            "--summary",
            "--symbolic",
            "--theme",
            "--to",
            "--wrt",
            "--zero-grad",
            "-e",
            "-h",
            "-s",
        ),
    )
)
STDIN = "-"
GRACE = 5.0  # seconds that a process has, after its time, to say so itself
NO_WALL = "the kernel does not confine programs here"
MOST_WORDS, LONGEST = 1000, 100_000  # words of a command line, and bytes of them all


class CommandResult(NamedTuple):
    """The exit code of a command line and what it wrote to stdout and stderr."""

    code: int
    out: str
    err: str


def hindrance(words: Sequence[str], has_program: bool = False, allowed: Sequence[str] = ()) -> str:
    """Return why a document's command line is not run; "" for one that needs no right.
    `has_program`: its source is the text of a cell. `allowed`: the files and folders that it may
    read. No file is opened.
    """
    if not are_words(list(words)):
        return "it is too long, or has a character that a command line cannot have"
    command = plain.named(words[0]) if words and words[0] in COMMANDS else None
    if command is None:
        return f"verify runs {', '.join(COMMANDS[:-1])} and {COMMANDS[-1]}"
    split = argv.split(list(words[1:]), command.arity, command.passes_on)
    right = next(rights_in(words, split, command.arity), None)
    if right is not None:
        return f"a document may not give itself {right}"
    sources = [word for word in split.positionals if word == STDIN]
    if len(sources) != has_program or (has_program and split.positionals[0] != STDIN):
        return "it reads what is typed"
    asked = grants.of_command(split, Budget(), command.always_file)
    read = [path for path in asked.read if not (path == STDIN and has_program)]
    if reason := next(filter(None, (why_not_read(path, allowed) for path in read)), ""):
        return reason
    if (
        not asked._replace(own_text=True, read=()).needs_no_wall
        or asked.folder
        or asked.scratch
        or asked.shows
    ):
        return "it asks for more than to compute and to print"
    return ""


def why_not_read(path: str, allowed: Sequence[str]) -> str:
    """Return why a command line that reads this path is not run; "" for a regular file that is
    inside of one of the allowed folders, or is one of the allowed files.
    """
    real = os.path.realpath(path)
    if not any(
        f"{real}{os.sep}".startswith(os.path.join(os.path.realpath(folder), ""))
        for folder in allowed
    ):
        return (
            f"it reads {path}, and verify reads nothing but the document and what --allow-read "
            "names"
        )
    if os.path.isfile(real):
        return ""
    return (
        f"it reads {path}, which "
        f"{'is not a regular file' if os.path.exists(real) else 'does not exist'}"
    )


def rights_in(words: Sequence[str], split: argv.Split, arity: dict[str, int]) -> Iterator[str]:
    """Yield the options that are not harmless; also words that could be read as one."""
    for word in words[1:]:
        name = word.partition("=")[0]
        if argv.normal(name) != name if word.startswith("--") else word.startswith("-o"):
            yield name
    for token, *_ in split.options:
        name = token.partition("=")[0] if token.startswith("--") else token[:2]
        if name in arity and name not in HARMLESS:
            yield f"{name}, for real PyTorch runs with full rights" if name == "--engine" else name


def runner(budget: Budget) -> Callable[[list[str], bytes, float], bytes]:
    """Return the function that runs a document's command line within the limits of `verify`, for
    its broker; it returns b"" for one that has a hindrance.
    """

    def ask(words: list[str], program: bytes, seconds: float) -> bytes:
        if hindrance(words, bool(program), budget.allow_read):
            return b""
        return json.dumps(
            started(words, program, budget._replace(seconds=min(seconds, budget.seconds)))
        ).encode()

    return ask


def started(words: Sequence[str], program: bytes, budget: Budget) -> CommandResult:
    """Run a command line that has no hindrance in a process of its own, which must have the
    kernel's wall.
    """
    limits = [f"{limit.flag}={getattr(budget, limit.field)}" for limit in LIMITS]
    command = [
        sys.executable,
        "-P",
        "-m",
        "gradtrace",
        words[0],
        "--require-wall",
        *limits,
        *words[1:],
    ]
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GRADTRACE_", "FORCE_COLOR"))
    }
    env |= {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        preexec_fn=confine.starting(confine.Limits(file_size=None))
        if hasattr(os, "fork")
        else None,
    )
    try:
        written = process.communicate(program, budget.seconds + GRACE)
    except BaseException as error:
        process.terminate()  # unlike kill, this lets it remove its temporary files
        process.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return CommandResult(
            1, "", f"gradtrace: the command ran longer than {budget.seconds:g} s\n"
        )
    return CommandResult(process.returncode, *(text.decode("utf-8", "replace") for text in written))


def result_of(words: Sequence[str], program: str, budget: Budget) -> CommandResult:
    """Run a document's command line: by the broker, if this process is confined."""
    if not channel.is_open():
        return started(words, program.encode(), budget)
    return CommandResult(
        *json.loads(channel.ask_with("command", program.encode(), words=list(words)))
    )


def are_words(words: object) -> bool:
    """Whether a confined process sent the words of a command line."""
    if (
        not isinstance(words, list)
        or len(words) > MOST_WORDS
        or not all(type(word) is str for word in words)
    ):
        return False
    text = " ".join(words)
    return "\0" not in text and is_utf8(text) and len(text.encode()) <= LONGEST


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can write a text: without halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
