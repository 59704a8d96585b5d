"""python -m tests.fuzz TARGET... [--executions N] [--seed S] [--crashes FOLDER]; without a target, all of them.

Executions run in chunks, each in a process of its own, so that one which dies is reported too. Beside each chunk lie
canaries, a folder of files, an environment variable and a port: one that is touched or told counts as a crash. The exit
code is 1 if something crashed; what did is kept in the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.attacks.canaries import ENVIRONMENT, SECRET, Door, Yard
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
CHUNK = 20_000


def run_chunk(target: str, count: int, seed: int) -> dict[str, Any]:
    """One chunk in a process of its own, beside canaries."""
    with tempfile.TemporaryDirectory() as beside, tempfile.TemporaryDirectory() as folder:
        yard = Yard(Path(beside), Door(), None)
        before = yard.state()
        found, said = run_beside(target, count, seed, folder)
        touched = {
            "a canary was told": SECRET in said or ENVIRONMENT in said,
            "a file was touched": yard.state() != before,
            "the port was reached": yard.door.knocked(),
        }
        where = f"{count} executions from seed {seed}"
        found["crashes"] += [
            {"kind": kind, "text": said[-2500:], "input": where}
            for kind in touched
            if touched[kind]
        ]
        return found


def run_beside(target: str, count: int, seed: int, folder: str) -> tuple[dict[str, Any], str]:
    """What a chunk found, and what its process wrote."""
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "tests.fuzz.drive",
        target,
        str(count),
        str(seed),
        folder,
    ]
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": folder,
        "CANARY": ENVIRONMENT,
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, errors="replace"
    )
    said = done.stdout + done.stderr
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1])), said
    last = Path(folder) / "last"
    made = last.read_text("utf-8", "surrogatepass") if last.exists() else ""
    crash = {
        "kind": f"process ended with {done.returncode}",
        "text": done.stderr[-2500:],
        "input": made,
    }
    return {"done": count, "crashes": [crash], "grown": 0}, said


def keep(crash: dict[str, str], target: str, folder: Path) -> None:
    """One file for each kind of crash of a target."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() else "-" for c in f"{target} {crash['kind']}")[:120]
    path = folder / f"{name}.txt"
    if not path.exists():
        path.write_text(
            f"{crash['kind']}\n{crash['input']}\n\n{crash['text']}\n", "utf-8", "surrogatepass"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--executions", type=int, default=2000, help="of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashes", type=Path, default=Path("crashes"))
    asked = parser.parse_args()
    bad = 0
    for target in asked.targets or TARGETS:
        start, done, crashes = time.perf_counter(), 0, 0
        while done < asked.executions:
            count = min(CHUNK, asked.executions - done)
            found = run_chunk(target, count, asked.seed + done)
            done += found["done"]
            crashes += len(found["crashes"])
            for crash in found["crashes"]:
                keep(crash, target, asked.crashes)
        rate = done / (time.perf_counter() - start)
        print(f"{target:12} {done:9,} executions  {rate:8.0f}/s  {crashes} crashes", flush=True)
        bad += crashes
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
