"""One run as the comparison reads it: the step and place of each tensor, its uses, its gradient,
its versions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import pairwise
from math import prod

from gradtrace.analysis.stats import gradients
from gradtrace.annotations import Any, Callable
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import BackwardStep, Change, Operation, Span, TensorRecord, Trace, Value
from gradtrace.trace.sketches import bits_of

# what gives the same elements, though its record does not say that it is a view
COPIES = function_table(
    "analysis.compare.runs.COPIES",
    frozenset(
        words(
            "detach contiguous clone flatten unflatten chunk narrow ravel view_as expand_as T mT "
            "movedim swapaxes tensor_split"
        )
    ),
)
UNSEEN = "a transform of torch.func"  # in a record's `left_out`
# products of matrices that PyTorch runs in one piece
PRODUCTS = function_table(
    "analysis.compare.runs.PRODUCTS", frozenset(words("linear matmul conv1d conv2d conv3d bmm"))
)
SELECTIONS = ("index", "index_select", "getitem")
LATER = 1 << 60  # the position of what nothing uses


class RecordedRun:
    """The indices of one trace. `first` is the training step, from 1, that counts as the first one,
    `count` how many steps are compared; what runs outside of them has no part.
    """

    def __init__(self, trace: Trace, first: int = 1, count: int | None = None) -> None:
        self.trace = trace
        self.tensors = list(trace.tensors)
        self.operations = trace.operations
        steps = trace.training if count else ()
        self.first = first
        self.count = count or 1
        self.step_of_operation = [1] * len(self.operations)
        if steps:
            self.step_of_operation = [len(steps) + 1] * len(self.operations)
            begin = 0
            for number, step in enumerate(steps, 1):
                end = step.operations[1]
                self.step_of_operation[begin:end] = [number] * (end - begin)
                begin = max(begin, end)
            self.step_of_operation = [step - first + 1 for step in self.step_of_operation]
        self.uses: dict[int, list[int]] = {}
        for operation in self.operations:
            for i in dict.fromkeys(operation.tensors):
                self.uses.setdefault(i, []).append(operation.id)
        self.versions: dict[int, list[int]] = {}
        self.before: dict[int, int | None] = {}
        for t in self.tensors:
            versions = self.versions.setdefault(t.first, [])
            self.before[t.id] = versions[-1] if versions else None
            versions.append(t.id)
        self.grads = gradients(trace)
        self.visits: dict[int, BackwardStep] = {step.function: step for step in trace.steps}
        self.names = {t.first: t.name for t in self.tensors if t.name is not None}
        # by a version of a leaf: the visits in which backward stored gradients on it (indices),
        # the tensor that holds what they stored, and the one that held its gradient in the end,
        # after operations of the program changed it
        self.stored: dict[int, list[int]] = {}
        self.holder: dict[int, int] = {}
        self.edited: dict[int, int] = {}
        self.gradients: set[int] = set()  # the first versions of tensors that hold gradients
        self.holds: dict[int, int] = {}  # the version of a leaf whose gradient a tensor holds
        self._used: dict[int, list[tuple[int, int]]] = {}
        self.find_gradients()
        self.cast: set[int] = set()
        # by the first version of a leaf: those that it has at the ends of updates
        self.settled: dict[int, list[int]] = {}
        self.taken: dict[int, int] = {}  # by one that is taken for an update: what made it
        # by a parameter: the tensor that stands for it and others in one piece (fused.py), and by
        # this one all of them
        self.pieces: dict[int, int] = {}
        self.parts: dict[int, tuple[int, ...]] = {}
        for t in trace.tensors:
            self.begin_at_copy(t)
        for chain in self.versions.values():
            self.begin_filled(chain)
        for chain in self.versions.values():
            self.settle(chain)
        self.live = self.needed()
        for chain in self.versions.values():
            self.begin_at_load(chain)
            self.cast.update(
                i for i, j in pairwise(chain) if self.tensors[i].dtype != self.tensors[j].dtype
            )

    def find_gradients(self) -> None:
        """Find the tensors that hold gradients of leaves: operations read them, none made them,
        and they have the elements that backward stored.
        """
        readers = sorted((uses[0], i) for i, uses in self.uses.items() if self.may_hold(i))
        stores = [
            (visit.after, variable, number)
            for number, visit in enumerate(self.trace.steps)
            if (variable := self.trace.functions[visit.function].variable) is not None
        ]
        unread: dict[object, list[int]] = {}
        done = 0
        for position, i in [*readers, (LATER, -1)]:
            while done < len(stores) and stores[done][0] <= position:
                after, variable, number = stores[done]
                leaf = self.version_at(variable, after)
                self.stored.setdefault(leaf, []).append(number)
                stored = self.trace.steps[number].grad_after
                unread.setdefault(key_of(stored), []).append(leaf)
                done += 1
            leaves = unread.get(key_of(self.tensors[i].value)) if i >= 0 else None
            if leaves:
                leaf = leaves.pop()
                self.holds[i] = leaf
                self.holder.setdefault(leaf, i)
                first = self.tensors[i].first
                self.gradients.add(first)
                self.names.setdefault(first, f"{self.label(leaf)}.grad")
                last = key_of(self.grads.get(leaf))
                versions = self.versions[first]
                for j in versions[bisect_left(versions, i) + 1 :]:
                    if self.tensors[j].operation is None:
                        break
                    if last is not None and key_of(self.tensors[j].value) == last:
                        self.edited[leaf] = j

    def may_hold(self, tensor: int) -> bool:
        """Whether a tensor may be a gradient that backward stored: no program variable names it,
        and backward does not go through what reads it, as it does through inputs.
        """
        record = self.tensors[tensor]
        if record.operation is not None or record.requires_grad or record.is_parameter:
            return False
        if record.name is not None and not record.name.endswith(".grad"):
            return False
        outputs = [i for use in self.uses[tensor] for i in self.operations[use].outputs]
        return not any(self.tensors[i].requires_grad for i in outputs)

    def version_at(self, variable: int, position: int) -> int:
        """Return the version of a leaf that the operations before a position had used last."""
        first = self.tensors[variable].first
        if first not in self._used:
            used = [(self.position(i), i) for i in self.versions[first] if i in self.uses]
            self._used[first] = used or [(0, first)]
        used = self._used[first]
        return used[max(0, bisect_left(used, (position, -1)) - 1)][1]

    @cached_property
    def writes(self) -> dict[int, list[Change]]:
        """The changes of each tensor and of its gradient, by the first version."""
        writes: dict[int, list[Change]] = {}
        groups: dict[int, list[int]] = {}  # changes share the tuples of their tensors
        for change in self.trace.changes:
            key = id(change.tensors)
            if key not in groups:
                groups[key] = list(dict.fromkeys(self.tensors[i].first for i in change.tensors))
            for first in groups[key]:
                writes.setdefault(first, []).append(change)
        return writes

    @cached_property
    def calls(self) -> dict[tuple[int, str, str], list[int]]:
        """The operations by step, module and operator."""
        calls: dict[tuple[int, str, str], list[int]] = {}
        for o in self.operations:
            key = self.step_of_operation[o.id], self.modules(o), base_name(o)
            calls.setdefault(key, []).append(o.id)
        return calls

    @cached_property
    def classes(self) -> dict[str, str]:
        """The class of each module, by its path."""
        return {s.name: s.detail for s in self.trace.scopes if s.kind == "module"}

    def needed(self) -> set[int]:
        """Return the tensors that decide about losses, updates and states, or about what nothing
        reads if no pass ran.
        """
        waiting = [root for pass_ in self.trace.passes for root in pass_.roots]
        if not waiting:
            waiting = [t.id for t in self.tensors if t.id not in self.uses and t.dtype != "bool"]
        waiting += [i for i in self.grads if self.tensors[i].operation is None]
        waiting += self.edited.values()
        waiting += [t.id for t in self.tensors if self.is_state(t.id)]
        waiting += [t.id for t in self.tensors if t.operation is None and t.first != t.id]
        live = set(waiting)
        while waiting:
            i = waiting.pop()
            before = self.before[i] if self.tensors[i].operation is None else None
            earlier = () if before is None or self.is_load(i) else (before,)
            for source in (*self.read(i), *earlier):
                if source not in live:
                    live.add(source)
                    waiting.append(source)
        return live

    def is_state(self, tensor: int) -> bool:
        """Whether the program wrote to a tensor in place, and kept what nothing reads any more: an
        average of weights.
        """
        record = self.tensors[tensor]
        return (
            record.version > 0
            and record.operation is not None
            and record.is_last
            and record.is_current
            and (not record.requires_grad or (record.is_leaf and tensor not in self.grads))
            and tensor not in self.uses
            and record.first not in self.gradients
            and not self.is_copied_parameter(tensor)
        )

    def is_copied_parameter(self, tensor: int) -> bool:
        """Whether a tensor got the contents of a parameter before the first pass:
        `weight.data.copy_(other.weight)`.
        """
        maker = self.maker(tensor)
        if maker is None or maker.name != "copy_" or maker.id >= self.begin:
            return False
        origin = self.origin(maker.tensors[-1])
        return origin is not None and self.tensors[origin].is_parameter

    @cached_property
    def has_unseen_gradients(self) -> bool:
        """Whether no leaf keeps the gradients that are computed: in a transform of torch.func,
        which a record does not see, or by autograd.grad alone.
        """
        passes = self.trace.passes
        is_unseen = any(UNSEEN in reason for reason in self.trace.left_out)
        return (bool(passes) or is_unseen) and not any(pass_.stores for pass_ in passes)

    @cached_property
    def begin(self) -> int:
        """How many operations ran before the first pass."""
        return self.trace.passes[0].after if self.trace.passes else LATER

    def origin(self, tensor: int) -> int | None:
        """Return the tensor that no operation made from which views and copies led to this one;
        None if something else is on the way.
        """
        begin = self.behind(tensor, is_view)
        return begin if self.maker(begin) is None else None

    def behind(self, tensor: int, passes: Callable[[Operation], bool]) -> int:
        """Return the first tensor that operations which `passes` is true of led to this one from,
        by their first operands.
        """
        while (maker := self.maker(tensor)) is not None and passes(maker):
            tensor = maker.tensors[0]
        return tensor

    def read(self, tensor: int) -> tuple[int, ...]:
        """Return what the operation that made a tensor read for it: not what it overwrote, nor the
        weights that were loaded into a parameter before the first pass.
        """
        maker = self.maker(tensor)
        if maker is None:
            return ()
        if not self.overwrites(maker, tensor):
            return maker.tensors
        return () if self.is_load(tensor) else maker.tensors[1:]

    def overwrites(self, operation: Operation, tensor: int) -> bool:
        """Whether an operation gave a tensor's memory contents that do not depend on the former."""
        if self.tensors[tensor].first == tensor or not operation.tensors:
            return False
        record = record_of(operation.name)
        is_fill = record is not None and record.kind in ("random", "fill")
        return (is_fill or operation.name == "copy_") and (
            self.tensors[operation.tensors[0]].shape == self.tensors[tensor].shape
        )

    def is_load(self, tensor: int) -> bool:
        """Whether a version of a parameter was there before the first pass."""
        return self.tensors[tensor].is_parameter and self.position(tensor) < self.begin

    def selected_from(self, tensor: int) -> int | None:
        """Return the data of which views and indices selected a part, at least one; None if a
        tensor is something else.
        """
        data = self.behind(tensor, lambda o: is_view(o) or o.name in SELECTIONS)
        record = self.tensors[data]
        is_data = not (record.requires_grad or record.is_parameter or self.maker(data))
        return data if is_data and data != tensor else None

    def begin_at_copy(self, leaf: TensorRecord) -> None:
        """Let a leaf that was copied from another one, `weight.detach().clone().requires_grad_()`,
        begin with the contents that it got: backward does not go further.
        """
        is_made = leaf.is_leaf and leaf.requires_grad and leaf.first == leaf.id
        if not is_made or leaf.operation is None:
            return
        waiting = [leaf.id]
        seen: set[int] = set()
        for tensor in waiting:
            if tensor in seen:
                continue
            seen.add(tensor)
            origin = self.origin(tensor)
            if origin is not None and self.tensors[origin].is_parameter:
                continue
            maker = self.joining(tensor)
            if maker is None:
                return
            waiting += maker.tensors
        self.tensors[leaf.id] = leaf._replace(operation=None, is_parameter=True)

    def joining(self, tensor: int) -> Operation | None:
        """Return the concatenation from which views and copies led to a tensor; None without
        one.
        """
        maker = self.maker(self.behind(tensor, is_view))
        return maker if maker is not None and maker.name in ("cat", "stack") else None

    def begin_filled(self, chain: list[int]) -> None:
        """Let a parameter whose parts were copied from other tensors before the first pass begin
        with the contents that it had then.
        """
        loads = [i for i in chain if self.is_load(i)]
        makers = [self.maker(i) for i in loads]
        if (
            not self.trace.passes
            or len(loads) < 2
            or any(maker is not None and maker.name != "copy_" for maker in makers)
        ):
            return
        if not any(map(self.overwrites_part, loads)):
            return
        self.cast.update(loads[:-1])
        self.tensors[loads[-1]] = self.tensors[loads[-1]]._replace(operation=None)

    def overwrites_part(self, tensor: int) -> bool:
        """Whether a copy to a view of a tensor made this version."""
        maker = self.maker(tensor)
        return maker is not None and not self.overwrites(maker, tensor)

    def settle(self, chain: list[int]) -> None:
        """Let a version of a leaf come from the last one that something else than a write to the
        leaf read: a decay by hand and the step after it are one update.
        """
        first = self.tensors[chain[0]]
        if not (first.is_leaf and first.requires_grad) or len(chain) < 3:
            return
        settled = [
            i for i in chain if i in (chain[0], chain[-1]) or i in self.cast or self.is_read(i)
        ]
        self.settled[first.id] = settled
        self.before.update((j, i) for i, j in pairwise(settled))

    def is_read(self, version: int) -> bool:
        """Whether an operation other than a write to the same tensor reads a version."""
        first = self.tensors[version].first
        return any(
            all(self.tensors[o].first != first for o in self.operations[use].outputs)
            for use in self.uses.get(version, ())
        )

    def is_hand_update(self, version: int) -> bool:
        """Whether an operation made a version of a leaf that is trained, after the first pass."""
        record = self.tensors[version]
        is_version = record.operation is not None and record.requires_grad and record.is_leaf
        return is_version and version != record.first and self.position(version) >= self.begin

    def take_updates(self, first: int) -> None:
        """Take the versions of a leaf that operations of the program made for updates."""
        for i in self.settled.get(first, self.versions[first]):
            operation = self.tensors[i].operation
            if operation is not None and self.is_hand_update(i):
                self.taken[i] = operation
                self.tensors[i] = self.tensors[i]._replace(operation=None)

    def is_trained_by_hand(self, tensor: int) -> bool:
        """Whether an operation made the last version of a leaf that is trained."""
        record = self.tensors[tensor]
        return (
            record.operation is not None
            and record.is_leaf
            and record.requires_grad
            and tensor == self.versions[record.first][-1] != record.first
        )

    def begin_at_load(self, chain: list[int]) -> None:
        """Let a parameter begin with the contents that were loaded into it last, if what it had
        before decides nothing.
        """
        for place, i in reversed(list(enumerate(chain))):
            maker = self.maker(i)
            is_whole = maker is None or self.overwrites(maker, i)
            if is_whole and self.is_load(i) and self.live.isdisjoint(chain[:place]):
                self.cast.update(chain[:place])
                self.tensors[i] = self.tensors[i]._replace(operation=None)
                return

    def overwritten(self, tensor: int) -> int | None:
        """Return the version that a write in place made of a tensor, if nothing else reads it; else
        None.
        """
        uses = self.uses.get(tensor, ())
        versions = self.versions[self.tensors[tensor].first]
        later = next((i for i in versions if i > tensor), None)
        return (
            later
            if later is not None and len(uses) == 1 and later in self.operations[uses[0]].outputs
            else None
        )

    @cached_property
    def updates(self) -> dict[int, list[Change]]:
        """The updates of each tensor by an optimiser, by the first version."""
        return {
            first: [change for change in changes if change.how == "step"]
            for first, changes in self.writes.items()
        }

    def updated_in(self, leaf: int) -> set[int]:
        """Return the compared steps in which an optimiser wrote to a leaf."""
        changes = self.updates.get(self.tensors[leaf].first, ())
        numbers = {self.step_of_operation[change.after - 1] for change in changes if change.after}
        return {number for number in numbers if 1 <= number <= self.count}

    def update_of(self, version: int) -> Change | None:
        """Return the update that made a version of a leaf; None if none is known."""
        changes = self.updates.get(self.tensors[version].first, [])
        last = bisect_right(changes, self.position(version), key=lambda change: change.after) - 1
        return changes[last] if last >= 0 else None

    def write_of(self, version: int) -> Change | None:
        """Return the write in place that made a version of a tensor which no operation of the
        record made: to `.data`, say; None for an update of an optimiser, and if none is known.
        """
        if self.tensors[version].operation is not None or self.before[version] is None:
            return None
        writes = self.writes.get(self.tensors[version].first, ())
        begin = self.position(self.before[version] or 0)
        end = self.position(version)
        between = [
            change
            for change in writes
            if not change.of_grad and change.how != "frozen" and begin < change.after <= end
        ]
        return between[-1] if between and between[-1].how != "step" else None

    def own(self, tensor: int) -> int:
        """Return a tensor of the record: of one that stands for several, the first of these."""
        return self.parts.get(tensor, (tensor,))[0]

    def update_step(self, version: int) -> int:
        """Return the step of the update that made a version of a leaf."""
        change = self.update_of(version)
        if change is not None and change.after:
            return self.step_of_operation[change.after - 1]
        return self.step(version) - 1

    def maker(self, tensor: int) -> Operation | None:
        """Return the operation that made a tensor."""
        operation = self.tensors[tensor].operation
        return None if operation is None else self.operations[operation]

    def position(self, tensor: int) -> int:
        """Return the operation that made a tensor, or the first that uses it."""
        operation = self.tensors[tensor].operation
        return operation if operation is not None else self.uses.get(tensor, (LATER,))[0]

    def step(self, tensor: int) -> int:
        """Return the step in which a tensor was made or is first used; for what comes after the
        last one, that + 1.
        """
        position = self.position(tensor)
        return self.step_of_operation[position] if position != LATER else self.count + 1

    def has(self, tensor: int) -> bool:
        """Whether a tensor belongs to the compared steps; a leaf's version after the last of them
        does, and a parameter before it was cast to another dtype does not.
        """
        if tensor in self.cast:
            return False
        step = self.step(tensor)
        return 1 <= step <= self.count or (
            step == self.count + 1 and self.tensors[tensor].operation is None
        )

    def earlier(self, tensor: int) -> int | None:
        """Return the version before this one; None for the first of the compared steps."""
        version = self.before[tensor]
        return version if version is not None and self.has(version) else None

    def compared(self, operation: Operation) -> bool:
        return 1 <= self.step_of_operation[operation.id] <= self.count

    def modules(self, operation: Operation) -> str:
        """Return the path of the module that an operation ran in; "" without one."""
        return self.trace.module_around(operation.scope)

    def label(self, tensor: int) -> str:
        """Return a tensor's name; without one, its label without the number of its version."""
        record = self.tensors[tensor]
        return self.names.get(record.first) or record.label.partition(" (version")[0]

    def shape(self, tensor: int) -> tuple[int, ...]:
        return self.tensors[tensor].shape

    def length(self, operation: Operation) -> int:
        """Return how many terms the sums of an operation have, by the shapes: 1 if it has none."""
        if not operation.outputs or not operation.tensors:
            return 1
        out = self.shape(operation.outputs[0])
        shapes = [self.shape(i) for i in operation.tensors]
        if max(map(prod, shapes)) <= prod(out) and all(shape in (out, ()) for shape in shapes):
            return 1
        return max((n for shape in shapes for n in shape), default=1)

    def span(self, tensor: int) -> Span | None:
        """Return the place of a tensor: of its operation, or of the first that uses it."""
        record: TensorRecord = self.tensors[tensor]
        position = self.position(tensor)
        if record.operation is not None or record.span is None:
            return (
                record.span if position == LATER else self.operations[position].span or record.span
            )
        return record.span


def key_of(value: Value | None) -> object:
    """Return a key that two values share only if they have one shape and the same elements, or
    one norm where a record keeps nothing else.
    """
    if value is None or not value.is_measured:
        return None
    checksum = bits_of(value)
    return value.shape, value.norm if checksum is None else checksum


def is_view(operation: Operation) -> bool:
    record = record_of(operation.name)
    return operation.name in COPIES or (record is not None and record.kind == "view")


def is_product(operation: Operation | None) -> bool:
    """Whether an operation multiplies matrices, as autocast makes them all do in a short type."""
    if operation is None:
        return False
    record = record_of(operation.name)
    is_contraction = record is not None and record.kind == "contraction"
    return is_contraction or operation.name in PRODUCTS


def base_name(operation: Operation) -> str:
    """Return an operator's name without what tells its variants apart: "native_layer_norm" is
    layer_norm.
    """
    return operation.name.removeprefix("native_").removesuffix("_fixed")


def shapes_of(run: RecordedRun, operation: Operation) -> Any:
    return tuple(run.shape(i) for i in operation.outputs)
