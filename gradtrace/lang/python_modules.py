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

from gradtrace.annotations import Any, Callable
from gradtrace.lang import (
    hash_cost,
    hosted,
    metered_builtins,
    numpy_module,
    progress,
    system_modules,
    text_modules,
    typing_names,
)
from gradtrace.lang.attributes import Gate
from gradtrace.lang.budget import Meter
from gradtrace.lang.builtins import Streams, exit_program, file_function
from gradtrace.lang.generator_values import Generator
from gradtrace.lang.iteration import depth_of, limit_depth, metered, with_name
from gradtrace.lang.python_functions import Chain, PythonFunctions, wraps
from gradtrace.lang.saved import Saved
from gradtrace.lang.strings import Strings
from gradtrace.lang.values import Attributes, ProgramFunction
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
# Modules whose real names are used, except for those that `Python.names_of` returns.
AS_THEY_ARE = words("""abc collections contextlib copy csv dataclasses datetime functools math re statistics string sys
    time unicodedata warnings""")
CONSTANTS: dict[str, Names] = {"__future__": {"annotations": None}, "typing": {"*": typing_names.form}}
# The functions of ours that find the names of a module, and what of the run they are given.
FOUND_BY = {
    **dict.fromkeys(progress.TQDM, "progress.tqdm_names streams meter"),
    **dict.fromkeys(progress.DISPLAY, "progress.display_names streams"),
    "argparse": "command_arguments.find_names streams strings argv",
    "ast": "text_modules.ast_names meter",
    "contextlib": "contexts.find_names",
    "csv": "program_files.csv_names meter",
    "dataclasses": "records.find_names gate",
    "enum": "enumerations.find_names",
    "gc": "system_modules.gc_names",
    "json": "text_modules.json_names meter",
    "logging": "program_logs.find_names streams strings where function",
    "numpy": "numpy_module.array_names meter gate",
    "numpy.linalg": "numpy_module.linalg_names",
    "numpy.random": "numpy_module.random_names",
    "numpy.testing": "numpy_module.testing_names",
    "platform": "system_modules.platform_names",
    "pprint": "text_modules.pprint_names meter streams",
    "random": "random_module.find_names meter",
    "re": "regular_expressions.find_names meter",
    "textwrap": "text_modules.textwrap_names meter",
    "timeit": "system_modules.timeit_names meter",
    "traceback": "tracebacks.find_names streams strings where",
    "unicodedata": "text_modules.unicodedata_names meter",
    "warnings": "warnings.find_names where",
}


class SimpleNamespace(Attributes):
    """The programs' version of types.SimpleNamespace."""

    __module__ = "types"

    def __repr__(self) -> str:
        return super().__repr__().replace("SimpleNamespace", "namespace", 1)


class Python(PythonFunctions):
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
        if module in CONSTANTS:
            return CONSTANTS[module]
        if module in FOUND_BY:
            place, *given = FOUND_BY[module].split()
            file, _, function = place.partition(".")
            found: Names = getattr(real_import("gradtrace.lang." + file), function)(*[getattr(self, n) for n in given])
            return found
        if module in ("bisect", "heapq"):
            return self.comparing(module)
        find = getattr(self, "names_of_" + module.replace(".", "_"), None)
        names: Names = {} if find is None else find()
        return names

    def names_of_abc(self) -> Names:
        def abstractmethod(funcobj: Any) -> Any:
            return real_import("abc").abstractmethod(funcobj) if type(funcobj) is ProgramFunction else funcobj

        return {"ABCMeta": typing_names.Form("ABCMeta"), "abstractmethod": abstractmethod}

    def names_of_collections(self) -> Names:
        collections = real_import("collections")
        hash_cost.HASHING_CLASSES.update((collections.Counter, collections.OrderedDict, collections.defaultdict))
        return {"namedtuple": self.namedtuple}

    def names_of_collections_abc(self) -> Names:
        abc = real_import("collections.abc")
        return {"*": lambda name: self.gate.type_name(getattr(abc, name))}

    def names_of_copy(self) -> Names:
        def deepcopy(x: Any, memo: Any = None) -> Any:
            # Python takes the parts of the copy from the memo: any object for any other, also a class or its state.
            if memo is not None and not (type(memo) is dict and not memo):
                raise TypeError("deepcopy() takes no memo with entries in gradtrace scripts")
            return real_import("copy").deepcopy(x)

        return {"deepcopy": with_name(deepcopy, "deepcopy")}

    def names_of_functools(self) -> Names:
        functools = real_import("functools")
        hash_cost.HASHING_TYPES.add(type(functools.cache(wraps)))

        def total_ordering(cls: Any) -> Any:
            if cls not in self.gate.own:
                raise TypeError("total_ordering() takes a class of the program")
            return functools.total_ordering(cls)

        def reduce(function: Any, iterable: Any, *initial: Any) -> Any:
            return functools.reduce(function, iterable, *initial)

        return {"wraps": wraps, "total_ordering": total_ordering, "reduce": with_name(reduce, "reduce")}

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
            "listdir": file_function("listdir", self.meter),
        }

    def names_of_os_path(self) -> Names:
        names = system_modules.path_names(self.saved.has, self.meter)
        return {**names, "getsize": file_function("getsize", self.meter)}

    def names_of_glob(self) -> Names:
        return {name: file_function(name, self.meter) for name in NAMES["glob"]}

    def names_of_pathlib(self) -> Names:
        from gradtrace.lang.program_files import Disk, PathObject

        disk = Disk(self.saved.has, self.meter, self.find("os", "makedirs"))
        make = with_name(lambda *parts: PathObject(disk, *parts), "Path")
        return {"Path": make, "PosixPath": make, "PurePath": make}

    def names_of_statistics(self) -> Names:
        return {name: self.visitor("statistics", name) for name in NAMES["statistics"]}

    def names_of_sys(self) -> Names:
        return {
            "argv": self.argv,
            "executable": "",
            "exit": exit_program,
            "getrecursionlimit": lambda: self.meter.deepest,
            "getsizeof": lambda value, *default: sys.getsizeof(value),
            "modules": {},
            "path": [],
            "setrecursionlimit": lambda limit: None,
            "stdout": self.streams.stdout,
            "stderr": self.streams.stderr,
        }

    def names_of_time(self) -> Names:
        return {"sleep": self.sleep, "strftime": metered_builtins.charged_strftime(time.strftime, self.meter)}

    def names_of_types(self) -> Names:
        kinds = {
            "FunctionType": ProgramFunction,
            "GeneratorType": Generator,
            "LambdaType": ProgramFunction,
            "MethodType": MethodType,
            "NoneType": type(None),
        }
        named = {name: self.gate.type_name(kind) for name, kind in kinds.items()}
        return {**named, "SimpleNamespace": SimpleNamespace}

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
        """Write a message of gradtrace's to stderr, the first time only."""
        self.streams.tell_once(f"gradtrace: {message}")
