"""Run a program up to its first call of backward, and measure there: the value, its gradients, its
second derivatives.

    probe = Probe(leaves, shift=Shift(leaf=0, element=3, by=1e-6), first_use={...})
    run(program, inputs, record=Keeper, watcher=probe, ...)
    probe.outcome

The leaves are `leaves` and those that the program makes, in the order in which they begin to
require grad. A leaf is shifted right before its first use: until then the program may still write
its values (as modules initialise their weights). The program is ended as if it had called exit().
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, NamedTuple, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import Watcher, state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.reverse.gradients import grad
from gradtrace.engine.reverse.saved import flat


class Shift(NamedTuple):
    """A change of one leaf: add `by` to one element (by its flattened index)."""

    leaf: int
    element: int
    by: float


class ProbeResult(NamedTuple):
    """The measurements at the root: the weighted sum of the outputs; for each leaf its gradient as
    a float64 array, None if backward did not reach it.
    """

    value: float
    gradients: tuple[Any, ...]
    slope: float = 0.0  # of the second order: the gradient along `directions`
    seconds: tuple[Any, ...] = ()  # and its gradients


class Stop(Watcher):
    """A watcher that stops the program where it first calls backward or autograd.grad, before
    anything is freed.
    """

    def __init__(self) -> None:
        self.outputs: tuple[Tensor, ...] | None = None
        self.vectors: Any = None

    def starts(self, outputs: tuple[Any, ...], vectors: Any) -> None:
        if self.outputs is None:
            self.outputs = tuple(outputs)
            self.vectors = vectors
            raise SystemExit(0)


class Probe(Watcher):
    """A watcher that measures one run at its first call of backward."""

    def __init__(
        self,
        leaves: Sequence[Tensor],
        order: int = 1,
        shift: Shift | None = None,
        first_use: dict[int, int] | None = None,
        examine: Callable[[Any, Any, Any], None] | None = None,
    ) -> None:
        self.tracked: list[Tensor] = []  # the leaves
        self.order = order
        self.shift = shift
        self.known_use = first_use or {}
        # by leaf: the number of the recorded call that first reads it
        self.first_use: dict[int, int] = {}
        self.calls = 0
        self.origins: list[int] = []  # by leaf: where it began
        self.outcome: ProbeResult | None = None
        self.outputs: tuple[Tensor, ...] = ()
        self.by_node: dict[int, tuple[str, tuple[Any, ...], Any, int]] = {}
        self.examine = examine  # is shown each node with its call before its rules run
        self._done = shift is None
        for tensor in leaves:
            self.begins(tensor)

    # ---- what the engine and the recorder tell

    def begins(self, leaf: Tensor) -> None:
        if not leaf.is_floating_point() or any(
            leaf is tracked_leaf for tracked_leaf in self.tracked
        ):
            return
        self.tracked.append(leaf)
        self.origins.append(state.place())
        self._shift()

    def called(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        for i, leaf in enumerate(self.tracked):
            if (
                i not in self.first_use
                and state.grad_enabled
                and any(a is leaf for a in flat(args))
            ):
                self.first_use[i] = self.calls
        self.calls += 1
        node = getattr(out[0] if type(out) is tuple and out else out, "_fn", None)
        if node is not None and self.examine is not None:
            self.by_node[id(node)] = (name, args, out, origin)
        self._shift()

    def starts(self, outputs: tuple[Any, ...], vectors: Any) -> None:
        """Measure at the start of the first pass, and end the program."""
        if self.outcome is not None:
            return
        weights = vectors if vectors is None or isinstance(vectors, (tuple, list)) else (vectors,)
        self.measure(tuple(outputs), None if weights is None else tuple(weights))
        raise SystemExit(0)

    def runs(self, node: Any, gradient: Any) -> None:
        call = self.by_node.get(id(node))
        if self.examine is not None and call is not None:
            self.examine(node, gradient, call)

    # ---- the work

    def _shift(self) -> None:
        shift = self.shift
        if self._done or shift is None or shift.leaf >= len(self.tracked):
            return
        if self.calls >= self.known_use.get(shift.leaf, 0):
            add_to(self.tracked[shift.leaf], shift.element, shift.by)
            self._done = True

    def measure(self, outputs: tuple[Tensor, ...], vectors: tuple[Any, ...] | None) -> None:
        """Return the value and the derivatives of the outputs, weighted by their vectors."""
        self.outputs = outputs
        weights = [
            weights_of(out, None if vectors is None else vectors[i])
            for i, out in enumerate(outputs)
        ]
        value = sum(
            float((as_array(out) * as_array(w)).sum())
            for out, w in zip(outputs, weights, strict=True)
        )
        wanted = [leaf for leaf in self.tracked if leaf.is_leaf and leaf.requires_grad]
        usable = [out for out in outputs if out.requires_grad]
        if self.shift is not None and self.order == 1:
            self.outcome = ProbeResult(value, ())
            return
        of_wanted: tuple[Any, ...] = (None,) * len(wanted)
        self.outcome = ProbeResult(value, ())  # a second call, by this one, must not measure again
        if usable and wanted:
            kept = [w for out, w in zip(outputs, weights, strict=True) if out.requires_grad]
            of_wanted = grad(
                usable,
                wanted,
                kept,
                retain_graph=True,
                create_graph=self.order == 2,
                allow_unused=True,
            )
        by_leaf = dict(zip(map(id, wanted), of_wanted, strict=True))
        gradients = [by_leaf.get(id(leaf)) for leaf in self.tracked]
        arrays = tuple(None if g is None else as_array(g) for g in gradients)
        self.outcome = (
            ProbeResult(value, arrays)
            if self.order == 1
            else self._second(value, gradients, arrays, wanted)
        )

    def _second(
        self, value: float, gradients: list[Any], arrays: tuple[Any, ...], wanted: list[Tensor]
    ) -> ProbeResult:
        """The gradient along a fixed direction, and that number's own gradients."""
        along = [direction(i, a.shape) if a is not None else None for i, a in enumerate(arrays)]
        slope = sum(
            float((a * d).sum()) for a, d in zip(arrays, along, strict=True) if a is not None
        )
        if self.shift is not None:
            return ProbeResult(value, arrays, slope)
        pairs = [
            (g, d)
            for g, d in zip(gradients, along, strict=True)
            if g is not None and g.requires_grad
        ]
        if not pairs:
            return ProbeResult(value, arrays, slope, (None,) * len(self.tracked))
        vectors = [
            Tensor._wrap(np.asarray(d, as_array(g).dtype).astype(g.dtype.np)) for g, d in pairs
        ]
        of_wanted = grad(
            [g for g, _ in pairs], wanted, vectors, retain_graph=True, allow_unused=True
        )
        by_leaf = dict(zip(map(id, wanted), of_wanted, strict=True))
        seconds = tuple(
            None if by_leaf.get(id(leaf)) is None else as_array(by_leaf[id(leaf)])
            for leaf in self.tracked
        )
        return ProbeResult(value, arrays, slope, seconds)


def direction(leaf: int, shape: tuple[int, ...]) -> Any:
    """Return a fixed direction without symmetry, of a leaf's shape."""
    size = int(np.prod(shape, dtype=int))
    return (1.25 + np.cos(np.arange(size) * 1.7 + leaf)).reshape(shape)


def weights_of(out: Tensor, vector: Any) -> Tensor:
    """Return the given vector; else 1 for a single number, or weights without symmetry, so that
    errors do not cancel out.
    """
    if vector is not None:
        return vector
    raw = np.ones(out.shape) if out.numel() == 1 else direction(0, tuple(out.shape))
    return Tensor._wrap(raw.astype(out.dtype.np))


def as_array(tensor: Tensor) -> Any:
    return np.array(tensor._data, dtype=np.float64)


def add_to(leaf: Tensor, element: int, by: float) -> None:
    """Add to one element of a tensor in place, without autograd seeing it."""
    raw = leaf._data
    if type(raw) is float:
        leaf._data = raw + by
        return
    raw[np.unravel_index(element, raw.shape)] += by
