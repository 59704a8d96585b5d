"""Read a file of torch.save: tensors, numbers, strings and containers of these.

The file is a zip with a pickle and the bytes of each storage. Python's pickle module never reads it: `unpickled` is an
interpreter of the opcodes that such files have, which calls nothing but the few functions of `BUILT`.
"""

from __future__ import annotations

from collections import OrderedDict

from gradtrace import ops
from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import wall
from gradtrace.lang.array_files import members
from gradtrace.lang.budget import Meter
from gradtrace.nn.parameter import Parameter

STORAGES = {
    f"{name}Storage": dtype
    for name, dtype in (
        ("Float", "float32"), ("Double", "float64"), ("Half", "float16"), ("Long", "int64"), ("Int", "int32"),
        ("Short", "int16"), ("Char", "int8"), ("Byte", "uint8"), ("Bool", "bool"),
    )
}  # fmt: skip


class StoredArray(NamedTuple):
    array: Any


class PickledName(NamedTuple):
    """A name of the pickle, which stands for one of BUILT, a storage's class or a dtype."""

    module: str
    name: str


def load(content: bytes, meter: Meter) -> Any:
    """Return what a file holds; ValueError for another file, or one that holds anything else."""
    found = {name.partition("/")[2]: read for name, read in members(content, meter)}
    if "data.pkl" not in found:
        raise ValueError("the file was not written by torch.save of PyTorch 1.6 or later")
    if b"big" in found.get("byteorder", bytes)():
        raise ValueError("the file was written on a big-endian machine")
    return unpickled(found["data.pkl"](), lambda key: found[f"data/{key}"](), meter)


def unpickled(content: bytes, storage_of: Callable[[str], bytes], meter: Meter) -> Any:
    with wall.lowered():
        from pickletools import genops
    machine = PickleReader(storage_of, meter)
    for operation, argument, _ in genops(content):
        meter.count_steps(1)
        if operation.name == "STOP":
            return plain(machine.stack[-1], meter)
        if operation.name not in OPCODES:
            raise ValueError(f"{PLAIN}: the file has the opcode {operation.name}")
        OPCODES[operation.name](machine, argument)
    raise ValueError("the file is cut short")


def plain(result: Any, meter: Meter) -> Any:
    """Return a result that a program may have: one without the storages and names that only the reader needs."""
    todo, seen = [result], set()
    while todo:
        value = todo.pop()
        meter.count_steps(1)
        kind = type(value)
        if kind in FLAT or id(value) in seen:
            continue
        if kind not in HOLDERS:
            raise ValueError(f"{PLAIN}, and the file holds a {kind.__name__} outside of a tensor")
        seen.add(id(value))
        todo += [*value, *value.values()] if isinstance(value, dict) else value
    return result


class PickleReader:
    """The stack machine of a pickle."""

    def __init__(self, storage_of: Callable[[str], bytes], meter: Meter) -> None:
        self.storage_of, self.meter = storage_of, meter
        self.storages: dict[str, StoredArray] = {}
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def taken(self, count: int) -> list[Any]:
        """Take so many values off the stack."""
        values = self.stack[len(self.stack) - count :] if count else []
        del self.stack[len(self.stack) - count :]
        return values

    def since_mark(self) -> list[Any]:
        return self.taken(len(self.stack) - self.marks.pop())

    def store(self, items: list[Any]) -> None:
        """Set keys and values, which follow one another, in the dict on top of the stack."""
        keys = [checked(key, KEYS) for key in items[::2]]
        checked(self.stack[-1], dict).update(zip(keys, items[1::2], strict=True))

    def extend(self, items: list[Any]) -> None:
        checked(self.stack[-1], list).extend(items)

    def build(self) -> None:
        """Drop the attributes of an object: `_metadata` of a state_dict."""
        self.taken(1)
        checked(self.stack[-1], dict)

    def reduce(self) -> None:
        name, arguments = self.taken(2)
        self.push(BUILT[checked(name, PickledName)](self.meter, *checked(arguments, tuple)))

    def load_storage(self) -> None:
        """Push the storage that a persistent id names."""
        _, kind, key, *_ = checked(self.stack.pop(), tuple)
        if key not in self.storages:
            dtype = np.dtype(STORAGES[checked(kind, PickledName).name])
            self.storages[key] = StoredArray(np.frombuffer(self.storage_of(checked(key, str)), dtype))
        self.push(self.storages[key])


