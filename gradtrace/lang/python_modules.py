"""The parts of Python's standard modules that a program may import; NAMES lists every name.

Each run has its own `random` generator; `sys` has only streams and constants, `time` only clocks and sleep;
`itertools` counts the items that it yields, `operator` and `math` respect the budget, and the names of `typing` are
placeholders.
"""

from __future__ import annotations

import sys
import time
from functools import cached_property
from importlib import import_module as real_import
from types import MethodType

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.lang import (
    hash_cost,
    hosted,
    metered_builtins,
    numpy_module,
    progress,
    system_modules,
    text_modules,
    typing_names,
    wall,
)
from gradtrace.lang.attributes import Gate
from gradtrace.lang.budget import Meter, exceeded
from gradtrace.lang.builtins import Streams, exit_program
from gradtrace.lang.costs import charge_visit, length_of
from gradtrace.lang.generator_values import Generator
from gradtrace.lang.iteration import charged_call, depth_of, limit_depth, make_range, metered, with_name
from gradtrace.lang.saved import Saved
from gradtrace.lang.strings import Strings
from gradtrace.lang.values import Frozen, ProgramFunction
from gradtrace.lang.words import Names, words

# Modules that scripts import and seldom use: they have no names here.
WITHOUT_NAMES = words("gzip io multiprocessing pdb pickle shutil tarfile threading zipfile")
NAMES: dict[str, frozenset[str]] = {
    **dict.fromkeys(WITHOUT_NAMES, frozenset[str]()),
    **text_modules.NAMES,
    **system_modules.NAMES,
    **progress.NAMES,
    "__future__": words("annotations"),
    "abc": words("ABC ABCMeta abstractmethod"),
    "argparse": words("""ArgumentDefaultsHelpFormatter ArgumentError ArgumentParser ArgumentTypeError
        BooleanOptionalAction HelpFormatter MetavarTypeHelpFormatter Namespace ONE_OR_MORE OPTIONAL REMAINDER
        RawDescriptionHelpFormatter RawTextHelpFormatter SUPPRESS ZERO_OR_MORE"""),
    "bisect": words("bisect bisect_left bisect_right insort insort_left insort_right"),
    "collections": words("ChainMap Counter OrderedDict defaultdict deque namedtuple"),
    "collections.abc": words("""Callable Collection Generator Hashable Iterable Iterator Mapping MutableMapping
        MutableSequence MutableSet Sequence Set Sized"""),
    "contextlib": words(
        "AbstractContextManager ContextDecorator ExitStack closing contextmanager nullcontext suppress"
    ),
    "copy": words("copy deepcopy"),
    "csv": words("DictReader QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC reader writer"),
    "glob": words("glob iglob"),
    "dataclasses": words("""FrozenInstanceError KW_ONLY MISSING asdict astuple dataclass field fields is_dataclass
        replace"""),
    "enum": words("Enum Flag IntEnum IntFlag StrEnum auto unique"),
    "functools": words("cache cached_property cmp_to_key lru_cache partial reduce total_ordering wraps"),
    "heapq": words("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
    "inspect": words("Parameter signature"),
    "itertools": words("""accumulate chain combinations combinations_with_replacement compress count cycle dropwhile
        filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest"""),
    "logging": words("""CRITICAL DEBUG ERROR FATAL Formatter INFO NOTSET StreamHandler WARN WARNING basicConfig critical
        debug disable error exception getLevelName getLogger info log warn warning"""),
    "math": words("""acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp
        exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp
        lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau
        trunc ulp"""),
    "operator": words("""abs add and_ attrgetter concat contains countOf eq floordiv ge getitem gt index invert is_
        is_not itemgetter le lt matmul methodcaller mod mul ne neg not_ or_ pos pow sub truediv truth xor"""),
    "pathlib": words("Path PosixPath PurePath"),
    "random": words("""Random betavariate choice choices expovariate gauss getrandbits getstate normalvariate randint
        random randrange sample seed setstate shuffle triangular uniform"""),
    "re": words("""A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern RegexFlag S U UNICODE VERBOSE X
        compile error escape findall finditer fullmatch match purge search split sub subn"""),
    "statistics": words("""fmean geometric_mean harmonic_mean mean median median_high median_low mode multimode pstdev
        pvariance quantiles stdev variance"""),
    "sys": words("""argv byteorder executable exit float_info getrecursionlimit getsizeof maxsize modules path platform
        setrecursionlimit stderr stdout version version_info"""),
    "types": words("FunctionType GeneratorType LambdaType MethodType ModuleType NoneType SimpleNamespace"),
    "traceback": words("format_exc format_exception format_exception_only print_exc print_exception"),
    "typing": typing_names.NAMES,
    **numpy_module.NAMES,
    **hosted.NAMES,
    "warnings": words("catch_warnings filterwarnings resetwarnings simplefilter warn"),
}
# Modules whose real functions are used, except for those in Python.names_of.
AS_THEY_ARE = words("abc collections copy datetime functools math statistics")


class Python:
    """Python's modules in one run. `where` returns the current file and line, `function` its innermost function."""

    def __init__(
        self,
        gate: Gate,
        meter: Meter,
        streams: Streams,
        strings: Strings,
        operators: Callable[[str], Any],
        where: Callable[[], tuple[str, int]],
        function: Callable[[], str],
        host: Callable[[str], Names],
        drawings: Any = None,
    ) -> None:
        self.host = host
        self.strings = strings
        self.argv = [where()[0], *meter.budget.arguments]
        self.drawings = drawings
        self.warned: set[str] = set()
        self.gate = gate
        self.meter = meter
        self.streams = streams
        self.operators = operators
        self.where = where
        self.function = function
        self.parts: Names = {}

    def find(self, module: str, name: str) -> Any:
        """Return the value of a listed name in a listed module; raise AttributeError for any other."""
        if name not in NAMES[module]:
            raise AttributeError(name)
        if module not in self.parts:
            self.parts[module] = self.names_of(module)
        part = self.parts[module]
        if name in part:
            return part[name]
        if module in AS_THEY_ARE:
            return getattr(real_import(module), name)
        return part["*"](name)

    def names_of(self, module: str) -> Names:
        """Return a module's reimplemented names and their values; "*" maps to a function for all other names."""
        if module in hosted.NAMES:
            return self.host(module)
        if module in numpy_module.NAMES:
            return numpy_module.find_names(module, self.meter, self.gate.type_name)
        if module in progress.NAMES:
            return progress.find_names(module, self.streams, make_range(self.meter))
        if module in text_modules.NAMES:
            return text_modules.find_names(module, self.meter, self.streams)
        find = getattr(self, "names_of_" + module.replace(".", "_"), None)
        names: Names = {} if find is None else find()
        return names

    def names_of___future__(self) -> Names:
        return {"annotations": None}

    def names_of_abc(self) -> Names:
        def abstractmethod(funcobj: Any) -> Any:
            return real_import("abc").abstractmethod(funcobj) if type(funcobj) is ProgramFunction else funcobj

        return {"ABCMeta": typing_names.Form("ABCMeta"), "abstractmethod": abstractmethod}

    def names_of_argparse(self) -> Names:
        from gradtrace.lang import command_arguments

        return command_arguments.find_names(self.streams, self.strings, self.argv)

    def names_of_bisect(self) -> Names:
        return self.comparing("bisect")

    def names_of_collections(self) -> Names:
        collections = real_import("collections")
        hash_cost.HASHING_CLASSES.update((collections.Counter, collections.OrderedDict, collections.defaultdict))
        late = (collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque)
        self.gate.special.update(hash_cost.charging_methods(self.meter, late))
        return {"namedtuple": self.namedtuple}

    def names_of_collections_abc(self) -> Names:
        abc = real_import("collections.abc")
        return {"*": lambda name: self.gate.type_name(getattr(abc, name))}

    def names_of_contextlib(self) -> Names:
        from gradtrace.lang import contexts

        return contexts.find_names()

    def names_of_copy(self) -> Names:
        def deepcopy(x: Any, memo: Any = None) -> Any:
            # Python takes the parts of the copy from the memo: any object for any other, also a class or its state.
            if memo is not None and not (type(memo) is dict and not memo):
                raise TypeError("deepcopy() takes no memo with entries in gradtrace scripts")
            return real_import("copy").deepcopy(x)

        return {"deepcopy": with_name(deepcopy, "deepcopy")}

    def names_of_dataclasses(self) -> Names:
        from gradtrace.lang import records

        return records.find_names(self.gate)

    def names_of_datetime(self) -> Names:
        datetime = real_import("datetime")
        for kind in (datetime.date, datetime.datetime, datetime.time):
            self.gate.special[kind, "strftime"] = self.time_format
        return {}

    def names_of_enum(self) -> Names:
        from gradtrace.lang import enumerations

        return enumerations.find_names()

    def names_of_functools(self) -> Names:
        functools = real_import("functools")
        hash_cost.HASHING_TYPES.add(type(functools.cache(wraps)))

        def total_ordering(cls: Any) -> Any:
            if cls not in self.gate.own:
                raise TypeError("total_ordering() takes a class of the program")
            return functools.total_ordering(cls)

        def reduce(function: Any, iterable: Any, *initial: Any) -> Any:
            return functools.reduce(function, iterable, *initial)

        names = words("cache cached_property cmp_to_key lru_cache partial")
        own = {"wraps": wraps, "total_ordering": total_ordering, "reduce": with_name(reduce, "reduce")}
        return {**own, **{n: getattr(functools, n) for n in names}}

    def names_of_gc(self) -> Names:
        return system_modules.gc_names()

    def names_of_heapq(self) -> Names:
        return self.comparing("heapq")

    def names_of_inspect(self) -> Names:
        from gradtrace.lang import signatures

        def signature(obj: Any) -> Any:
            return signatures.signature_of(obj)

        return {"signature": signature, "Parameter": signatures.Constants()}

    def names_of_itertools(self) -> Names:
        def tee(iterable: Any, n: int = 2) -> tuple[Any, ...]:
            self.meter.count_steps(max(int(n), 0))
            copies = real_import("itertools").tee(iterable, n)
            return tuple([limit_depth(metered(copy, self.meter), depth_of(iterable)) for copy in copies])

        return {"chain": Chain(self.meter), "tee": tee, "*": self.iterator}

    def names_of_logging(self) -> Names:
        from gradtrace.lang.program_logs import Logs

        return Logs(self.streams, self.strings, self.where, self.function).names()

    def names_of_math(self) -> Names:
        return {
            **metered_builtins.math_names(self.meter, self.operators("mul")),
            **{name: self.visitor("math", name) for name in ("dist", "fsum")},
        }

    def names_of_operator(self) -> Names:
        gated: Names = {"attrgetter": self.attrgetter, "methodcaller": self.methodcaller}
        gated["concat"] = self.operators("add")
        gated["contains"] = self.contains
        gated["countOf"] = self.comparing("operator")["*"]("countOf")
        return {**gated, "*": lambda name: self.operators(name) or getattr(real_import("operator"), name)}

    def names_of_os(self) -> Names:
        return {
            **system_modules.os_names(self.meter, self.tell_once),
            "remove": self.saved.remove,
            "unlink": self.saved.remove,
            "listdir": self.listdir,
        }

    def names_of_os_path(self) -> Names:
        from gradtrace.lang import program_files

        names = system_modules.path_names(self.saved.has, self.meter)
        return {**names, "getsize": program_files.folder_names(self.meter)["getsize"]}

    def names_of_csv(self) -> Names:
        from gradtrace.lang import program_files

        return program_files.csv_names(self.meter)

    def names_of_glob(self) -> Names:
        from gradtrace.lang import program_files

        glob = program_files.globber(self.meter)
        return {"glob": glob, "iglob": lambda *args, **how: iter(glob(*args, **how))}

    def names_of_pathlib(self) -> Names:
        from gradtrace.lang.program_files import Disk, PathObject

        disk = Disk(self.meter, self.saved.has, self.find("os", "makedirs"))
        make = with_name(lambda *parts: PathObject(disk, *parts), "Path")
        return {"Path": make, "PosixPath": make, "PurePath": make}

    def names_of_platform(self) -> Names:
        return system_modules.platform_names()

    def names_of_random(self) -> Names:
        from gradtrace.lang.random_module import find_names

        return find_names(self.meter)

    def names_of_re(self) -> Names:
        from gradtrace.lang import regular_expressions

        return regular_expressions.find_names(self.meter)

    def names_of_statistics(self) -> Names:
        return {name: self.visitor("statistics", name) for name in NAMES["statistics"]}

    def names_of_sys(self) -> Names:
        return {
            "argv": self.argv,
            "byteorder": sys.byteorder,
            "executable": "",
            "exit": exit_program,
            "float_info": sys.float_info,
            "getrecursionlimit": lambda: self.meter.deepest,
            "getsizeof": lambda value, *default: sys.getsizeof(value),
            "maxsize": sys.maxsize,
            "modules": {},
            "path": [],
            "platform": sys.platform,
            "setrecursionlimit": lambda limit: None,
            "stdout": self.streams.stdout,
            "stderr": self.streams.stderr,
            "version": sys.version,
            "version_info": sys.version_info,
        }

    def names_of_time(self) -> Names:
        clocks = lambda name: getattr(real_import("time"), name)
        return {"sleep": self.sleep, **system_modules.time_names(), "*": clocks}

    def names_of_timeit(self) -> Names:
        return system_modules.timeit_names(self.meter)

    def names_of_traceback(self) -> Names:
        from gradtrace.lang import tracebacks

        return tracebacks.find_names(self.streams, self.strings, self.where)

    def names_of_types(self) -> Names:
        from gradtrace.lang.records import SimpleNamespace

        kinds = {
            "FunctionType": ProgramFunction,
            "GeneratorType": Generator,
            "LambdaType": ProgramFunction,
            "MethodType": MethodType,
            "NoneType": type(None),
        }
        named = {name: self.gate.type_name(kind) for name, kind in kinds.items()}
        return {**named, "SimpleNamespace": SimpleNamespace}

    def names_of_typing(self) -> Names:
        return {"*": typing_names.form}

    def names_of_warnings(self) -> Names:
        from gradtrace.lang.warnings import names

        return names(self.where)

    @cached_property
    def saved(self) -> Saved:
        """The data that the program stored with torch.save."""
        return Saved(self.meter, self.tell_once)

    @cached_property
    def figures(self) -> Any:
        """The plotting modules."""
        from gradtrace.lang.figures import Figures

        return Figures(self.meter, self.tell_once, self.drawings)

    def tell_once(self, message: str) -> None:
        """Write a message to stderr, the first time only."""
        if message not in self.warned:
            self.warned.add(message)
            self.streams.stderr.write(f"gradtrace: {message}\n")

    # ---- reimplemented functions

    def namedtuple(self, typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None) -> Any:
        """Implement collections.namedtuple; the attribute gate treats the class as the program's own."""
        real = real_import("collections").namedtuple
        with wall.lowered():  # it compiles generated text after checking the names
            names_of = real(typename, field_names, rename=rename, defaults=defaults, module="__main__")
        self.gate.adopt(names_of)
        return names_of

    def iterator(self, name: str) -> AnyFunction:
        real, meter = getattr(real_import("itertools"), name), self.meter

        def call(*args: Any, **kwargs: Any) -> Any:
            repeat = kwargs.get("repeat", 1) if name == "product" else 1
            meter.count_items(sum(map(length_of, args)) * (max(repeat, 1) if type(repeat) is int else 1))
            if name == "groupby":
                hash_cost.charge_items(args[0] if args else (), meter)
            given = [charged_call(arg, meter) for arg in args]
            return limit_depth(metered(real(*given, **kwargs), meter), max(map(depth_of, args), default=0))

        return with_name(call, name)

    def visitor(self, module: str, name: str) -> AnyFunction:
        """Return a function of Python's that visits all items of its arguments."""
        real, meter = getattr(real_import(module), name), self.meter

        def call(*args: Any, **kwargs: Any) -> Any:
            for arg in args:
                charge_visit(arg, meter)
                hash_cost.charge_items(arg, meter)
            return real(*args, **kwargs)

        return with_name(call, name)

    def comparing(self, module: str) -> Names:
        """Return the names of bisect or heapq, whose comparisons of items are charged to the budget."""
        meter = self.meter

        def wrapped(name: str) -> AnyFunction:
            real = getattr(real_import(module), name)

            def call(*args: Any, **how: Any) -> Any:
                for arg in args:
                    ends = module != "operator" and isinstance(arg, list) and arg
                    hash_cost.charge_items((arg[0], arg[-1]) if ends else (arg,), meter)
                if module == "heapq" and args:
                    charge_visit(args[-1], meter, 2)
                return real(*args, **how)

            return with_name(call, name)

        return {"*": wrapped}

    def attrgetter(self, *names: str) -> AnyFunction:
        """Implement operator.attrgetter through the attribute gate."""

        def one(value: Any, path: str) -> Any:
            for name in path.split("."):
                value = self.gate.get(value, name)
            return value

        if not names or any(type(name) is not str for name in names):
            raise TypeError("attribute name must be a string")
        return lambda value: one(value, names[0]) if len(names) == 1 else tuple(one(value, n) for n in names)

    def methodcaller(self, name: str, /, *args: Any, **how: Any) -> AnyFunction:
        """Implement operator.methodcaller through the attribute gate."""
        if type(name) is not str:
            raise TypeError("method name must be a string")
        return lambda value: self.gate.get(value, name)(*args, **how)

    def time_format(self, value: Any) -> Callable[[str], str]:
        """Return the method strftime of a date or time, charged for a long format."""

        def strftime(format: str) -> str:
            if type(format) is str:
                self.meter.count_items(20 * len(format))
            return str(value.strftime(format))

        return strftime

    def contains(self, container: Any, value: Any) -> bool:
        found: bool = self.operators("in_")(value, container)
        return found

    def listdir(self, path: str = ".") -> list[str]:
        from gradtrace.lang import program_files

        names: list[str] = program_files.folder_names(self.meter)["listdir"](path)
        return names

    def sleep(self, seconds: float) -> None:
        if time.monotonic() + seconds > self.meter.deadline:
            limit = self.meter.budget.seconds
            raise exceeded("seconds", f"the program would sleep longer than its time limit of {limit:g} s")
        time.sleep(seconds)


class Chain(Frozen):
    """The programs' version of itertools.chain, with from_iterable."""

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __call__(self, *iterables: Any) -> Any:
        names_of = metered(real_import("itertools").chain(*iterables), self._meter)
        return limit_depth(names_of, max(map(depth_of, iterables), default=0))

    def from_iterable(self, iterables: Any) -> Any:
        names_of = metered(real_import("itertools").chain.from_iterable(iterables), self._meter)
        return limit_depth(names_of, depth_of(iterables))


def wraps(wrapped: Any, assigned: Any = None, updated: Any = None) -> AnyFunction:
    """Implement functools.wraps; it changes only functions of the program."""

    def decorate(function: Any) -> Any:
        if type(function) is not ProgramFunction:
            return function
        for name in ("__name__", "__qualname__", "__doc__"):
            if isinstance(value := getattr(wrapped, name, None), str):
                setattr(function, name, value)
        if type(wrapped) is ProgramFunction:
            own = {k: v for k, v in vars(wrapped).items() if not k.startswith("__")}
            vars(function).update(own)
        vars(function)["__wrapped__"] = wrapped
        return function

    return decorate
