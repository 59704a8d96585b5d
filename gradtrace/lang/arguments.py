"""Bind the arguments of a call to a frame, the dict of a function's variables, with Python's TypeErrors."""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable
from gradtrace.lang.unit import Frame
from gradtrace.lang.words import Names
from gradtrace.program import syntax as ast


class Parameters:
    """The parameters of a `def` or `lambda`."""

    def __init__(self, name: str, a: ast.arguments) -> None:
        self.name = name  # qualified name, for messages
        self.positional = [p.arg for p in (*a.posonlyargs, *a.args)]
        self.only_positional = {p.arg for p in a.posonlyargs}
        self.by_name = {p.arg for p in (*a.args, *a.kwonlyargs)}
        self.keyword_only = [p.arg for p in a.kwonlyargs]
        self.rest = a.vararg.arg if a.vararg else None
        self.extra = a.kwarg.arg if a.kwarg else None
        self.is_plain = not (self.rest or self.extra or self.keyword_only)

    def bind(self, args: tuple[Any, ...], kwargs: Names, defaults: Names) -> Frame:
        """Return the frame of a call; raise TypeError with Python's message if the arguments do not match."""
        frame: Frame = dict(zip(self.positional, args))
        extra: Names = {}
        for key, value in kwargs.items():
            if key not in self.by_name:
                extra[key] = value
            elif key in frame:
                raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
            else:
                frame[key] = value
        if extra and self.extra is None:
            raise self.unexpected(extra)
        if len(args) > len(self.positional) and self.rest is None:
            raise self.too_many(args, frame, defaults)
        self.fill(frame, defaults)
        if self.rest is not None:
            frame[self.rest] = args[len(self.positional) :]
        if self.extra is not None:
            frame[self.extra] = extra
        return frame

    def signature(self, defaults: Names) -> Any:
        """Return the parameters as an inspect.Signature, for library code that asks for it."""
        import inspect

        only = [inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD]
        kinds: list[tuple[str, Any]] = [(name, only[name not in self.only_positional]) for name in self.positional]
        kinds += [(self.rest, inspect.Parameter.VAR_POSITIONAL)] if self.rest else []
        kinds += [(name, inspect.Parameter.KEYWORD_ONLY) for name in self.keyword_only]
        kinds += [(self.extra, inspect.Parameter.VAR_KEYWORD)] if self.extra else []
        empty = inspect.Parameter.empty
        return inspect.Signature([inspect.Parameter(n, kind, default=defaults.get(n, empty)) for n, kind in kinds])

    def fill(self, frame: Frame, defaults: Names) -> None:
        for names, kind in ((self.positional, "positional"), (self.keyword_only, "keyword-only")):
            missing = [name for name in names if name not in frame and name not in defaults]
            if missing:
                s = "s" if len(missing) > 1 else ""
                raise TypeError(
                    f"{self.name}() missing {len(missing)} required {kind} argument{s}: {comma_list(missing)}"
                )
        for key, value in defaults.items():
            if key not in frame:
                frame[key] = value

    def unexpected(self, extra: Names) -> TypeError:
        wrong = [key for key in extra if key in self.only_positional]
        if wrong:
            return TypeError(
                f"{self.name}() got some positional-only arguments passed as keyword arguments: '{', '.join(wrong)}'"
            )
        return TypeError(f"{self.name}() got an unexpected keyword argument '{next(iter(extra))}'")

    def too_many(self, args: tuple[Any, ...], frame: Frame, defaults: Names) -> TypeError:
        n, given = len(self.positional), len(args)
        least = sum(name not in defaults for name in self.positional)
        takes = f"from {least} to {n}" if least < n else f"{n}"
        s = "" if n == 1 and least == n else "s"
        keywords = [name for name in self.keyword_only if name in frame]
        was = "was" if given == 1 and not keywords else "were"
        also, k = "", len(keywords)
        if keywords:
            also = f" positional argument{plural(given)} (and {k} keyword-only argument{plural(k)})"
        return TypeError(f"{self.name}() takes {takes} positional argument{s} but {given}{also} {was} given")


def plural(n: int) -> str:
    return "" if n == 1 else "s"


def comma_list(names: Iterable[str]) -> str:
    """Join names as Python's messages do: 'a', 'b', and 'c'."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
