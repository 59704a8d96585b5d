"""The modules of programs that work on text: `ast`, `string`, `textwrap`, `json`, `pprint` and `unicodedata`."""

from __future__ import annotations

import ast
from importlib import import_module as real_import

from gradtrace.annotations import Any, AnyFunction
from gradtrace.lang import wall
from gradtrace.lang.budget import Meter
from gradtrace.lang.builtins import Stream, Streams
from gradtrace.lang.costs import charge_text, length_of
from gradtrace.lang.iteration import charged
from gradtrace.lang.values import Frozen, named
from gradtrace.lang.words import Names, refuse_unknown, words
from gradtrace.program.depth import deep

NAMES = {
    "ast": words("literal_eval"),
    "string": words("""ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
        punctuation whitespace"""),
    "textwrap": words("dedent fill indent shorten wrap"),
    "json": words("JSONDecodeError dump dumps load loads"),
    "pprint": words("PrettyPrinter pformat pp pprint"),
    "unicodedata": words("bidirectional category combining decimal digit lookup name normalize numeric"),
}


def textwrap_names(meter: Meter) -> Names:
    with wall.lowered():
        import textwrap
    return {"*": lambda name: metered_text(getattr(textwrap, name), meter)}


def metered_text(function: AnyFunction, meter: Meter) -> AnyFunction:
    """Wrap a function of a string to count each character as a step and to reserve memory for the result."""

    def call(text: str, *args: Any, **how: Any) -> Any:
        if type(text) is not str:
            raise TypeError(f"expected a str, not {type(text).__name__}")
        meter.count_steps(1 + len(text))
        texts = [value for value in (*args, *how.values()) if type(value) is str]
        meter.reserve((1 + len(text)) * (1 + sum(map(len, texts))))
        return function(text, *args, **how)

    return named(call, function.__name__)


def unicodedata_names(meter: Meter) -> Names:
    def charge(args: Any, _: Any) -> None:
        meter.count_items(4 * sum(map(length_of, args)))

    return {"normalize": charged(real_import("unicodedata").normalize, charge)}


def ast_names(meter: Meter) -> Names:
    """Return an ast.literal_eval that reads numbers, strings, True, False, None and containers of them."""

    def literal_eval(node_or_string: str) -> Any:
        if type(node_or_string) is not str:
            raise ValueError("malformed node or string")
        meter.count_steps(1 + len(node_or_string))
        meter.reserve(1000 * len(node_or_string))
        try:
            with wall.lowered(), deep():
                tree = ast.parse(node_or_string.lstrip(" \t"), mode="eval")
                if any(type(getattr(node, "value", None)) in (bytes, complex) for node in ast.walk(tree)):
                    raise ValueError("malformed node or string: a program has no bytes and no complex numbers")
                return ast.literal_eval(tree)
        except ValueError as error:
            raise ValueError(str(error).partition(": <")[0]) from None
        except (MemoryError, RecursionError):
            raise SyntaxError("too many nested brackets or signs") from None

    return {"literal_eval": literal_eval}


def json_names(meter: Meter) -> Names:
    import json

    def dumps(obj: Any, *, indent: Any = None, sort_keys: bool = False, default: Any = None, **how: Any) -> str:
        refuse_unknown("JSONEncoder.__init__", how, "allow_nan check_circular ensure_ascii separators skipkeys")
        width = indent if type(indent) is int else len(indent) if type(indent) is str else 0
        meter.reserve(max(width, 0) * 1000)
        charge_text(obj, meter)
        return json.dumps(obj, indent=indent, sort_keys=sort_keys, default=default, **how)

    def loads(s: str, **how: Any) -> Any:
        if type(s) is not str:
            raise TypeError(f"the JSON object must be str, bytes or bytearray, not {type(s).__name__}")
        refuse_unknown(
            "JSONDecoder.__init__", how, "object_hook object_pairs_hook parse_constant parse_float parse_int strict"
        )
        meter.count_steps(1 + len(s))
        return json.loads(s, **how)

    def dump(obj: Any, fp: Any, **how: Any) -> None:
        fp.write(dumps(obj, **how))

    def load(fp: Any, **how: Any) -> Any:
        return loads(fp.read(), **how)

    return {"dump": dump, "dumps": dumps, "load": load, "loads": loads, "JSONDecodeError": json.JSONDecodeError}


def pprint_names(meter: Meter, streams: Streams) -> Names:
    with wall.lowered():
        import pprint as real

    def pformat(object: Any, indent: int = 1, width: int = 80, depth: Any = None, **how: Any) -> str:
        refuse_unknown("pformat", how, "compact sort_dicts underscore_numbers")
        meter.reserve(1000 * (abs(int(indent)) + abs(int(width))))
        charge_text(object, meter)
        return real.pformat(object, indent, width, depth, **how)

    def pprint(object: Any, stream: Any = None, *args: Any, **how: Any) -> None:
        if stream is not None and type(stream) is not Stream:
            raise TypeError("the stream is sys.stdout or sys.stderr")
        (stream or streams.stdout).write(pformat(object, *args, **how) + "\n")

    def pp(object: Any, *args: Any, sort_dicts: bool = False, **how: Any) -> None:
        pprint(object, *args, sort_dicts=sort_dicts, **how)

    def printer(
        indent: int = 1, width: int = 80, depth: Any = None, stream: Any = None, *, compact: bool = False, **how: Any
    ) -> PrettyPrinter:
        options = {"indent": indent, "width": width, "depth": depth, "compact": compact, **how}
        return PrettyPrinter(
            lambda object: pprint(object, stream, **options), lambda object: pformat(object, **options)
        )

    return {"pformat": pformat, "pprint": pprint, "pp": pp, "PrettyPrinter": named(printer, "PrettyPrinter")}


class PrettyPrinter(Frozen):
    """The programs' version of pprint.PrettyPrinter."""

    __slots__ = ("pformat", "pprint")

    def __init__(self, pprint: AnyFunction, pformat: AnyFunction) -> None:
        self.pprint, self.pformat = pprint, pformat
