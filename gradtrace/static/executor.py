"""Execute a plan: its steps become instructions on numbered registers, which one loop runs.

    PlanProgram(plan)(2.0, 1.0)     one run; a register for each value
    RowProgram(plan).run(...)       many rows, in blocks; registers for buffers too (see `rows`)

In one run, a register holds what a tensor of the engine holds: a Python float or bool for a scalar
of float64 or bool, else an array. Each step calls what the engine calls, so the results are bitwise
equal to the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.op import FLOAT_TRAPS, records
from gradtrace.static.plan import WHILE, Plan, PlanValue, Ref, Step, refs, replaced

Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Instruction(NamedTuple):
    """A call of a function, whose arguments `read` takes from the registers; `writes` are the
    results' registers.
    """

    function: Callable[..., Any]
    read: Callable[[list[Any]], tuple[Any, ...]]
    writes: tuple[int, ...]


class Instructions:
    """A list of instructions and the initial registers: one for each value of the plan, then
    further ones.

    `places` has the register of each value that is not in the register of its own number.
    """

    def __init__(self, registers: Iterable[Any]) -> None:
        self.registers = list(registers)
        self.places: dict[int, int] = {}
        self.calls: list[Instruction] = []

    def new_register(self, content: Any = None) -> int:
        """Add a register, and return its number."""
        self.registers.append(content)
        return len(self.registers) - 1

    def find(self, argument: Any) -> int:
        """Return the register of an argument: that of a value for a Ref, a new one for anything
        else.
        """
        if type(argument) is Ref:
            return self.places.get(argument.number, argument.number)
        return self.new_register(argument)

    def add(
        self, function: Callable[..., Any], reads: Iterable[int], writes: Iterable[int] = ()
    ) -> None:
        """Append an instruction."""
        numbers = tuple(reads)
        # itemgetter is much faster than a loop, but returns no tuple for a single item.
        read = itemgetter(*numbers) if len(numbers) > 1 else reader(numbers)
        self.calls.append(Instruction(function, read, tuple(writes)))

    def run(self, registers: list[Any]) -> None:
        """Run all instructions on a copy of the initial registers that has the inputs."""
        for function, read, writes in self.calls:
            result = function(*read(registers))
            if len(writes) == 1:
                registers[writes[0]] = result
            elif writes:
                for number, part in zip(writes, result, strict=True):
                    registers[number] = part


def reader(numbers: tuple[int, ...]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """Return a function that takes these registers."""
    return lambda registers: tuple(registers[number] for number in numbers)


class PlanProgram:
    """A plan that can be called with its inputs. `built` and `runs` are counters."""

    built = 1

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.runs = 0
        self.instructions = Instructions(value.constant for value in plan.values)
        for step in plan.steps:
            function, args = call_of_step(step, plan)
            self.instructions.add(function, map(self.instructions.find, args), step.out)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """Return the outputs as raw data, for inputs of the plan's shapes and dtypes, in its
        order.
        """
        self.runs += 1
        registers = self.instructions.registers.copy()
        for (_, number), value in zip(self.plan.inputs, inputs, strict=True):
            registers[number] = value
        with np.errstate(all="ignore"):
            self.instructions.run(registers)
        return tuple(registers[number] for _, number in self.plan.outputs)


# ---- steps


def call_of_step(step: Step, plan: Plan) -> Call:
    """Return the function that does a step in one run, and its arguments: Refs and constants."""
    if step.op == WHILE:
        return loop_function(step), step.args[1]
    record = records[step.op]
    args = step.args
    kernel = record.kernel
    function = record.scalar
    # A function of a plan takes the tensors of a sequence one by one.
    if any(True for a in args if type(a) in (tuple, list) for _ in refs(a)):
        kernel = with_sequences(kernel, args)
        function = None
        args = tuple(map(Ref, refs(args)))
    operands = [i for i, a in enumerate(args) if type(a) is Ref]
    numbers = {i for i in operands if is_number(plan.values[args[i].number])}
    kernel = on_arrays(kernel, numbers, len(step.out) > 1)
    if (
        function is None
        or len(numbers) < len(operands)
        or not all(is_number(plan.values[n]) for n in step.out)
    ):
        return kernel, args
    return on_floats(function, kernel), args


def is_number(value: PlanValue) -> bool:
    """Whether the engine holds a value as a Python float or bool."""
    return value.shape == () and value.dtype in ("float64", "bool")


def as_raw(result: Any) -> Any:
    """Return one result of a kernel as the engine holds it."""
    array = np.asarray(result)
    return array.item() if array.ndim == 0 and array.dtype.char in "d?" else array


def on_arrays(kernel: Callable[..., Any], numbers: set[int], several: bool) -> Callable[..., Any]:
    """Return a function that calls a kernel with arrays in place of the numbers at these
    positions.
    """

    def call_kernel(*operands: Any) -> Any:
        if numbers:
            operands = tuple(np.asarray(o) if i in numbers else o for i, o in enumerate(operands))
        result = kernel(*operands)
        if type(result) not in (tuple, list):
            return as_raw(result)
        return tuple(map(as_raw, result)) if several else as_raw(result[0])

    return call_kernel


def on_floats(function: Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of floats that calls a kernel where Python raises but IEEE arithmetic gives
    inf or nan.
    """

    def call_on_floats(*operands: Any) -> Any:
        try:
            return function(*operands)
        except FLOAT_TRAPS:
            return kernel(*operands)

    return call_on_floats


def with_sequences(kernel: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """Return a function of the values of all Refs among nested arguments that calls a kernel with
    these arguments.
    """

    def call_with_sequences(*operands: Any) -> Any:
        following = iter(operands)
        return kernel(*replaced(args, lambda _: next(following)))

    return call_with_sequences


def loop_function(step: Step) -> Callable[..., Any]:
    """Return a function that runs a loop: from its variables and the outer values to the last
    variables.

    The condition and the body are plans of all these values.
    """
    condition, body = map(PlanProgram, step.args[0])
    count = len(step.out)

    def run_loop(*values: Any) -> Any:
        variables = values[:count]
        outside = values[count:]
        while condition(*variables, *outside)[0]:
            variables = body(*variables, *outside)
        return variables if count > 1 else variables[0]

    return run_loop
