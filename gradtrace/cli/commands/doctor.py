"""`gradtrace doctor`: what this machine offers to confine programs, to draw and to compare."""

from __future__ import annotations

import json
import os
import platform
from importlib.util import find_spec

from gradtrace import __version__
from gradtrace.annotations import Any
from gradtrace.cli import options, output
from gradtrace.cli.clicked import command_of
from gradtrace.cli.exits import Exit

HELP = """Show how this machine confines a stranger's program, how it draws, and which extras are installed. The
exit code is 1 if the kernel does not confine programs here."""

EXAMPLES = """Examples:
  gradtrace doctor
  gradtrace doctor --format json"""

# the packages of the extras, with what they are for and the name of the extra
EXTRAS = {
    "torch": ("recorded runs of real PyTorch", "torch"),
    "matplotlib": ("plots of programs", "plot"),
    "tensorboardX": ("event files", "tensorboard"),
    "pyarrow": ("Parquet and Arrow", "arrow"),
    "distributed": ("map on a cluster", "dask"),
    "sympy": ("paths --symbolic", "symbolic"),
}


def doctor(format: str, **_: Any) -> int:
    report = facts()
    if format == "json":
        output.write(
            json.dumps({"schema": "gradtrace/doctor", "version": 1, **report}, indent=2) + "\n"
        )
    else:
        output.write(text(report))
    return Exit.OK if report["confined"] else Exit.FAILED


def facts() -> dict[str, Any]:
    """Return what holds on this machine, as plain data."""
    from gradtrace.sandbox import kernel
    from gradtrace.views import image

    walls = kernel.offered()
    if not image.pygraphviz_works():
        drawing = "dot" if image.system_dot() else None
    else:
        drawing = "pygraphviz"
    return {
        "gradtrace": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "confined": walls.stands,
        "landlock": walls.landlock,
        "seccomp": walls.seccomp,
        "broker": hasattr(os, "fork"),
        "drawing": drawing,
        "extras": {name: find_spec(name) is not None for name in EXTRAS},
    }


def text(facts: dict[str, Any]) -> str:
    landlock = f"version {facts['landlock']}" if facts["landlock"] else "none"
    held = "files, programs, sockets, signals: the kernel refuses them to a program"
    bare = "none here: a program has your rights; --require-wall refuses it"
    rows = [
        ("gradtrace", f"{facts['gradtrace']}, Python {facts['python']}, {facts['system']}"),
        (
            "a process of its own",
            yes(facts["broker"], "a clock and a memory limit outside the program's reach"),
        ),
        ("Landlock", f"{landlock} (which files may be opened)"),
        ("seccomp", yes(facts["seccomp"], "which system calls may be made")),
        ("the kernel's wall", held if facts["confined"] else bare),
        ("drawing", facts["drawing"] or "no Graphviz: pip install pygraphviz"),
        *((name, extra(name, there)) for name, there in facts["extras"].items()),
    ]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name.ljust(width)}  {fact}\n" for name, fact in rows)


def extra(package: str, there: bool) -> str:
    """Return whether a package is installed; if not, how to install its extra."""
    purpose, name = EXTRAS[package]
    return yes(there, purpose) + ("" if there else f": pip install 'gradtrace[{name}]'")


def yes(there: bool, meaning: str) -> str:
    return f"{'yes' if there else 'no'} ({meaning})"


command = command_of(
    doctor, HELP, [*options.format_of(("table", "json")), *options.COMMON], epilog=EXAMPLES
)
