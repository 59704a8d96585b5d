"""The module `re` of programs: Python's, with patterns and matches whose methods are bounded by the budget.

Python's matcher looks for signals while it searches, so the time limit of the command line ends a search that would
take exponential time. `re.DEBUG`, which prints, is not available.
"""

from __future__ import annotations

import re

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.lang.budget import Meter
from gradtrace.lang.values import Frozen, attributes_of, named
from gradtrace.lang.words import Names, words

FLAGS = words("A ASCII I IGNORECASE L LOCALE M MULTILINE NOFLAG S DOTALL U UNICODE X VERBOSE")
SEARCHES = words("findall finditer fullmatch match search split sub subn")
KNOWN = re.ASCII | re.IGNORECASE | re.LOCALE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE


def finding(name: str) -> AnyFunction:
    """Return the method of patterns that finds one match, or None."""

    def find(self: Pattern, string: str, *bounds: int) -> Match | None:
        match = getattr(self._pattern, name)(self._read(string), *bounds)
        return None if match is None else Match(match, self)

    return named(find, name, "Pattern.")


def of_match(name: str) -> AnyFunction:
    """Return the method of matches that passes the groups on to Python's."""
    return named(lambda self, *groups: getattr(self._match, name)(*groups), name, "Match.")


class Pattern(Frozen):
    """A compiled regular expression."""

    __slots__ = ("_meter", "_pattern")
    __module__ = "re"

    def __init__(self, pattern: re.Pattern[str], meter: Meter) -> None:
        self._pattern = pattern
        self._meter = meter

    pattern, flags, groups = attributes_of("_pattern", "pattern flags groups")

    @property
    def groupindex(self) -> dict[str, int]:
        return dict(self._pattern.groupindex)

    match, fullmatch, search = map(finding, ("match", "fullmatch", "search"))

    def findall(self, string: str, *bounds: int) -> list[Any]:
        return self._pattern.findall(self._read(string), *bounds)

    def finditer(self, string: str, *bounds: int) -> Any:
        matches = self._pattern.finditer(self._read(string), *bounds)
        meter = self._meter

        def found() -> Any:
            for match in matches:
                meter.count_steps(1)
                yield Match(match, self)

        return found()

    def split(self, string: str, maxsplit: int = 0) -> list[Any]:
        return self._pattern.split(self._read(string), maxsplit)

    def sub(self, repl: Any, string: str, count: int = 0) -> str:
        return self.subn(repl, string, count)[0]

    def subn(self, repl: Any, string: str, count: int = 0) -> tuple[str, int]:
        self._read(string)
        if callable(repl):
            return self._pattern.subn(lambda match: repl(Match(match, self)), string, count)
        if type(repl) is not str:
            raise TypeError(f"decoding to str: need a bytes-like object, {type(repl).__name__} found")
        self._reserve(len(repl), string)
        return self._pattern.subn(repl, string, count)

    def _reserve(self, length: int, string: str) -> None:
        """Reserve the size of a text in which each match is replaced; a group may be as long as the text."""
        if length * (len(string) + 1) < 1_000_000:
            return
        matches = 0
        for _ in self._pattern.finditer(string):
            matches += 1
            self._meter.count_steps(1)
        self._meter.reserve(len(string) + matches * length)

    def _read(self, string: Any) -> str:
        if type(string) is not str:
            raise TypeError(f"expected string or bytes-like object, got '{type(string).__name__}'")
        self._meter.count_steps(1 + len(string) // 64)
        self._meter.count_items(len(string))
        return string

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._pattern == other._pattern

    def __hash__(self) -> int:
        return hash(self._pattern)

    def __repr__(self) -> str:
        return repr(self._pattern)


class Match(Frozen):
    """The result of a match."""

    __slots__ = ("_match", "re")
    __module__ = "re"

    def __init__(self, match: re.Match[str], pattern: Pattern) -> None:
        self._match = match
        self.re = pattern

    string, pos, endpos = attributes_of("_match", "string pos endpos")
    lastindex, lastgroup = attributes_of("_match", "lastindex lastgroup")

    group, start, end, span = map(of_match, ("group", "start", "end", "span"))

    def groups(self, default: Any = None) -> Any:
        return self._match.groups(default)

    def groupdict(self, default: Any = None) -> Any:
        return self._match.groupdict(default)

    def expand(self, template: str) -> str:
        self.re._meter.reserve(len(template) * (len(self._match.string) + 1))
        return self._match.expand(template)

    def __getitem__(self, group: Any) -> Any:
        return self._match[group]

    def __repr__(self) -> str:
        return repr(self._match)


def find_names(meter: Meter) -> Names:
    """Return the module's names and their values, for one run."""

    def compile(pattern: Any, flags: int = 0) -> Pattern:
        if isinstance(pattern, Pattern):
            if flags:
                raise ValueError("cannot process flags argument with a compiled pattern")
            return pattern
        if type(pattern) is not str:
            raise TypeError("first argument must be string or compiled pattern")
        if int(flags) & ~KNOWN:
            raise ValueError("re.DEBUG and re.TEMPLATE are not available in gradtrace scripts")
        meter.count_steps(1 + len(pattern))
        return Pattern(re.compile(pattern, int(flags)), meter)

    def escape(pattern: str) -> str:
        if type(pattern) is not str:
            raise TypeError(f"decoding to str: need a bytes-like object, {type(pattern).__name__} found")
        return re.escape(pattern)

    def purge() -> None:
        """Do nothing: a program has no cache of patterns."""

    fixed: Names = {name: getattr(re, name) for name in FLAGS}
    fixed.update({name: searcher(name, compile) for name in SEARCHES})
    return {
        **fixed,
        "compile": compile,
        "error": re.error,
        "escape": escape,
        "purge": purge,
        "Match": Match,
        "Pattern": Pattern,
        "RegexFlag": re.RegexFlag,
    }


def searcher(name: str, compile: Callable[..., Pattern]) -> Callable[..., Any]:
    """Return the function of the module `re` that calls a method of patterns (`re.search` for `search`)."""
    limited = {"split": "maxsplit", "sub": "count", "subn": "count"}.get(name)

    def search(pattern: Any, *args: Any, flags: int = 0, **named: Any) -> Any:
        last = {"sub": 3, "subn": 3, "split": 2}.get(name, 1)
        if len(args) == last + 1:  # positional flags
            *args, flags = args  # type: ignore[assignment]
        if any(key not in ("string", "repl", limited) for key in named):
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
        return getattr(compile(pattern, flags), name)(*args, **named)

    return named(search, name)
