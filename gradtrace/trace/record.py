"""The immutable records of a run, which every view and every analysis reads.

    Trace
    ├── tensors      TensorRecord, ids 0, 1, 2, ... in creation order (inputs first)
    ├── operations   Operation, in execution order: Operand tensors in, tensor ids out
    ├── functions    FunctionRecord: the backward graph's nodes, in creation order, AccumulateGrad
                     nodes last
    ├── function_edges   FunctionEdge, as PyTorch's next_functions: from a function to its inputs'
                         functions
    ├── scopes       ScopeRecord: the modules, functions, loops and iterations that operations were
                     called in
    ├── steps        BackwardStep, in the engine's order, if the run was watched (as the four below)
    ├── passes       PassRecord, the calls of backward and autograd.grad
    ├── escapes      Escape, values that left the graph without an operator: .data, item(),
                     tolist(), numpy(), detach_()
    ├── changes      Change, writes to a tensor or a gradient in place, seen by autograd or not
    ├── begun        Begun, the places where tensors began to require grad
    ├── failure      Failure, the error that ended the program, if there is one
    ├── training     TrainingStep, the steps of a training loop, if there is one
    ├── optimisers   OptimiserRecord, the tensors of each optimiser, and its steps
    ├── checks       FunctionCheck, the program's own Functions compared with finite differences
    ├── shards       Shard, the part of each parameter that this one of several processes holds
    ├── buffers      BufferRecord, the buffers of modules that operations used
    ├── clips        ClipRecord, the calls that clipped gradients
    ├── hooks        HookRecord, the hooks that were registered
    ├── schedules    ScheduleRecord, the schedules of learning rates, and their steps
    ├── scalings     ScalingRecord, the calls of a GradScaler's methods
    └── precision    Precision, the rounding error of each result, if it was measured
                     (trace/precision.py)

`tensors[i].id == i`, and likewise for operations and functions, so an id is an index. Records do
not refer to live tensors, the terminal or memory addresses: the same program and inputs give an
equal Trace, and so the same bytes in every view.

An in-place operation or an optimiser's step makes a new TensorRecord: a new version of the same
tensor (`first` is the id of its first version). So an edge never points back in time. A version's
value is the one at its creation; a leaf version's gradient is the one when the next version
replaced it. The variable's name belongs to the last version.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Final, Iterator, NamedTuple
from gradtrace.trace.values import Value as Value

if TYPE_CHECKING:
    from gradtrace.trace.precision import Precision

# What a number in a record counts. A file's numbers are checked by it, and a window
# (`trace/window.py`) changes them.
TensorId = int  # the index of a TensorRecord
OperationId = int
FunctionId = int
ScopeId = int
PassId = int
OptimiserId = int
OperationCount = int  # how many operations had run before
StepCount = int  # how many backward steps
Group = tuple[TensorId, ...]  # ids that many records share: a file has such a tuple once

LEAF: Final = "leaf"  # made by the user, requires grad
DATA: Final = "data"  # a leaf without grad
# made by the program from no tensor and never named, e.g. torch.ones(3) within a line
CONSTANT: Final = "constant"
NONLEAF: Final = "nonleaf"  # computed, has a grad_fn
RESULT: Final = "result"  # computed, but with no grad history
FAILED: Final = "failed"  # what an operation that raised did not give
KINDS: Final = (LEAF, DATA, CONSTANT, NONLEAF, RESULT, FAILED)
SCOPES: Final = ("module", "function", "loop", "pass", "backward")  # kinds of ScopeRecord
HOOKS: Final = ("tensor", "pre", "post", "accumulated", "retain")  # kinds of HookRun
# kinds of HookRecord: two of tensors, then those of modules
REGISTERED: Final = (
    "tensor", "accumulated", "forward_pre", "forward", "backward_pre", "backward",
)  # fmt: skip


class Span(NamedTuple):
    """A range of source text: lines from 1, columns from 0 (as `ast` counts, in UTF-8 bytes).

    `file` is "" for the program, or the name of one of the program's own modules, whose text is in
    `Trace.files`.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    file: str = ""

    @property
    def where(self) -> str:
        """The place in words: "line 7" of the program, or "layers.py:7"."""
        return self.short if self.file else f"line {self.line}"

    @property
    def at(self) -> str:
        """The same with a preposition: "on line 7", or "at layers.py:7"."""
        return f"{'at' if self.file else 'on'} {self.where}"

    @property
    def short(self) -> str:
        """The place as short text: "7", or "layers.py:7"."""
        return f"{self.file}:{self.line}" if self.file else str(self.line)


