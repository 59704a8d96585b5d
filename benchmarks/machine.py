"""The machine and the versions that figures belong to."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

VERSIONS = (
    "import importlib.metadata as m\n"
    "for name in ('numpy', 'torch', 'autograd'):\n"
    "    try: print(name, m.version(name))\n"
    "    except m.PackageNotFoundError: pass\n"
)


def machine(interpreters: dict[str, str]) -> dict[str, str]:
    """In words: processor, cores, memory, system, Python and the peers' versions."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "memory": memory(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        **versions([sys.executable, *interpreters.values()]),
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    facts = dict((part.strip() for part in line.split(":", 1)) for line in lines if ":" in line)
    name = facts.get("model name", platform.machine())
    family = (
        f"family {facts['cpu family']}, model {facts['model']}" if "cpu family" in facts else ""
    )
    features = [f for f in ("avx2", "avx512f") if f in facts.get("flags", "").split()]
    return ", ".join(part for part in (name, family, *features) if part)


def memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError, AttributeError):
        return "unknown"


def versions(pythons: list[str]) -> dict[str, str]:
    """Of numpy and the peers, in the interpreters that run them; the first one's count."""
    found: dict[str, str] = {}
    for python in dict.fromkeys(pythons):
        done = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            name, version = line.split()
            found.setdefault(name, version)
    return found
