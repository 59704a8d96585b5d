"""IPython magics: `%load_ext gradtrace`, then `%%gradtrace why w` on a cell.

The cell is the program. It runs in a subprocess, as by `gradtrace why - w`, and does not change the
notebook's variables. Names that the cell does not assign are inputs; their values are the
notebook's numbers, arrays and tensors of these names. `%%gradtrace graph` shows a drawing,
`%%gradtrace page` an animated page; the line magic `%gradtrace ARGUMENTS` runs any command line.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from gradtrace.annotations import Any, Mapping, NamedTuple

WITHOUT_SOURCE = ("ops", "completion", "diff", "map")  # commands that take no cell
OF_CELLS = (
    *("eval", "run", "graph", "page", "why", "paths", "trace", "stats", "check"),
    "jacobian",
    "hessian",
    "plan",
)
USAGE = """\
%%gradtrace COMMAND [NAMES] [OPTIONS] above a cell runs the command on the cell: it is the program. The values of names
that it does not assign are the notebook's numbers, arrays and tensors; its own variables stay its own.

{commands}

For instance %%gradtrace why w, or %%gradtrace eval --get w.grad. %gradtrace COMMAND SOURCE ... runs any command line,
and %gradtrace COMMAND --help lists its options.
"""


class Drawing(NamedTuple):
    """An SVG drawing that a notebook can display, and its tree, which a prompt shows."""

    svg: str
    tree: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.tree.rstrip("\n")


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; IPython calls this for `%load_ext gradtrace`."""

    def gradtrace(line: str, cell: str | None = None) -> Any:
        """Run a command of gradtrace, on the cell if there is one."""
        return magic(line, cell, shell.user_ns)

    shell.register_magic_function(gradtrace, "line_cell", "gradtrace")


def magic(line: str, cell: str | None, variables: Mapping[str, Any]) -> Any:
    """Run a magic's command line and return an object that the notebook displays; None if nothing
    was printed.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        return complain(f"{error} in: {line}")
    if not words:
        return usage()
    if cell is not None and words[0] in WITHOUT_SOURCE:
        return complain(
            f"{words[0]} takes no cell; write %gradtrace {line.strip()} on a line of its own"
        )
    with tempfile.TemporaryDirectory() as folder:
        if cell is not None:
            return of_cell(words, cell, variables, Path(folder))
        return report(run(words, ""))


def of_cell(words: list[str], cell: str, variables: Mapping[str, Any], folder: Path) -> Any:
    """Run a command on a cell and return an object that the notebook displays."""
    command, *rest = words
    picture = None
    if command in ("graph", "page") and not {"-o", "--output-file"}.intersection(rest):
        picture = folder / ("picture.svg" if command == "graph" else "page.html")
        rest += ["-o", str(picture)]
    options = inputs(cell, variables, folder)
    done = run([command, "-", *rest, *options], cell)
    if picture is None or not picture.exists():
        return report(done)
    report(done)
    text = picture.read_text(encoding="utf-8")
    if command == "graph":
        tree = picture.with_suffix(".txt")
        run([command, "-", *rest[:-1], str(tree), *options], cell)
        return Drawing(text, tree.read_text(encoding="utf-8"))
    from gradtrace.views.notebook import Page

    return Page(text)


def run(words: list[str], program: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a subprocess, with colours although its output is not a terminal."""
    env = {**os.environ, "FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "gradtrace", *words]
    return subprocess.run(
        command, input=program, capture_output=True, text=True, encoding="utf-8", env=env
    )


def report(done: subprocess.CompletedProcess[str]) -> Any:
    """Return the printed text of a command for display, and write its messages to stderr."""
    from gradtrace.views.notebook import Report
    from gradtrace.views.terminal import without_codes

    if done.stderr:
        sys.stderr.write(without_codes(done.stderr))
    return Report(done.stdout) if done.stdout else None


def usage() -> Any:
    """Return what the magics can do, for display."""
    from gradtrace.cli.commands import COMMANDS
    from gradtrace.views.notebook import Report

    return Report(
        USAGE.format(commands="\n".join(f"  {name:9} {COMMANDS[name]}" for name in OF_CELLS))
    )


def complain(message: str) -> None:
    sys.stderr.write(f"gradtrace: {message}\n")


# ---- inputs


def inputs(cell: str, variables: Mapping[str, Any], folder: Path) -> list[str]:
    """Return options that set a cell's free names to the values of the notebook's variables."""
    from gradtrace.engine.data.lazy import np
    from gradtrace.errors import GradtraceError
    from gradtrace.program.parse import parse

    try:
        free = [variable.name for variable in parse(cell).inputs if variable.name in variables]
    except GradtraceError:
        return []  # the command itself will say what is wrong
    values = {name: contents(variables[name]) for name in free}
    arrays = {name: array for name, (array, _) in values.items() if array is not None}
    if not arrays:
        return []
    file = folder / "inputs.npz"
    np.savez(file, **arrays)
    options = [word for name in arrays for word in ("--set", f"{name}=@{file}#{name}")]
    return options + [
        word for name in arrays if not values[name][1] for word in ("--no-grad", name)
    ]


def contents(value: Any) -> tuple[Any, bool]:
    """Return a variable's numbers as an array and whether it requires grad; (None, False) for other
    values.
    """
    from gradtrace.engine import Tensor
    from gradtrace.engine.data.lazy import np

    if isinstance(value, Tensor):
        return np.asarray(value._data), bool(value.requires_grad)
    if isinstance(value, (int, float)) or type(value) is np.ndarray:
        return np.asarray(value), isinstance(value, float)
    return None, False