OVERWRITTEN = "overwritten in place"  # the note of a tensor version that a later one replaced


class TensorRecord(NamedTuple):
    """One tensor, or one version of a tensor that in-place operations changed."""

    id: TensorId
    name: str | None  # the first variable it was bound to
    label: str  # the name, or the text of the expression that made it
    kind: str  # one of KINDS
    op: str | None  # the operation that made it ("mul"); None for a tensor that none made
    grad_fn: str | None  # "MulBackward0"
    function: FunctionId | None  # its grad_fn's FunctionRecord (for a leaf, its AccumulateGrad)
    is_leaf: bool
    requires_grad: bool
    retains_grad: bool
    is_output: bool
    is_parameter: bool
    value: Value | None  # as it was when this version was made; None if that is not known
    grad: Value | None
    grad_fn_of_grad: str | None  # after create_graph: the gradient's own grad_fn
    grad_note: str  # "" or why grad is None
    span: Span | None
    names: tuple[str, ...] = ()  # every variable it is bound to, in order of binding
    operation: OperationId | None = None  # the Operation that made it
    version: int = 0  # how many in-place changes this tensor has behind it
    is_root: bool = False  # backward starts here
    first: int = -1  # the first version of this tensor (itself, unless it was changed in place)
    is_last: bool = True  # no later version was made
    # the tensor held this when the run ended: False also for a view of what has changed since
    is_current: bool = True
    # the norm of its difference from the version before, by that one's norm, if noted
    update: float | None = None
    device: str = ""  # "cuda:0"; "" for the CPU

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its value; () if that is not known."""
        return () if self.value is None else self.value.shape

    @property
    def dtype(self) -> str:
        """The dtype of its value; "" if that is not known."""
        return "" if self.value is None else self.value.dtype

    @property
    def missing(self) -> str:
        """Why its value is not known; "" if it is."""
        if self.value is not None:
            return ""
        return OVERWRITTEN if self.grad_note == OVERWRITTEN else "not kept"


class Operand(NamedTuple):
    """One argument of an operation: a tensor, or the text of a constant ("1", "dim=0").

    `position` counts in reading order, so that the 2 of `2 - x` is 0; `name` is the parameter's
    ("other", "dim").
    """

    tensor: TensorId | None
    text: str
    position: int
    name: str = ""
    edge: int | None = None  # its place in the function's next_functions (FunctionEdge.input_index)


class Operation(NamedTuple):
    """One call of an operator. `inputs` holds x twice for x*x; `text` is the source text of the
    call.
    """

    id: OperationId
    name: str
    label: str  # with its constants: "add 1", "sum dim=0"
    inputs: tuple[Operand, ...]
    outputs: tuple[TensorId, ...]
    grad_fn: str | None
    function: FunctionId | None
    span: Span | None
    text: str = ""
    scope: ScopeId | None = None  # the innermost ScopeRecord; None at the top of the program
    grad_enabled: bool = True  # known only of a watched run

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensors that it read, in order."""
        return tuple([o.tensor for o in self.inputs if o.tensor is not None])

    @property
    def constants(self) -> tuple[str, ...]:
        """The texts of its other arguments."""
        return tuple(o.text for o in self.inputs if o.tensor is None)

    def option(self, name: str) -> str | None:
        """Return the text of an option's value ("0" of dim=0); None if the call does not give
        it.
        """
        start = f"{name}="
        return next(
            (o.text.removeprefix(start) for o in self.inputs if o.text.startswith(start)), None
        )


class SavedRecord(NamedTuple):
    """A value kept for backward: a tensor of the trace, or the text of anything else ("2", "shape
    (3, 4)").
    """

    name: str
    tensor: TensorId | None
    text: str


