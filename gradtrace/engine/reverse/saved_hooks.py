"""Saved values as users see them: saved-tensor hooks, and the attributes `_saved_NAME` and
`_raw_saved_NAME` of nodes.

Hooks pack a tensor when a node saves it, and unpack it when it is read.

https://pytorch.org/docs/stable/autograd.html#hooks-for-saved-tensors. A node's saved tensors are
replaced by `Packed` after the node has been made; code that reads such a node (`extras.unpack`)
calls `unpacked` for its arguments. As in PyTorch, inputs are packed and unpacked in the
alphabetical order of their names, then results. The versions of packed tensors are not checked.
"""

from __future__ import annotations

import weakref

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import TUPLES, TWO, Meta, Node
from gradtrace.engine.data.state import State, state, using
from gradtrace.engine.data.tensor import Tensor, gradient_edge
from gradtrace.engine.data.tensor_fields import Counter
from gradtrace.engine.reverse.plan import plan_of
from gradtrace.engine.reverse.saved import arguments, result_of, saved_values

Hook = Callable[[Any], Any]
CHANGED_MESSAGE = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook."
)
GONE_MESSAGE = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
    "of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to "
    "access saved variables after calling backward."
)
OF_NONE_MESSAGE = "Calling register_hooks on a saved tensor with value None is forbidden"
TWICE_MESSAGE = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
    "pair of hooks is allowed at a time."
)


class Packed:
    """The result of a pack hook for one saved tensor, and the data needed to restore that
    tensor.
    """

    __slots__ = ("fn", "is_leaf", "nr", "packed", "req", "unpack")

    def __init__(self, tensor: Tensor, hooks: tuple[Hook, Hook], is_result: bool) -> None:
        pack, self.unpack = hooks
        state.live_observers += 1
        version = None if tensor.is_inference() else tensor._version
        with using(grad_enabled=False):
            self.packed = pack(tensor)
        if version is not None and tensor._version != version:
            raise RuntimeError(CHANGED_MESSAGE)
        self.req = tensor.requires_grad
        self.is_leaf = self.req and tensor.is_leaf
        # A result belongs to the node that keeps it: holding that node would be a cycle.
        self.fn = None if is_result or not self.req else gradient_edge(tensor)
        self.nr = tensor._nr

    def tensor(self, owner: Node | None) -> Tensor:
        """Return the saved tensor with its history; `owner` is the node that keeps it."""
        data = self.unpack(self.packed)
        if not isinstance(data, Tensor):
            kind = type(data).__name__
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {kind}"
            )
        if not self.req:
            return data
        result = Tensor._wrap(data._data)
        result._req = True
        result._nr = self.nr
        if self.is_leaf:
            result.extra().accumulator = weakref.ref(self.fn)
        else:
            result._fn = owner if self.fn is None else self.fn
        return result

    # a default: at exit the module's names may be gone already
    def __del__(self, state: State = state) -> None:
        state.live_observers -= 1

    def __repr__(self) -> str:
        return f"packed: {self.packed!r}"


class SavedTensor:
    """A saved value of a node (`grad_fn._raw_saved_NAME`), for which saved-tensor hooks can be
    registered.

    `data` is the saved tensor, or the result of its pack hook; `unpack_hook` is the hook that
    unpacks it, or None.
    """

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def _kept(self) -> Any:
        """Return the tensor, its Packed, or anything else that is kept; RuntimeError if it is
        freed.
        """
        raise NotImplementedError

    def _pack(self, hooks: tuple[Hook, Hook], tensor: Tensor) -> None:
        """Keep the result of a pack hook instead of the tensor."""
        raise NotImplementedError

    def register_hooks(self, *hooks: Hook) -> None:
        """Register `pack_hook, unpack_hook`, and pack the saved tensor at once.

        RuntimeError if the saved value was freed, is None, or is packed already.
        """
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types "
                "are supported:"
            )
        kept = self._kept()
        if isinstance(kept, Packed):
            raise RuntimeError(TWICE_MESSAGE)
        if kept is None:
            raise RuntimeError(OF_NONE_MESSAGE)
        if isinstance(kept, Tensor):  # not a number
            self._pack((hooks[0], hooks[1]), kept)

    @property
    def data(self) -> Any:
        kept = self._kept()
        return kept.packed if isinstance(kept, Packed) else kept

    @property
    def unpack_hook(self) -> Hook | None:
        kept = self._kept()
        return kept.unpack if isinstance(kept, Packed) else None

    def __repr__(self) -> str:
        return f"<torch._C._autograd.SavedTensor object at {id(self):#x}>"


class NodeSavedTensor(SavedTensor):
    """A saved argument of an operator's node, or one part of an argument that is a tuple, or its
    result.
    """

    def __init__(self, node: Node, position: int, part: int | None = None) -> None:
        self._node = node
        self._position = position  # among the node's arguments; -1: its result
        self._part = part

    def _kept(self) -> Any:
        node = self._node
        if node.freed:
            raise RuntimeError(GONE_MESSAGE)
        kept = node.out if self._position < 0 else arguments(node)[self._position]
        if self._part is not None:
            kept = kept[self._part]
            return kept if isinstance(kept, (Tensor, Packed)) else None
        return kept if self._position >= 0 or isinstance(kept, Packed) else result_of(node, kept)

    def _pack(self, hooks: tuple[Hook, Hook], tensor: Tensor) -> None:
        packed: Any = Packed(tensor, hooks, self._position < 0)
        if self._part is not None:
            parts = list(arguments(self._node)[self._position])
            parts[self._part] = packed
            packed = tuple(parts)
        replace(self._node, self._position, packed)


