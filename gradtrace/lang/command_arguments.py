"""The module `argparse` of programs: wraps Python's parser, so that only the methods below are available.

Files (`FileType`, `fromfile_prefix_chars`) and classes of Python's own (`action=`, `formatter_class=`) are not
available; messages go to the program's streams.
"""

from __future__ import annotations

import os

from gradtrace.annotations import Any, AnyFunction
from gradtrace.lang import wall
from gradtrace.lang.builtins import Streams
from gradtrace.lang.strings import Strings
from gradtrace.lang.values import Attributes, Constant, Frozen, attributes_of, named
from gradtrace.lang.words import Names, refuse_unknown, words

FORMATTERS = words("""ArgumentDefaultsHelpFormatter HelpFormatter MetavarTypeHelpFormatter RawDescriptionHelpFormatter
    RawTextHelpFormatter""")
CONSTANTS = words("ONE_OR_MORE OPTIONAL REMAINDER SUPPRESS ZERO_OR_MORE")
ACTIONS = words("store store_const store_true store_false append append_const count extend help version")
OF_ARGUMENT = "action choices const default dest help metavar nargs required type version"
OF_PARSER = "add_help allow_abbrev argument_default conflict_handler description epilog exit_on_error prog usage"
TYPES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("dest", "help", "version"), ("a str", str)),
    "metavar": ("a str or a tuple", str, tuple),
    "nargs": ("an int or a str", int, str),
}
PASSED_ON = ("set_defaults", "get_default", "format_help", "format_usage")
COLUMNS = 80  # of a terminal of unknown width, as Python assumes


class Namespace(Attributes):
    """The programs' version of argparse.Namespace."""

    __module__ = "argparse"


def find_names(streams: Streams, strings: Strings, argv: list[str]) -> Names:
    """Return the module's names and their values, for one run; `argv` is the program's `sys.argv`."""
    with wall.lowered():
        import argparse
        import errno  # noqa: F401 - gettext imports these on its first call
        import locale  # noqa: F401

    constants = {name: getattr(argparse, name) for name in CONSTANTS}
    classes = {name: Constant(getattr(argparse, name)) for name in (*FORMATTERS, "BooleanOptionalAction")}
    return {
        **constants,
        **classes,
        "ArgumentError": argparse.ArgumentError,
        "ArgumentTypeError": argparse.ArgumentTypeError,
        "ArgumentParser": Maker(argparse, streams, strings, argv),
        "Namespace": Namespace,
    }


class Maker(Frozen):
    """The `argparse.ArgumentParser` of programs; calling it makes a Parser."""

    __slots__ = ("_argparse", "_argv", "_streams", "_strings")
    __name__ = __qualname__ = "ArgumentParser"

    def __init__(self, argparse: Any, streams: Streams, strings: Strings, argv: list[str]) -> None:
        self._argparse = argparse
        self._streams = streams
        self._strings = strings
        self._argv = argv

    def __call__(self, prog: Any = None, usage: Any = None, description: Any = None, **options: Any) -> Parser:
        options.update(prog=prog, usage=usage, description=description)
        given = self._options(options)
        given["prog"] = given["prog"] or os.path.basename(self._argv[0])
        return Parser(self._with_streams(self._argparse.ArgumentParser)(**given), self)

    def _options(self, options: Names) -> Names:
        """Return the options for Python's parser."""
        argparse = self._argparse
        formatter = options.pop("formatter_class", None)
        kind = formatter._real if type(formatter) is Constant else argparse.HelpFormatter
        refuse_unknown("ArgumentParser.__init__", options, OF_PARSER)
        for key, value in options.items():
            if value is not None and type(value) not in (str, bool):
                raise TypeError(f"{key} must be a str or a bool, not {type(value).__name__}")
            if type(value) is str:
                self._strings.check(value)
        return {**options, "formatter_class": lambda prog: kind(prog, width=COLUMNS - 2)}

    def _with_streams(self, parser: Any) -> Any:
        streams = self._streams

        class Quiet(parser):  # type: ignore[misc]
            """A subclass of Python's parser that writes to the program's streams and exits by raising SystemExit."""

            def _print_message(self, message: str, file: Any = None) -> None:
                if message:
                    (streams.stdout if getattr(file, "name", "") == "<stdout>" else streams.stderr).write(message)

            def exit(self, status: int = 0, message: str | None = None) -> None:
                self._print_message(message or "")
                raise SystemExit(status)

        return Quiet


