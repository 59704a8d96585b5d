"""Built-in names of programs. Some are reimplemented because they need the run's gate or meter."""

from __future__ import annotations

import builtins as python

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import is_array
from gradtrace.lang.attributes import Gate
from gradtrace.lang.budget import Meter
from gradtrace.lang.hash_cost import make_hash, with_comparison_cost
from gradtrace.lang.iteration import depth_limited, make_iter, make_range, with_name
from gradtrace.lang.known_classes import ByClass
from gradtrace.lang.metered_builtins import make_divmod, make_pow, make_sum, make_visitor, make_writer
from gradtrace.lang.strings import Strings
from gradtrace.lang.values import Frozen, ProgramFunction, TypeName
from gradtrace.lang.words import Names, words

# numpy's values that are no instance of what their class here derives from.
NUMPY = ByClass(dict.fromkeys(("gradtrace.lang.arrays:Array", "gradtrace.lang.numpy_numbers:Int64"), True))
EXCEPTIONS = words("""ArithmeticError AssertionError AttributeError BaseException BufferError EOFError Exception
    FileNotFoundError FloatingPointError GeneratorExit ImportError IndexError KeyError KeyboardInterrupt LookupError
    MemoryError ModuleNotFoundError NameError NotImplementedError OSError OverflowError PermissionError RecursionError
    ReferenceError RuntimeError StopIteration SyntaxError SystemExit TimeoutError TypeError UnboundLocalError
    UnicodeError ValueError ZeroDivisionError Warning DeprecationWarning FutureWarning ImportWarning
    PendingDeprecationWarning ResourceWarning RuntimeWarning SyntaxWarning UserWarning""")
# Python's own, of which `builtins` replaces some in each run.
SAME = words("""abs all any ascii bin bool callable chr classmethod dict divmod float frozenset hash hex id int len list
    max min next object oct ord property repr round set slice sorted staticmethod str sum super tuple NotImplemented
    Ellipsis""")
PLAIN: Names = {
    **{name: getattr(python, name) for name in SAME | EXCEPTIONS},
    "__name__": "__main__",
    "__debug__": True,
}
LAZY = (enumerate, filter, map, reversed, zip)
MADE = words("""__file__ delattr dir exit format getattr hasattr isinstance issubclass iter pow print quit range setattr
    type vars""")
NAMES = frozenset((*PLAIN, *MADE, *(make.__name__ for make in LAZY)))
# Refused built-in names of Python, with the alternative.
REFUSED = {
    "__build_class__": "write a class statement",
    "__import__": "write an import statement",
    "breakpoint": "print the values",
    "bytearray": "use str or list",
    "bytes": "use str or list",
    "compile": "write the code directly",
    "complex": "use separate real and imaginary parts",
    "eval": "write the expression directly",
    "exec": "write the statements directly",
    "globals": "use the variable by name",
    "help": "see gradtrace --help",
    "input": "leave the name unassigned and pass its value as an option",
    "locals": "use the variable by name",
    "memoryview": "use str or list",
}


def builtins(gate: Gate, meter: Meter, strings: Strings, streams: Streams, file: str, env: Names) -> Names:
    """Return the built-in names of one run; `file` is the program's file, `env` holds its variables."""
    kinds = TypeChecks(gate)
    return {
        **PLAIN,
        "type": kinds.type_of,
        "isinstance": kinds.isinstance,
        "issubclass": kinds.issubclass,
        "__file__": file,
        **attribute_functions(gate, env),
        "format": strings.format,
        "open": file_function("open", meter),
        "pow": make_pow(meter),
        "divmod": make_divmod(meter),
        "sum": make_sum(meter),
        "repr": make_writer(repr, strings),
        "ascii": make_writer(ascii, strings),
        **{function.__name__: make_visitor(function, meter) for function in (all, any)},
        "range": make_range(meter),
        "iter": make_iter(meter),
        "hash": make_hash(meter),
        **{function.__name__: with_comparison_cost(function, meter) for function in (max, min, sorted)},
        **{make.__name__: depth_limited(make, meter) for make in LAZY},
        "print": make_print(streams, strings),
        "exit": exit_program,
        "quit": exit_program,
    }


# ---- attributes by name, through the gate


def checked_name(name: Any) -> str:
    if type(name) is not str:
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    return name


def attribute_functions(gate: Gate, env: Names) -> Names:
    """Return the built-ins that access attributes by their names; `env` holds the program's variables."""

    def getattr(value: Any, name: str, *default: Any) -> Any:
        if not default:
            return gate.get(value, checked_name(name))
        try:
            return gate.get(value, checked_name(name))
        except AttributeError:
            return default[0]

    def hasattr(value: Any, name: str) -> bool:
        try:
            gate.get(value, checked_name(name))
        except AttributeError:
            return False
        return True

    def setattr(value: Any, name: str, new: Any) -> None:
        gate.assign(value, checked_name(name), new)

    def delattr(value: Any, name: str) -> None:
        gate.remove(value, checked_name(name))

    def dir(*value: Any) -> list[str]:
        """Return the names of the attributes that a program may read; without an argument, of its variables."""
        if not value:
            return sorted(name for name in env if type(name) is str)
        if len(value) > 1:
            raise TypeError(f"dir expected at most 1 argument, got {len(value)}")
        return gate.names_of(value[0])

    def vars(*object: Any) -> Any:
        if not object:
            raise TypeError("vars() takes an object in gradtrace scripts")
        try:
            return gate.get(object[0], "__dict__")
        except AttributeError:
            raise TypeError("vars() argument must have __dict__ attribute") from None

    functions: Any = (getattr, hasattr, setattr, delattr, dir, vars)
    return {function.__name__: with_name(function, function.__name__) for function in functions}


