"""Give up a process's rights for good: Landlock and seccomp, by ctypes alone (Linux; x86-64 and
aarch64).

After `lock(...)` the calling process can never again open a file outside of what was granted, start
a program, make a socket, fork, or signal or trace another process, whatever code runs in it: the
kernel decides, and no call takes a right back. It needs no privileges. It must be called before the
process has threads, as both hold for the calling thread and what it starts.

- Landlock (Linux 5.13, https://docs.kernel.org/userspace-api/landlock.html) decides which files may
  be opened.
- seccomp (https://docs.kernel.org/userspace-api/seccomp_filter.html) allows the system calls of
  `system_calls`.
- The capabilities of a root process are dropped, but for those to read files in spite of their
  modes.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself loads enum
import ctypes
import errno
import os
import struct
import sys

from gradtrace.annotations import NamedTuple
from gradtrace.sandbox import system_calls
from gradtrace.sandbox.system_calls import NONE_OF, WHOLE, Condition, Table

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on all architectures
PATH_BENEATH = 1
EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MOVE = 1 << 13
TRUNCATE = 1 << 14
WRITING = READ_FILE | READ_DIR | WRITE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
SEES_TRUNCATION = 3  # the first version of Landlock's interface that decides about truncation
FIRST_RIGHTS = (1 << 13) - 1
ALL_BITS = 3  # both rights to ports, or both scopes
# The rights that later versions of Landlock's interface added, by version.
LATER_RIGHTS = {2: MOVE, 3: TRUNCATE, 5: 1 << 15}

SET_NO_NEW_PRIVS = 38
SET_SECCOMP = 22
SET_PDEATHSIG = 1
FILTER = 2
KEPT_CAPABILITIES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
CAPABILITY_VERSION = 0x20080522

LOAD, EQUAL, ABOVE, AND, RETURN = 0x20, 0x15, 0x25, 0x54, 0x06  # instructions of seccomp's filters
ALLOW = 0x7FFF0000
KILL = 0x80000000
EPERM = 0x00050000 | 1
ENOSYS = 0x00050000 | 38
ANSWER_ZERO = 0x00050000
# The kernel's number of each architecture, and the column of the table.
MACHINES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}


class Walls(NamedTuple):
    """What the kernel enforces: the version of Landlock's interface (0: none), and whether seccomp
    filters calls.
    """

    landlock: int
    seccomp: bool

    @property
    def stands(self) -> bool:
        return self.landlock > 0 and self.seccomp


class Rights(NamedTuple):
    """The files and folders that a confined process may read, write below, and start programs from;
    the folders for temporary files, where it may also remove and rename.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()
    temporary: tuple[str, ...] = ()


def offered() -> Walls:
    """Return what this machine's kernel offers."""
    column = MACHINES.get(machine())
    return Walls(landlock_version(), column is not None and filters_calls())


def lock(rights: Rights) -> Walls:
    """Give up all rights but these; return what the kernel enforces from now on, which on an older
    one may be less, or nothing.
    """
    version = landlock_version()
    prctl(SET_NO_NEW_PRIVS, 1)
    drop_capabilities()
    if version:
        restrict_files(version, rights)
    return Walls(version, machine() in MACHINES and restrict_calls(rights, version))


def forbid_changes() -> bool:
    """Give up the rights to write, make or remove files and to connect anywhere; reading stays.
    Return whether the kernel can enforce that.
    """
    version = landlock_version()
    if version:
        prctl(SET_NO_NEW_PRIVS, 1)
        restrict_files(version, Rights(), allowed=EXECUTE | READ_FILE | READ_DIR)
    return version > 0