class Group(Frozen):
    """The object whose `add_argument` a program calls: a parser, or a group of its arguments."""

    __slots__ = ("_maker", "_real")

    def __init__(self, real: Any, maker: Maker) -> None:
        self._real = real
        self._maker = maker

    def add_argument(self, *names: str, **how: Any) -> None:
        """Add an argument. Returns None, where Python returns an Action."""
        for name in names:
            if type(name) is not str:
                raise TypeError(f"argument names must be str, not {type(name).__name__}")
        refuse_unknown("_StoreAction.__init__", how, OF_ARGUMENT)
        self._real.add_argument(*names, **{key: self._plain(key, value) for key, value in how.items()})

    def _plain(self, key: str, value: Any) -> Any:
        if key == "action":
            if type(value) is Constant:
                return value._real
            if value not in ACTIONS:
                raise ValueError(f"unknown action {str(value)!r}")
        what, *kinds = TYPES.get(key, ("", type(value)))
        if value is not None and type(value) not in kinds:
            raise TypeError(f"{key} must be {what}, not {type(value).__name__}")
        if key == "help" and value is not None:
            self._maker._strings.check(value)
        if key == "nargs" and type(value) is int:
            self._maker._strings.meter.reserve(64 * abs(value))
        return list(value) if key == "choices" and value is not None else value

    def add_mutually_exclusive_group(self, *, required: bool = False) -> Group:
        return Group(self._real.add_mutually_exclusive_group(required=bool(required)), self._maker)

    def add_argument_group(self, title: Any = None, description: Any = None) -> Group:
        texts = [None if text is None else str(text) for text in (title, description)]
        return Group(self._real.add_argument_group(*texts), self._maker)


def of_parser(name: str) -> AnyFunction:
    """Return the method of parsers that passes its arguments on to Python's."""
    return named(lambda self, *args, **how: getattr(self._real, name)(*args, **how), name, "ArgumentParser.")


class Parser(Group):
    """An argument parser of a program (argparse.ArgumentParser)."""

    __slots__ = ()

    prog, description = attributes_of("_real", "prog description")
    set_defaults, get_default, format_help, format_usage = map(of_parser, PASSED_ON)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found = self._real.parse_args(self._list(args), self._known(namespace))
        return self._filled(namespace, vars(found))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = self._real.parse_known_args(self._list(args), self._known(namespace))
        return self._filled(namespace, vars(found)), rest

    def _list(self, args: Any) -> list[str]:
        given = self._maker._argv[1:] if args is None else list(args)
        wrong = next((arg for arg in given if type(arg) is not str), None)
        if wrong is not None:
            raise TypeError(f"arguments must be str, not {type(wrong).__name__}")
        return given

    def _known(self, namespace: Any) -> Any:
        """Return Python's Namespace with the attributes of a program's namespace object."""
        if namespace is None:
            return None
        if not isinstance(namespace, Attributes):
            raise TypeError(f"namespace must be an argparse.Namespace, not {type(namespace).__name__}")
        return self._maker._argparse.Namespace(**vars(namespace))

    def _filled(self, namespace: Any, values: Names) -> Any:
        if namespace is None:
            return Namespace(**values)
        vars(namespace).update(values)
        return namespace

    def add_subparsers(self, **options: Any) -> Subparsers:
        known = words("dest description help metavar prog required title")
        for key, value in options.items():
            if key not in known or type(value) not in (str, bool, type(None)):
                raise TypeError(f"add_subparsers() got an unexpected argument '{key}'")
        maker = self._maker
        kind = maker._with_streams(maker._argparse.ArgumentParser)
        return Subparsers(self._real.add_subparsers(**options, parser_class=kind), maker)

    def print_help(self, file: Any = None) -> None:
        self._maker._streams.stdout.write(self.format_help())

    def print_usage(self, file: Any = None) -> None:
        self._maker._streams.stdout.write(self.format_usage())

    def error(self, message: str) -> None:
        self._real.error(str(message))

    def exit(self, status: int = 0, message: str | None = None) -> None:
        self._real.exit(status, None if message is None else str(message))

    def __repr__(self) -> str:
        return f"ArgumentParser(prog={self.prog!r}, description={self.description!r})"


class Subparsers(Frozen):
    """The result of `add_subparsers`."""

    __slots__ = ("_maker", "_real")

    def __init__(self, real: Any, maker: Maker) -> None:
        self._real = real
        self._maker = maker

    def add_parser(self, name: str, *, help: Any = None, aliases: Any = (), **options: Any) -> Parser:
        given = self._maker._options(options)
        if type(name) is not str:
            raise TypeError(f"the name must be a str, not {type(name).__name__}")
        if help is not None:
            given["help"] = self._maker._strings.check(str(help))
        return Parser(self._real.add_parser(name, aliases=[str(a) for a in aliases], **given), self._maker)
