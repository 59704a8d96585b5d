"""What the documentation's pages run: every command in them, with its output. `python -m cogapp -r -I docs PAGE`."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import cog

ROOT = Path(__file__).resolve().parents[1]


def shell(command: str, lines: int | None = None, expected: int = 0) -> None:
    """Writes a command and what it prints; of long output the first `lines`. Fails on an unexpected exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "gradtrace", *shlex.split(command)[1:]],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "88", "NO_COLOR": "1"},
        check=False,
    )
    if done.returncode != expected:
        raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stderr}")
    shown = (done.stdout + done.stderr).rstrip().splitlines()
    cut = shown if lines is None or len(shown) <= lines else [*shown[:lines], "..."]
    cog.outl("\n".join(["```console", f"$ {command}", *cut, "```"]))


def pipe(command: str) -> None:
    """Writes a command line of the shell, with pipes and variables, and what it prints."""
    own = f'gradtrace() {{ "{sys.executable}" -m gradtrace "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", own], capture_output=True, text=True, cwd=ROOT, check=True)
    cog.outl(
        "\n".join(
            [
                "```console",
                *(f"$ {line}" for line in command.splitlines()),
                done.stdout.rstrip(),
                "```",
            ]
        )
    )


def picture(command: str, file: str, about: str, up: str = "") -> None:
    """Writes the picture that a command makes to `file` of the gallery, and shows it; `up` leads to docs."""
    target = ROOT / "docs" / "gallery" / file
    subprocess.run(
        [sys.executable, "-m", "gradtrace", *shlex.split(command)[1:], "-o", str(target)],
        cwd=ROOT,
        check=True,
    )
    cog.outl(f"```console\n$ {command} -o {file}\n```\n\n![{about}]({up}gallery/{file})")


def show(path: str) -> None:
    """Writes a program."""
    text = (ROOT / path).read_text(encoding="utf-8").rstrip()
    cog.outl(f'```python title="{path}"\n{text}\n```')
