"""The tensors and calls of a run in the order of creation, and the selection of the relevant ones.

The operator calls that the run recorded are read once, in order. Each result becomes an entry; a
tensor that no call made becomes an entry at its first use.

An in-place operation returns the tensor itself, so its result is a new entry: a new version of that
tensor. The earlier entries remain as the operation's operands, with the contents that the run's
keeper saved. If the target is a view, its base gets a new version too. A tensor that was changed
without an operation (by an optimiser's step, through a numpy array) gets a new version at the next
operation that reads it, or at the end of the run.
"""

from __future__ import annotations

import sys
from itertools import zip_longest

from gradtrace.annotations import Any, Iterable, Iterator, Mapping, Sequence
from gradtrace.engine import Tensor
from gradtrace.engine.calls.view_rules import known_grad_fn
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.trace import functions, operands
from gradtrace.trace.events import Call, Entry
from gradtrace.trace.frame_variables import FunctionVariables
from gradtrace.trace.keeper import Keeper, storage_of
from gradtrace.trace.names import Names
from gradtrace.trace.scopes import LIBRARY

# The types of arguments that hold no array.
PLAIN = frozenset((Tensor, float, int, bool, str, type(None)))


class History:
    """The entries and calls of a run, in the order of creation.

    The `value` of an entry is what the keeper noted of the version; None if it was never
    overwritten.
    """

    def __init__(
        self,
        records: Iterable[tuple[str, tuple[Any, ...], Any, int]],
        scopes: Iterable[Any] = (),
        keeper: Keeper | None = None,
    ) -> None:
        self.records = records
        self.keeper = keeper if keeper is not None and keeper.wrote else None
        self.scopes = scopes  # for each record: where it was called, as far as that is known
        self.entries: list[Entry] = []
        self.calls: list[Call] = []
        self.current: dict[int, Entry] = {}  # by id() of the tensor: its latest version
        # The results of recorded calls, by id() of their node.
        self.results: dict[int, list[Entry]] = {}
        # By id() the entries that an operation used other than to overwrite them.
        self.used: set[int] = set()
        # Of these, the ones that an operation other than a view used.
        self.computed_with: set[int] = set()
        self.arrays: dict[int, Tensor] = {}  # by id() of its ndarray: the tensor
        self.graph = functions.FunctionGraph([], {})  # of all entries

    def entry(self, tensor: Tensor) -> Entry:
        """Return the entry of the tensor's latest version; make it if the tensor is new."""
        tensor = in_trace(tensor)
        entry = self.current.get(id(tensor))
        return entry if entry is not None else self._enter(tensor, None, 0)

    def _enter(self, tensor: Tensor, call: Call | None, version: int) -> Entry:
        entry = Entry(tensor, call, -1, version)
        self.entries.append(entry)
        self.current[id(tensor)] = entry
        if call is not None:
            call.outputs.append(entry)
            node = node_of(tensor)
            if node is not None:
                self.results.setdefault(id(node), []).append(entry)
            if self.keeper is not None:
                entry.value = self.keeper.version_made(tensor, call.index)
        return entry

    def add_inputs(self, inputs: Mapping[str, Tensor]) -> None:
        for name, tensor in inputs.items():
            if isinstance(tensor, Tensor):
                self.entry(tensor).names.append(name)

    def add_names(self, bound: Iterable[tuple[str, Tensor]]) -> None:
        """Give the latest versions the names of their variables; an input's name stays unless
        another tensor has that name.
        """
        pairs = list(bound)
        taken = {name for name, _ in pairs}
        for entry in self.entries:
            entry.names = [name for name in entry.names if name not in taken]
        for name, tensor in pairs:
            names = self.entry(tensor).names
            if name not in names:
                names.append(name)

    def read(self, bound: Iterable[tuple[str, Tensor]] = ()) -> None:
        """Read the recorded calls; `bound` are the tensors that variables hold."""
        named = [tensor for _, tensor in bound]
        for tensor in named:
            self._note_array(tensor)
        if self.keeper is not None:
            self.keeper.scan()
        index = -1
        for index, ((name, args, out, origin), scope) in enumerate(
            zip_longest(self.records, self.scopes)
        ):
            args, beside = self._apart(name, self._with_tensors(args), args)
            used = operands.tensors_in(args)
            outputs = (*operands.tensors_in(out), *beside)
            for tensor in outputs:
                self._note_array(tensor)
            if not used:
                continue  # a new tensor (randn, ones) is entered where it is used
            call = new_call(name, args, origin, scope, index)
            call.inputs = {id(tensor): self._read(tensor, index) for tensor in used}
            record = operands.record_of(name)
            is_view_call = record is not None and record.kind == "view"
            for tensor in used:
                if name[-1:] != "_" or tensor is not out:
                    self.used.add(id(self.current[id(tensor)]))
                    if not is_view_call:
                        self.computed_with.add(id(self.current[id(tensor)]))
            for tensor in outputs:
                self._result(call, tensor)
            if call.outputs:
                self.calls.append(call)
        for tensor in named:
            entry = self.current.get(id(tensor))
            if entry is None or entry.value is None or entry.value.is_current:
                continue
            if not is_view(entry):  # a view has the value that it was made with
                self._next_version(None, entry)

    def _note_array(self, tensor: Tensor) -> None:
        raw = tensor._data
        if type(raw) is not float and type(raw) is not bool:
            self.arrays.setdefault(id(raw), tensor)

    def _with_tensors(self, args: Any) -> Any:
        """Return the arguments with a tensor for each array (targets, indices, masks) that is its
        data.
        """
        if type(args) is tuple:
            if PLAIN.issuperset(map(type, args)):
                return args
            return tuple(self._with_tensors(arg) for arg in args)
        return self.arrays.get(id(args), args) if type(args).__name__ == "ndarray" else args

    def _apart(self, name: str, args: Any, raw: Any) -> tuple[Any, tuple[Tensor, ...]]:
        """Return a call's arguments without the tensor that its function computed (the order of a
        sort), and that tensor in a tuple, which is empty if there is none.
        """
        record = operands.record_of(name)
        names = (
            ()
            if record is None or not record.computed
            else (*record.bare_names, *record.plain_names)
        )
        place = names.index(record.computed) if record is not None and names else len(args)
        if place >= len(args) or not isinstance(args[place], Tensor):
            return args, ()
        return (*args[:place], raw[place], *args[place + 1 :]), (args[place],)

    def _result(self, call: Call, tensor: Tensor) -> None:
        """Enter a result of a call: a new tensor, or a new version of one and of its base."""
        before = self.current.get(id(tensor))
        if before is None:
            self._enter(tensor, call, 0)
            return
        is_leaf = tensor.requires_grad and known_grad_fn(tensor) is None
        base = tensor._base if tensor._base is not tensor else None
        under = None if base is None else self.entry(base)
        if is_leaf and id(before) not in self.used:  # it is being initialised
            before.value = self._made(tensor, call)
            if base is None or under is None:
                return
            if id(under) not in self.computed_with:  # and so is a part of a parameter
                under.value = self._made(base, call)
                return
        else:
            self._next_version(call, before)
        if base is not None and under is not None:
            call.inputs.setdefault(id(base), under)
            self._next_version(call, under)

    def _made(self, tensor: Tensor, call: Call) -> Any:
        return None if self.keeper is None else self.keeper.version_made(tensor, call.index)

    def _next_version(self, call: Call | None, before: Entry) -> Entry:
        before.last = False
        return self._enter(before.tensor, call, before.version + 1)

    def _read(self, tensor: Tensor, index: int) -> Entry:
        """Return the version of a tensor that a call reads."""
        if id(tensor) not in self.current:
            saved = self._saved_result(tensor)
            if saved is not None:
                self.current[id(tensor)] = saved
        entry = self.entry(tensor)
        held = None if self.keeper is None else self.keeper.version_read(tensor, index)
        if held is None or entry.value is held:
            return entry
        if entry.value is not None:
            entry = self._unrecorded(entry, index)
        entry.value = held
        return entry

    def _saved_result(self, tensor: Tensor) -> Entry | None:
        """Return the entry of the saved result that backward unpacked as this tensor, or None."""
        for entry in self.results.get(id(node_of(tensor)), ()):
            result = entry.tensor
            if result._nr == tensor._nr and result is not tensor:
                return entry if holds_the_same(result, tensor) else None
        return None

    def _unrecorded(self, before: Entry, index: int) -> Entry:
        """Enter a version that no recorded call made: an optimiser's step made it, or a write to
        the tensor's base.
        """
        call = before.call
        if call is None or not is_view(before):
            return self._next_version(None, before)
        again = new_call(call.name, call.args, call.origin, call.scope, index)
        # An in-place operation has its result among its arguments.
        others = (
            tensor for tensor in operands.tensors_in(call.args) if tensor is not before.tensor
        )
        again.inputs = {
            id(before.tensor): before,
            **{id(tensor): self._read(tensor, index) for tensor in others},
        }
        self.calls.append(again)
        return self._next_version(again, before)

    def find_functions(self) -> None:
        """Find the node of every entry, and add the leaves that only the graph still refers to."""
        for entry in self.entries:
            if entry.value is not None and not entry.value.is_current:
                entry.fn = entry.value.fn
            elif entry.last:
                entry.fn = node_of(entry.tensor)
        self._find_earlier_functions()
        self.graph = functions.walk(entry.fn for entry in self.entries)
        for leaf in self.graph.variables:
            self.entry(leaf)
        for entry in self.entries:
            settle(entry)

    def _find_earlier_functions(self) -> None:
        """Find the nodes of overwritten versions: each is the first input of the node that replaced
        it.
        """
        after: dict[int, Entry] = {}
        for entry in reversed(self.entries):
            later = after.get(id(entry.tensor))
            if later is not None and entry.value is None:
                entry.fn = _function_before(later)
            after[id(entry.tensor)] = entry


