"""The parts of `os`, `os.path`, `pathlib`, `time`, `timeit`, `gc` and `platform` for scripts, without access to the
machine.

A program sees no environment variable, and no file but those of --allow-read and those that it has made:
`os.path.exists` is False for all others, `os.environ` starts empty and belongs to the run, and folders are made only
inside the folder of --allow-write.
Functions that only process a path's text are Python's.
"""

from __future__ import annotations

import posixpath
import sys
import time

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.lang import permission, wall
from gradtrace.lang.budget import Meter
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.values import named
from gradtrace.lang.words import Names, words

PATH_TEXTS = words("basename commonprefix dirname isabs join normpath split splitext")
LOOKED_AT = words("exists isdir isfile islink lexists")
OF_FILES = words("exists isfile lexists")
NAMES = {
    "os": words("cpu_count environ getcwd getenv linesep listdir makedirs mkdir name remove sep unlink"),
    "os.path": PATH_TEXTS | LOOKED_AT | {"abspath", "expanduser", "getsize", "realpath", "sep"},
    "time": words("""asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns
        process_time process_time_ns sleep strftime strptime struct_time thread_time time time_ns"""),
    "timeit": words("default_timer repeat timeit"),
    "gc": words("collect disable enable isenabled"),
    "platform": words("python_implementation python_version python_version_tuple system"),
    "datetime": words("date datetime time timedelta timezone"),
}
NO_FOLDER = "no folder is made: a program writes only with --allow-write DIR"


def os_names(meter: Meter, tell_once: Callable[[str], None]) -> Names:
    """Return the names of `os`; `tell_once` writes a message to stderr, the first time only."""
    environment: dict[str, str] = {}

    def getenv(key: str, default: Any = None) -> Any:
        return environment.get(key, default)

    def make(path: Any, mode: int = 0o777, exist_ok: bool = True) -> None:
        if not meter.budget.allow_write:
            tell_once(NO_FOLDER)
            return
        permission.make_folder(str(path), meter)

    return {
        "environ": environment,
        "getenv": getenv,
        "makedirs": make,
        "mkdir": make,
        "cpu_count": lambda: 1,
        "getcwd": lambda: ".",
        "name": "posix",
        "sep": "/",
        "linesep": "\n",
    }


def path_names(has: Callable[[str], bool], meter: Meter) -> Names:
    """Return the names of `os.path`; `has` says whether the program has saved something under a path."""
    texts = {name: on_text(getattr(posixpath, name)) for name in PATH_TEXTS - {"commonprefix"}}
    looked_at = {name: path_test(name, has, meter) for name in LOOKED_AT}
    prefix = lambda paths: posixpath.commonprefix([text_of(path) for path in paths])
    whole = on_text(posixpath.normpath)  # paths stay relative: a program does not see where it runs
    same = {"abspath": whole, "realpath": whole, "expanduser": text_of}
    return {**texts, **looked_at, **same, "commonprefix": prefix, "sep": "/"}


def text_of(path: Any) -> str:
    if type(path) is class_at("gradtrace.lang.program_files:PathObject"):
        return str(path)
    if type(path) is not str:
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(path).__name__}")
    return path


def on_text(function: AnyFunction) -> AnyFunction:
    def call(*paths: Any) -> Any:
        return function(*map(text_of, paths))

    return named(call, function.__name__)


def path_test(name: str, has: Callable[[str], bool], meter: Meter) -> Callable[[Any], bool]:
    return named(lambda path: passes(name, text_of(path), has, meter), name)


def passes(name: str, path: str, has: Callable[[str], bool], meter: Meter) -> bool:
    """Return what a function of `os.path` says of a path: True also for what the program has saved there."""
    if has(path) and name in OF_FILES:
        return True
    real = permission.seen(path, meter)
    with wall.lowered():
        return real is not None and name != "islink" and bool(getattr(posixpath, name)(real))


def timeit_names(meter: Meter) -> Names:
    """Return the names of `timeit`, which time functions; statements given as text are refused."""

    def timeit(
        stmt: Any = "pass", setup: Any = "pass", timer: Any = None, number: int = 1000000, globals: Any = None
    ) -> float:
        for given in (stmt, setup):
            if given != "pass" and not callable(given):
                raise TypeError("timeit takes functions in gradtrace scripts, such as lambda: f(x)")
        clock = time.perf_counter if timer is None else timer
        if setup != "pass":
            setup()
        start = clock()
        for _ in range(number):
            meter.count_steps(1)
            if stmt != "pass":
                stmt()
        elapsed: float = clock() - start
        return elapsed

    def repeat(
        stmt: Any = "pass", setup: Any = "pass", timer: Any = None, repeat: int = 5, number: int = 1000000
    ) -> list[float]:
        return [timeit(stmt, setup, timer, number) for _ in range(repeat)]

    return {"default_timer": time.perf_counter, "repeat": repeat, "timeit": timeit}


def gc_names() -> Names:
    """Return the names of `gc`, which do nothing: graphs are freed by reference counting."""
    return {"collect": lambda generation=2: 0, "disable": nothing, "enable": nothing, "isenabled": lambda: True}


def nothing() -> None:
    return None


def platform_names() -> Names:
    version = tuple(map(str, sys.version_info[:3]))
    system = {"darwin": "Darwin", "win32": "Windows"}.get(sys.platform, sys.platform.capitalize())
    return {
        "python_implementation": lambda: sys.implementation.name.title(),
        "python_version": lambda: ".".join(version),
        "python_version_tuple": lambda: version,
        "system": lambda: system,
    }
