"""The recorder: sees every public call of PyTorch while it is active, and notes operators and
values that leave the graph.

A TorchFunctionMode sees the calls; `passes` watches backward; `patches` sees what no mode sees. A
tensor is identified by its id and a weak reference, a node by a number in its metadata, so the
record keeps nothing alive. An error in the recorder does not reach the program: it is counted in
`left_out`, and the call runs as usual.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradtrace.torch import apply, calls, names, private
from gradtrace.torch.contents import SMALL, Contents, Noted, device_name, mark
from gradtrace.torch.functions import FirstCall
from gradtrace.torch.measure import is_dense
from gradtrace.torch.memory import array_of, is_readable, octets_of
from gradtrace.torch.places import RecordedPlaces
from gradtrace.torch.precision import PrecisionMode
from gradtrace.torch.references import Known, Node, Scope, StorageUsers
from gradtrace.torch.saved import saved_of
from gradtrace.trace.events import Call, ChangeEvent, Entry, EventStream
from gradtrace.trace.frame_variables import FrameVariables
from gradtrace.trace.record import BufferRecord, Shard

KEY = "gradtrace"  # in a node's metadata
# in place of a version: written to by the storage's last writer, through a tensor with another
# counter
WRITTEN = -2
Tensor = torch.Tensor
Parameter = torch.nn.Parameter


_active: list[Recorder] = []


def active() -> Recorder | None:
    """Return the recorder that is active in this process, or None."""
    return _active[-1] if _active else None


def working() -> Recorder | None:
    """Return the active recorder if the calls of this thread are recorded now."""
    rec = active()
    return rec if rec is not None and rec.is_on() else None


class Token:
    """A mark on the nodes of one recording. Nodes may outlive the recorder, so they refer to this
    object instead of it.
    """

    __slots__ = ()


class ThreadState(threading.local):
    """What a recorder does in one thread."""

    quiet = 0  # how many contexts are open in which this thread's calls are not recorded
    suspended = False  # by an optimiser's step
    # by Tensor.backward(), during which the recorder is not on the stack of modes
    called_backward = False


class Unrecorded:
    """A context in which this thread's calls are not recorded. The modes of the program stay as
    they are.
    """

    __slots__ = ("rec", "was_on")

    def __init__(self, rec: Recorder) -> None:
        self.rec = rec

    def __enter__(self) -> None:
        rec = self.rec
        rec.here.quiet += 1
        self.was_on = rec.is_on()
        if self.was_on:
            private.remove_mode(rec)

    def __exit__(self, *error: object) -> None:
        rec = self.rec
        rec.here.quiet -= 1
        if self.was_on and not rec.ended:
            private.put_lowest(rec)


class Recorder(TorchFunctionMode, EventStream):
    """The TorchFunctionMode that notes calls while it is active.

    It serves the thread that entered it, and autograd's threads that work for this one. It is below
    all modes of the program: these see the calls that they would see without it, and it sees what
    becomes of the calls. So its own work in `__torch_function__` is seen by no function mode;
    elsewhere a context of `private` takes care of that.
    """

    def __init__(self, level: str) -> None:
        super().__init__()
        EventStream.__init__(self)
        self.contents = Contents(level)
        self.level = level
        self.places = RecordedPlaces()
        self.token = Token()
        self.lock = threading.RLock()
        self.entries: list[Entry] = []
        self.calls: list[Call] = []
        self.begun_call: Call | None = None  # the last one; without outputs if it has raised
        self.nodes: list[Node] = []
        self.accumulators: dict[Known, int] = {}
        self.scopes: list[Scope] = []
        self.stack: list[Scope] = []
        # parameters that were made after an optimiser: when (as in `BeginEvent.at`), and where
        self.late: list[tuple[weakref.ref[Any], int, int]] = []
        self.identities: dict[int, Known] = {}
        self.storages: dict[int, StorageUsers] = {}
        # by storage: what its stretches (offset, elements, dtype) held at a version
        self.spans: dict[int, dict[tuple[int, int, Any], tuple[int, Noted]]] = {}
        self.written: dict[
            int | None, tuple[Call | None, int]
        ] = {}  # by storage: the last call that wrote, the version then
        # by the storage of a gradient: the leaf that it is of
        self.owners: dict[int | None, Known] = {}
        # a leaf's .grad as a pass left it, with its mark
        self.grads: dict[Known, tuple[Any, Any]] = {}
        self.set_gradients: set[Known] = set()  # tensors whose .grad the program has set
        self.left_out: dict[str, list[int]] = {}  # what could not be seen: the places
        self.hook_runs: list[tuple[str, str, Any, Any, bool]] = []  # since the last turn
        self.watching = False  # a pass is being watched
        self.retaining = False  # retain_grad() was called
        self.thread = threading.get_ident()
        # of the frame that the block is in, whose variables are read at its end
        self.frame_id = 0
        self.frame_variables = FrameVariables(names.is_named)
        # the names that variables of functions give, with the function
        self.local_names: dict[Known, dict[str, str]] = {}
        # the same of modules, by the id() of a weak reference
        self.local_paths: dict[int, tuple[Any, str]] = {}
        self.buffers: list[BufferRecord] = []
        self.parts: list[Shard] = []  # what the shards hold at the end
        self.shards: dict[int, Any] = {}  # by the id of a shard: FSDP2's notes of its parameter
        # updates that end an iteration, also those that a GradScaler skipped: calls and passes
        # before, place
        self.steps: list[tuple[int, int, int]] = []
        self.functions: dict[str, FirstCall] = {}  # the program's own Functions, by name
        self.unsettled: apply.Unsettled | None = None
        self.precision = PrecisionMode(self) if level == "precision" else None
        self.scheduling: list[
            Any
        ] = []  # the schedulers of which a method runs, the outermost first
        self.is_scaling = False  # a GradScaler's method runs
        self.here = ThreadState()
        self.ended = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        how = calls.HOW.get(func)
        if how is None:
            how = calls.how(func)
        if how is calls.QUIET or self.ended:
            return func(*args, **kwargs) if kwargs else func(*args)
        if (
            self.unsettled is not None
            and (view := apply.view_of_result(self, func, args)) is not None
        ):
            return view
        if private.in_transform():
            self.problem(f"operations inside {private.transform()}")
            return func(*args, **kwargs) if kwargs else func(*args)
        return how.run(self, func, args, kwargs or {}, how.name)

    def problem(self, reason: str) -> None:
        """Count something that could not be recorded."""
        self.left_out.setdefault(reason, []).append(self.places.here(2))

    @property
    def at(self) -> int:
        return len(self.calls)

    def place(self) -> int:
        return self.places.here_and_lead(2)

    def is_on(self) -> bool:
        """Whether the calls of this thread are recorded now."""
        return bool(private.mode_depth()) and private.mode_at(0) is self

    def suspend(self) -> bool:
        """Remove the recorder from the stack of modes for a while, which is faster than ignoring
        calls; return whether it was there.
        """
        if not self.is_on():
            return False
        private.remove_mode(self)
        self.here.suspended = True
        return True

    def resume(self) -> bool:
        """Put the recorder back on the stack of modes; return whether it had been suspended."""
        if not self.here.suspended:
            return False
        self.here.suspended = False
        private.put_lowest(self)
        return True

    def unrecorded(self) -> Unrecorded:
        """Return a context in which this thread's calls are not recorded."""
        return Unrecorded(self)

    # ---- tensors

    def find(self, tensor: Any) -> Known | None:
        """Return the identity of a tensor that was recorded before; None for any other."""
        identity = self.identities.get(id(tensor))
        return identity if identity is not None and identity.ref() is tensor else None

    def entry(self, tensor: Any) -> Entry:
        """Return the present version of a tensor; a new tensor is recorded first."""
        identity = self.find(tensor)
        if identity is not None:
            is_present = identity.version == private.version_of(tensor)
            return identity.last if is_present else self.changed_unseen(tensor, identity)
        identity = self.meet_tensor(tensor, private.storage_of(tensor), False)
        entry = self.new_entry(tensor, identity, None, 0)
        if entry.fn is None and not entry.is_leaf:
            self.attach(entry, tensor, None)
        return entry

    def known_entry(self, tensor: Any) -> Entry | None:
        """Return the present version of a tensor that was recorded before; None for any other."""
        return None if self.find(tensor) is None else self.entry(tensor)

    def is_of_this_run(self, tensor: Any) -> bool:
        """Whether a tensor belongs to the recording: it or its node was seen, or it is a leaf."""
        if private.is_leaf(tensor) or self.find(tensor) is not None:
            return True
        return tensor.grad_fn is not None and self.number_in(tensor.grad_fn.metadata) is not None

    def meet_tensor(self, tensor: Any, storage: int | None, shares: bool) -> Known:
        """Record a new tensor; with `shares` it uses the storage of a known one."""
        # of a tensor that is gone; the dict has the order of first use
        self.identities.pop(id(tensor), None)
        identity = self.identities[id(tensor)] = Known(tensor, storage, private.version_of(tensor))
        self.use(identity, storage, shares)
        return identity

    def use(self, identity: Known, storage: int | None, shares: bool) -> None:
        """Note that a tensor uses a storage, alone or with those that used it before."""
        identity.storage = storage
        if storage is not None:
            users = self.storages.get(storage)
            if users is not None and (shares or users.is_used()):
                users.add(identity)
            else:
                self.storages[storage] = StorageUsers(identity)
                self.spans.pop(storage, None)

    def move(self, identity: Known, storage: int | None) -> None:
        """Note that a tensor has another storage from now on: its former one may be freed, and
        used for other tensors.
        """
        former = identity.storage
        users = None if former is None else self.storages.get(former)
        if former is not None and users is not None and users.existing() == [identity]:
            del self.storages[former]
        self.use(identity, storage, False)

    def new_entry(self, tensor: Any, identity: Known, call: Call | None, version: int) -> Entry:
        """Record a version of a tensor with its contents."""
        entry = Entry(identity, call, len(self.entries), version)
        self.entries.append(entry)
        if version:
            identity.version = private.version_of(tensor)
        else:
            identity.first = entry
        identity.last = entry
        entry.requires_grad = tensor.requires_grad
        entry.is_leaf = private.is_leaf(tensor)
        kind = type(tensor)  # isinstance(tensor, Parameter) is slow
        entry.is_parameter = kind is Parameter or (
            kind is not Tensor and isinstance(tensor, Parameter)
        )
        if not tensor.is_cpu:
            entry.device = device_name(tensor)
        entry.value = self.note(tensor, identity)
        return entry

    def note(self, tensor: Any, identity: Known) -> Noted | None:
        """Return a note of a tensor's contents; a view of all elements of a tensor with statistics
        reuses those.
        """
        try:
            storage = identity.storage
            if (
                storage is None
                or identity.size <= SMALL
                or self.level == "structure"
                or not is_dense(tensor)
            ):
                return self.contents.note(tensor)
            key = tensor.storage_offset(), identity.size, tensor.dtype
            version, noted = self.spans.get(storage, {}).get(key, (None, None))
            if noted is not None and version == identity.version:
                return self.contents.again(noted, tensor)
            noted = self.contents.note(tensor)
            if noted.facts is not None:
                self.spans.setdefault(storage, {})[key] = identity.version, noted
            return noted
        except Exception as error:  # a tensor that cannot be read (a subclass, a freed storage)
            self.problem(f"the contents of a tensor ({type(error).__name__})")
            return None

    def changed_unseen(self, tensor: Any, identity: Known) -> Entry:
        """Record a new version of a tensor that was written to unseen: through a view, by an
        optimiser, by native code.
        """
        before = identity.last
        if identity.stepped_at == self.position():
            before.grad = None
            before.value = self.note(tensor, identity)
            identity.version = private.version_of(tensor)
            return before
        before.last = False
        if before.grad is None and identity in self.grads:
            before.grad = self.grads[identity][1]
        call = self.last_writer(tensor, identity)
        entry = self.new_entry(tensor, identity, call, before.version + 1)
        if call is not None:
            call.outputs.append(entry)
        if not entry.is_leaf:
            self.attach(entry, tensor, call)
        return entry

    def note_update(self, parameters: list[Any]) -> None:
        """Note what a step left, since parameters may be freed before anything reads them again.
        The next step leaves other numbers in the same version, if nothing comes between.
        """
        for parameter in parameters:
            if self.known_entry(parameter) is not None:
                self.identities[id(parameter)].stepped_at = self.position()

    def position(self) -> tuple[int, int]:
        """Return how many calls and passes were recorded so far."""
        return len(self.calls), len(self.passes)

    def last_writer(self, tensor: Any, identity: Known) -> Call | None:
        """Return the call that wrote to a tensor's storage last, if it made the tensor's present
        version.
        """
        call, version = self.written.get(identity.storage, (None, 0))
        is_of_call = identity.version < version == private.version_of(tensor)
        return call if is_of_call or identity.version == WRITTEN else None

    def check_contents(self, tensor: Any, identity: Known) -> None:
        """Compare a small tensor at the end with its note; if the numbers differ, it was written to
        unseen (by numpy).
        """
        noted = identity.last.value
        if noted is None or noted.copy is None or not is_readable(tensor):
            return
        try:
            if tensor.is_contiguous() and noted.shape and octets_of(tensor) == noted.copy.tobytes():
                return
            now = array_of(tensor)
            then = noted.copy
            if not ((now == then) | ((now != now) & (then != then))).all():
                self.changed_unseen(tensor, identity)
        except Exception as error:  # a subclass that defines these operations otherwise
            self.problem(f"the last contents of a tensor ({type(error).__name__})")

    # ---- calls

    def attach(self, entry: Entry, tensor: Any, call: Call | None) -> None:
        """Record the node that made a tensor, and the new nodes behind it."""
        try:
            fn = tensor.grad_fn
        except RuntimeError:  # a view whose base was changed in a way that forbids it
            return
        if fn is None:
            return
        entry.fn = self.meet(fn, call)
        self.nodes[entry.fn].outputs.append(entry)
        if call is not None and call.fn is None:
            call.fn = entry.fn

    def number_in(self, metadata: Any) -> int | None:
        """Return the number that a node with this metadata has in this recording; None if it was
        not met.
        """
        tag = metadata.get(KEY)
        return tag[1] if tag is not None and tag[0] is self.token else None

    def index_of(self, node: Any) -> int:
        """Return the number of a node that a pass reaches."""
        index = self.number_in(node.metadata)
        return self.meet(node, None) if index is None else index

    def meet(self, root: Any, call: Call | None) -> int:
        """Return the number of a node; new nodes behind it are numbered too, without recursion."""
        top, is_new = self.number(root, call)
        waiting = [(root, top)] if is_new else []
        while waiting:
            node, index = waiting.pop()
            edges = self.nodes[index].edges
            for following, output in node.next_functions:
                if following is None:
                    edges.append(None)
                    continue
                target, is_new = self.number(following, call)
                edges.append((target, output))
                if is_new:
                    waiting.append((following, target))
        return top

    def number(self, node: Any, call: Call | None) -> tuple[int, bool]:
        """Return the number of a node, and whether it is new."""
        metadata = node.metadata
        index = self.number_in(metadata)
        if index is not None:
            return index, False
        kind = private.kind_of(node)
        leaf = self.entry(node.variable).tensor if kind.accumulates else None
        if leaf is not None and leaf in self.accumulators:
            metadata[KEY] = (self.token, self.accumulators[leaf])
            return self.accumulators[leaf], False
        index = len(self.nodes)
        metadata[KEY] = (self.token, index)
        record = Node(kind.name, private.sequence_of(node), 0 if call is None else call.origin)
        self.nodes.append(record)
        if leaf is not None:
            record.variable = leaf
            self.accumulators[leaf] = index
        else:
            record.call = call
            record.saved = self.saved(node, kind, call)
        return index, True

    def saved(self, node: Any, kind: Any, call: Call | None) -> list[tuple[str, Any, str]]:
        """Return what a node saved, if reading it runs no hooks of the program: a call's hooks are
        active now.
        """
        shows_hooks = private.SHOWS_HOOKS or call is not None
        if not (kind.saved or kind.custom) or self.contents.dispatched:
            return []
        if not shows_hooks or private.hooked_saves():
            return []
        try:
            return saved_of(self, node, kind)
        except Exception as error:
            self.problem(f"what {kind.name} saved ({type(error).__name__})")
            return []

    def operand(self, value: Any, inputs: dict[Any, Entry]) -> Any:
        """Return an argument with a Known in place of each tensor."""
        if isinstance(value, Tensor):
            entry = self.entry(value)
            inputs[id(entry.tensor)] = entry
            return entry.tensor
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([self.operand(element, inputs) for element in value])
        if isinstance(value, (tuple, list)):
            return tuple(self.operand(element, inputs) for element in value)
        return value

    # ---- writes in place

    def note_change(
        self,
        how: str,
        storage: int | None,
        identity: Known,
        of_grad: bool,
        call: Call | None,
        place: int,
        optimiser: Any = None,
    ) -> None:
        """Note a write to a tensor, and to all others on the storage if one is given."""
        users = None if storage is None else self.storages.get(storage)
        tensors = [identity] if users is None else users.tensors
        at = len(self.calls) if call is None else call.id
        enabled = torch.is_grad_enabled()
        self.changed.append(
            ChangeEvent(how, tensors, of_grad, at, self.turns, call, enabled, place, optimiser)
        )

    def written_to(
        self,
        how: str,
        storage: int | None,
        identity: Known,
        call: Call | None,
        of_grad: bool = False,
    ) -> None:
        """Note a write in place by a call, or by something else."""
        place = self.places.here_and_lead(2) if call is None else call.origin
        self.note_change(how, storage, identity, of_grad, call, place)
        tensor = identity.ref()
        if storage is None or of_grad or tensor is None:
            return
        self.written[storage] = (call, private.version_of(tensor))
        users = self.storages.get(storage)
        for sibling in () if users is None else users.existing():
            # x.data has the storage of x, and a counter of its own
            if sibling is not identity and sibling.version >= 0:
                alias = sibling.ref()
                if alias is not None and private.version_of(alias) == sibling.version:
                    sibling.version = WRITTEN

    def written_by(
        self, how: str, tensors: list[Any], of_grad: bool, optimiser: Any = None
    ) -> None:
        """Note that an optimiser has written to known tensors, or to their gradients."""
        place = self.places.here(3) if tensors else 0
        for tensor in tensors:
            identity = self.find(tensor)
            if identity is None:
                continue
            storage = None if of_grad else identity.storage
            self.note_change(how, storage, identity, of_grad, None, place, optimiser)
            last = identity.last
            if not of_grad:
                if last.grad is None:  # zero_grad() comes before the new version is seen
                    last.grad = self.gradient_of(identity)
                continue
            noted = self.grads.pop(identity, None)
            if (
                noted is not None
                and last.grad is None
                and identity.version != private.version_of(tensor)
            ):
                last.grad = noted[1]  # the version ended before its gradient did

    def overwritten(self, how: str, tensors: list[Any]) -> None:
        """Note that tensors have other contents, which their version counters do not tell."""
        self.written_by(how, tensors, False)
        for tensor in tensors:
            identity = self.find(tensor)
            if identity is not None:
                self.outdate(identity)

    def outdate(self, identity: Known) -> None:
        """Forget what is known of a tensor's present contents."""
        identity.version = WRITTEN
        self.written.pop(identity.storage, None)
        if identity.storage is not None:
            self.spans.pop(identity.storage, None)

    # ---- gradients

    def gradient_of(self, leaf: Known) -> Noted | None:
        """Return a note of a leaf's gradient as it is now."""
        tensor: Any = leaf.ref()
        return self.note_of_gradient(leaf, tensor.grad)

    def note_of_gradient(self, leaf: Known, gradient: Any) -> Noted | None:
        """Return a note of a leaf's gradient; that of the pass that left it there, if it is
        unchanged.
        """
        noted = self.grads.get(leaf)
        if noted is not None and gradient is not None and noted[0] == mark(gradient):
            return noted[1]
        return self.note_gradient(gradient)

    def note_gradient(self, gradient: Any) -> Noted | None:
        """Return a note of a gradient's contents inside backward."""
        if gradient is None:
            return None
        with private.without_torch_function():
            try:
                return self.contents.note(gradient)
            except Exception as error:
                self.problem(f"a gradient ({type(error).__name__})")
                return None

    # ---- scopes

    def enter(self, module: Any) -> None:
        places = self.places
        place = places.here(3) if self.stack else places.here_and_lead(3)
        places.enter(place)
        scope = Scope(self.stack[-1] if self.stack else None, module, place)
        self.stack.append(scope)
        self.scopes.append(scope)

    def leave(self) -> None:
        if self.stack:
            self.stack.pop()
            self.places.leave()

    def release(self) -> None:
        """Clear the notes, whose references form cycles, so that they are freed without a garbage
        collection.
        """
        for entry in self.entries:
            entry.call = None
            entry.tensor.first = entry.tensor.last = None
        self.entries.clear()
        if self.precision is not None:
            self.precision.release()