def checked(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"the file is damaged: it has an object of the type {type(value).__name__} in a wrong place")
    return value


def known_name(module: str, name: str) -> Any:
    found = PickledName(module, name)
    if module == "torch" and name in dtypes.BY_NAME:
        return dtypes.BY_NAME[name]
    if found in BUILT or (module == "torch" and name in STORAGES):
        return found
    raise ValueError(f"{PLAIN}, and the file holds {module}.{name}")


def rebuilt(
    meter: Meter, store: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False, *_: Any
) -> Tensor:
    """Return a tensor on a copy of its part of a storage."""
    array = checked(store, StoredArray).array
    for number in (offset, *checked(size, tuple), *checked(stride, tuple)):
        checked(number, int)
    if len(size) != len(stride) or min((offset, *size, *stride)) < 0:
        raise ValueError("the file is damaged: a tensor has a negative size")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= len(array):
        raise ValueError("the file is damaged: a tensor is larger than its storage")
    meter.reserve(array.itemsize * int(np.prod(size, dtype=object)))
    steps = [step * array.itemsize for step in stride]
    part = array[offset:] if 0 not in size else array[:0]
    view = np.lib.stride_tricks.as_strided(part, size, steps) if 0 not in size else np.empty(size, array.dtype)
    made: Tensor = ops.find(ops.api.functions, "as_tensor")(np.array(view))
    return made.requires_grad_() if requires_grad else made


def parameter(meter: Meter, data: Any, requires_grad: bool, *_: Any) -> Any:
    return Parameter(checked(data, Tensor), requires_grad)


def ordered(meter: Meter, *items: Any) -> Any:
    return OrderedDict()


def size_of(meter: Meter, size: Any) -> Size:
    return Size(checked(number, int) for number in checked(size, tuple))


BUILT: dict[PickledName, Callable[..., Any]] = {
    PickledName("torch._utils", "_rebuild_tensor_v2"): rebuilt,
    PickledName("torch._utils", "_rebuild_parameter"): parameter,
    PickledName("collections", "OrderedDict"): ordered,
    PickledName("torch", "Size"): size_of,
    PickledName("torch", "device"): lambda meter, *place: "cpu",
}
PLAIN = "torch.load reads plain tensors in gradtrace scripts"
FLAT = (int, float, bool, str, type(None), dtypes.dtype, Tensor, Parameter)
HOLDERS = (list, tuple, dict, OrderedDict, Size)
KEYS = (str, int, float)  # nested tuples as keys would take exponential time
OPCODES: dict[str, Callable[[PickleReader, Any], None]] = {
    **dict.fromkeys(("PROTO", "FRAME"), lambda m, argument: None),
    **dict.fromkeys(
        ("BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"), PickleReader.push
    ),
    "NONE": lambda m, _: m.push(None),
    "NEWTRUE": lambda m, _: m.push(True),
    "NEWFALSE": lambda m, _: m.push(False),
    "EMPTY_DICT": lambda m, _: m.push({}),
    "EMPTY_LIST": lambda m, _: m.push([]),
    "EMPTY_TUPLE": lambda m, _: m.push(()),
    "MARK": lambda m, _: m.marks.append(len(m.stack)),
    "TUPLE": lambda m, _: m.push(tuple(m.since_mark())),
    "TUPLE1": lambda m, _: m.push(tuple(m.taken(1))),
    "TUPLE2": lambda m, _: m.push(tuple(m.taken(2))),
    "TUPLE3": lambda m, _: m.push(tuple(m.taken(3))),
    "APPEND": lambda m, _: m.extend(m.taken(1)),
    "APPENDS": lambda m, _: m.extend(m.since_mark()),
    "SETITEM": lambda m, _: m.store(m.taken(2)),
    "SETITEMS": lambda m, _: m.store(m.since_mark()),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), lambda m, place: m.memo.update({place: m.stack[-1]})),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), lambda m, place: m.push(m.memo[place])),
    "GLOBAL": lambda m, name: m.push(known_name(*name.split(" ", 1))),
    "BINPERSID": lambda m, _: m.load_storage(),
    "REDUCE": lambda m, _: m.reduce(),
    "BUILD": lambda m, _: m.build(),
}
