"""Compilers of `match`: a pattern becomes a closure that takes the frame and the subject and says if it matches.

As in Python, what a pattern captures is stored in the variables only when the whole pattern has matched.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang.expressions import compile_expression, compiles
from gradtrace.lang.hash_cost import charge_key
from gradtrace.lang.known_classes import class_at
from gradtrace.lang.operators import guarded_comparison
from gradtrace.lang.scope import captured_name
from gradtrace.lang.statements import compile_block
from gradtrace.lang.unit import Code, Frame, Unit
from gradtrace.program import syntax as ast

Captures = dict[str, Any]
Pattern = Callable[[Frame, Any, Captures], bool]
ITSELF = (bool, float, frozenset, int, list, set, str, tuple, dict)  # `int(n)` binds the subject itself


@compiles(ast.Match)
def compile_match(node: ast.Match, unit: Unit) -> Code:
    subject, origin = unit.located(node.subject)
    choose, blocks = compile_cases(node, unit), [compile_block(case.body, unit) for case in node.cases]

    def execute(f: Frame) -> Any:
        value = subject(f)
        state.origin = origin
        chosen = choose(f, value)
        return None if chosen is None else blocks[chosen](f)

    return execute


def compile_cases(node: ast.Match, unit: Unit) -> Callable[[Frame, Any], int | None]:
    """Return the closure that finds the first matching case, stores its captures and returns its number or None."""
    cases = [compile_case(case, unit) for case in node.cases]
    meter = unit.meter

    def choose(f: Frame, value: Any) -> int | None:
        for i, (matches, stores, guard) in enumerate(cases):
            meter.count_steps(1)
            captures: Captures = {}
            if not matches(f, value, captures):
                continue
            for name, captured in captures.items():
                stores[name](f, captured)
            if guard is None or guard(f):
                return i
        return None

    return choose


def compile_case(case: ast.match_case, unit: Unit) -> tuple[Pattern, dict[str, Any], Code | None]:
    captured = map(captured_name, ast.walk(case.pattern))
    stores = {name: unit.store(name) for name in captured if name is not None}
    guard = None if case.guard is None else compile_expression(case.guard, unit)
    return compile_pattern(case.pattern, unit), stores, guard


def compile_pattern(node: Any, unit: Unit) -> Pattern:
    return PATTERNS[type(node)](node, unit)


def value_pattern(node: ast.MatchValue, unit: Unit) -> Pattern:
    wanted, origin = unit.located(node.value)
    direct, apply, guarded = guarded_comparison(ast.Eq, unit.meter)

    def matches(f: Frame, value: Any, captures: Captures) -> bool:
        other = wanted(f)
        state.origin = origin
        return bool(apply(value, other) if type(value) in direct else guarded(value, other))

    return matches


def singleton(node: ast.MatchSingleton, unit: Unit) -> Pattern:
    wanted = node.value
    return lambda f, value, captures: value is wanted


def alternatives(node: ast.MatchOr, unit: Unit) -> Pattern:
    patterns = [compile_pattern(p, unit) for p in node.patterns]

    def matches(f: Frame, value: Any, captures: Captures) -> bool:
        for pattern in patterns:
            found: Captures = {}
            if pattern(f, value, found):
                captures.update(found)
                return True
        return False

    return matches


def capture(node: ast.MatchAs, unit: Unit) -> Pattern:
    pattern = None if node.pattern is None else compile_pattern(node.pattern, unit)
    name = node.name

    def matches(f: Frame, value: Any, captures: Captures) -> bool:
        if pattern is not None and not pattern(f, value, captures):
            return False
        if name is not None:
            captures[name] = value
        return True

    return matches


def sequence(node: ast.MatchSequence, unit: Unit) -> Pattern:
    star = next((i for i, p in enumerate(node.patterns) if isinstance(p, ast.MatchStar)), None)
    rest = None if star is None else node.patterns[star].name  # type: ignore[attr-defined]
    before = [compile_pattern(p, unit) for p in node.patterns[:star]]
    after = [] if star is None else [compile_pattern(p, unit) for p in node.patterns[star + 1 :]]
    least = len(before) + len(after)

    def matches(f: Frame, value: Any, captures: Captures) -> bool:
        if not is_sequence(value):
            return False
        n = len(value)
        if n < least or (star is None and n > least):
            return False
        end = n - len(after)
        if not all(pattern(f, value[i], captures) for i, pattern in enumerate(before)):
            return False
        if rest is not None:
            captures[rest] = [value[i] for i in range(len(before), end)]
        return all(pattern(f, value[end + i], captures) for i, pattern in enumerate(after))

    return matches


def is_sequence(value: Any) -> bool:
    """Whether sequence patterns match the value; as in Python they match neither strings nor iterators."""
    return isinstance(value, (list, tuple, range)) or type(value) is class_at("collections:deque")


def mapping(node: ast.MatchMapping, unit: Unit) -> Pattern:
    keys = [compile_expression(key, unit) for key in node.keys]
    patterns, rest = [compile_pattern(p, unit) for p in node.patterns], node.rest
    meter = unit.meter

    def matches(f: Frame, value: Any, captures: Captures) -> bool:
        if not isinstance(value, dict):
            return False
        wanted = [key(f) for key in keys]
        for key, pattern in zip(wanted, patterns):
            if isinstance(key, tuple):
                charge_key(key, meter)
            if key not in value or not pattern(f, value[key], captures):
                return False
        if rest is not None:
            captures[rest] = {key: item for key, item in value.items() if key not in wanted}
        return True

    return matches


def class_pattern(node: ast.MatchClass, unit: Unit) -> Pattern:
    kind, origin, get = *unit.located(node.cls), unit.gate.get
    positional = [compile_pattern(p, unit) for p in node.patterns]
    named = [(key, compile_pattern(p, unit)) for key, p in zip(node.kwd_attrs, node.kwd_patterns)]
    isinstance_of = unit.machine.unbound_value("isinstance")

    def matches(f: Frame, value: Any, captures: Captures) -> bool:
        wanted = kind(f)
        state.origin = origin
        if not isinstance(wanted, type):
            raise TypeError("called match pattern must be a class")
        if not isinstance_of(value, wanted):
            return False
        fields = named
        if positional:
            if wanted in ITSELF:
                if len(positional) > 1:
                    raise TypeError(f"{wanted.__name__}() accepts 1 positional sub-pattern ({len(positional)} given)")
                if not positional[0](f, value, captures):
                    return False
            else:
                fields = [*zip(positional_names(wanted, len(positional)), positional), *named]
        for name, pattern in fields:
            try:
                part = get(value, name)
            except AttributeError:
                return False
            if not pattern(f, part, captures):
                return False
        return True

    return matches


def positional_names(kind: type, count: int) -> tuple[str, ...]:
    """Return the attributes that positional sub-patterns of a class stand for: its `__match_args__`."""
    names = () if issubclass(kind, Tensor) else getattr(kind, "__match_args__", ())
    if type(names) is not tuple or not all(type(name) is str for name in names):
        raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple of strings")
    if count > len(names):
        s = "" if len(names) == 1 else "s"
        raise TypeError(f"{kind.__name__}() accepts {len(names)} positional sub-pattern{s} ({count} given)")
    return names[:count]


PATTERNS: dict[type, Any] = {
    ast.MatchValue: value_pattern,
    ast.MatchSingleton: singleton,
    ast.MatchOr: alternatives,
    ast.MatchAs: capture,
    ast.MatchSequence: sequence,
    ast.MatchMapping: mapping,
    ast.MatchClass: class_pattern,
}
