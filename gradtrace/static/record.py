"""Trace a program: run it once on example tensors and record its operators as a Plan.

The engine calls a Recorder after every operator, including those run by backward: the derivative
rules run on tensors, as with `create_graph`, so gradients are recorded as steps like any other, to
any order. Anything that depends on the example's numbers (a Python `if` on a tensor, an
index, a random number) would silently become a constant of the plan; the engine notifies the
Recorder before a value leaves the tensors, and the Recorder raises an error with the line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import gradtrace.ops  # noqa: F401  gives Tensor its methods
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import PlanWatcher, using
from gradtrace.engine.data.tensor import Tensor, gradient_edge
from gradtrace.engine.operators.op import records
from gradtrace.engine.operators.promote import promote
from gradtrace.engine.reverse.backward import run_backward
from gradtrace.errors import UnsupportedError
from gradtrace.static.plan import BACKWARD, FORWARD, WHILE, Plan, PlanValue, Ref, Step, refs

ADVICE = "use where(condition, a, b) for a choice; a static graph has while_loop"
LEAVES = (
    "a plan cannot be frozen here: the program takes a computed value out of the tensors (by if, "
    "while, float() or an index)"
)


class Recorder(PlanWatcher):
    """A recorder of operator calls as steps of a plan: the value of `state.recorder` and
    `state.planner` in a trace.

    The line of a step is the engine's `state.origin`.
    """

    def __init__(self) -> None:
        self.values: list[PlanValue] = []
        self.inputs: list[tuple[str, int]] = []
        self.steps: list[Step] = []
        self.phase = FORWARD
        self.numbers: dict[int, int] = {}  # id of a tensor: its value
        self.bound: dict[int, int] = {}  # id of a tensor: that of its data at the time
        # id of a node and output number: the value
        self.node_outputs: dict[tuple[int, int], int] = {}
        self.arrays: dict[int, int] = {}  # id of an array: the value
        self.fed: set[int] = set()  # values that depend on an input
        self.shared: set[int] = set()  # values that share their storage with another
        # the leaves that the program makes, while it neither reads a value nor changes one
        self.leaves: list[Tensor] | None = []
        self.keep: list[Any] = []  # keeps objects alive, so that no id is reused
        self.random = random_state()

    # ---- values

    def add(self, tensor: Tensor, name: str = "", constant: bool = False) -> int:
        raw = tensor._data
        number = len(self.values)
        data = raw if constant else None
        self.values.append(PlanValue(tuple(tensor.shape), dtypes.of_raw(raw).name, data, name))
        self.bind(tensor, number)
        return number

    def bind(self, tensor: Tensor, number: int) -> None:
        self.numbers[id(tensor)] = number
        self.bound[id(tensor)] = id(tensor._data)
        self.keep.append((tensor, tensor._data))
        if tensor._fn is not None:
            self.keep.append(tensor._fn)
            self.node_outputs[id(tensor._fn), tensor._nr] = number
        if type(tensor._data) not in (float, bool):
            self.arrays[id(tensor._data)] = number

    def feed(self, name: str, tensor: Tensor) -> int:
        """Make `tensor` an input of the plan."""
        number = self.add(tensor, name)
        self.inputs.append((name, number))
        self.fed.add(number)
        return number

    def feed_leaves(self, env: dict[str, Any]) -> dict[str, Tensor]:
        """Make inputs of the leaves that the program's variables hold, and return them by name."""
        ids = {id(leaf) for leaf in self.leaves or ()}
        fed = {name: value for name, value in env.items() if id(value) in ids}
        for name, leaf in fed.items():
            number = self.number(leaf)
            self.values[number] = self.values[number]._replace(constant=None, name=name)
            self.inputs.append((name, number))
        return fed

    def find(self, tensor: Tensor) -> int | None:
        """Return the number of a tensor's value, or None. Saved results, which are new tensors, are
        found by node.
        """
        number = self.numbers.get(id(tensor))
        array = None if type(tensor._data) in (float, bool) else tensor._data
        if number is not None:
            same = array is None or self.bound[id(tensor)] == id(array)
            # an in-place change of shape, such as squeeze_, replaces the array
            return number if same else self.arrays.get(id(array), number)
        if tensor._fn is not None:
            number = self.node_outputs.get((id(tensor._fn), tensor._nr))
        return self.arrays.get(id(array)) if number is None and array is not None else number

    def number(self, tensor: Tensor) -> int:
        """Return the number of a tensor's value; a tensor that no step produced becomes a
        constant.
        """
        number = self.find(tensor)
        if number is not None:
            return number
        if self.leaves is not None and tensor.requires_grad and tensor._fn is None:
            self.leaves.append(tensor)
        return self.add(tensor, constant=True)

    # ---- callbacks of the engine

    def __call__(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if name == "detach":
            self.alias(args[0], outs)
        elif name not in records and name.removesuffix("_") not in records:
            self.custom(name, outs)
        elif name not in records:
            self.inplace(name.removesuffix("_"), args, out, origin)
        else:
            self.add_step(name, args, outs, origin)

    def add_step(
        self, name: str, args: tuple[Any, ...], outs: Sequence[Tensor], origin: int
    ) -> None:
        operands = self.promoted(name, tuple(self.argument(a) for a in args), args, origin)
        fed = any(n in self.fed for n in numbers_in(operands))
        numbers = tuple(self.add(o) for o in outs)
        self.steps.append(Step(name, operands, numbers, self.phase, origin))
        if fed:
            self.fed.update(numbers)
        if records[name].view and type(operands[0]) is Ref:
            self.shared.update((operands[0].number, *numbers))

    def loop(
        self, parts: tuple[Plan, Plan], values: Sequence[Tensor], outs: Sequence[Tensor]
    ) -> None:
        """Record a loop as one step; `parts` are the plans of its condition and its body."""
        operands = tuple(Ref(self.number(v)) for v in values)
        numbers = tuple(self.add(o) for o in outs)
        self.steps.append(Step(WHILE, (parts, operands), numbers, self.phase))
        self.fed.update(numbers)

    def argument(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            return Ref(self.number(a))
        return tuple(self.argument(item) for item in a) if type(a) is tuple else a

    def promoted(
        self, name: str, raw_args: tuple[Any, ...], args: tuple[Any, ...], line: int
    ) -> tuple[Any, ...]:
        """Add cast steps for the arguments that the record promotes, and return the arguments after
        these casts.
        """
        record = records[name]
        kinds = {self.values[n].dtype for n in numbers_in(raw_args[: record.arity])}
        floats = record.promote != "float" or all(k.startswith("float") for k in kinds)
        if record.promote is None or (
            len(kinds) < 2 and floats and not self.mixes(raw_args, kinds)
        ):
            return raw_args
        raws = promote(record, args, [a._data if isinstance(a, Tensor) else a for a in args])
        return tuple(
            self.cast(g, raws[i], line) if type(g) is Ref else g for i, g in enumerate(raw_args)
        )

    def mixes(self, raw_args: tuple[Any, ...], kinds: set[str]) -> bool:
        """Return whether a Python float is combined with an integer tensor."""
        whole = kinds and not next(iter(kinds)).startswith("float")
        return bool(whole) and any(type(g) is float for g in raw_args)

    def cast(self, ref: Ref, raw: Any, line: int) -> Ref:
        dtype = dtypes.of_raw(raw).name
        if self.values[ref.number].dtype == dtype:
            return ref
        number = len(self.values)
        self.values.append(PlanValue(self.values[ref.number].shape, dtype))
        self.steps.append(Step("cast", (ref, np.dtype(dtype)), (number,), self.phase, line))
        if ref.number in self.fed:
            self.fed.add(number)
        return Ref(number)

    def alias(self, source: Tensor, outs: Sequence[Tensor]) -> None:
        number = self.number(source)
        self.shared.add(number)
        for out in outs:
            self.bind(out, number)

    def custom(self, name: str, outs: Sequence[Any]) -> None:
        """Find the recorded values of a custom Function's results; UnsupportedError if its forward
        computed none.
        """
        for out in outs:
            if not isinstance(out, Tensor):
                continue
            number = self.find(out)
            if number is None:
                raise UnsupportedError(
                    f"a plan cannot trace the result of {name}",
                    "return a tensor that forward computed",
                )
            self.bind(out, number)

    def inplace(self, name: str, args: tuple[Any, ...], out: Tensor, origin: int) -> None:
        """Record an in-place operation as the out-of-place one, whose result is the tensor's value
        from here on.

        An operation on constants alone is not recorded; the changed tensor becomes a new constant
        at its next use.
        """
        if not any(n in self.fed for n in self.known_in(args)):
            self.leaves = None
            self.forget(out)
            return
        before = self.number(args[0])
        if before in self.shared:
            raise UnsupportedError(
                "a plan cannot trace an in-place change of memory shared with a view",
                "combine the parts with cat, stack or where",
            )
        dtype = self.values[before].dtype
        self.add_step(name, args, (out,), origin)
        last = self.steps[-1].out[0]
        if self.values[last].dtype != dtype:
            self.values[last] = self.values[last]._replace(dtype=dtype)

    def known_in(self, args: tuple[Any, ...]) -> list[int]:
        """Return the numbers of the values of the tensors among the arguments, as far as they are
        known.
        """
        results: list[int] = []
        for a in args:
            if isinstance(a, Tensor):
                number = self.find(a)
                results += [] if number is None else [number]
            elif type(a) is tuple:
                results += self.known_in(a)
        return results

    def forget(self, tensor: Tensor) -> None:
        """Forget the tensors that share memory with `tensor`, because their constants are
        outdated.
        """
        memory = tensor.own_array()
        for kept_tensor, data in [kept for kept in self.keep if type(kept) is tuple]:
            if kept_tensor is tensor or (
                type(data) not in (float, bool) and np.may_share_memory(data, memory)
            ):
                self.numbers.pop(id(kept_tensor), None)
                self.arrays.pop(id(data), None)

    def read(self, tensor: Tensor) -> None:
        """Called before Python reads a tensor's value: UnsupportedError if the value depends on an
        input.
        """
        if self.find(tensor) in self.fed:
            raise UnsupportedError(LEAVES, ADVICE)
        self.leaves = None

    def change(self, tensor: Tensor) -> None:
        """Called before a tensor is modified in place: copy the constants on its memory, which
        steps have read.
        """
        self.number(tensor)
        memory = tensor.own_array()
        for number, value in enumerate(self.values):
            data = value.constant
            if hasattr(data, "copy") and np.may_share_memory(data, memory):
                self.values[number] = value._replace(constant=data.copy())

    # ---- result

    def plan(self, outputs: Sequence[tuple[str, Tensor]]) -> Plan:
        """Return the recorded plan with these labelled outputs."""
        if random_state() != self.random:
            raise UnsupportedError(
                "a plan cannot hold random numbers: each run would repeat the first draw",
                "pass them as an input",
            )
        results = tuple((label, self.number(tensor)) for label, tensor in outputs)
        return Plan(tuple(self.values), tuple(self.inputs), tuple(self.steps), results)


def numbers_in(args: Any) -> list[int]:
    return list(refs(args))


def random_state() -> Any:
    """Return the position of the default random generator; None if no number was drawn since the
    seed.
    """
    module = sys.modules.get("gradtrace.ops.random.generator")
    if module is None or module.default_generator._source is None:
        return None
    return module.default_generator._source.position()


def gradients(
    recorder: Recorder, roots: Sequence[tuple[Tensor, Tensor]], inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """Return the recorded gradients of weighted roots with respect to `inputs`; None if no root
    depends on one.
    """
    slots: list[Any] = [(gradient_edge(t), t._nr) for t in inputs]
    wanted = [slot for slot in slots if slot[0] is not None]
    starts = [
        (edge, root._nr, weight)
        for root, weight in roots
        if (edge := gradient_edge(root)) is not None
    ]
    if not starts or not wanted:
        return [None] * len(inputs)
    recorder.phase = BACKWARD
    try:
        captured = run_backward(starts, True, True, wanted, accumulate=False)
    finally:
        recorder.phase = FORWARD
    return [captured.get(slot) for slot in slots]


def zeros_like(tensor: Tensor) -> Tensor:
    return Tensor._wrap(np.zeros(tensor.shape, tensor.dtype.np))


def ones_like(tensor: Tensor) -> Tensor:
    return Tensor._wrap(
        1.0 if type(tensor._data) is float else np.ones(tensor.shape, tensor.dtype.np)
    )


def trace(function: Callable[..., Any], examples: dict[str, Any], order: int = 1) -> Plan:
    """Trace `function(**tensors)` on example tensors and return the plan of its value and
    gradients.

    `order` 0 records only the value, 1 also the gradients, 2 also the second derivatives. Raises
    UnsupportedError if the function's control flow depends on the examples' numbers.
    """
    recorder = Recorder()
    inputs = {name: example_leaf(example) for name, example in examples.items()}
    for name, tensor in inputs.items():
        recorder.feed(name, tensor)
    with using(recorder=recorder, planner=recorder):
        root = function(**inputs)
        outputs = derivatives(recorder, "y", root, differentiable_inputs(inputs), order)
    return recorder.plan(outputs)


def example_leaf(example: Any) -> Tensor:
    """Return a leaf with an example's data, which requires grad if it is floating point."""
    tensor = (
        Tensor._wrap(example._data)
        if isinstance(example, Tensor)
        else Tensor._wrap(
            float(example) if isinstance(example, (int, float)) else np.asarray(example)
        )
    )
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def differentiable_inputs(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in inputs.items() if tensor.requires_grad}


def derivatives(
    recorder: Recorder, label: str, root: Tensor, inputs: dict[str, Tensor], order: int
) -> list[tuple[str, Tensor]]:
    """Return the (label, tensor) outputs of a plan: the root, its gradients, and its second
    derivatives if asked.

    `order` is 0, 1 or 2. A second derivative is computed once for each pair of inputs. Where the
    root does not depend on an input, the derivative is zeros.
    """
    outputs = [(label, root)]
    if order < 1 or not inputs:
        return outputs
    names = list(inputs)
    tensors = list(inputs.values())
    first = gradients(recorder, [(root, ones_like(root))], tensors)
    for name, g, t in zip(names, first, tensors, strict=True):
        outputs.append((f"d{label}/d{name}", zeros_like(t) if g is None else g))
    if order < 2:
        return outputs
    for i, (a, g) in enumerate(zip(names, first, strict=True)):
        rest = tensors[i:]
        second = [None] * len(rest) if g is None else gradients(recorder, [(g, ones_like(g))], rest)
        for b, h, t in zip(names[i:], second, rest, strict=True):
            outputs.append(
                (
                    f"d2{label}/d{a}2" if a == b else f"d2{label}/d{a}d{b}",
                    zeros_like(t) if h is None else h,
                )
            )
    return outputs
