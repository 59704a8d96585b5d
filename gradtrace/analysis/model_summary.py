"""The layers of a model as one forward pass calls them: output shapes, parameters, and
multiply-accumulates.

    summary = model_summary(trace)

Multiply-accumulates are those of matrix products, convolutions, recurrent layers and attention, one
for each product of two numbers, as fvcore and torchinfo count them: of `Linear(i, o)` on n rows
n * i * o. Everything else counts none: elementwise operations, normalisations, pooling, distances.
"""

from __future__ import annotations

from itertools import chain, pairwise
from math import isqrt, prod

from gradtrace.annotations import Any, Callable, Mapping, NamedTuple, Sequence
from gradtrace.engine.data.dtypes import count
from gradtrace.engine.operators.tables import record_table
from gradtrace.lazy_names import words
from gradtrace.trace.record import CONSTANT, Operation, ScopeRecord, TensorRecord, Trace

Shape = tuple[int, ...]
PROGRAM = "outside of modules"
UNUSED = "not used here"


class LayerSummary(NamedTuple):
    """The calls of one module, without those of the modules in it."""

    name: str  # the program's path: "net.layers.0"
    kind: str  # its class
    depth: int  # how many modules contain it
    calls: int
    output: Shape  # of its last call
    output_bytes: int  # of all calls
    parameters: int  # elements of those that it is the first to read
    trainable: int
    multiplications: int  # multiply-accumulates of all calls


class ModelSummary(NamedTuple):
    """The layers in the order of their first calls, and their sums."""

    layers: tuple[LayerSummary, ...]
    input: Shape  # of the first module
    step: int | None  # of the training loop
    parameters: int
    trainable: int
    parameter_bytes: int
    output_bytes: int  # of the modules without others in them
    multiplications: int


def model_summary(trace: Trace) -> ModelSummary:
    """Return the summary of a run without a loop, or of the first step of one."""
    step = trace.training[0] if trace.training else None
    layers = Layers(trace)
    for operation in trace.operations[slice(*step.operations) if step else slice(None)]:
        layers.add(operation)
    layers.add_unused()
    rows = layers.summaries()
    containers = {row.name for row, following in pairwise(rows) if following.depth > row.depth}
    return ModelSummary(
        tuple(rows),
        layers.input,
        step.number if step else None,
        sum(row.parameters for row in rows),
        sum(row.trainable for row in rows),
        sum(bytes_of(p) for layer in layers.layers.values() for p in layer.parameters),
        sum(row.output_bytes for row in rows if row.name not in containers),
        sum(row.multiplications for row in rows),
    )


def multiplications_of(trace: Trace, operation: Operation) -> int:
    """Return the multiply-accumulates of one operation."""
    multiply = MULTIPLICATIONS.get(operation.name)
    if multiply is None:
        return 0
    outputs = [trace.tensors[i] for i in operation.outputs]
    tensors = [trace.tensors[i] for i in operation.tensors]
    return multiply(operation, tensors, outputs[0].shape if outputs else ())


class Layer:
    """What is known so far of a module."""

    def __init__(self, name: str, kind: str, depth: int) -> None:
        self.name = name
        self.kind = kind
        self.depth = depth
        self.calls: set[int] = set()
        self.parameters: list[TensorRecord] = []
        self.multiplications = 0

    def summary(self, results: Mapping[int, TensorRecord]) -> LayerSummary:
        """Return the summary; `results` has what each call of a module gave."""
        outputs = [results[call] for call in sorted(self.calls) if call in results]
        return LayerSummary(
            self.name,
            self.kind,
            self.depth,
            len(self.calls),
            outputs[-1].shape if outputs else (),
            sum(map(bytes_of, outputs)),
            sum(count(p.shape) for p in self.parameters),
            sum(count(p.shape) for p in self.parameters if p.requires_grad),
            self.multiplications,
        )


