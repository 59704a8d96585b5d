"""Execute a plan over many rows, in blocks that fit the cache and threads across blocks.

The values of a block of rows are arrays with a leading axis of rows. Elementwise steps write into
buffers, which are reused after the last step that reads them, or into the arrays of the outputs;
other steps make new arrays. numpy releases the GIL inside a ufunc, so threads run in parallel;
every thread has its own buffers. Except for the caller's arrays, memory use does not grow with the
number of rows.
"""

from __future__ import annotations

import math
from contextvars import copy_context
from functools import partial
from itertools import pairwise
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.ops.special.erf_kernels import CHUNK
from gradtrace.static import kernels
from gradtrace.static.executor import Instructions, call_of_step
from gradtrace.static.plan import Plan, Ref, Step, refs

CACHE = 4 << 20  # maximum number of bytes of a block's buffers
LARGEST, SMALLEST = 32768, 4096  # elements of a block
Buffer = tuple[str, tuple[int, ...]]  # dtype, and the shape of a row


class RowProgram:
    """A plan for one row that can run over blocks of rows.

    `arrays` has the name of the array in which each value of an elementwise step is stored: "b0"
    for the first buffer, "out1" for the second output.
    """

    def __init__(self, plan: Plan, block: int = 0) -> None:
        self.plan = plan
        self.rowwise = {number for _, number in plan.inputs}
        self.instructions = Instructions(
            None if v.constant is None else np.asarray(v.constant) for v in plan.values
        )
        outputs = list(dict.fromkeys(number for _, number in plan.outputs))
        self.targets = {number: f"out{k}" for k, number in enumerate(outputs)}
        self.slots = {name: self.instructions.new_register() for name in self.targets.values()}
        self.arrays: dict[int, str] = {}
        self.buffers = Buffers(plan)
        for position, step in enumerate(plan.steps):
            self.add_step(position, step)
        self.deliver()
        self.block = block or self.best_block()

    # ---- instructions

    def add_step(self, position: int, step: Step) -> None:
        """Add the instructions of a step; without operands by rows, it is the same for all rows."""
        numbers = tuple(dict.fromkeys(refs(step.args)))
        if not self.rowwise.intersection(numbers):
            function, args = call_of_step(step, self.plan)
            self.instructions.add(function, map(self.instructions.find, args), step.out)
            return
        calls = kernels.instructions(step, self.plan)
        if calls is None:
            self.add_whole(step)
        else:
            self.add_elementwise(position, step, calls)
        self.rowwise.update(step.out)
        self.buffers.release(numbers, position)

    def add_elementwise(self, position: int, step: Step, calls: list[kernels.Call]) -> None:
        instructions = self.instructions
        out = step.out[0]
        operands = {number: self.aligned(number, out) for number in refs(step.args)}
        if kernels.reads_once(calls):
            self.buffers.release(refs(step.args), position)
        name = self.targets.get(out) or self.buffers.take(out)
        if name not in self.slots:
            self.slots[name] = instructions.new_register()
        self.arrays[out] = name
        place = instructions.places[out] = self.slots[name]

        def register(argument: Any) -> int:
            if type(argument) is Ref:
                return operands[argument.number]
            return place if argument is kernels.OUT else instructions.find(argument)

        for function, args in calls:
            instructions.add(function, list(map(register, args)))

    def aligned(self, number: int, out: int) -> int:
        """Return the register of an operand; rows with fewer axes than those of the result get axes
        of length 1.
        """
        register = self.instructions.find(Ref(number))
        missing = len(self.plan.values[out].shape) - len(self.plan.values[number].shape)
        if number not in self.rowwise or missing <= 0:
            return register
        result = self.instructions.new_register()
        self.instructions.add(partial(with_axes, missing), [register], [result])
        return result

    def add_whole(self, step: Step) -> None:
        """Add the call for a step that is not elementwise; its results are new arrays, or views."""
        function = kernels.by_rows(step, self.plan, self.rowwise)
        self.instructions.add(
            function, (self.instructions.find(Ref(n)) for n in refs(step.args)), step.out
        )
        for number in step.out:
            if number in self.targets:
                self.copy_to_output(number)
            if step.op in kernels.VIEWS:
                self.buffers.share(number, refs(step.args))

    def deliver(self) -> None:
        """Add copies for the outputs that are inputs, or the same for all rows."""
        inputs = {number for _, number in self.plan.inputs}
        for number in self.targets:
            if number in inputs or number not in self.rowwise:
                self.copy_to_output(number)

    def copy_to_output(self, number: int) -> None:
        self.instructions.add(
            np.copyto, [self.slots[self.targets[number]], self.instructions.find(Ref(number))]
        )

    # ---- runs

    def best_block(self) -> int:
        """Return the number of rows of a block for which the buffers fit the cache, within
        limits.
        """
        widest = max([1, *(math.prod(value.shape) for value in self.plan.values)])
        bytes_of_row = sum(
            math.prod(shape) * np.dtype(kind).itemsize for kind, shape in self.buffers.kinds
        )
        elements = CACHE // max(bytes_of_row, 8)
        rows = max(SMALLEST // widest, min(elements, LARGEST // widest))
        step = next((n for n in (CHUNK, 1024) if rows >= n), 1)  # erf processes whole chunks
        return max(1, rows // step * step)

    def run(self, inputs: list[Any], outputs: list[Any], threads: int = 1) -> None:
        """Fill the output arrays from input arrays of the same length. Floating-point errors are
        ignored.
        """
        n = len(outputs[0]) if outputs else 0
        with np.errstate(all="ignore"):
            if threads <= 1 or n <= self.block:
                self.stretch(inputs, outputs, 0, n)
                return
            self.in_threads(inputs, outputs, threads, n)

    def in_threads(self, inputs: list[Any], outputs: list[Any], threads: int, n: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        blocks = math.ceil(n / self.block)
        cuts = [min(n, blocks * k // threads * self.block) for k in range(threads)] + [n]
        with ThreadPoolExecutor(threads) as pool:
            # numpy's error state belongs to the context, and a new thread has a new one
            done = [
                pool.submit(copy_context().run, self.stretch, inputs, outputs, low, high)
                for low, high in pairwise(cuts)
                if low < high
            ]
            for future in done:
                future.result()

    def stretch(self, inputs: list[Any], outputs: list[Any], low: int, high: int) -> None:
        """Process the rows from `low` to `high`, block by block."""
        registers = self.instructions.registers.copy()
        buffers = {
            self.slots[f"b{k}"]: np.empty((self.block, *shape), kind)
            for k, (kind, shape) in enumerate(self.buffers.kinds)
        }
        columns = {
            number: array for (_, number), array in zip(self.plan.inputs, inputs, strict=True)
        }
        columns.update(
            zip(map(self.slots.__getitem__, self.targets.values()), outputs, strict=True)
        )
        while low < high:
            end = min(low + self.block, high)
            for register, array in columns.items():
                registers[register] = array[low:end]
            for register, buffer in buffers.items():
                registers[register] = buffer[: end - low]
            self.instructions.run(registers)
            low = end


def with_axes(count: int, rows: Any) -> Any:
    """Return rows with `count` axes of length 1 after the axis of rows."""
    return rows.reshape(len(rows), *(1,) * count, *rows.shape[1:])


class Buffers:
    """The buffers of a block: each has a dtype and the shape of a row, and holds one value at a
    time.

    A value that is a view of a buffer holds it too.
    """

    def __init__(self, plan: Plan) -> None:
        self.values = plan.values
        self.last = {
            number: position
            for position, step in enumerate(plan.steps)
            for number in refs(step.args)
        }
        self.kinds: list[Buffer] = []
        self.free: dict[Buffer, list[int]] = {}
        self.held: dict[int, int] = {}  # value: its buffer
        self.holders: dict[int, int] = {}  # buffer: number of values that hold it

    def take(self, number: int) -> str:
        """Return the name of a free buffer for a value, which holds it until the last step that
        reads the value.
        """
        kind = (self.values[number].dtype, self.values[number].shape)
        free = self.free.setdefault(kind, [])
        if not free:
            free.append(len(self.kinds))
            self.kinds.append(kind)
        buffer = free.pop()
        self.hold(number, buffer)
        return f"b{buffer}"

    def share(self, number: int, sources: Any) -> None:
        """Let a value that is a view hold the buffers of the values that it may be a view of."""
        for source in sources:
            if source in self.held and number in self.last:
                self.hold(number, self.held[source])

    def hold(self, number: int, buffer: int) -> None:
        self.held[number] = buffer
        self.holders[buffer] = self.holders.get(buffer, 0) + 1

    def release(self, numbers: Any, position: int) -> None:
        """Free the buffers of the values that no step after this position reads."""
        for number in dict.fromkeys(numbers):
            if number in self.held and self.last.get(number) == position:
                buffer = self.held.pop(number)
                self.holders[buffer] -= 1
                if not self.holders[buffer]:
                    self.free[self.kinds[buffer]].append(buffer)