# ---- types


class TypeChecks:
    """The built-ins type, isinstance and issubclass. A TypeName stands for a class that programs may not access."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.type_of = TypeFunction(gate)

    def real(self, kinds: Any) -> Any:
        """Return the real class, or tuple of classes, for one that a program passes."""
        if type(kinds) is tuple:
            return tuple(self.real(kind) for kind in kinds)
        if type(kinds) is TypeName:
            return kinds._kind
        return type if kinds is self.type_of else kinds

    def isinstance(self, value: Any, kinds: Any) -> bool:
        if isinstance(value, (TypeName, TypeFunction)):
            return self.real(kinds) is type or kinds is object
        found = isinstance(value, kinds if isinstance(kinds, type) else self.real(kinds))
        if found and NUMPY.get(type(value)) and is_one_number(value):
            return is_of_numpy(value, kinds)
        return found

    def issubclass(self, value: Any, kinds: Any) -> bool:
        return issubclass(self.real(value), self.real(kinds))


def is_one_number(value: Any) -> bool:
    """Whether a program's numpy value is a number: an Int64, or an Array that wraps a numpy scalar."""
    return isinstance(value, int) or not is_array(value._array)


def is_of_numpy(value: Any, kinds: Any) -> bool:
    """Whether a numpy number is an instance of `kinds` in numpy itself, where it is neither an int nor an ndarray."""
    each = kinds if type(kinds) is tuple else (kinds,)
    checking = [kind for kind in each if "__instancecheck__" in vars(type(kind)) and not isinstance(kind, type)]
    return object in each or any(isinstance(value, kind) for kind in checking)


class TypeFunction(Frozen):
    """The built-in `type`, restricted to one argument."""

    __slots__ = ("_gate",)
    __name__ = __qualname__ = "type"

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            raise TypeError("type() takes 1 argument: classes are made by class statements")
        return self._gate.type_of(args[0])

    def __repr__(self) -> str:
        return "<class 'type'>"


# ---- output


class Streams:
    """stdout and stderr of a run; the output is counted."""

    def __init__(self, stdout: Any, stderr: Any, meter: Meter) -> None:
        self.meter = meter
        self.stdout = Stream("<stdout>", stdout, meter)
        self.stderr = Stream("<stderr>", stderr, meter)
        self.told: set[str] = set()

    def tell_once(self, message: str) -> None:
        """Write a line to stderr, the first time only."""
        if message not in self.told:
            self.told.add(message)
            self.stderr.write(f"{message}\n")


class Stream(Frozen):
    """sys.stdout or sys.stderr of a program; on a terminal, control characters are escaped."""

    __slots__ = ("_escape", "_meter", "_stream", "name")

    def __init__(self, name: str, stream: Any, meter: Meter) -> None:
        self.name = name
        self._stream = stream
        self._meter = meter
        self._escape = escapes() if is_terminal(stream) else None

    def write(self, text: str) -> int:
        if type(text) is not str:
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._meter.count_output(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))
        if self._stream is not None:
            self._put(text if self._escape is None or text.isprintable() else text.translate(self._escape))
        return len(text)

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:  # the encoding lacks a character; nothing was written yet
            encoding = getattr(self._stream, "encoding", None) or "ascii"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def isatty(self) -> bool:
        return False


def is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # missing or closed
        return False


def escapes() -> dict[int, str]:
    """Return the escapes of control characters (except newline and tab) and of those that change text direction."""
    controls = {*range(32), *range(127, 160)} - {*map(ord, "\b\t\n\r")}
    directions = {0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
    return {code: chr(code).encode("unicode_escape").decode("ascii") for code in controls | directions}


def make_print(streams: Streams, strings: Strings) -> Callable[..., None]:
    def print(
        *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False, **other: Any
    ) -> None:
        if other:
            raise TypeError(f"'{next(iter(other))}' is an invalid keyword argument for print()")
        for name, given in (("sep", sep), ("end", end)):
            if given is not None and not isinstance(given, str):
                raise TypeError(f"{name} must be None or a string, not {type(given).__name__}")
        stream = streams.stdout if file is None else file
        if not isinstance(stream, Stream) and type(getattr(type(stream), "write", None)) is not ProgramFunction:
            raise AttributeError(f"'{type(stream).__name__}' object has no attribute 'write'")
        text = (" " if sep is None else sep).join([strings.text_of(str, value) for value in values])
        stream.write(text + ("\n" if end is None else end))
        if flush:
            stream.flush()

    return with_name(print, "print")


def file_function(name: str, meter: Meter) -> Callable[..., Any]:
    """Return a function of `program_files`, which is loaded at the first call."""

    def call(*args: Any, **how: Any) -> Any:
        from gradtrace.lang.program_files import Files

        return getattr(Files(meter), name)(*args, **how)

    return with_name(call, name)


def exit_program(code: Any = None) -> None:
    """Exit the program: exit(code)."""
    raise SystemExit(code)
