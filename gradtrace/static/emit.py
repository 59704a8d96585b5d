"""Compile a plan to Python code that calls numpy on blocks of rows, with preassigned buffers.

The code is an `ast` built from the plan's steps, never from text. Every name in it is generated (`b3`, `f12`), so a
program's variable names cannot reach it, and it runs without built-ins. One call of the function processes one block:

    def block(i0, i1, u0, o0, o1, b0, b1):
        f0(i0, i1, b0)        # numpy.add(x, w, out=b0)
        f1(b0, 2.0, o0)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from gradtrace.engine.data.lazy import np
from gradtrace.engine.reverse.compile import compile_function
from gradtrace.static import kernels
from gradtrace.static.plan import Plan, Ref, Step, refs

Buffer = tuple[str, tuple[int, ...]]  # dtype, and the shape of a row


class Emitted(NamedTuple):
    """The compiled function that processes a block, and its parameters in order."""

    function: Callable[..., None]
    inputs: tuple[int, ...]  # values with an axis of rows
    uniforms: tuple[int, ...]  # values that are the same for all rows
    outputs: tuple[int, ...]
    buffers: tuple[Buffer, ...]
    places: dict[int, str]  # the name of each value's array: "i0", "b3", "o1", "v7" (a separate array)


def emit(plan: Plan, rowwise: tuple[int, ...], outputs: tuple[int, ...]) -> Emitted:
    """Compile the block function of a plan; `rowwise` inputs have a row axis, `outputs` are the values to return."""
    return Emitter(plan, rowwise, outputs).emit()


class Emitter:
    """A builder of one block function."""

    def __init__(self, plan: Plan, rowwise: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        self.plan = plan
        self.outputs = outputs
        self.rowwise = set(rowwise)
        self.names: dict[int, str] = {number: f"i{k}" for k, number in enumerate(rowwise)}
        self.inputs = rowwise
        self.uniforms: list[int] = []
        self.namespace: dict[str, Any] = {}
        self.functions: dict[int, str] = {}
        self.body: list[ast.stmt] = []
        self.buffers: list[Buffer] = []
        self.free: dict[Buffer, list[int]] = {}
        self.held: dict[int, int] = {}  # value: its buffer, or that of the value it is a view of
        self.holders: dict[int, int] = {}  # buffer: number of values that use it
        self.last = last_uses(plan)
        self.target = {number: f"o{k}" for k, number in reversed(list(enumerate(outputs)))}
        self.temporaries = 0

    def emit(self) -> Emitted:
        for position, step in enumerate(self.plan.steps):
            if any(number in self.rowwise for number in refs(step.args)):
                self.rowwise.update(step.out)
            self.emit_step(position, step)
        self.deliver()
        parameters = [self.names[n] for n in self.inputs] + [f"u{k}" for k in range(len(self.uniforms))]
        parameters += [f"o{k}" for k in range(len(self.outputs))] + [f"b{k}" for k in range(len(self.buffers))]
        function = compile_function("plan", parameters, self.body, self.namespace)
        return Emitted(function, self.inputs, tuple(self.uniforms), self.outputs, tuple(self.buffers), self.names)

    def emit_step(self, position: int, step: Step) -> None:
        calls = kernels.instructions(step, self.plan)
        if calls is None:
            self.whole(position, step)
            return
        out = step.out[0]
        operands = {number: self.operand(number, out) for number in refs(step.args)}
        dying = [n for n in dict.fromkeys(refs(step.args)) if n in self.held and self.last.get(n) == position]
        early = kernels.reads_once(calls) and all(not isinstance(o, ast.Call) for o in operands.values())
        if early:
            self.release(dying)
        places = {mark: self.result_name(n) for mark, n in zip((kernels.OUT, kernels.SECOND), step.out, strict=False)}
        if not early:
            self.release(dying)
        for function, args in calls:
            if function is kernels.copied:  # a kernel expects arrays, where a ufunc also takes numbers
                operands = {n: self.as_array(n, o) for n, o in operands.items()}
            given = [
                ast.Name(places[a], ast.Load()) if type(a) is kernels.Out else self.expression(a, operands)
                for a in args
            ]
            self.body.append(ast.Expr(self.call(function, given)))
        self.names.update(zip(step.out, places.values(), strict=True))

    def whole(self, position: int, step: Step) -> None:
        """Emit the call for a step that is not elementwise; its results are new arrays."""
        function = kernels.by_rows(step, self.plan, self.rowwise)
        given: list[ast.expr] = [ast.Name(self.name(n), ast.Load()) for n in refs(step.args)]
        names = []
        for number in step.out:
            self.names[number] = f"v{number}"
            names.append(ast.Name(f"v{number}", ast.Store()))
        target: ast.expr = names[0] if len(names) == 1 else ast.Tuple([*names], ast.Store())
        self.body.append(ast.Assign([target], self.call(function, given)))
        for number in step.out:
            if number in self.target:
                self.copy(number, self.target[number])
            for source in refs(step.args) if step.op in kernels.VIEWS else ():
                if source in self.held and number in self.last:
                    self.hold(number, self.held[source])
        self.release([n for n in dict.fromkeys(refs(step.args)) if n in self.held and self.last.get(n) == position])

    def deliver(self) -> None:
        """Emit copies for the outputs that no step writes in place: inputs, constants and duplicates."""
        for k, number in enumerate(self.outputs):
            in_place = number in self.rowwise and number not in self.inputs
            if not in_place or self.target[number] != f"o{k}":
                self.copy(number, f"o{k}")

    def copy(self, number: int, to: str) -> None:
        self.body.append(ast.Expr(self.call(np.copyto, [ast.Name(to, ast.Load()), self.reference(number)])))

    # ---- names of values

    def result_name(self, number: int) -> str:
        """Return the name of the array to write a result to: the array of an output, or a buffer."""
        if number in self.target:
            return self.target[number]
        value = self.plan.values[number]
        kind = (value.dtype, value.shape)
        free = self.free.setdefault(kind, [])
        if free:
            buffer = free.pop()
        else:
            self.buffers.append(kind)
            buffer = len(self.buffers) - 1
        if number in self.last:
            self.hold(number, buffer)
        else:
            free.append(buffer)
        return f"b{buffer}"

    def hold(self, number: int, buffer: int) -> None:
        self.held[number] = buffer
        self.holders[buffer] = self.holders.get(buffer, 0) + 1

    def release(self, numbers: list[int]) -> None:
        for number in numbers:
            buffer = self.held.pop(number)
            self.holders[buffer] -= 1
            if not self.holders[buffer]:
                self.free[self.buffers[buffer]].append(buffer)

    def operand(self, number: int, out: int) -> ast.expr:
        """Return the expression for an operand of an elementwise step; rows with fewer axes get axes of length 1."""
        result = self.reference(number)
        mine, its = len(self.plan.values[number].shape), len(self.plan.values[out].shape)
        if number in self.rowwise and mine < its:
            return self.call(ALIGN[its - mine] if its - mine in ALIGN else aligner(its - mine), [result])
        return result

    def as_array(self, number: int, operand: ast.expr) -> ast.expr:
        if not self.plan.values[number].is_constant:
            return operand
        return ast.Name(self.name(number), ast.Load())

    def expression(self, a: Any, operands: dict[int, ast.expr]) -> ast.expr:
        if type(a) is Ref:
            return operands[a.number]
        if type(a) in (tuple, list):
            return ast.Tuple([self.expression(item, operands) for item in a], ast.Load())
        return self.constant(a)

    def reference(self, number: int) -> ast.expr:
        value = self.plan.values[number]
        return self.constant(value.constant) if value.is_constant else ast.Name(self.name(number), ast.Load())

    def name(self, number: int) -> str:
        if number not in self.names:
            if self.plan.values[number].is_constant:
                self.names[number] = self.bind(np.asarray(self.plan.values[number].constant))
            else:
                self.names[number] = f"u{len(self.uniforms)}"
                self.uniforms.append(number)
        return self.names[number]

    def constant(self, value: Any) -> ast.expr:
        if type(value) in (float, int, bool) or value is None:
            return ast.Constant(value)
        return ast.Name(self.bind(value), ast.Load())

    def call(self, function: Any, args: list[ast.expr]) -> ast.Call:
        return ast.Call(ast.Name(self.bind(function), ast.Load()), args, [])

    def bind(self, thing: Any) -> str:
        """Return the generated name of an object that the code uses."""
        name = self.functions.get(id(thing))
        if name is None:
            name = self.functions[id(thing)] = f"f{len(self.functions)}"
            self.namespace[name] = thing
        return name


def aligner(axes: int) -> Any:
    def align(a: Any) -> Any:
        return a.reshape(len(a), *(1,) * axes, *a.shape[1:])

    ALIGN[axes] = align
    return align


ALIGN: dict[int, Any] = {}


def last_uses(plan: Plan) -> dict[int, int]:
    """Return the position of the last step that reads each value."""
    last = {}
    for position, step in enumerate(plan.steps):
        for number in refs(step.args):
            last[number] = position
    return last
