"""Write what PyTorch prints for each program: python -m tests.wild.record [NAME...], with torch 2.13 installed.

Each program runs in a child of one process that has loaded PyTorch, in an empty folder, with matplotlib's Agg and
without warnings.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).parent / "programs"


def programs() -> list[Path]:
    return sorted(HERE.glob("*.py"))


def write_output(path: Path) -> None:
    """Run a program in a child of this process and keep what it prints."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.chdir(folder)
                sys.stdout, sys.argv = out, [str(path)]
                warnings.simplefilter("ignore")
                runpy.run_path(str(path), run_name="__main__")
                status = 0
            except SystemExit as end:
                status = 0 if end.code in (None, 0) else 1
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                out.flush()
                os._exit(status)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit(f"{path.name} failed")
        out.seek(0)
        path.with_suffix(".out").write_text(out.read(), encoding="utf-8")


def main() -> None:
    os.environ["MPLBACKEND"] = "Agg"
    import torch

    torch.set_num_threads(1)
    names = sys.argv[1:]
    for path in programs():
        if not names or path.stem in names:
            write_output(path)


if __name__ == "__main__":
    main()