class FunctionRecord(NamedTuple):
    """One node of the backward graph."""

    id: FunctionId
    name: str  # "MulBackward0", "AccumulateGrad"
    # 0, 1, 2, ... in order of creation within this trace; the later runs first in backward
    sequence: FunctionId
    outputs: tuple[TensorId, ...]  # the tensors whose grad_fn it is
    variable: TensorId | None  # AccumulateGrad's leaf
    saved: tuple[SavedRecord, ...]
    freed: bool  # backward has released its saved values
    span: Span | None


class FunctionEdge(NamedTuple):
    """An edge of the backward graph: `source.next_functions[input_index] == (target,
    output_nr)`.
    """

    source: FunctionId
    target: FunctionId
    input_index: int
    output_nr: int


class ScopeRecord(NamedTuple):
    """One call of a module or a function, one loop, or one iteration of a loop; `parent` is the
    scope around it.

    `kind` is "module", "function", "loop", "pass" (an iteration) or "backward" (the operations of
    the derivative itself, with --create-graph).
    """

    id: ScopeId
    parent: ScopeId | None
    kind: str
    name: str  # "net.layers.0", "f", "for i in range(3)"
    detail: str  # of a module its class: "Linear"
    turn: int | None  # which pass of its loop, from 0
    span: Span | None  # the loop's first line, or the call
    training: bool | None = None  # of a module's call: whether it was in training mode then


class HookRun(NamedTuple):
    """A hook that ran. `kind`: "tensor", "pre" and "post" (of a node), "accumulated", or "retain"
    (keeps the gradient).
    """

    kind: str
    name: str
    before: Value | None
    after: Value | None
    changed: bool


class BackwardStep(NamedTuple):
    """One visit of a function by backward.

    `upstream` has the gradient received for each output; `downstream` the gradient sent and `local`
    the derivative of the output for each input (FunctionEdge.input_index). None stands for no
    gradient. `local` is known for a pointwise operator, in the output's shape, and for an operator
    whose result is a single number, in the input's shape.
    """

    number: PassId  # of the backward pass, from 0
    function: FunctionId
    upstream: tuple[Value | None, ...]
    downstream: tuple[Value | None, ...]
    local: tuple[Value | None, ...]
    freed: bool  # its saved values were let go then
    # what gathered for it; `upstream` is the same after the hooks
    arrived: tuple[Value | None, ...] = ()
    hooks: tuple[HookRun, ...] = ()
    grad_before: Value | None = None  # of an AccumulateGrad: the leaf's .grad before, and after
    grad_after: Value | None = None
    ran: bool = True  # False: autograd.grad took what gathered here
    after: OperationCount = 0  # how many operations had run before
    # where asked for: by edge, the derivatives of output by input, flattened
    matrices: tuple[Value | None, ...] = ()

    @property
    def gradient(self) -> Value | None:
        """The gradient received for the first output that has one."""
        return next((value for value in self.upstream if value is not None), None)


class PassRecord(NamedTuple):
    """One backward pass: a call of backward or of autograd.grad."""

    number: PassId  # from 0
    roots: tuple[TensorId, ...]  # tensors
    vectors: tuple[Value, ...]  # one for each root
    after: OperationCount  # how many operations had run before
    keep: bool  # retain_graph
    create_graph: bool
    inputs: tuple[TensorId, ...] | None  # tensors, if it was for these alone
    stores: bool  # into .grad; False: autograd.grad
    error: str
    span: Span | None
    until: OperationCount = 0  # how many operations had run when it was over


class TrainingStep(NamedTuple):
    """One step of a training loop: the part between two updates, or between two backward passes
    from one source line.
    """

    number: int  # from 1
    operations: tuple[OperationCount, OperationCount]  # from the first to before the last
    # likewise; numbers of backward passes, whether or not the run was watched
    passes: tuple[int, int]
    roots: tuple[TensorId, ...]  # the tensors that its passes began at
    span: Span | None  # of the update or the pass that ends it
    variables: str = ""  # of the program's loops, where they are integers: "epoch=0, i=3"


class Escape(NamedTuple):
    """A value that left the graph without an operator. `how` is "data", "parameter", "item",
    "tolist", "numpy" or "detach_".
    """

    how: str
    tensor: TensorId | None
    after: OperationCount  # how many operations had run before
    span: Span | None
    text: str
    out: TensorId | None = None  # the tensor that .data or nn.Parameter() gave


