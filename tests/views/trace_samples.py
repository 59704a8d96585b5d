"""Traces built by hand, so that views are tested without the engine."""

from __future__ import annotations

from typing import Any

from gradtrace.trace.record import (
    FunctionEdge,
    FunctionRecord,
    Operand,
    Operation,
    SavedRecord,
    Span,
    TensorRecord,
    Trace,
    Value,
)


def value(data: Any, dtype: str = "float64") -> Value:
    """A Value of a number, a nested list or an array."""
    if isinstance(data, (float, bool, int)):
        return Value((), dtype, data)
    import numpy as np

    array = np.array(data, dtype=dtype)
    array.flags.writeable = False
    return Value(array.shape, str(array.dtype), array)


class Builder:
    """Collects records: `t = b.leaf("x", 2.0, grad=2.0)`, `b.op("mul", "MulBackward0", [x, x], "y", 4.0)`."""

    def __init__(self, text: str = "", name: str = "expression") -> None:
        self.text, self.name = text, name
        self.tensors: list[TensorRecord] = []
        self.operations: list[Operation] = []
        self.functions: list[FunctionRecord] = []
        self.edges: list[FunctionEdge] = []
        self.saved: dict[int, tuple[SavedRecord, ...]] = {}

    def leaf(
        self,
        name: str,
        data: Any,
        grad: Any = None,
        *,
        requires_grad: bool = True,
        kind: str = "",
        parameter: bool = False,
    ) -> int:
        kind = kind or ("leaf" if requires_grad else "data")
        note = (
            ""
            if grad is not None
            else ("not reached by backward" if requires_grad else "requires_grad is False")
        )
        return self._tensor(
            name,
            name,
            kind,
            None,
            None,
            None,
            data,
            grad,
            note,
            is_leaf=True,
            requires_grad=requires_grad,
            parameter=parameter,
        )

    def op(
        self,
        op: str,
        grad_fn: str | None,
        inputs: list[Any],
        name: str | None,
        data: Any,
        grad: Any = None,
        *,
        label: str = "",
        constants: str = "",
        output: bool = False,
        retains: bool = False,
        saved: tuple[SavedRecord, ...] = (),
        line: int = 1,
    ) -> int:
        """`inputs` holds tensor ids, and strings for constants."""
        function = len(self.functions) if grad_fn else None
        made = len(self.tensors)
        operands = tuple(
            Operand(None, item, i) if isinstance(item, str) else Operand(item, "", i)
            for i, item in enumerate(inputs)
        )
        span = Span(line, 0, line, 5)
        if grad_fn:
            sources = [
                item
                for item in inputs
                if not isinstance(item, str) and self.tensors[item].requires_grad
            ]
            for i, item in enumerate(sources):
                self.edges.append(FunctionEdge(made, item, i, 0))  # tensor ids for now; see trace()
            self.functions.append(
                FunctionRecord(made, grad_fn, 0, (made,), None, saved, grad is not None, span)
            )
        kind = "nonleaf" if grad_fn else "result"
        note = (
            ""
            if grad is not None
            else ("non-leaf: not retained" if grad_fn else "requires_grad is False")
        )
        self.operations.append(
            Operation(
                len(self.operations),
                op,
                f"{op} {constants}".strip(),
                operands,
                (made,),
                grad_fn,
                function,
                span,
            )
        )
        return self._tensor(
            name,
            label or name or f"%{made}",
            kind,
            op,
            grad_fn,
            function,
            data,
            grad,
            note,
            is_leaf=not grad_fn,
            requires_grad=bool(grad_fn),
            output=output,
            retains=retains,
            span=span,
        )

    def _tensor(
        self,
        name: str | None,
        label: str,
        kind: str,
        op: str | None,
        grad_fn: str | None,
        function: int | None,
        data: Any,
        grad: Any,
        note: str,
        *,
        is_leaf: bool,
        requires_grad: bool,
        parameter: bool = False,
        output: bool = False,
        retains: bool = False,
        span: Span | None = None,
    ) -> int:
        index = len(self.tensors)
        dtype = "float64" if not isinstance(data, bool) else "bool"
        operation = len(self.operations) - 1 if op else None
        self.tensors.append(
            TensorRecord(
                index,
                name,
                label,
                kind,
                op,
                grad_fn,
                function,
                is_leaf,
                requires_grad,
                retains,
                output,
                parameter,
                None if data is None else value(data, dtype),
                None if grad is None else value(grad),
                None,
                note,
                span,
                (name,) if name else (),
                operation,
                0,
                output,
            )
        )
        return index

    def trace(self) -> Trace:
        by_tensor = {f.id: i for i, f in enumerate(self.functions)}
        functions = [f._replace(id=i, sequence=i) for i, f in enumerate(self.functions)]
        edges = []
        for edge in self.edges:
            if edge.target not in by_tensor:
                by_tensor[edge.target] = len(functions)
                functions.append(
                    FunctionRecord(
                        len(functions),
                        "AccumulateGrad",
                        len(functions),
                        (),
                        edge.target,
                        (),
                        False,
                        None,
                    )
                )
            edges.append(
                FunctionEdge(
                    by_tensor[edge.source], by_tensor[edge.target], edge.input_index, edge.output_nr
                )
            )
        outputs = tuple(t.id for t in self.tensors if t.is_output)
        names = tuple((t.name, t.id) for t in self.tensors if t.name)
        return Trace(
            self.name,
            self.text,
            tuple(self.tensors),
            tuple(self.operations),
            tuple(functions),
            tuple(edges),
            outputs,
            outputs,
            1,
            names,
        )


