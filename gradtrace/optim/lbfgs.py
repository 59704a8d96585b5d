"""L-BFGS with an optional strong Wolfe line search, based on minFunc as in PyTorch.

https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html. All parameters form one flat
vector; the arithmetic works on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.rounding import dot_product, multiply_add
from gradtrace.optim.optimizer import Optimizer, check, evaluate, options
from gradtrace.optim.updates import begin, commit, scalar

Array = Any
# The keys of the state, in PyTorch's order.
MEMORY = (
    "func_evals", "n_iter", "al", "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss",
)  # fmt: skip
# Maps a step length and a direction to the loss and the flat gradient there.
Objective = Callable[[Any, Array], "tuple[float, Array]"]


class Point(NamedTuple):
    """A point of the line search: step length, loss, gradient, directional derivative."""

    t: Any
    f: float
    g: Array
    gtd: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return the minimum of the cubic through both points, within bounds; the midpoint if there is
    none.
    """
    low, high = bounds if bounds is not None else (min(a.t, b.t), max(a.t, b.t))
    d1 = a.gtd + b.gtd - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1**2 - a.gtd * b.gtd
    if not square >= 0:
        return (low + high) / 2.0
    d2 = np.sqrt(square)
    if a.t <= b.t:
        minimum = b.t - (b.t - a.t) * ((b.gtd + d2 - d1) / (b.gtd - a.gtd + 2 * d2))
    else:
        minimum = a.t - (a.t - b.t) * ((a.gtd + d2 - d1) / (a.gtd - b.gtd + 2 * d2))
    return min(max(minimum, low), high)


class LineSearch:
    """A search along `direction` for a step with the strong Wolfe conditions (Nocedal and Wright,
    algorithm 3.5).
    """

    c1 = 1e-4
    c2 = 0.9
    tolerance_change = 1e-9

    def __init__(
        self, objective: Objective, direction: Array, start: Point, max_steps: int
    ) -> None:
        self.objective = objective
        self.direction = direction
        self.start = start
        self.max_steps = max_steps
        self.steps = 0
        self.evaluations = 0

    def evaluate(self, t: Any) -> Point:
        f, g = self.objective(t, self.direction)
        self.evaluations += 1
        return Point(t, f, g, dot_product(g, self.direction))

    def too_high(self, point: Point) -> bool:
        return bool(point.f > self.start.f + self.c1 * point.t * self.start.gtd)

    def is_flat(self, point: Point) -> bool:
        return bool(abs(point.gtd) <= -self.c2 * self.start.gtd)

    def find_step(self, t: Any) -> Point:
        """Return the point of the step, for the first step length `t` to try."""
        bracket, done = self.find_bracket(t)
        return bracket[0] if done else self.zoom(bracket)

    def find_bracket(self, t: Any) -> tuple[list[Point], bool]:
        """Return two points around a minimum and False, or one point that satisfies the Wolfe
        conditions and True.
        """
        previous = self.start
        point = self.evaluate(t)
        while self.steps < self.max_steps:
            if self.too_high(point) or (self.steps > 1 and point.f >= previous.f):
                return [previous, point], False
            if self.is_flat(point):
                return [point], True
            if point.gtd >= 0:
                return [previous, point], False
            bounds = (point.t + 0.01 * (point.t - previous.t), point.t * 10)
            further = cubic_minimum(previous, point, bounds)
            previous = point
            point = self.evaluate(further)
            self.steps += 1
        return [self.start, point], False

    def zoom(self, bracket: list[Point]) -> Point:
        """Narrow the bracket until a point in it satisfies the Wolfe conditions, and return this
        point; return the lowest point if the bracket becomes too small or the steps run out.
        """
        size = np.abs(self.direction).max()
        stalled = False
        low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        while self.steps < self.max_steps:
            if abs(bracket[1].t - bracket[0].t) * size < self.tolerance_change:
                break
            t, stalled = self.inside(bracket, cubic_minimum(bracket[0], bracket[1]), stalled)
            point = self.evaluate(t)
            self.steps += 1
            if self.too_high(point) or point.f >= bracket[low].f:
                bracket[high] = point
                low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
                continue
            if self.is_flat(point):
                return point
            if point.gtd * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
        return bracket[low]

    def inside(self, bracket: list[Point], t: Any, stalled: bool) -> tuple[Any, bool]:
        """Move a step away from an end of the bracket if it is outside, or too close twice in a row
        (`stalled`).
        """
        ends = [point.t for point in bracket]
        smallest = min(ends)
        largest = max(ends)
        margin = 0.1 * (largest - smallest)
        if min(largest - t, t - smallest) >= margin:
            return t, False
        if not (stalled or t >= largest or t <= smallest):
            return t, True
        if abs(t - largest) < abs(t - smallest):
            return largest - margin, False
        return smallest + margin, False


def _arrays(value: Any) -> Any:
    """Convert a state entry to the arrays and numbers that `_iterate` computes with."""
    if isinstance(value, list):
        return [_arrays(v) for v in value]
    if isinstance(value, Tensor):
        return value.array if value.ndim else value.array[()]
    return value