class Change(NamedTuple):
    """A write in place: by an operator ("mul_"), by an optimiser ("step"), by assigning `.data`
    ("data"), or with rank 0's numbers by DistributedDataParallel ("broadcast").

    With `of_grad` the tensors' gradients were written: by an operator, "cleared" (set to None) or
    "assigned".
    """

    how: str
    tensors: Group  # all versions of all tensors on that storage
    of_grad: bool
    after: OperationCount  # how many operations had run before
    after_steps: StepCount  # how many backward steps
    operation: OperationId | None
    grad_enabled: bool
    span: Span | None
    text: str
    optimiser: OptimiserId | None = None  # which one's step it was


class Begun(NamedTuple):
    """The place where a tensor began to require grad."""

    tensor: TensorId
    after: OperationCount
    span: Span | None


class StepMark(NamedTuple):
    """A call of an optimiser's step()."""

    after: OperationCount  # how many operations had run before it was over
    after_steps: StepCount
    is_idle: bool  # no tensor had a gradient
    span: Span | None


class GroupRecord(NamedTuple):
    """A group of an optimiser's parameters; `rates` has from which of its steps (from 1) on."""

    tensors: Group  # the last versions of those that are in the trace
    lr: float | None  # when it was made
    rates: tuple[tuple[int, float], ...]
    options: tuple[str, ...] = ()  # without lr


class OptimiserRecord(NamedTuple):
    """An optimiser of a watched run. `tensors` are the last versions of its tensors that are in the
    trace.
    """

    kind: str  # its class: "SGD"
    tensors: tuple[TensorId, ...]
    held: int  # how many tensors it holds; more than `tensors` if the program did not use some
    lr: float | None  # of its first group, when it was made
    span: Span | None  # where it was made
    steps: int  # calls of step()
    idle: int  # those of them in which no tensor had a gradient
    step_span: Span | None  # the first call
    # the largest lr of its groups: from which of its steps (from 1) on
    rates: tuple[tuple[int, float], ...] = ()
    options: tuple[str, ...] = ()  # of its first group, without lr: "betas=(0.9, 0.999)"
    groups: tuple[GroupRecord, ...] = ()
    marks: tuple[StepMark, ...] = ()


class FunctionCheck(NamedTuple):
    """The comparison of a program's Function with finite differences of its forward, on the
    arguments of its first call.

    `verdict` is "ok", "wrong" (then the other fields describe its worst element), or "not tried";
    `note` has the reason.
    """

    name: str
    verdict: str
    note: str
    span: Span | None  # the call
    input: int = 0  # which input, from 0
    element: int = 0
    analytic: float = 0.0
    numeric: float = 0.0


class Shard(NamedTuple):
    """The part of a parameter that one of several processes held when the run ended.

    `copies` processes of the `processes` in its mesh hold the same part. A sum of squares is None
    if it is not known.
    """

    name: str
    shape: tuple[int, ...]  # of the whole parameter
    local_shape: tuple[int, ...]
    placement: str  # "S(0)"
    copies: int
    processes: int
    squares: float | None
    grad_squares: float | None


class BufferRecord(NamedTuple):
    """A buffer of a module; with `is_sent` DistributedDataParallel sends rank 0's to all ranks
    before each forward.
    """

    name: str
    tensor: TensorId  # its last version
    is_sent: bool


class ClipRecord(NamedTuple):
    """A call of clip_grad_norm_ ("norm") or clip_grad_value_ ("value")."""

    how: str
    tensors: Group  # whose gradients it got, also those without one: the last versions
    held: int  # how many tensors it got, also those that the trace does not have
    limit: float | None
    norm: float | None  # the norm that it returned, if known
    after: OperationCount
    after_steps: StepCount
    span: Span | None


class HookRecord(NamedTuple):
    """A hook that was registered on a tensor, or on a module (its name)."""

    kind: str  # one of REGISTERED
    name: str
    tensor: TensorId | None
    module: str
    after: OperationCount
    removed: OperationCount | None  # how many operations had run before its handle removed it
    span: Span | None