def notes() -> Trace:
    """y = (x + w) * (w + 1) at x=2, w=1, after backward with a retained."""
    b = Builder("a = x + w\nb = w + 1\ny = a * b\n", "expr.txt")
    x, w = b.leaf("x", 2.0, 2.0), b.leaf("w", 1.0, 5.0)
    a = b.op("add", "AddBackward0", [x, w], "a", 3.0, 2.0, retains=True, line=1)
    c = b.op("add", "AddBackward0", [w, "1"], "b", 2.0, constants="1", line=2)
    saved = (SavedRecord("self", a, ""), SavedRecord("other", c, ""))
    b.op("mul", "MulBackward0", [a, c], "y", 6.0, output=True, saved=saved, line=3)
    return b.trace()


def square() -> Trace:
    """x*x: two edges from one leaf."""
    b = Builder("x*x")
    x = b.leaf("x", 3.0, 6.0)
    b.op("mul", "MulBackward0", [x, x], None, 9.0, label="x*x", output=True)
    return b.trace()


def chain(length: int = 30) -> Trace:
    """sin, exp, tanh, ... one after the other."""
    b = Builder("chain")
    t = b.leaf("x", 0.5, 0.001)
    names = (("sin", "SinBackward0"), ("exp", "ExpBackward0"), ("tanh", "TanhBackward0"))
    for i in range(length):
        op, grad_fn = names[i % 3]
        t = b.op(op, grad_fn, [t], None, 0.5 + i / 100, label=f"{op}(t)", output=i == length - 1)
    return b.trace()


def mlp() -> Trace:
    """Three linear layers with relu and a mean squared loss, batch 4."""
    import numpy as np

    rng = np.random.default_rng(0)
    b = Builder("mlp", "mlp.py")
    x = b.leaf("x", rng.normal(size=(4, 8)), requires_grad=False)
    target = b.leaf("target", rng.normal(size=(4, 3)), requires_grad=False)
    sizes = (8, 16, 16, 3)
    h = x
    for i in range(3):
        size = (sizes[i + 1], sizes[i])
        w = b.leaf(
            f"layers.{i}.weight", rng.normal(size=size), rng.normal(size=size), parameter=True
        )
        bias = b.leaf(
            f"layers.{i}.bias", rng.normal(size=size[0]), rng.normal(size=size[0]), parameter=True
        )
        wt = b.op(
            "t", "TBackward0", [w], None, b.tensors[w].value.data.T, label=f"layers.{i}.weight.t()"
        )
        out = rng.normal(size=(4, size[0]))
        h = b.op("addmm", "AddmmBackward0", [bias, h, wt], None, out, label=f"linear{i}(h)")
        if i < 2:
            h = b.op("relu", "ReluBackward0", [h], f"h{i + 1}", abs(out))
    b.op("mse_loss", "MseLossBackward0", [h, target], "loss", 1.2345678, output=True)
    return b.trace()


def hostile(name: str) -> Trace:
    """A graph in which every text is `name`."""
    b = Builder(name, name)
    x = b.leaf(name, 1.0, 1.0)
    b.op(
        name,
        name,
        [x, name],
        name,
        1.0,
        constants=name,
        output=True,
        saved=(SavedRecord(name, None, name),),
    )
    return b.trace()
