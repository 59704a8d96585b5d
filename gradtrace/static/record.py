"""Running a program once on example tensors, and writing down what it does: tensors in, a Plan out.

The engine calls a Recorder after every operator, so also for those that backward runs: with `create_graph` the
derivative rules run on tensors, and the gradient becomes steps like any other, to any order. What depended on the
example's numbers would be frozen into the plan without a word (a Python `if` on a tensor, an index, a random number);
the engine tells the Recorder before a value leaves the tensors, and that is refused, with the line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from gradtrace.engine import dtypes
from gradtrace.engine.backward import run_backward
from gradtrace.engine.lazy import np
from gradtrace.engine.op import records
from gradtrace.engine.promote import promote
from gradtrace.engine.state import using
from gradtrace.engine.tensor import Tensor, gradient_edge
from gradtrace.errors import UnsupportedError
from gradtrace.static.plan import BACKWARD, FORWARD, Plan, PlanValue, Ref, Step, refs

ADVICE = "use where(condition, a, b) for a choice; a static graph has while_loop and cond"
LEAVES = (
    "a plan cannot be frozen here: the program takes a computed value out of the tensors (by if, while, float() "
    "or an index)"
)


class Recorder:
    """What `state.recorder` and `state.planner` call while a program runs. A step's line is the engine's origin."""

    def __init__(self) -> None:
        self.values: list[PlanValue] = []
        self.inputs: list[tuple[str, int]] = []
        self.steps: list[Step] = []
        self.phase = FORWARD
        self.known: dict[int, int] = {}  # id of a tensor: its value
        self.bound: dict[int, int] = {}  # id of a tensor: that of the data it had then
        self.made: dict[tuple[int, int], int] = {}  # id of a node and output number: the value
        self.arrays: dict[int, int] = {}  # id of an array: the value
        self.fed: set[int] = set()  # the values that depend on an input
        self.shared: set[int] = set()  # the values that share their storage with another
        self.again: dict[tuple[int, ...], Callable[..., Any]] = {}  # results of a loop or a choice: what makes them
        self.keep: list[Any] = []  # an id must not be used twice
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
        self.known[id(tensor)] = number
        self.bound[id(tensor)] = id(tensor._data)
        self.keep.append((tensor, tensor._data))
        if tensor._fn is not None:
            self.keep.append(tensor._fn)
            self.made[id(tensor._fn), tensor._nr] = number
        if type(tensor._data) not in (float, bool):
            self.arrays[id(tensor._data)] = number

    def feed(self, name: str, tensor: Tensor) -> int:
        """Makes `tensor` an input of the plan."""
        number = self.add(tensor, name)
        self.inputs.append((name, number))
        self.fed.add(number)
        return number

    def find(self, tensor: Tensor) -> int | None:
        """The value of a tensor. Backward creates new tensors for saved results; these are identified by their node."""
        number = self.known.get(id(tensor))
        array = None if type(tensor._data) in (float, bool) else tensor._data
        if number is not None:
            same = array is None or self.bound[id(tensor)] == id(array)
            # other data after an in-place change of the shape: squeeze_ and its like
            return number if same else self.arrays.get(id(array), number)
        if tensor._fn is not None:
            number = self.made.get((id(tensor._fn), tensor._nr))
        return self.arrays.get(id(array)) if number is None and array is not None else number

    def number(self, tensor: Tensor) -> int:
        """The value of a tensor; one that no step made is a constant of the program."""
        number = self.find(tensor)
        return self.add(tensor, constant=True) if number is None else number

    # ---- what the engine tells

    def __call__(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if name == "detach":
            self.alias(args[0], outs)
        elif name not in records and name.removesuffix("_") not in records:
            self.custom(name, outs)
        elif name not in records:
            self.inplace(name.removesuffix("_"), args, out, origin)
        else:
            self.step(name, args, outs, origin)

    def step(self, name: str, args: tuple[Any, ...], outs: Sequence[Tensor], origin: int) -> None:
        given = self.promoted(name, tuple(self.argument(a) for a in args), args, origin)
        fed = any(n in self.fed for n in numbers_in(given))
        numbers = tuple(self.add(o) for o in outs)
        self.steps.append(Step(name, given, numbers, self.phase, origin))
        if fed:
            self.fed.update(numbers)
        if records[name].view and type(given[0]) is Ref:
            self.shared.update((given[0].number, *numbers))

    def control(
        self,
        op: str,
        parts: tuple[Plan, ...],
        values: Sequence[Tensor],
        outs: Sequence[Tensor],
        again: Callable[..., Any],
        *more: Any,
    ) -> None:
        """A loop or a choice as one step (see `control`). `again` does it on other values: see `derive`."""
        given = tuple(Ref(self.number(v)) for v in values)
        numbers = tuple(self.add(o) for o in outs)
        self.steps.append(Step(op, (parts, given, *more), numbers, self.phase))
        self.again[numbers] = again
        self.fed.update(numbers)

    def argument(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            return Ref(self.number(a))
        return tuple(self.argument(item) for item in a) if type(a) is tuple else a

    def promoted(self, name: str, given: tuple[Any, ...], args: tuple[Any, ...], line: int) -> tuple[Any, ...]:
        """The arguments with casts written out where the record promotes them."""
        record = records[name]
        kinds = {self.values[n].dtype for n in numbers_in(given[: record.arity])}
        floats = record.promote != "float" or all(k.startswith("float") for k in kinds)
        if record.promote is None or (len(kinds) < 2 and floats and not self.mixes(given, kinds)):
            return given
        raws = promote(record, args, [a._data if isinstance(a, Tensor) else a for a in args])
        return tuple(self.cast(g, raws[i], line) if type(g) is Ref else g for i, g in enumerate(given))

    def mixes(self, given: tuple[Any, ...], kinds: set[str]) -> bool:
        """Whether a Python float meets a tensor of whole numbers."""
        whole = kinds and not next(iter(kinds)).startswith("float")
        return bool(whole) and any(type(g) is float for g in given)

    def cast(self, ref: Ref, raw: Any, line: int) -> Ref:
        wanted = dtypes.of_raw(raw).name
        if self.values[ref.number].dtype == wanted:
            return ref
        number = len(self.values)
        self.values.append(PlanValue(self.values[ref.number].shape, wanted))
        self.steps.append(Step("cast", (ref, np.dtype(wanted)), (number,), self.phase, line))
        if ref.number in self.fed:
            self.fed.add(number)
        return Ref(number)

    def alias(self, source: Tensor, outs: Sequence[Tensor]) -> None:
        number = self.number(source)
        self.shared.add(number)
        for out in outs:
            self.bind(out, number)

    def custom(self, name: str, outs: Sequence[Any]) -> None:
        """A custom Function: what its forward did is recorded already; its results may be new tensors on old data."""
        for out in outs:
            if not isinstance(out, Tensor):
                continue
            number = self.find(out)
            if number is None:
                raise UnsupportedError(
                    f"a plan cannot follow what {name} returns", "return a tensor that forward computed"
                )
            self.bind(out, number)

    def inplace(self, name: str, args: tuple[Any, ...], out: Tensor, origin: int) -> None:
        """An in-place operation is the operation, and from here on its result under the old tensor's name.

        What is done to constants alone is done already; they are new constants when they are used next.
        """
        if not any(n in self.fed for n in self.known_in(args)):
            self.forget(out)
            return
        before = self.number(args[0])
        if before in self.shared:
            raise UnsupportedError(
                "a plan cannot follow an in-place change of what shares its memory with a view",
                "put the parts together with cat, stack or where",
            )
        dtype = self.values[before].dtype
        self.step(name, args, (out,), origin)
        last = self.steps[-1].out[0]
        if self.values[last].dtype != dtype:
            self.values[last] = self.values[last]._replace(dtype=dtype)

    def known_in(self, args: tuple[Any, ...]) -> list[int]:
        """The values among arguments, as far as they are known."""
        found: list[int] = []
        for a in args:
            if isinstance(a, Tensor):
                number = self.find(a)
                found += [] if number is None else [number]
            elif type(a) is tuple:
                found += self.known_in(a)
        return found

    def forget(self, tensor: Tensor) -> None:
        """What shares its memory with this tensor is no known constant any more."""
        memory = tensor.own_array()
        for known, data in [kept for kept in self.keep if type(kept) is tuple]:
            if known is tensor or (type(data) not in (float, bool) and np.may_share_memory(data, memory)):
                self.known.pop(id(known), None)
                self.arrays.pop(id(data), None)

    def read(self, tensor: Tensor) -> None:
        """A value is about to leave the tensors: fine for constants, refused for what depends on an input."""
        if self.find(tensor) in self.fed:
            raise UnsupportedError(LEAVES, ADVICE)

    def change(self, tensor: Tensor) -> None:
        """A tensor is about to be written in place: constants keep the data that steps have read."""
        self.number(tensor)
        memory = tensor.own_array()
        for number, value in enumerate(self.values):
            data = value.constant
            if hasattr(data, "copy") and np.may_share_memory(data, memory):
                self.values[number] = value._replace(constant=data.copy())

    # ---- the end

    def plan(self, outputs: Sequence[tuple[str, Tensor | None]], shapes: dict[str, Tensor]) -> Plan:
        """The plan of what was recorded. A None output is zeros like the tensor of that label in `shapes`."""
        if random_state() != self.random:
            raise UnsupportedError(
                "a plan cannot hold random numbers: each run would repeat the first draw", "give them as an input"
            )
        found = []
        for label, tensor in outputs:
            if tensor is None:
                like = shapes[label]
                tensor = Tensor._wrap(np.zeros(like.shape, like.dtype.np))
            found.append((label, self.number(tensor)))
        return Plan(tuple(self.values), tuple(self.inputs), tuple(self.steps), tuple(found))


def numbers_in(args: Any) -> list[int]:
    return list(refs(args))


def random_state() -> Any:
    """Where the random numbers of the run stand (None: none were drawn since the seed)."""
    module = sys.modules.get("gradtrace.ops.random.generator")
    if module is None or module.default_generator._source is None:
        return None
    return repr(module.default_generator._source.bit_generator.state)


def gradients(recorder: Recorder, root: Tensor, inputs: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradients of root's sum with respect to `inputs`, recorded; None for an input that root does not reach."""
    slots = [None if (edge := gradient_edge(t)) is None else (edge, t._nr) for t in inputs]
    start = gradient_edge(root)
    wanted = [slot for slot in slots if slot is not None]
    if start is None or not wanted or not root.requires_grad:
        return [None] * len(inputs)
    seed = Tensor._wrap(1.0 if type(root._data) is float else np.ones(root.shape, root.dtype.np))
    recorder.phase = BACKWARD
    try:
        captured = run_backward([(start, root._nr, seed)], True, True, wanted, accumulate=False)
    finally:
        recorder.phase = FORWARD
    return [None if slot is None else captured.get(slot) for slot in slots]