def _tensors(value: Any) -> Any:
    """Convert a state entry back to tensors, including numbers computed from tensors."""
    if isinstance(value, list):
        return [_tensors(v) for v in value]
    return Tensor._wrap(value) if isinstance(value, (np.ndarray, np.generic)) else value


class LBFGS(Optimizer):
    """Quasi-Newton steps from past gradients; `step` needs a closure and may call it many times."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check(locals(), "lr")
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        names = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
        super().__init__(params, options(locals(), names))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # ---- parameters as one vector

    def _flat_grad(self) -> Array:
        pieces = []
        for p in self._params:
            source = p if p.grad is None else p.grad
            flat = np.asarray(source._data).reshape(-1)
            pieces.append(np.zeros_like(flat) if p.grad is None else flat)
        return np.concatenate(pieces)

    def _move(self, length: Any, direction: Array) -> None:
        start = 0
        for p in self._params:
            array = begin(p)
            part = direction[start : start + array.size].reshape(array.shape)
            array[...] = multiply_add(array, float(length), part)
            commit(p, array)
            start += array.size

    def _objective(self, closure: Callable[[], Any]) -> Objective:
        start = [np.array(p._data) for p in self._params]

        def objective(t: Any, direction: Array) -> tuple[float, Array]:
            self._move(t, direction)
            loss = float(evaluate(closure))
            grad = self._flat_grad()
            for p, values in zip(self._params, start, strict=True):
                array = begin(p)
                array[...] = values
                commit(p, array)
            return loss, grad

        return objective

    # ---- the direction

    def _direction(self, state: dict[str, Any], grad: Array, history_size: int) -> Array:
        """Return the negative gradient at first, then the two-loop recursion over past
        differences.
        """
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -grad
        self._remember(state, grad, history_size)
        ys = state["old_dirs"]
        ss = state["old_stps"]
        ro = state["ro"]
        alphas = [0.0] * len(ys)
        q = -grad
        for i in range(len(ys) - 1, -1, -1):
            alphas[i] = dot_product(ss[i], q) * ro[i]
            q = multiply_add(q, -float(alphas[i]), ys[i])
        r = q * state["H_diag"]
        for i in range(len(ys)):
            r = multiply_add(r, float(alphas[i] - dot_product(ys[i], r) * ro[i]), ss[i])
        state["al"] = alphas + [None] * (history_size - len(alphas))
        return r

    def _remember(self, state: dict[str, Any], grad: Array, history_size: int) -> None:
        """Add the last step and its change of gradient to the history, unless the curvature is too
        small; drop the oldest pair of a full history.
        """
        y = grad - state["prev_flat_grad"]
        s = state["d"] * state["t"]
        curvature = dot_product(y, s)
        if not curvature > 1e-10:
            return
        for name, value in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / curvature)):
            if len(state[name]) == history_size:
                state[name].pop(0)
            state[name].append(value)
        state["H_diag"] = curvature / dot_product(y, y)

    # ---- the step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run up to max_iter iterations; return the initial loss."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate(closure)
        state["func_evals"] += 1
        memory = {name: _arrays(value) for name, value in state.items()}
        with using(grad_enabled=False):
            self._iterate(closure, group, memory, float(first_loss))
        state.update((name, _tensors(memory[name])) for name in MEMORY if name in memory)
        return first_loss

    def _iterate(
        self, closure: Callable[[], Any], group: dict[str, Any], state: dict[str, Any], loss: float
    ) -> None:
        grad = self._flat_grad()
        if np.abs(grad).max() <= group["tolerance_grad"]:
            return
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            before = loss
            slope = dot_product(grad, direction)
            lr = scalar(group["lr"])
            length = min(1.0, 1.0 / np.abs(grad).sum()) * lr if state["n_iter"] == 1 else lr
            state.update(prev_flat_grad=grad.copy(), prev_loss=loss, d=direction, t=length)
            if slope > -group["tolerance_change"]:
                break
            start = Point(0, loss, grad, slope)
            last = iteration == group["max_iter"]
            length, loss, grad, used = self._advance(
                closure, group, direction, length, start, evaluations, last
            )
            state["t"] = length
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"]:
                break
            if self._converged(group, grad, direction, length, loss, before):
                break

    def _advance(
        self,
        closure: Callable[[], Any],
        group: dict[str, Any],
        direction: Array,
        length: Any,
        start: Point,
        evaluations: int,
        last: bool,
    ) -> tuple[Any, float, Array, int]:
        """Move the parameters; return the step length, the new loss and gradient, and the number of
        evaluations.
        """
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            search = LineSearch(
                self._objective(closure), direction, start, group["max_eval"] - evaluations
            )
            point = search.find_step(length)
            self._move(point.t, direction)
            return point.t, point.f, point.g, search.evaluations
        self._move(length, direction)
        if last:
            # As in PyTorch, the closure is not called again: nothing would use its result.
            return length, start.f, start.g, 0
        return length, float(evaluate(closure)), self._flat_grad(), 1

    def _converged(
        self,
        group: dict[str, Any],
        grad: Array,
        direction: Array,
        length: Any,
        loss: float,
        before: float,
    ) -> bool:
        if np.abs(grad).max() <= group["tolerance_grad"]:
            return True
        change = group["tolerance_change"]
        return bool(np.abs(direction * length).max() <= change or abs(loss - before) < change)
