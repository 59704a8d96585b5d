"""`tf.train`: optimisers that take their steps as operations of the graph, with TensorFlow 1's defaults.

    step = GradientDescentOptimizer(0.5).minimize(loss)
    session.run(step)

https://www.tensorflow.org/versions/r1.15/api_docs/python/tf/train
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtrace.static.derive import gradients
from gradtrace.static.graph import Operation, Tensor, constant, function_of, get_default_graph
from gradtrace.static.graph import apply as apply_operation
from gradtrace.static.variables import Variable, group, match_dtype, trainable_variables


class Optimizer:
    """Base class of optimisers. `learning_rate` is a number or a node, so it can be a placeholder."""

    kind = "Optimizer"

    def __init__(self, learning_rate: Any, name: str | None = None) -> None:
        self.learning_rate = learning_rate
        self.name = name or self.kind
        self.slots: dict[tuple[Any, str], Variable] = {}

    def compute_gradients(self, loss: Tensor, var_list: Sequence[Variable] | None = None) -> list[tuple[Any, Variable]]:
        """Return (gradient, variable) for each variable; the gradient is None if the loss does not depend on it."""
        chosen = list(var_list) if var_list is not None else trainable_variables()
        if not chosen:
            raise ValueError("No variables to optimize.")
        return list(zip(gradients(loss, chosen), chosen, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Sequence[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """Return the operation of one step; raise ValueError if no variable has a gradient."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        done = [update for g, v in pairs for update in self.update(g, v)] + self.after()
        if global_step is not None:
            done.append(global_step.assign_add(1))
        return group(*done, name=name or self.name)

    def minimize(
        self,
        loss: Tensor,
        global_step: Variable | None = None,
        var_list: Sequence[Variable] | None = None,
        name: str | None = None,
    ) -> Operation:
        """Return the operation of one step that minimises `loss`."""
        return self.apply_gradients(self.compute_gradients(loss, var_list), global_step, name)

    def slot(self, owner: Variable | None, what: str, initial: float = 0.0) -> Variable:
        """Create a variable for the optimiser's state, with the shape of `owner` and filled with `initial`."""
        if (owner, what) not in self.slots:
            if owner is None:
                self.slots[owner, what] = Variable(initial, False, what)
            else:
                start = constant(initial, owner.dtype, owner.shape, name=f"{owner.op.name}/{self.kind}/start")
                self.slots[owner, what] = Variable(start, False, f"{owner.op.name}/{self.kind}")
        return self.slots[owner, what]

    def update(self, gradient: Tensor, variable: Variable) -> list[Tensor]:
        raise NotImplementedError

    def after(self) -> list[Tensor]:
        """Return the assignments to make once per step, after the updates of the variables."""
        return []

    def write(self, variable: Variable, delta: Tensor) -> Tensor:
        return variable.assign_sub(delta, f"{self.name}/update_{variable.op.name}")


class GradientDescentOptimizer(Optimizer):
    """Gradient descent: w <- w - learning_rate * g."""

    kind = "GradientDescent"

    def update(self, gradient: Tensor, variable: Variable) -> list[Tensor]:
        return [self.write(variable, gradient * match_dtype(self.learning_rate, variable))]


class MomentumOptimizer(Optimizer):
    """Momentum: a <- momentum * a + g; w <- w - learning_rate * a (with Nesterov, g + momentum * a instead of a)."""

    kind = "Momentum"

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str | None = None,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, name)
        self.momentum, self.use_nesterov = momentum, use_nesterov

    def update(self, gradient: Tensor, variable: Variable) -> list[Tensor]:
        sums, momentum = self.slot(variable, "momentum"), match_dtype(self.momentum, variable)
        now = sums.assign(sums * momentum + gradient)
        way = gradient + now * momentum if self.use_nesterov else now
        return [now, self.write(variable, way * match_dtype(self.learning_rate, variable))]


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, 2014) as in TensorFlow: epsilon is added to sqrt(v) without bias correction."""

    kind = "Adam"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        use_locking: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, name)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def powers(self) -> tuple[Variable, Variable]:
        """Return two variables, created at the first call: beta1 ** t and beta2 ** t for the next step t."""
        return self.slot(None, "beta1_power", self.beta1), self.slot(None, "beta2_power", self.beta2)

    def update(self, gradient: Tensor, variable: Variable) -> list[Tensor]:
        first, second = (match_dtype(power, variable) for power in self.powers())
        m, v = self.slot(variable, "m"), self.slot(variable, "v")
        root = function_of("sqrt")
        rate = match_dtype(self.learning_rate, variable) * apply_operation("Sqrt", root, [1.0 - second]) / (1.0 - first)
        new_m = m.assign(m * self.beta1 + gradient * (1.0 - self.beta1))
        new_v = v.assign(v * self.beta2 + gradient * gradient * (1.0 - self.beta2))
        step = rate * new_m / (apply_operation("Sqrt", root, [new_v]) + self.epsilon)
        return [new_m, new_v, self.write(variable, step)]

    def after(self) -> list[Tensor]:
        first, second = self.powers()
        return [first.assign(first * self.beta1), second.assign(second * self.beta2)]


def get_global_step() -> Variable | None:
    """Return the default graph's variable `global_step`; None if there is none."""
    return next((v for v in get_default_graph().variables if v.op.name == "global_step"), None)


def get_or_create_global_step() -> Variable:
    """Return the variable `global_step`, created if necessary."""
    return get_global_step() or Variable(0, False, "global_step", "int64")


__all__ = [
    "AdamOptimizer", "GradientDescentOptimizer", "MomentumOptimizer", "Optimizer", "get_global_step",
    "get_or_create_global_step",
]  # fmt: skip