def trace(function: Callable[..., Any], examples: dict[str, Any], order: int = 1) -> Plan:
    """The plan of `function(**tensors)`, its value and its gradients, from example tensors.

    `order` 0 records the value alone, 1 the gradients too, 2 also the second derivatives. UnsupportedError where the
    function's course depends on the examples' numbers.
    """
    recorder = Recorder()
    inputs = {name: fresh(example) for name, example in examples.items()}
    for name, tensor in inputs.items():
        recorder.feed(name, tensor)
    with using(recorder=recorder, planner=recorder):
        root = function(**inputs)
        outputs = derivatives(recorder, "y", root, wanted(inputs), order)
    return recorder.plan(outputs, shapes_of(outputs, inputs))


def fresh(example: Any) -> Tensor:
    """A leaf with an example's data, requiring grad if that is floating."""
    tensor = (
        Tensor._wrap(example._data)
        if isinstance(example, Tensor)
        else Tensor._wrap(float(example) if isinstance(example, (int, float)) else np.asarray(example))
    )
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def wanted(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in inputs.items() if tensor.requires_grad}


def derivatives(
    recorder: Recorder, label: str, root: Tensor, inputs: dict[str, Tensor], order: int
) -> list[tuple[str, Tensor | None]]:
    """The outputs of a plan: the root, its gradients, its second derivatives (each pair of inputs once)."""
    outputs: list[tuple[str, Tensor | None]] = [(label, root)]
    if order < 1 or not inputs:
        return outputs
    names, tensors = list(inputs), list(inputs.values())
    first = gradients(recorder, root, tensors)
    outputs += [(f"d{label}/d{name}", g) for name, g in zip(names, first, strict=True)]
    if order < 2:
        return outputs
    for i, g in enumerate(first):
        rest = tensors[i:]
        second = [None] * len(rest) if g is None else gradients(recorder, g, rest)
        outputs += [(second_label(label, names[i], name), h) for name, h in zip(names[i:], second, strict=True)]
    return outputs


def second_label(label: str, a: str, b: str) -> str:
    return f"d2{label}/d{a}2" if a == b else f"d2{label}/d{a}d{b}"


def shapes_of(outputs: Sequence[tuple[str, Tensor | None]], inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """For the outputs that are None: the input whose shape their zeros have (the last it is taken by)."""
    label = outputs[0][0]
    shapes = {f"d{label}/d{name}": tensor for name, tensor in inputs.items()}
    for a in inputs:
        shapes.update({second_label(label, a, b): tensor for b, tensor in inputs.items()})
    return shapes
