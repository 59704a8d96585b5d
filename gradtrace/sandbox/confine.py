"""Confine this process: limit what it inherits, what it may open and what it may use."""

from __future__ import annotations

import ctypes
import os
import sys

from gradtrace.annotations import Any, Callable, Iterable, Iterator, NamedTuple
from gradtrace.sandbox import kernel
from gradtrace.sandbox.kernel import Rights, Walls

# The environment variables that a confined process keeps: those of the terminal, of the libraries
# that it loads, and gradtrace's own.
KEPT = """COLUMNS COMP_CWORD COMP_WORDS DASK_SCHEDULER_ADDRESS FONTCONFIG_FILE FONTCONFIG_PATH FORCE_COLOR HOME LANG
    LANGUAGE LINES NO_COLOR OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS PATH SHELL SOURCE_DATE_EPOCH TERM TZ"""
KEPT_PREFIXES = ("LC_", "PYTHON", "GRADTRACE_", "_GRADTRACE_")
SYSTEM = """/usr/lib /usr/lib64 /usr/local/lib /lib /lib64 /nix/store /etc/ld.so.cache /etc/localtime /etc/fonts
    /usr/share/zoneinfo /usr/share/fonts /usr/local/share/fonts /usr/share/fontconfig /var/cache/fontconfig
    /usr/share/graphviz /dev/urandom /sys/devices/system/cpu /proc/cpuinfo /proc/meminfo /proc/self/statm
    /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes"""
USER_FONTS = ("~/.fonts", "~/.local/share/fonts", "~/.cache/fontconfig")
INSTALLED = ("site-packages", "dist-packages")
# The packages that gradtrace imports; they may lie outside of INSTALLED folders, as in a checkout.
PACKAGES = (
    "gradtrace numpy click rich pygments graphviz pygraphviz PIL sympy mpmath pyarrow "
    "tensorboardX matplotlib"
)
LARGEST_FILE = 1 << 30  # bytes of a file by default
MOST_OPEN = 4096  # descriptors, each of which the parent examines
FIRST_FREE = 3  # the first descriptor after stdin, stdout and stderr


class Limits(NamedTuple):
    """Hard limits of the process, in bytes and seconds; None leaves a limit as it is."""

    memory: int | None = None
    address_space: int | None = None
    file_size: int | None = LARGEST_FILE
    cpu_seconds: int | None = None


def confine(
    rights: Rights = Rights(), limits: Limits = Limits(), kept: Iterable[int] | None = None
) -> Walls:
    """Give up everything but `rights`, and return what the kernel enforces.

    Closes all descriptors but 0, 1, 2 and those in `kept`; without `kept` it closes none, for a
    process that was started without others.
    """
    if kept is not None:
        close_others(kept)
    set_limits(limits)
    granted = Rights((*python_folders(), *SYSTEM.split(), *user_fonts(), *rights.read), *rights[1:])
    clear_environment()
    return kernel.lock(granted)


def to_start(program: str) -> Rights:
    """Return the rights of a process that becomes a program of this machine: to start the program
    and its loader.
    """
    return Rights(
        execute=(
            os.path.realpath(program),
            "/bin",
            "/usr/bin",
            "/lib",
            "/lib64",
            "/usr/lib",
            "/usr/lib64",
        )
    )


def starting(limits: Limits, rights: Rights | None = None) -> Callable[[], None]:
    """Return the `preexec_fn` of a subprocess that ends with this process and has limits that it
    cannot raise.

    With `rights` it also gives up all others, before it becomes another program.
    """
    parent = os.getpid()

    def prepare() -> None:
        kernel.end_with(parent)
        if rights is None:
            set_limits(limits)
        else:
            confine(rights, limits)

    return prepare


def close_others(kept: Iterable[int]) -> None:
    """Close all descriptors but 0, 1, 2 and those in `kept`."""
    low = FIRST_FREE
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def user_fonts() -> Iterator[str]:
    home = os.environ.get("HOME")
    if home:
        yield from (folder.replace("~", home, 1) for folder in USER_FONTS)


def python_folders() -> Iterator[str]:
    """Yield the folders that Python imports from, without the current one and those of the user's
    own modules.
    """
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}:
        yield from (os.path.join(prefix, name) for name in ("lib", "lib64"))
    yield os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for entry in sys.path:
        if os.path.basename(entry) in INSTALLED or entry.endswith(".zip"):
            yield entry
        elif entry:
            yield from (
                os.path.join(entry, name + suffix)
                for name in PACKAGES.split()
                for suffix in ("", ".py")
            )


# ---- the environment


def clear_environment() -> None:
    """Remove environment variables but for KEPT, also from the process's memory, where native code
    could read them.
    """
    dropped = {name: value for name, value in os.environ.items() if not is_kept(name)}
    texts = environment_texts()
    values = [v for k, v in raw_environment().items() if os.fsdecode(k) in dropped]
    for name in dropped:
        del os.environ[name]
    for address, text in texts:
        if os.fsdecode(text.partition(b"=")[0]) in dropped:
            ctypes.memset(address, 0, len(text))
    for value in values:  # Python's own copies
        if len(value) > 1:  # Python shares objects of a single byte
            ctypes.memset(id(value) + bytes.__basicsize__ - 1, 0, len(value))


def is_kept(name: str) -> bool:
    return name in KEPT.split() or name.startswith(KEPT_PREFIXES)


def raw_environment() -> dict[bytes, bytes]:
    variables: Any = os.environ._data  # type: ignore[attr-defined]
    return dict(variables)


def environment_texts() -> list[tuple[int, bytes]]:
    """Return the addresses and texts (NAME=VALUE) of the C library's environment."""
    pointers = ctypes.POINTER(ctypes.c_void_p).in_dll(kernel.library(), "environ")
    texts: list[tuple[int, bytes]] = []
    while pointers and pointers[len(texts)]:
        address = pointers[len(texts)]
        texts.append((address, ctypes.string_at(address)))
    return texts


# ---- limits


def set_limits(limits: Limits) -> None:
    """Lower the hard limits of the process, which it cannot raise again."""
    import resource

    wanted = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, MOST_OPEN),
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_AS, limits.address_space),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
    )
    for which, most in wanted:
        soft, hard = resource.getrlimit(which)
        if most is None or (hard != resource.RLIM_INFINITY and hard <= most):
            continue
        resource.setrlimit(
            which, (most if soft == resource.RLIM_INFINITY else min(soft, most), most)
        )
