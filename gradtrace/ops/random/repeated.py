"""Random numbers of a run that is repeated in another dtype: its repetitions get those that the first run drew."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Callable, NamedTuple
from gradtrace.engine.data.state import state

if TYPE_CHECKING:
    from gradtrace.annotations import Any
    from gradtrace.engine.data.types import Array
    from gradtrace.ops.random.stream import Stream


class Draw(NamedTuple):
    """The numbers of one draw, and the state of the stream after it."""

    numbers: Array
    words: Any
    next_normal: float | None


class RepeatedDraws:
    """The draws of the first run that has this as `state.draws`, in order, and of which the next run is to come.

    PyTorch draws other numbers for float64 than for float32, so a repetition gets those of the first run, cast.
    """

    def __init__(self) -> None:
        self.draws: list[Draw] = []
        self.place = 0
        self.generators = 0  # of the modules random and numpy.random that the program did not seed

    def rewind(self, place: int = 0) -> None:
        """Begin a repetition at a draw of the first run."""
        self.place, self.generators = place, 0

    def numbers(self, stream: Stream, size: int, draw: Callable[[Stream], Array]) -> Array:
        """Return the numbers of the next draw; those of `draw(stream)` in the first run, or where the run differs."""
        place = self.place
        self.place += 1
        if place < len(self.draws) and self.draws[place].numbers.size == size:
            earlier = self.draws[place]
            stream.words.set_state(earlier.words)
            stream.next_normal = earlier.next_normal
            return earlier.numbers.copy()
        numbers = draw(stream)
        if place == len(self.draws):
            self.draws.append(Draw(numbers.copy(), stream.words.get_state(legacy=False), stream.next_normal))
        return numbers


def unseeded() -> int | None:
    """Return the seed of a generator that the program does not seed: None for one of the operating system."""
    if state.draws is None:
        return None
    state.draws.generators += 1
    return int(state.draws.generators)
