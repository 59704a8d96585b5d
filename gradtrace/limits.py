"""The limits of a program: one list from which messages, options and environment variables are
derived.

This module is separate from what runs programs, so that `--help` can list the options without
loading that.
"""

from __future__ import annotations

import os

from gradtrace.annotations import NamedTuple

# A program's values may take this many bytes by default, or half of a smaller memory.
MOST_MEMORY = 8_000_000_000
# The files of cgroup versions 2 and 1 that have the memory limit of a container.
CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory(share: float, most: int) -> int:
    """Return the fraction `share` of the memory of the machine or container in bytes, at most
    `most`.
    """
    sizes = [most]
    try:
        sizes.append(int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * share))
    except (AttributeError, OSError, ValueError):  # not a Unix system
        return most
    for name in CONTAINER_LIMITS:
        try:
            with open(name, "rb") as file:
                sizes.append(int(int(file.read()) * share))
        except (OSError, ValueError):  # missing, or "max"
            continue
    return min(sizes)


class Budget(NamedTuple):
    """The limits of one run; the folders that the program may write to and import from, "" for
    none; the files and folders that it may read; its arguments.
    """

    source_bytes: int = 1_000_000
    memory_bytes: int = machine_memory(0.5, MOST_MEMORY)
    process_bytes: int = 16_000_000_000
    output_bytes: int = 100_000_000
    record_bytes: int = 128_000_000
    seconds: float = 600.0
    allow_write: str = ""
    allow_import: str = ""
    allow_read: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()  # what the program has in sys.argv[1:]


class Limit(NamedTuple):
    """One limit: its field in Budget, and the option and the environment variable that change
    it.
    """

    field: str
    flag: str
    variable: str
    help: str


LIMITS = (
    Limit("source_bytes", "--max-source", "GRADTRACE_MAX_SOURCE", "Bytes of source"),
    Limit(
        "memory_bytes", "--max-memory", "GRADTRACE_MAX_MEMORY", "Bytes of the values of a program"
    ),
    Limit(
        "process_bytes",
        "--max-process",
        "GRADTRACE_MAX_PROCESS",
        "Bytes of address space of the process",
    ),
    Limit("output_bytes", "--max-output", "GRADTRACE_MAX_OUTPUT", "Bytes printed and written"),
    Limit(
        "record_bytes",
        "--max-record",
        "GRADTRACE_MAX_RECORD",
        "Bytes of large arrays that a record keeps whole",
    ),
    Limit("seconds", "--max-seconds", "GRADTRACE_MAX_SECONDS", "Seconds of running"),
)
BY_FIELD = {limit.field: limit for limit in LIMITS}


def advice(field: str) -> str:
    """Return a sentence that says how to raise a limit: with its option or its environment
    variable.
    """
    limit = BY_FIELD[field]
    return f"raise the limit with {limit.flag} or {limit.variable}"