NodeSavedTensor.__name__ = NodeSavedTensor.__qualname__ = "SavedTensor"  # one class in PyTorch


def pack(node: Node) -> None:
    """Replace the saved tensors of a new node by the results of the active pack hooks."""
    hooks = state.saved_hooks[-1]
    args = arguments(node)
    for position in alphabetical(node):
        kept = args[position]
        if isinstance(kept, Tensor):
            replace(node, position, Packed(kept, hooks, False))
        elif type(kept) is tuple and any(isinstance(operand, Tensor) for operand in kept):
            parts = tuple(
                Packed(operand, hooks, False) if isinstance(operand, Tensor) else operand
                for operand in kept
            )
            replace(node, position, parts)
    if node.out is None:
        return
    if node.outputs == 1:
        replace(node, -1, Packed(result_of(node, node.out), hooks, True))
        return
    outs = [
        None if raw is None else Packed(result_of(node, raw, i), hooks, True)
        for i, raw in enumerate(node.out)
    ]
    replace(node, -1, tuple(outs))


def alphabetical(node: Node) -> list[int]:
    """Return the positions of a node's tensor arguments in the order of their names, as PyTorch
    saves them.
    """
    names = node.op.bare_names
    return sorted(range(min(len(names), len(arguments(node)))), key=names.__getitem__)


def replace(node: Node, position: int, packed: object) -> None:
    node.ensure_extras().unpack = unpacked
    if node.plan.raw_mask:
        node.saved_a, node.saved_b = (
            arguments(node) if node.layout == TWO else (arguments(node)[0], node.saved_b)
        )
        node.plan = plan_of(node.op, node.plan.grad_mask)
    if position < 0:
        node.out = packed
        return
    args = list(arguments(node))
    args[position] = packed
    if node.layout == TWO:
        node.saved_a, node.saved_b = args
    else:
        node.saved_a = tuple(args) if node.layout == TUPLES else args[0]


def unpacked(node: Node) -> tuple[tuple[Any, ...], Any]:
    """Run the unpack hooks of a node; return its arguments, and its saved result as raw data."""
    args = list(arguments(node))
    for position in alphabetical(node):
        args[position] = each_unpacked(args[position], node)
    return tuple(args), raw(each_unpacked(node.out, node))


def each_unpacked(kept: object, node: Node) -> object:
    if type(kept) is tuple:
        return tuple(each_unpacked(part, node) for part in kept)
    return kept.tensor(node) if isinstance(kept, Packed) else kept


def raw(kept: object) -> object:
    if type(kept) is tuple:
        return tuple(map(raw, kept))
    return kept._data if isinstance(kept, Tensor) else kept


# ---- attributes of nodes


def saved(node: Node, name: str) -> object:
    """Return `node._saved_NAME`; RuntimeError if it was freed, AttributeError if the node saves no
    such value.
    """
    args, out = saved_values(node)
    record = node.op
    if name == "result" and out is not None and record.outputs == 1:
        return with_version(node, result_of(node, out))
    names = record.bare_names + record.plain_names
    if name not in names:
        raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{name}'")
    kept = args[names.index(name)]
    if isinstance(kept, Meta):
        return None
    is_number = names.index(name) < record.arity and isinstance(kept, (int, float))
    return Tensor._wrap(np.asarray(kept)) if is_number else arrays_as_tensors(kept)


def arrays_as_tensors(kept: object) -> object:
    """Return the arrays among a node's plain arguments (indices, masks) as tensors; a slice of an
    index is None.
    """
    if type(kept) is tuple and any(isinstance(part, np.ndarray) for part in kept):
        return tuple(None if isinstance(part, slice) else arrays_as_tensors(part) for part in kept)
    return Tensor._wrap(kept) if isinstance(kept, np.ndarray) else kept


def with_version(node: Node, result: Tensor) -> Tensor:
    """Give a saved result the version counter of the tensor that the operation returned."""
    rare = node.ensure_extras()
    if rare.unpack is None and isinstance(result._data, np.ndarray):
        if rare.out_counter is None:
            rare.out_counter = Counter()
        result.extra().counter = rare.out_counter
        result.disable_fast_path()
    return result


def raw_saved(node: Node, name: str) -> SavedTensor | tuple[SavedTensor, ...]:
    """Return `node._raw_saved_NAME`; AttributeError if the node saves no tensor of that name."""
    names = node.op.bare_names
    if name in names and (node.freed or not isinstance(arguments(node)[names.index(name)], Meta)):
        return NodeSavedTensor(node, names.index(name))
    if name == "result" and (node.freed or node.out is not None):
        return NodeSavedTensor(node, -1)
    raise AttributeError(f"'{node.name()}' object has no attribute '_raw_saved_{name}'")
