"""The module `logging` of programs: loggers that write to the program's own streams."""

from __future__ import annotations

import time

from gradtrace.annotations import Any, Callable
from gradtrace.lang.builtins import Stream, Streams
from gradtrace.lang.strings import Strings
from gradtrace.lang.values import Frozen, named

LEVELS = {"NOTSET": 0, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
METHODS = {name.lower(): level for name, level in LEVELS.items() if level}
NUMBERS = {**LEVELS, "WARN": LEVELS["WARNING"], "FATAL": LEVELS["CRITICAL"]}
BASIC = "%(levelname)s:%(name)s:%(message)s"


def level_of(level: Any) -> int:
    """Return a level as a number; raise ValueError or TypeError with Python's message."""
    if type(level) is int:
        return level
    if type(level) is not str:
        raise TypeError(f"Level not an integer or a valid string: {level!r}")
    if level not in NUMBERS:
        raise ValueError(f"Unknown level: {level!r}")
    return NUMBERS[level]


def name_of(level: int) -> str:
    return next((name for name, number in LEVELS.items() if number == level), f"Level {level}")


class Formatter(Frozen):
    """The programs' version of logging.Formatter, with %-style formats only."""

    __slots__ = ("_dates", "_format")

    def __init__(self, fmt: str | None = None, datefmt: str | None = None) -> None:
        self._format = "%(message)s" if fmt is None else str(fmt)
        self._dates = None if datefmt is None else str(datefmt)

    def text(self, name: str, level: int, message: str, logs: Logs) -> str:
        """Return the text of a log record."""
        now = time.time()
        date = time.strftime(self._dates or "%Y-%m-%d %H:%M:%S", time.localtime(now))
        fields = {
            "name": name,
            "levelname": name_of(level),
            "levelno": level,
            "message": message,
            "asctime": date if self._dates else f"{date},{int(now % 1 * 1000):03}",
            "created": now,
            "module": "__main__",
            "filename": "<program>",
            "funcName": logs.function() if "funcName" in self._format else "",
            "lineno": logs.where()[1],
            "process": 0,
            "processName": "MainProcess",
            "thread": 0,
            "threadName": "MainThread",
        }
        return logs.strings.percent(self._format, fields)


class StreamHandler(Frozen):
    """The programs' version of logging.StreamHandler; without a stream it writes to stderr."""

    __slots__ = ("_formatter", "level", "stream")

    def __init__(self, stream: Any = None) -> None:
        if stream is not None and type(stream) is not Stream:
            raise TypeError("the stream of a handler is sys.stdout or sys.stderr")
        self.stream = stream
        self.level = 0
        self._formatter = Formatter()

    def setFormatter(self, fmt: Formatter) -> None:
        if type(fmt) is not Formatter:
            raise TypeError(f"expected a logging.Formatter, not {type(fmt).__name__}")
        self._formatter = fmt

    def setLevel(self, level: Any) -> None:
        self.level = level_of(level)


def level_method(name: str) -> Callable[..., None]:
    """Return the method of loggers that logs at the level of its name."""

    def log(self: Logger, msg: Any, *args: Any, **how: Any) -> None:
        self.log(METHODS[name], msg, *args, **how)

    return named(log, name, "Logger.")


class Logger(Frozen):
    """A logger of a program; its records also go to the handlers of the root logger."""

    __slots__ = ("_handlers", "_logs", "level", "name", "parent")

    def __init__(self, name: str, logs: Logs) -> None:
        self.name = name
        self.level = 0 if name != "root" else LEVELS["WARNING"]
        self.parent = None if name == "root" else logs.root
        self._handlers: list[StreamHandler] = []
        self._logs = logs

    @property
    def handlers(self) -> list[StreamHandler]:
        return list(self._handlers)

    def setLevel(self, level: Any) -> None:
        self.level = level_of(level)

    def getEffectiveLevel(self) -> int:
        return self.level or self._logs.root.level

    def isEnabledFor(self, level: int) -> bool:
        return level > self._logs.disabled and level >= self.getEffectiveLevel()

    def addHandler(self, handler: StreamHandler) -> None:
        if type(handler) is not StreamHandler:
            raise TypeError(f"expected a logging.StreamHandler, not {type(handler).__name__}")
        if handler not in self._handlers:
            self._handlers.append(handler)

    def removeHandler(self, handler: StreamHandler) -> None:
        if handler in self._handlers:
            self._handlers.remove(handler)

    def hasHandlers(self) -> bool:
        return bool(self._handlers or self._logs.root._handlers)

    def log(self, level: Any, msg: Any, *args: Any, **_: Any) -> None:
        if not self.isEnabledFor(level_of(level)):
            return
        logs = self._logs
        message = str(msg)
        if args:
            values = args[0] if len(args) == 1 and isinstance(args[0], dict) and args[0] else args
            message = logs.strings.percent(message, values)
        handlers = [*self._handlers, *(logs.root._handlers if self is not logs.root else ())]
        for handler in handlers or [logs.last]:
            if handler is logs.last and level < LEVELS["WARNING"]:
                continue
            if level >= handler.level:
                stream = handler.stream or logs.streams.stderr
                stream.write(handler._formatter.text(self.name, level, message, logs) + "\n")

    debug, info = level_method("debug"), level_method("info")
    warning = warn = level_method("warning")
    error = exception = level_method("error")
    critical = fatal = level_method("critical")

    def __repr__(self) -> str:
        return (
            f"<{'RootLogger' if self.parent is None else 'Logger'} {self.name} ({name_of(self.getEffectiveLevel())})>"
        )


class Logs:
    """The loggers of one run; `where` returns the current file and line, `function` the name of their function."""

    def __init__(
        self, streams: Streams, strings: Strings, where: Callable[[], tuple[str, int]], function: Callable[[], str]
    ) -> None:
        self.where, self.function = where, function
        self.streams = streams
        self.strings = strings
        self.disabled = -1
        self.root = Logger("root", self)
        self.last = StreamHandler()  # of records without a handler
        self.known: dict[str, Logger] = {}

    def names(self) -> dict[str, Any]:
        """Return the module's names and their values."""
        root = self.root
        shown = {name: self.shortcut(name) for name in (*METHODS, "warn", "exception", "log")}
        return {
            **NUMBERS,
            **shown,
            "Formatter": Formatter,
            "StreamHandler": StreamHandler,
            "basicConfig": self.configure,
            "disable": self.disable,
            "getLevelName": lambda level: name_of(level) if type(level) is int else level_of(level),
            "getLogger": lambda name=None: root if name in (None, "root") else self.logger(str(name)),
        }

    def logger(self, name: str) -> Logger:
        return self.known.setdefault(name, Logger(name, self))

    def shortcut(self, name: str) -> Any:
        def call(*args: Any, **how: Any) -> None:
            if not self.root._handlers:
                self.configure()
            getattr(self.root, name)(*args, **how)

        return named(call, name)

    def disable(self, level: Any = 50) -> None:
        self.disabled = level_of(level)

    def configure(
        self,
        *,
        format: str = BASIC,
        datefmt: str | None = None,
        level: Any = None,
        stream: Any = None,
        handlers: Any = None,
        force: bool = False,
        **other: Any,
    ) -> None:
        """Implement logging.basicConfig, without files."""
        if other:
            raise ValueError(f"'{next(iter(other))}' is not available in gradtrace scripts: log to a stream")
        if self.root._handlers and not force:
            return
        made = list(handlers) if handlers is not None else [StreamHandler(stream)]
        self.root._handlers.clear()
        for handler in made:
            self.root.addHandler(handler)
            handler.setFormatter(Formatter(format, datefmt))
        if level is not None:
            self.root.setLevel(level)


def find_names(
    streams: Streams, strings: Strings, where: Callable[[], tuple[str, int]], function: Callable[[], str]
) -> dict[str, Any]:
    """Return the names of the module `logging` and their values, for one run."""
    return Logs(streams, strings, where, function).names()