def new_call(name: str, args: tuple[Any, ...], origin: int, scope: Any, index: int) -> Call:
    call = Call(name, origin, scope)
    call.args = args
    call.index = index
    return call


def settle(entry: Entry) -> None:
    """Note what an entry's tensor is, now that its node is known."""
    tensor = entry.tensor
    noted = entry.value
    entry.is_leaf = entry.fn is None
    if not entry.is_leaf:
        entry.requires_grad = True
    elif entry.last:
        entry.requires_grad = tensor.requires_grad
    else:
        entry.requires_grad = bool(tensor._req if noted is None else noted.requires_grad)
    entry.retains = entry.last and tensor.retains_grad
    kind = type(tensor)
    entry.is_parameter = kind is not Tensor and any(c.__name__ == "Parameter" for c in kind.__mro__)


def is_current(entry: Entry) -> bool:
    """Whether a tensor held this version when the run ended."""
    return entry.last and (entry.value is None or entry.value.is_current)


def holds_the_same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same number or array."""
    return a._data is b._data or (type(a._data) is float and a._data == b._data)


def is_view(entry: Entry) -> bool:
    """Whether a tensor is a view: its operation gave it the storage of an operand."""
    if entry.call is None:
        return False
    storage = storage_of(entry.tensor._data)
    others = [
        tensor for tensor in operands.tensors_in(entry.call.args) if tensor is not entry.tensor
    ]
    return storage is not None and any(storage_of(tensor._data) is storage for tensor in others)


def in_trace(tensor: Tensor) -> Tensor:
    """Return the tensor that stands for a tensor in a trace: an empty one for a parameter that is
    not initialized yet, else itself.
    """
    loaded = sys.modules.get("gradtrace.nn.parameter")
    lazy: Any = tensor
    return lazy.stand_in if loaded is not None and loaded.is_lazy(tensor) else tensor


def node_of(tensor: Tensor) -> Node | None:
    """Return the node that computed a tensor.

    It does not read grad_fn: of a view (`weight.t()`) of a parameter that an optimiser has changed
    since, that would make a new node.
    """
    view = None if tensor._x is None else tensor._x.view
    stepped = view is not None and view.base._fn is None and tensor._fn is not None
    return tensor._fn if stepped else known_grad_fn(tensor)


def _function_before(later: Entry) -> Node | None:
    """Return the node that a tensor had before the in-place call that made the version `later`."""
    node = later.fn
    call = later.call
    if node is None or call is None or not node.next:
        return None
    if node.op is not None and node.op.name not in (call.name.removesuffix("_"), "take_flat"):
        return node  # the call left no history: it ran under no_grad
    before = node.next[0]
    return None if isinstance(before, AccumulateGrad) else before


def bound_names(
    env: Mapping[str, Any], functions: Iterable[FunctionVariables] = ()
) -> Iterator[tuple[str, Tensor]]:
    """Yield the names and tensors of variables (see `names.Names.tensors`), then those that the
    variables of functions held last: "w in f" if that is another tensor than "w".
    """
    holders = {}
    for name, tensor in Names(env, LIBRARY).tensors():
        holders[name] = tensor
        yield name, in_trace(tensor)
    for (name, function), tensor in dict(held_names(functions)).items():
        is_other = holders.get(name, tensor) is not tensor
        yield f"{name} in {function}" if is_other else name, in_trace(tensor)


def former_names(functions: Iterable[FunctionVariables]) -> dict[int, str]:
    """Return the names of tensors that functions' variables held before others, by id(tensor)."""
    held = held_names(functions)
    last = dict(held)
    former: dict[int, str] = {}
    for variable, tensor in held:
        if last[variable] is not tensor:
            former.setdefault(id(in_trace(tensor)), variable[0])
    return former