class ScheduleRecord(NamedTuple):
    """A schedule of learning rates, unless another one calls it."""

    kind: str  # its class: "StepLR"
    optimiser: OptimiserId | None
    span: Span | None  # where it was made
    # of each call of step(): how many operations and backward steps had run before
    steps: tuple[tuple[OperationCount, StepCount], ...]
    step_span: Span | None  # the first call


class ScalingRecord(NamedTuple):
    """A call of a GradScaler that is enabled: "scale", "unscale_", "step" or "update"."""

    how: str
    after: OperationCount
    after_steps: StepCount
    span: Span | None


# in `left_out` of ranks that do not do the same work
TENSOR_PARALLEL = (
    "the elements of DTensors that operations use: tensor parallelism is not supported"
)
PIPELINE = "the other stages of the model: pipelines are not supported"


class Failure(NamedTuple):
    """The exception that ended a program, and its place."""

    kind: str
    message: str
    span: Span | None
    forward: Span | None = None  # of an error in backward: the operation that was differentiated
    operation: OperationId | None = None  # the Operation that failed (see trace/failed.py)
    call: str = ""  # the operator of PyTorch that raised it, and the tensors that it was called on
    inputs: tuple[TensorId, ...] = ()


class Trace(NamedTuple):
    """The immutable record of one run."""

    source_name: str
    source_text: str
    tensors: tuple[TensorRecord, ...]
    operations: tuple[Operation, ...]
    functions: tuple[FunctionRecord, ...]
    function_edges: tuple[FunctionEdge, ...]
    roots: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]
    backward_runs: int
    names: tuple[tuple[str, TensorId], ...]
    scopes: tuple[ScopeRecord, ...] = ()
    steps: tuple[BackwardStep, ...] = ()
    passes: tuple[PassRecord, ...] = ()
    escapes: tuple[Escape, ...] = ()
    changes: tuple[Change, ...] = ()
    begun: tuple[Begun, ...] = ()
    failure: Failure | None = None
    training: tuple[TrainingStep, ...] = ()
    # of each module of the program's own its name and its text
    files: tuple[tuple[str, str], ...] = ()
    earlier_passes: int = 0  # of a part: how many passes of the run came before `passes`
    optimisers: tuple[OptimiserRecord, ...] = ()
    checks: tuple[FunctionCheck, ...] = ()
    engine: str = ""  # what ran it: "" for gradtrace, "torch 2.13.0" for a recorded run of PyTorch
    left_out: tuple[str, ...] = ()  # what of the run could not be seen, a sentence each
    rank: int | None = None  # of several processes, which one this is
    # of a pass or step in a library: its place, and the program's own
    leads: tuple[tuple[Span, Span], ...] = ()
    shards: tuple[Shard, ...] = ()  # of parameters that several processes share
    buffers: tuple[BufferRecord, ...] = ()  # of modules, that operations used
    processes: int = 0  # how many there were
    precision: Precision | None = None
    clips: tuple[ClipRecord, ...] = ()
    hooks: tuple[HookRecord, ...] = ()
    schedules: tuple[ScheduleRecord, ...] = ()
    scalings: tuple[ScalingRecord, ...] = ()

    def text_of(self, span: Span | None) -> str:
        """Return the text of the file that a span is in."""
        return (
            dict(self.files).get(span.file, "")
            if span is not None and span.file
            else self.source_text
        )

    def scopes_around(self, scope: ScopeId | None) -> Iterator[ScopeRecord]:
        """Yield a scope and the scopes around it, innermost first."""
        while scope is not None:
            record = self.scopes[scope]
            yield record
            scope = record.parent

    def module_around(self, scope: ScopeId | None) -> str:
        """Return the path of the innermost module that a scope is in, or ""."""
        return next((s.name for s in self.scopes_around(scope) if s.kind == "module"), "")

    def tensor(self, name: str) -> TensorRecord:
        """Return the tensor bound to the variable `name`; KeyError if there is none."""
        for bound, index in self.names:
            if bound == name:
                return self.tensors[index]
        raise KeyError(name)

    @property
    def named(self) -> tuple[TensorRecord, ...]:
        """Return the tensors that have a name, in creation order."""
        return tuple(t for t in self.tensors if t.name is not None)
