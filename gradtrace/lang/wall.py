"""The wall: an audit hook that denies files, sockets, processes and imports to a program that escapes the language.

Python calls audit hooks for every such operation (PEP 578). `build` adds a hook to the process. A hook cannot be
removed, so only the command line adds it, never the library. It denies only while a program runs: within `raised`,
except within `lowered`. numpy and gradtrace import some modules on first use, possibly during a run; operations inside
such an import are allowed.
"""

from __future__ import annotations

import os
import sys

from gradtrace.annotations import Any
from gradtrace.errors import WallError
from gradtrace.lang.words import words

REFUSED = words("""open import exec code.__new__ function.__new__ marshal.loads marshal.load marshal.dumps
    builtins.input builtins.breakpoint _thread.start_new_thread _thread.start_joinable_thread
    cpython.run_command cpython.run_file cpython.run_interactivehook cpython.run_module
    cpython.run_startup cpython.run_stdin cpython.remote_debugger_script sys.settrace sys.setprofile
    sys.remote_exec sys._current_frames sys._current_exceptions sys.set_asyncgen_hooks_firstiter
    sys.set_asyncgen_hooks_finalizer gc.get_objects gc.get_referrers gc.get_referents
    setopencodehook resource.setrlimit resource.prlimit""")
REFUSED_MODULES = words("""os posix nt socket subprocess ctypes pickle shutil tempfile glob pathlib mmap fcntl signal
    pty sqlite3 urllib http ftplib imaplib poplib smtplib nntplib telnetlib webbrowser syslog winreg
    _winapi msvcrt pdb ensurepip""")
# Modules that gradtrace and numpy import on the first call of some functions; importing them has no effect.
HARMLESS = words("""__future__ _bisect _datetime _heapq _operator _random _statistics _strptime ast bisect calendar
    cmath collections copy copyreg datetime decimal _decimal _pydecimal difflib enum fractions
    functools heapq importlib inspect io itertools json keyword linecache locale math numbers
    operator random re reprlib resource statistics string struct textwrap time traceback types
    typing unicodedata warnings weakref zlib contextlib dis opcode _opcode token tokenize _tokenize
    graphlib hashlib _hashlib _blake2 _sha2 _sha512 _sha3 _md5 _sha1 _sha256 base64 binascii""")
PACKAGES = frozenset(("gradtrace", "numpy", "encodings"))
# Modules that execute generated code: the derivatives of operators.
MAKERS = frozenset(("gradtrace.engine.reverse.compile",))
PATIENCE = 1000  # maximum number of frames to search for an import in progress


class _State:
    """`up`: whether a program is running; `home`: the folder of gradtrace's data files; `hidden`: the environment."""

    __slots__ = ("built", "hidden", "home", "up")

    def __init__(self) -> None:
        self.built = False
        self.up = False
        self.hidden: dict[Any, Any] = {}
        self.home = __file__.rpartition("lang")[0]


_state = _State()


def build() -> None:
    """Add the hook to this process; further calls do nothing."""
    if os.environ.get("GRADTRACE_PROGRAM"):
        return
    if not _state.built:
        _state.built = True
        sys.addaudithook(_hook)


class raised:
    """Context manager for running a program: the hook, if built, denies, and environment variables are hidden."""

    up = True

    def __enter__(self) -> None:
        self.before = _state.up
        _set(self.up)

    def __exit__(self, *_: object) -> None:
        _set(self.before)


def lower() -> None:
    """Lower the wall permanently, before the process ends during a run."""
    _set(False)


def _set(up: bool) -> None:
    if _state.built and up != _state.up:
        _swap(os.environ._data, _state.hidden)  # type: ignore[attr-defined]  # on Unix it is posix.environ too
    _state.up = up


def _swap(one: dict[Any, Any], other: dict[Any, Any]) -> None:
    kept = dict(one)
    one.clear()
    one.update(other)
    other.clear()
    other.update(kept)


class lowered(raised):
    """Context manager for the command's own work during a run, such as reading a file that an option names."""

    up = False


def _hook(event: str, args: tuple[Any, ...], state: _State = _state) -> None:
    if not state.up:  # a default: when Python ends, the module's names may be gone
        return
    if event not in REFUSED and event.partition(".")[0] not in REFUSED_MODULES:
        return
    if event == "import" and _harmless(args[0]):
        return
    if event == "open" and _own_data(*args):
        return
    if event == "exec" and _is_maker(sys._getframe(1).f_globals):
        return
    if event == "resource.setrlimit" and args[0] == sys.modules["resource"].RLIMIT_STACK:
        return  # a nested run allows its own calls
    if not _importing():
        about = f" {args[0]!r}" if args and isinstance(args[0], str) else ""
        raise WallError(
            f"the program was stopped: it tried to reach outside ({event}{about[:80]})",
            "a program may compute and print; it has no files, network, processes or modules of Python",
        )


def _harmless(module: object) -> bool:
    top = str(module).partition(".")[0]
    return top in PACKAGES or top in HARMLESS


def _own_data(path: object, mode: object, flags: object = 0) -> bool:
    """Whether a file of gradtrace is opened for reading."""
    reads = isinstance(flags, int) and flags & 3 == 0 and (mode is None or mode in ("r", "rb", "rt"))
    return reads and isinstance(path, str) and path.startswith(_state.home) and ".." not in path


def _is_maker(names: dict[str, Any]) -> bool:
    """Whether these are the globals of a module of MAKERS, compared by identity because names can be faked."""
    return any(names is vars(sys.modules[maker]) for maker in MAKERS if maker in sys.modules)


def _importing() -> bool:
    """Whether an allowed import is in progress; the import system reads files and executes code."""
    frame: Any = sys._getframe(2)
    for _ in range(PATIENCE):
        if frame is None:
            return False
        code = frame.f_code
        if code.co_name == "_find_and_load" and code is _machinery() and _harmless(frame.f_locals.get("name")):
            return True
        frame = frame.f_back
    return False


def _machinery() -> Any:
    """Return the code of Python's importer, since any function can have its name."""
    return sys.modules["_frozen_importlib"].__dict__["_find_and_load"].__code__
