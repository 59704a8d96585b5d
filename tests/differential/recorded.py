"""Small fixed programs with what PyTorch prints for them.

A file in `cases/` holds programs under headings `# ---- title`; the file beside it with the suffix `.out` holds what
PyTorch 2.13.0 printed for each. `python -m tests.differential.recorded` writes these files with the real PyTorch.
`LEFT_OUT.md` says what has no program, and why.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

CASES = Path(__file__).parent / "cases"
HEADING = "# ---- "
LIBRARY_ONLY = "# library only"  # the first line of a program for which the language has no names
SHOW = '''
def show(*calls):
    """Print the result of each call, or its error."""
    for call in calls:
        try:
            print(call())
        except Exception as error:
            print(f"{type(error).__name__}: {error}".partition("\\n")[0])

'''
OPENING = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nimport numpy as np\n" + SHOW


def sections(path: Path) -> dict[str, str]:
    """Return the text below each heading of a file."""
    found: dict[str, str] = {}
    for section in ("\n" + path.read_text(encoding="utf-8")).split("\n" + HEADING)[1:]:
        title, _, text = section.partition("\n")
        assert title not in found, f"{path.name} has two programs named {title!r}"
        found[title] = text.strip("\n")
    return found


def files() -> list[Path]:
    return sorted(CASES.glob("*.py"))


def is_library_only(program: str) -> bool:
    return program.startswith(LIBRARY_ONLY)


def printed(program: str, library: Any) -> str:
    """Return what a program prints with `library` as `torch`; an error is its last line."""
    names: dict[str, Any] = {"__name__": "cases", "torch": library, "nn": library.nn, "F": library.nn.functional}
    names["np"] = np
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(SHOW + program, "case", "exec"), names)
        except Exception as error:
            print(f"{type(error).__name__}: {error}".partition("\n")[0])
    return tidy(out.getvalue())


def tidy(text: str) -> str:
    text = text.replace("gradtrace.engine.tensor.Tensor", "torch.Tensor")
    return re.sub("0x[0-9a-f]+", "0xADDR", text).strip("\n")


def main() -> int:
    import torch

    for path in files():
        answers = (f"{HEADING}{title}\n{printed(text, torch)}\n" for title, text in sections(path).items())
        path.with_suffix(".out").write_text("".join(answers), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