def end_with(parent: int) -> None:
    """Make the kernel kill this process when its parent, with the id `parent`, ends."""
    if machine():
        prctl(SET_PDEATHSIG, _signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def machine() -> str:
    """Return the machine's architecture on Linux, else ""."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return ""
    return os.uname().machine


# ---- files


def landlock_version() -> int:
    """Return the version of Landlock's interface; 0 if there is none, or it is switched off."""
    return max(0, syscall(CREATE_RULESET, None, 0, 1)) if machine() else 0


def restrict_files(version: int, rights: Rights, allowed: int = 0) -> None:
    """Grant these rights alone; those in `allowed` hold everywhere."""
    handled = FIRST_RIGHTS | sum(bit for since, bit in LATER_RIGHTS.items() if version >= since)
    handled &= ~allowed
    attributes = struct.pack("Q", handled)
    if version >= 4:  # ports
        attributes += struct.pack("Q", ALL_BITS)
    if version >= 6:  # scopes
        attributes += struct.pack("Q", ALL_BITS)
    rules = checked(syscall(CREATE_RULESET, attributes, len(attributes), 0))
    for paths, granted in (
        (rights.read, READ_FILE | READ_DIR),
        (rights.write, WRITING),
        (rights.temporary, WRITING | REMOVE_DIR | REMOVE_FILE | MOVE),
        (rights.execute, READ_FILE | READ_DIR | EXECUTE),
    ):
        for path in paths:
            add_rule(rules, path, granted & handled)
    add_rule(rules, os.devnull, (READ_FILE | WRITE_FILE) & handled)
    checked(syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)


def add_rule(rules: int, path: str, granted: int) -> None:
    """Grant rights below a folder, or to a file; a path that is not there is left out."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError):
        return
    if not os.path.isdir(path):
        granted &= OF_FILES
    checked(syscall(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", granted, handle), 0))
    os.close(handle)


# ---- calls


def filters_calls() -> bool:
    """Whether the kernel has seccomp's filters: one that has refuses an unreadable filter with
    EFAULT.
    """
    return prctl(SET_SECCOMP, FILTER, None) < 0 and ctypes.get_errno() == errno.EFAULT


def restrict_calls(rights: Rights, version: int) -> bool:
    """Filter this process's system calls; return False if the kernel cannot."""
    name, column = MACHINES[machine()]
    wanted = system_calls.table(
        column,
        os.getpid(),
        writes=bool(rights.write or rights.temporary),
        starts=bool(rights.execute),
        temporary=bool(rights.temporary) and version > 0,
        sees_truncation=version >= SEES_TRUNCATION,
    )
    code = filter_code(name, wanted)
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    return (
        prctl(SET_SECCOMP, FILTER, struct.pack("HxxxxxxP", len(code), ctypes.addressof(text))) == 0
    )


def filter_code(name: int, wanted: Table) -> list[tuple[int, int, int, int]]:
    """Return the filter as instructions: (operation, steps to skip if true, if false, value)."""
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, name), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for number in wanted.allowed:
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    for number in wanted.missing:
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ENOSYS)]
    for number in wanted.ignored:
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ANSWER_ZERO)]
    for number, conditions in wanted.conditional:
        tested = [step for condition in conditions for step in condition_code(condition)]
        code += [(EQUAL, 0, len(tested) + 1, number), *tested, (RETURN, 0, 0, ALLOW)]
    code += [(ABOVE, 0, 1, system_calls.LAST_KNOWN), (RETURN, 0, 0, ENOSYS), (RETURN, 0, 0, EPERM)]
    return code


def condition_code(condition: Condition) -> list[tuple[int, int, int, int]]:
    """Return the instructions that refuse a call unless the condition holds, and go on after them
    if it does.
    """
    load = [(LOAD, 0, 0, 16 + 8 * condition.argument)]
    if condition.mask != WHOLE:
        load.append((AND, 0, 0, condition.mask))
    if condition.test == NONE_OF:
        return [
            *load,
            *(
                step
                for value in condition.values
                for step in ((EQUAL, 0, 1, value), (RETURN, 0, 0, EPERM))
            ),
        ]
    most = len(condition.values)
    tests = [(EQUAL, most - place, 0, value) for place, value in enumerate(condition.values)]
    return [*load, *tests, (RETURN, 0, 0, EPERM)]


def drop_capabilities() -> None:
    """Keep no capability but those to read files: CAP_SYS_RESOURCE would lift the limits of the
    process.
    """
    if os.geteuid() != 0 or machine() not in MACHINES:
        return
    column = MACHINES[machine()][1]
    getting, setting = system_calls.numbers(system_calls.CAPABILITIES, column)
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    held = ctypes.create_string_buffer(24)
    if syscall(getting, header, held) < 0:
        return
    effective, permitted = struct.unpack_from("II", held)
    kept = struct.pack(
        "IIIIII", effective & KEPT_CAPABILITIES, permitted & KEPT_CAPABILITIES, 0, 0, 0, 0
    )
    syscall(setting, header, kept)


# ---- the C library


class _Library:
    """The C library, loaded on first use."""

    loaded: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    if _Library.loaded is None:
        _Library.loaded = ctypes.CDLL(None, use_errno=True)
    return _Library.loaded


def syscall(*arguments: object) -> int:
    result: int = library().syscall(*(ctypes.c_long(a) if type(a) is int else a for a in arguments))
    return result


def prctl(*arguments: object) -> int:
    result: int = library().prctl(*arguments, *([0] * (5 - len(arguments))))
    return result


def checked(result: int) -> int:
    """Return a call's result; OSError if the call failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
