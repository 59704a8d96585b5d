"""What gradtrace asks of the process that runs a script in real PyTorch, and what that process
reports, as JSON files.

Both sides read this module: gradtrace itself, and `torch/child.py` in the Python that the user
named, which may have no gradtrace. So it imports the standard library alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class ScriptRequest:
    """A script to run with its arguments.

    `level` is the recorder's; "none" records nothing. "replay" runs the step of a capsule again:
    then `script` is the capsule, and `model` and `step` are the names of the program's functions,
    or "". "model" probes the model of the script's first backward; the first argument is for how
    many steps it learns. `record` and `status` are the paths of the files to write.
    """

    level: str
    script: str
    arguments: list[str]
    record: str
    status: str
    model: str = ""
    step: str = ""


@dataclass
class ScriptStatus:
    """What became of a script's run, but for its record."""

    version: str = ""  # of PyTorch
    missing: str = ""  # why PyTorch cannot be imported
    old: bool = False  # PyTorch is too old
    refused: list[str] = field(default_factory=list)  # the message and the hint of a UsageError
    fault: str = ""  # why no record could be made
    interrupted: bool = False
    answer: str = ""  # of a replay, as is the next one
    same: bool = False
    # of a replay, or "probes"
    facts: dict[str, Any] = field(default_factory=dict)


def write(path: str, document: ScriptRequest | ScriptStatus) -> None:
    """Write a request or a status."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(asdict(document), file)


def read(path: str, kind: type[T]) -> T:
    """Read a request or a status. OSError, ValueError or TypeError for anything else."""
    with open(path, encoding="utf-8") as file:
        return kind(**json.load(file))
