"""The module `re` of programs: Python's, with the searches of patterns charged to the budget.

Python's matcher looks for signals while it searches, so the time limit of the command line ends a search that would
take exponential time. `re.DEBUG`, which prints, is not available.
"""

from __future__ import annotations

import re

from gradtrace.annotations import Any, AnyFunction
from gradtrace.lang.budget import Meter
from gradtrace.lang.costs import length_of
from gradtrace.lang.iteration import metered
from gradtrace.lang.values import named
from gradtrace.lang.words import Names, refuse_unknown, words

SEARCHES = words("findall finditer fullmatch match search split sub subn")
REPLACING = words("sub subn")
KNOWN = re.ASCII | re.IGNORECASE | re.LOCALE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE


def charging_methods(meter: Meter) -> dict[tuple[type, str], AnyFunction]:
    """Return the methods of patterns and matches that are charged, for the gate."""

    def expand(match: re.Match[str], template: str) -> str:
        meter.reserve(longest_expansion(match, template))
        return match.expand(template)

    methods: dict[tuple[type, str], Any] = {(re.Pattern, name): searcher(name, meter) for name in SEARCHES}
    methods[re.Match, "expand"] = named(expand, "expand", "Match.")
    return {place: method.__get__ for place, method in methods.items()}


def searcher(name: str, meter: Meter) -> AnyFunction:
    """Return a method of patterns that is charged for the text that it reads and makes."""
    real, place = getattr(re.Pattern, name), int(name in REPLACING)  # of the text among the arguments

    def search(pattern: re.Pattern[str], *args: Any, **how: Any) -> Any:
        string = args[place] if len(args) > place else how.get("string", "")
        charge_reading(string, meter)
        if place and args:
            args = (charged_replacement(pattern, args[0], string, meter), *args[1:])
        elif place and "repl" in how:
            how["repl"] = charged_replacement(pattern, how["repl"], string, meter)
        found = real(pattern, *args, **how)
        return metered(found, meter) if name == "finditer" else found

    return named(search, name, "Pattern.")


def charge_reading(string: Any, meter: Meter) -> None:
    if type(string) is not str:
        raise TypeError(f"expected string or bytes-like object, got '{type(string).__name__}'")
    meter.count_steps(1 + len(string) // 64)
    meter.count_items(len(string))


def charged_replacement(pattern: re.Pattern[str], template: Any, string: str, meter: Meter) -> Any:
    """Return a replacement after its results were reserved; of a function each result is reserved when it is made."""
    if callable(template):
        return charged_calls(template, len(string), meter)
    if type(template) is not str:
        raise TypeError(f"decoding to str: need a bytes-like object, {type(template).__name__} found")
    longest = len(template) + template.count("\\") * len(string)
    if longest * (len(string) + 1) >= 1_000_000:
        matches = metered(pattern.finditer(string), meter)
        meter.reserve(len(string) + sum(longest_expansion(match, template) for match in matches))
    return template


def charged_calls(function: AnyFunction, made: int, meter: Meter) -> AnyFunction:
    """Return a function that replaces matches, charged for each call; its results together are one text."""

    def replace(match: re.Match[str]) -> Any:
        nonlocal made
        meter.count_steps(1)
        result = function(match)
        made += length_of(result)
        meter.reserve(made)
        return result

    return replace


def longest_expansion(match: re.Match[str], template: str) -> int:
    """Return the size of a template if each reference is the longest group, which a lookahead may read past a match."""
    return len(template) + template.count("\\") * max(end - start for start, end in match.regs)


def find_names(meter: Meter) -> Names:
    """Return the module's names and their values, for one run."""

    def compile(pattern: Any, flags: int = 0) -> re.Pattern[str]:
        if isinstance(pattern, re.Pattern):
            if flags:
                raise ValueError("cannot process flags argument with a compiled pattern")
            return pattern
        if type(pattern) is not str:
            raise TypeError("first argument must be string or compiled pattern")
        if int(flags) & ~KNOWN:
            raise ValueError("re.DEBUG and re.TEMPLATE are not available in gradtrace scripts")
        meter.count_steps(1 + len(pattern))
        return re.compile(pattern, int(flags))

    def escape(pattern: str) -> str:
        if type(pattern) is not str:
            raise TypeError(f"decoding to str: need a bytes-like object, {type(pattern).__name__} found")
        return re.escape(pattern)

    def purge() -> None:
        """Do nothing: a program has no cache of patterns."""

    searches = {name: module_function(name, compile, searcher(name, meter)) for name in SEARCHES}
    return {**searches, "compile": compile, "escape": escape, "purge": purge}


def module_function(name: str, compile: AnyFunction, method: AnyFunction) -> AnyFunction:
    """Return the function of the module `re` that calls a method of patterns (`re.search` for `search`)."""
    known = {"split": "string maxsplit", "sub": "repl string count", "subn": "repl string count"}.get(name, "string")

    def search(pattern: Any, *args: Any, flags: int = 0, **named: Any) -> Any:
        last = {"sub": 3, "subn": 3, "split": 2}.get(name, 1)
        if len(args) == last + 1:  # positional flags
            *args, flags = args  # type: ignore[assignment]
        refuse_unknown(name, named, known)
        return method(compile(pattern, flags), *args, **named)

    return named(search, name)
