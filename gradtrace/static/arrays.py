"""Execute a plan on whole arrays: groups of elementwise steps of one shape in blocks, other steps by their kernels.

A group of elementwise steps is compiled as a plan for one element whose "rows" are the elements, so intermediate values
exist only as block buffers. An array is released after the last step that reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.op import records
from gradtrace.static import control, kernels, scalars
from gradtrace.static.plan import Plan, PlanValue, Ref, Step, refs, replaced
from gradtrace.static.rows import RowProgram

SMALL = 4096  # elements: below this, setting up blocks costs more than it saves


class Task(NamedTuple):
    """A unit of work: `run` maps the values of `reads` to those of `makes`; then `drops` are released."""

    run: Callable[..., tuple[Any, ...]]
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    drops: tuple[int, ...]


class ArrayProgram:
    """A plan compiled for arrays of given shapes. `built` and `runs` are counters."""

    def __init__(self, plan: Plan, threads: int = 1) -> None:
        self.plan = plan
        self.threads = threads
        self.built = 1
        self.runs = 0
        self.constants = {n: np.asarray(v.constant) for n, v in enumerate(plan.values) if v.is_constant}
        self.groups = grouped(plan)
        self.tasks = self.make_tasks()

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """Return the outputs as arrays, for inputs of the plan's shapes and dtypes, in its order."""
        self.runs += 1
        have = dict(self.constants)
        have.update({n: np.asarray(x) for (_, n), x in zip(self.plan.inputs, inputs, strict=True)})
        with np.errstate(all="ignore"):
            for task in self.tasks:
                for number, result in zip(task.makes, task.run(*[have[n] for n in task.reads]), strict=True):
                    have[number] = result
                for number in task.drops:
                    del have[number]
        return tuple(have[n] for _, n in self.plan.outputs)

    def make_tasks(self) -> list[Task]:
        kept = {n for _, n in self.plan.outputs} | {n for _, n in self.plan.inputs} | set(self.constants)
        last: dict[int, int] = {}
        for position, group in enumerate(self.groups):
            for step in group:
                last.update(dict.fromkeys((*refs(step.args), *step.out), position))
        tasks = []
        for position, group in enumerate(self.groups):
            run, reads, makes = self.task(position, group, last, kept)
            drops = [n for n in dict.fromkeys((*reads, *makes)) if last.get(n) == position and n not in kept]
            tasks.append(Task(run, reads, makes, tuple(drops)))
        return tasks

    def task(self, position: int, group: list[Step], last: dict[int, int], kept: set[int]) -> Any:
        if len(group) == 1 and not is_big(self.plan, group[0]):
            step = group[0]
            return whole(step, self.plan), tuple(refs(step.args)), step.out
        inside = {n for step in group for n in step.out}
        makes = tuple(n for n in sorted(inside) if n in kept or last[n] > position)
        reads = tuple(dict.fromkeys(n for step in group for n in refs(step.args) if n not in inside))
        shape = self.plan.values[group[0].out[0]].shape
        return self.blocked(group, reads, makes, shape), reads, makes

    def blocked(self, group: list[Step], reads: tuple[int, ...], makes: tuple[int, ...], shape: Any) -> Any:
        """Return a function that runs a group of elementwise steps in blocks, from the `reads` to the `makes`."""
        values = [PlanValue((), v.dtype, v.constant if v.shape == () else None) for v in self.plan.values]
        rowwise = tuple(n for n in reads if self.plan.values[n].shape == shape)
        plan = Plan(tuple(values), tuple((str(n), n) for n in reads), tuple(group), tuple((str(n), n) for n in makes))
        program = RowProgram(plan, rowwise, makes)
        order = [reads.index(n) for n in rowwise], [reads.index(n) for n in program.emitted.uniforms]
        kinds = [self.plan.values[n].dtype for n in makes]
        threads = self.threads

        def run_blocks(*operands: Any) -> tuple[Any, ...]:
            outs = [np.empty(shape, kind) for kind in kinds]
            flat = [np.ascontiguousarray(operands[i]).reshape(-1) for i in order[0]]
            program.run(flat, [operands[i] for i in order[1]], [o.reshape(-1) for o in outs], threads)
            return tuple(outs)

        return run_blocks


def grouped(plan: Plan) -> list[list[Step]]:
    """Return the steps in order, with neighbours grouped that can run as one block program."""
    groups: list[list[Step]] = []
    for step in plan.steps:
        big = is_big(plan, step)
        before = groups[-1][0] if groups else step
        same = plan.values[before.out[0]].shape == plan.values[step.out[0]].shape
        if groups and big and same and is_big(plan, before):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def is_big(plan: Plan, step: Step) -> bool:
    """Return whether a step should run in blocks.

    It must be elementwise and large, and its operands must have the result's shape or be 0-d.
    """
    if len(step.out) != 1 or not kernels.is_elementwise(step):
        return False
    shape = plan.values[step.out[0]].shape
    same_shapes = all(plan.values[n].shape in (shape, ()) for n in refs(step.args))
    return math.prod(shape) > SMALL and same_shapes and not any(hasattr(a, "tobytes") for a in step.args)


def whole(step: Step, plan: Plan) -> Callable[..., tuple[Any, ...]]:
    """Return a function that runs a step by the kernel that the engine would use: on floats or on arrays.

    The two kernels may round differently.
    """
    program = control.program_of(step)
    if program is not None:
        return program
    if scalars.is_scalar_step(step, plan):
        numbers = list(refs(step.args))

        def on_floats(*operands: Any) -> tuple[Any, ...]:
            have = {n: operand.item() for n, operand in zip(numbers, operands, strict=True)}
            return (np.asarray(scalars.run_step(step, have)),)

        return on_floats
    kernel, several = records[step.op].kernel, len(step.out) > 1
    if all(type(a) is Ref for a in step.args):
        if several:
            return lambda *operands: tuple(map(np.asarray, kernel(*operands)))
        return lambda *operands: (np.asarray(kernel(*operands)),)

    def call_kernel(*operands: Any) -> tuple[Any, ...]:
        taken = iter(operands)
        out = kernel(*replaced(step.args, lambda _: next(taken)))
        return tuple(map(np.asarray, out)) if several else (np.asarray(out),)

    return call_kernel