class Layers:
    """The modules of a run, by path, in the order of their first calls."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.layers: dict[str, Layer] = {}
        self.read: set[int] = set()  # the parameters that an operation has read
        self.entering: list[TensorRecord] = []  # what the first module has read from outside
        # by call of a module: its last operation's result, and what others read of it first
        self.last: dict[int, TensorRecord] = {}
        self.leaving: dict[int, TensorRecord] = {}

    @property
    def input(self) -> Shape:
        """The shape of what the first module was called with; () if that is not known: what the
        module makes itself, such as states of zeros, enters its operations too.
        """
        named = [t for t in self.entering if t.kind != CONSTANT]
        only = self.entering if len({t.first for t in self.entering}) == 1 else []
        return next((t.shape for t in named or only), ())

    def add(self, operation: Operation) -> None:
        """Count an operation for the modules that it was called in."""
        modules = self.modules(operation.scope)
        outputs = [self.trace.tensors[i] for i in operation.outputs]
        tensors = [self.trace.tensors[i] for i in operation.tensors]
        for depth, scope in enumerate(modules):
            layer = self.layers.setdefault(scope.name, Layer(scope.name, scope.detail, depth))
            layer.calls.add(scope.id)
            self.last.update((scope.id, output) for output in outputs[:1])
        self.follow(tensors, modules)
        multiplications = multiplications_of(self.trace, operation)
        parameters = [t for t in tensors if t.is_parameter and t.first not in self.read]
        is_update = operation.name.endswith("_")
        if not modules and not multiplications and (is_update or not parameters):
            return
        own = self.layers[modules[-1].name] if modules else self.outside(PROGRAM)
        own.multiplications += multiplications
        for t in parameters:
            if t.first not in self.read:  # twice in one operation
                self.read.add(t.first)
                own.parameters.append(t)

    def follow(self, tensors: Sequence[TensorRecord], modules: Sequence[ScopeRecord]) -> None:
        """Note what leaves the calls of modules that are over, and what enters the first one."""
        here = {scope.id for scope in modules}
        is_first = bool(modules) and modules[0].name == next(iter(self.layers))
        for t in tensors:
            maker = None if t.operation is None else self.trace.operations[t.operation]
            around = [] if maker is None else self.modules(maker.scope)
            for scope in around:
                if scope.id not in here:
                    self.leaving.setdefault(scope.id, t)
            if is_first and not around and not t.is_parameter:
                self.entering.append(t)

    def modules(self, at: int | None) -> list[ScopeRecord]:
        """Return the calls of modules around a scope, the outermost first."""
        return [s for s in self.trace.scopes_around(at) if s.kind == "module"][::-1]

    def outside(self, name: str) -> Layer:
        return self.layers.setdefault(name, Layer(name, "", 0))

    def add_unused(self) -> None:
        """Add the parameters of the program that no operation has read."""
        own = {t.first: t for t in self.trace.tensors if t.is_parameter and t.names}
        unused = [t for first, t in own.items() if first not in self.read]
        if unused:
            self.outside(UNUSED).parameters += unused

    def summaries(self) -> list[LayerSummary]:
        results = {**self.last, **self.leaving}
        return [layer.summary(results) for layer in self.layers.values()]


def bytes_of(t: TensorRecord) -> int:
    """Return the size of a tensor: of "float32", "complex64", "float8_e4m3fn"; a bool has one
    byte.
    """
    bits = t.dtype.partition("_")[0].lstrip("abcdefghijklmnopqrstuvwxyz")
    return count(t.shape) * max(1, int(bits or 8) // 8)


# ---- multiply-accumulates of an operation

Count = Callable[[Operation, Sequence[TensorRecord], Shape], int]


def of_product(position: int) -> Count:
    """Return the count of a matrix product whose operand at this position has the inner dimension
    last.
    """
    return lambda operation, tensors, output: count(output) * (tensors[position].shape or (1,))[-1]


def of_convolution(operation: Operation, tensors: Sequence[TensorRecord], output: Shape) -> int:
    """Each element of the output (transposed: of the input) meets a filter of one output
    channel.
    """
    transposed = "transpose" in operation.name or "transposed=True" in operation.constants
    positions = tensors[0].shape if transposed else output
    return count(positions) * count(tensors[1].shape[1:])


def of_recurrence(operation: Operation, tensors: Sequence[TensorRecord], output: Shape) -> int:
    """Each row of the input meets each matrix of weights once."""
    matrices = [t for t in tensors[1:] if t.is_parameter and len(t.shape) == 2]
    return count(tensors[0].shape[:-1]) * sum(count(t.shape) for t in matrices)


def of_attention(operation: Operation, tensors: Sequence[TensorRecord], output: Shape) -> int:
    """Each query meets each key, and each weight a value."""
    query, key, value = (t.shape for t in tensors[:3])
    return count(query[:-1]) * key[-2] * (query[-1] + value[-1])


def of_bilinear(operation: Operation, tensors: Sequence[TensorRecord], output: Shape) -> int:
    """Each output is a sum over all pairs of features; the weights have three dimensions."""
    weights = next((t.shape for t in tensors if len(t.shape) == 3), ())
    return count(output) * count(weights[1:])


def of_contraction(operation: Operation, tensors: Sequence[TensorRecord], output: Shape) -> int:
    """The inner sizes are the root of the product of all three sizes, without the output's."""
    return isqrt(prod(count(t.shape) for t in tensors[:2]) * count(output))


def of_einsum(operation: Operation, tensors: Sequence[TensorRecord], output: Shape) -> int:
    """Operands are multiplied from left to right; indices that nothing later needs are summed at
    once.
    """
    equation = operation.constants[0].replace(" ", "") if operation.constants else ""
    inputs, _, result = equation.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(tensors) or "." in equation:
        return count(output) if len(tensors) > 1 else 0
    sizes: dict[Any, int] = {}
    for term, t in zip(terms, tensors, strict=True):
        sizes.update(zip(term, t.shape, strict=False))
    total = 0
    left = set(terms[0])
    for number, term in enumerate(terms[1:], 1):
        left |= set(term)
        total += count(tuple(sizes[index] for index in left))
        left &= set(chain(result, *terms[number + 1 :]))
    return total


# ---- by the names of records, and of functions that PyTorch runs in one piece

OF_RECORDS: dict[str, Count] = record_table(
    "analysis.model_summary.OF_RECORDS",
    {
        **dict.fromkeys(("mm", "bmm", "mv", "dot"), of_product(0)),
        **dict.fromkeys(("addmm", "baddbmm"), of_product(1)),
        "convolution": of_convolution,
        "scaled_dot_product_attention": of_attention,
        "trilinear": of_bilinear,
    },
)
CONVOLUTIONS = (f"{name}{n}d" for name in ("conv", "conv_transpose") for n in (1, 2, 3))
RECURRENT = words("lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell")
MULTIPLICATIONS: dict[str, Count] = {
    **OF_RECORDS,
    **dict.fromkeys(("matmul", "linear", "vdot", "inner"), of_product(0)),
    **dict.fromkeys(("addmv", "addbmm"), of_product(1)),
    **dict.fromkeys(("tensordot", "outer", "ger"), of_contraction),
    **dict.fromkeys(CONVOLUTIONS, of_convolution),
    **dict.fromkeys(RECURRENT, of_recurrence),
    "bilinear": of_bilinear,
    "einsum": of_einsum,
}
