"""Compare each update of an optimiser with the same update in float64."""

from __future__ import annotations

import copy

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.optim.optimizer import ElementwiseOptimizer
from gradtrace.trace import wide


class Updates:
    """The updates of a run. `entries` has triples: the number of calls before, the parameter, and
    the measurements by name.

    Before a step, a copy of the optimiser with float64 tensors is made, and steps too. Parameters
    in float64, and optimisers that call a closure, are left out.
    """

    def __init__(self, undisturbed: Any) -> None:
        self.entries: list[tuple[int, Tensor, dict[str, Any]]] = []
        self._undisturbed = undisturbed
        self._watched: set[int] = set()
        # By id(optimiser): the parameters, their values before, their copies in the twin.
        self._waiting: dict[int, list[tuple[Tensor, Any, Any]]] = {}

    def watch(self, optimiser: Any) -> None:
        """Prepare the comparison of each later step of an optimiser."""
        if id(optimiser) not in self._watched and isinstance(optimiser, ElementwiseOptimizer):
            self._watched.add(id(optimiser))
            optimiser.register_step_pre_hook(self._before_step)

    def _before_step(self, optimiser: Any, args: Any, kwargs: Any) -> None:
        if args[1:] or kwargs:
            return
        with self._undisturbed():
            twin, pairs = wide_twin(optimiser)
            type(optimiser).step.__wrapped__(twin)
        self._waiting[id(optimiser)] = [
            (param, np.array(param._data), wide_param) for param, wide_param in pairs
        ]

    def compare(self, optimiser: Any, at: int) -> None:
        """Add the updates of a step that has just been made."""
        for tensor, before, twin in self._waiting.pop(id(optimiser), ()):
            self.add(at, tensor, before, np.asarray(twin._data))

    def add(self, at: int, tensor: Tensor, before: Any, exact: Any) -> None:
        """Add an update that has just been made of the value `before`; `exact` is its result in the
        wider type.
        """
        wanted = exact - before
        change = wide.widened(np.asarray(tensor._data)) - before
        is_lost = (wanted != 0) & (change == 0)
        size = wide.norm(wanted)
        fields = {
            "dtype": before.dtype.name,
            "elements": int(before.size),
            "wanted": int((wanted != 0).sum()),
            "lost": int(is_lost.sum()),
            "norm": size,
            "error": wide.relative(change - wanted, size),
            "largest": float(np.abs(wanted[is_lost]).max(initial=0)),
            "broken": int((np.isfinite(wanted) & ~np.isfinite(change)).sum()),
        }
        self.entries.append((at, tensor, fields))


def wide_twin(optimiser: Any) -> tuple[Any, list[tuple[Tensor, Tensor]]]:
    """Return a copy of an optimiser whose tensors are in float64, and pairs of a parameter and its
    copy.
    """
    twin = copy.copy(optimiser)
    pairs = []
    twin.param_groups = []
    twin.state = copy.copy(optimiser.state)
    twin.state.clear()
    for group in optimiser.param_groups:
        params = []
        for param in group["params"]:
            grad = None if param._x is None else param._x.grad
            if grad is None or np.asarray(param._data).dtype.itemsize >= 8:
                continue
            wide_param = in_float64(param)
            wide_param.grad = in_float64(grad)
            pairs.append((param, wide_param))
            params.append(wide_param)
            if param in optimiser.state:
                kept = optimiser.state[param]
                twin.state[wide_param] = {
                    name: in_float64(content) if isinstance(content, Tensor) else content
                    for name, content in kept.items()
                }
        twin.param_groups.append({**group, "params": params})
    return twin, pairs


def in_float64(tensor: Tensor) -> Tensor:
    return Tensor._wrap(np.asarray(tensor._data).astype(np.float64))
