"""Write a context manager as a generator, as contextlib does, which takes too long to import for an
expression.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator


class Context:
    """The context manager of a generator that yields once: what comes before is its entry, the rest
    its exit.
    """

    def __init__(self, steps: Iterator[Any]) -> None:
        self.steps: Any = steps

    def __enter__(self) -> Any:
        return next(self.steps)

    def __exit__(self, kind: Any, error: BaseException | None, frames: Any) -> bool:
        """Let the generator end, with the error that ended the block; whether it has caught that
        error.
        """
        try:
            if error is None:
                next(self.steps)
            else:
                self.steps.throw(error)
        except StopIteration:
            return error is not None
        except BaseException as raised:
            if raised is not error:
                raise
        return False


def context(function: Callable[..., Iterator[Any]]) -> Callable[..., Context]:
    def manager(*args: Any, **kwargs: Any) -> Context:
        return Context(function(*args, **kwargs))

    manager.__doc__ = function.__doc__
    return manager