def held_names(functions: Iterable[FunctionVariables]) -> list[tuple[tuple[str, str], Tensor]]:
    """Return the tensors that functions' variables held one after the other, each with its name and
    the function.
    """
    return [
        ((name, function), tensor)
        for function, variables in functions
        for name, tensor in Names(variables, LIBRARY).tensors()
    ]


def relevant(history: History, ends: Sequence[Entry]) -> list[Entry]:
    """Return the entries that the ends and the named tensors depend on, in order of creation."""
    waiting = [*ends, *(entry for entry in history.entries if entry.names)]
    seen: set[int] = set()
    while waiting:
        entry = waiting.pop()
        if id(entry) in seen:
            continue
        seen.add(id(entry))
        if entry.call is not None and not is_update(entry):
            waiting.extend(entry.call.inputs.values())
    if len(seen) == len(history.entries):
        return history.entries
    graph = functions.walk(e.fn for e in history.entries if id(e) in seen)
    ends_of_graph = {id(leaf) for leaf in graph.variables}
    kept = [
        e for e in history.entries if id(e) in seen or (e.last and id(e.tensor) in ends_of_graph)
    ]
    ids = {id(entry) for entry in kept}
    for entry in kept:
        call = entry.call if is_update(entry) else None
        if call is not None and any(id(used) not in ids for used in call.inputs.values()):
            call.outputs.remove(entry)
            entry.call = None
    return kept


def is_update(entry: Entry) -> bool:
    """Whether code under no_grad made this version of a leaf, so that backward does not see how it
    was computed.
    """
    return entry.version > 0 and entry.fn is None and entry.tensor.requires_grad
