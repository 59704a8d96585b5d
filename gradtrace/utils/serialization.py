"""torch.save and torch.load: checkpoints in PyTorch's format, a zip with a pickle and the bytes of
each storage.

PyTorch reads what `save` writes, and `load` reads what PyTorch writes since version 1.6
(https://pytorch.org/docs/stable/notes/serialization.html). With `weights_only`, the default, a file
gets only what ALLOWED lists: tensors, numbers, strings and containers. Names of torch in a pickle
are those of gradtrace's library.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple

from gradtrace.engine.data.describe import Size, check_device, device
from gradtrace.engine.data.dtypes import BY_NAME, dtype
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import word_pairs
from gradtrace.nn.parameter import Buffer, Parameter

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

STORAGE_DTYPES = word_pairs("""
    DoubleStorage float64 FloatStorage float32 HalfStorage float16 LongStorage int64 IntStorage int32
    ShortStorage int16 CharStorage int8 ByteStorage uint8 BoolStorage bool
""")
STORAGE_NAMES = {name: storage for storage, name in STORAGE_DTYPES.items()}
PROTOCOL = 2  # The pickle protocol of PyTorch's files.
NEW_DEFAULT = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the "
    "file from a trusted source."
)
NO_SUCH_DEVICE = (
    "Attempting to deserialize object on a {} device but torch.{}.is_available() is False. If "
    "you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)
NOT_A_CHECKPOINT = (
    f"Weights only load failed. {NEW_DEFAULT}\n\nthe file is not a zip of "
    "torch.save (PyTorch 1.6 or later)"
)
NOT_ALLOWED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, "
    "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) "
    "{default}\n\t(2) Alternatively, to load with `weights_only=True` please check the "
    "recommended steps in the following error message.\n\tWeightsUnpickler error: Unsupported "
    "global: GLOBAL {name} was not an allowed global by default. Please use "
    "`torch.serialization.add_safe_globals([{name}])` or the "
    "`torch.serialization.safe_globals([{name}])` context manager to allowlist this global if "
    "you trust this class/function.\n\nCheck the documentation of torch.load to learn more about "
    "types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


class TorchName(NamedTuple):
    """A name that a pickle refers to as one of PyTorch."""

    module: str
    name: str


class FileStorage(NamedTuple):
    """The memory of tensors in a checkpoint: a flat array and the name of its file there."""

    array: Any
    key: str


REBUILD_TENSOR = TorchName("torch._utils", "_rebuild_tensor_v2")
REBUILD_PARAMETER = TorchName("torch._utils", "_rebuild_parameter")


# ---- writing


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to a file, given by its path or as a binary file (torch.save)."""
    content = io.BytesIO()
    pickler = CheckpointPickler(content, pickle_protocol)
    pickler.dump(obj)
    if isinstance(f, (str, os.PathLike)):
        folder = os.path.dirname(f)
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        root = os.path.splitext(os.path.basename(f))[0]
        with open(f, "wb") as file:
            write_archive(file, root, content.getvalue(), pickler.storages)
    else:
        write_archive(f, "archive", content.getvalue(), pickler.storages)


def write_archive(file: Any, root: str, content: bytes, storages: dict[int, FileStorage]) -> None:
    """Write the zip of a checkpoint, whose files are in the folder `root`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{root}/data.pkl", content)
        archive.writestr(f"{root}/byteorder", "little")
        for storage in storages.values():
            archive.writestr(f"{root}/data/{storage.key}", storage.array.tobytes())
        archive.writestr(f"{root}/version", "3\n")


class CheckpointPickler(pickle._Pickler):
    """A pickler that writes tensors as parts of numbered storages, and the library's names as
    PyTorch's.
    """

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[int, FileStorage] = {}

    def persistent_id(self, obj: Any) -> Any:
        """Return the reference to a storage; None for any other object."""
        if not isinstance(obj, FileStorage):
            return None
        name = STORAGE_NAMES[obj.array.dtype.name]
        return ("storage", TorchName("torch", name), obj.key, "cpu", obj.array.size)

    def reducer_override(self, obj: Any) -> Any:
        """Return how the library's objects are rebuilt; NotImplemented for any other object."""
        if isinstance(obj, (Parameter, Buffer)) and type(obj) in (Parameter, Buffer):
            return rebuild_parameter, (obj.detach(), obj.requires_grad, OrderedDict())
        if isinstance(obj, Tensor) and type(obj) is Tensor:
            return rebuild_tensor, self.parts_of(obj)
        if isinstance(obj, Size):
            return Size, (tuple(obj),)
        if isinstance(obj, device):
            arguments = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return device, arguments
        return NotImplemented

    def parts_of(self, tensor: Tensor) -> tuple[Any, ...]:
        """Return the arguments of `rebuild_tensor`: the storage of a tensor, its offset in the
        storage, its shape and strides in elements, and whether it requires grad.
        """
        array = tensor.own_array() if type(tensor._data) in (float, bool) else tensor._data
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if not (owner.flags.c_contiguous and owner.dtype == array.dtype):
            owner = array = np.ascontiguousarray(array)
        if id(owner) not in self.storages:
            self.storages[id(owner)] = FileStorage(owner.reshape(-1), str(len(self.storages)))
        size = array.itemsize
        offset = (
            array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        ) // size
        strides = tuple(step // size for step in array.strides)
        storage = self.storages[id(owner)]
        return storage, offset, tuple(array.shape), strides, tensor.requires_grad, OrderedDict()

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        """Write an object; a TorchName and a dtype are written as global names."""
        if isinstance(obj, dtype):
            obj = TorchName("torch", str(obj).partition(".")[2])
        if isinstance(obj, TorchName):
            return self.write_name(obj)
        if isinstance(obj, (type, FunctionType)) and obj.__module__.startswith("gradtrace."):
            name = PICKLED_AS.get(obj) or TorchName(torch_module(obj.__module__), obj.__qualname__)
            return self.write_name(name)
        return super().save(obj, save_persistent_id)  # type: ignore[misc]

    def write_name(self, name: TorchName) -> None:
        """Write a name without looking it up."""
        self.write(pickle.GLOBAL + f"{name.module}\n{name.name}\n".encode())  # type: ignore[attr-defined]


def torch_module(name: str) -> str:
    """Return the name that a module of gradtrace has in PyTorch."""
    return "torch" + name.removeprefix("gradtrace")


# ---- reading


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Return what a file of torch.save holds (torch.load).

    UnpicklingError if it holds more than weights and `weights_only` is not False; RuntimeError for
    another file, or a `map_location` other than the CPU.
    """
    check_location(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return read_archive(file, weights_only is not False)
    return read_archive(f, weights_only is not False)


def check_location(map_location: Any) -> None:
    """Raise RuntimeError if tensors of the CPU are to be on another device."""
    place = map_location.get("cpu") if isinstance(map_location, dict) else map_location
    if not isinstance(place, (str, device)):
        return
    kind = device(place).type
    if kind in ("cuda", "xpu"):
        raise RuntimeError(NO_SUCH_DEVICE.format(kind.upper(), kind))
    check_device(place)


def read_archive(file: Any, weights_only: bool) -> Any:
    """Return what the zip of a checkpoint holds."""
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise pickle.UnpicklingError(NOT_A_CHECKPOINT) from None
    with archive:
        names = {name.partition("/")[2]: name for name in archive.namelist()}
        if "data.pkl" not in names:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
        if "byteorder" in names and archive.read(names["byteorder"]) == b"big":
            raise ValueError("the file was written on a big-endian machine")
        content = io.BytesIO(archive.read(names["data.pkl"]))
        reader = CheckpointUnpickler(
            content, lambda key: archive.read(names[f"data/{key}"]), weights_only
        )
        return reader.load()


class CheckpointUnpickler(pickle.Unpickler):
    """An unpickler of checkpoints. With `weights_only`, it finds only the names of ALLOWED."""

    def __init__(self, file: io.BytesIO, read: Callable[[str], bytes], weights_only: bool) -> None:
        super().__init__(file, encoding="utf-8")
        self.read_storage = read
        self.weights_only = weights_only
        self.arrays: dict[str, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name stands for; UnpicklingError for one that is not allowed."""
        replacement = ALLOWED.get(TorchName(module, name))
        if replacement is not None:
            return replacement
        if module == "torch" and name in BY_NAME:
            return BY_NAME[name]
        if module == "torch" and name in STORAGE_DTYPES:
            return TorchName(module, name)
        full = f"{module}.{name}"
        if full in _safe_globals:
            return _safe_globals[full]
        if self.weights_only:
            raise pickle.UnpicklingError(NOT_ALLOWED.format(default=NEW_DEFAULT, name=full))
        value = library_value(module, name)
        return super().find_class(module, name) if value is None else value

    def persistent_load(self, pid: Any) -> Any:
        """Return the array of a storage."""
        _, kind, key, *_ = pid
        if key not in self.arrays:
            self.arrays[key] = np.frombuffer(
                bytearray(self.read_storage(key)), np.dtype(STORAGE_DTYPES[kind.name])
            )
        return self.arrays[key]


def library_value(module: str, name: str) -> Any:
    """Return what gradtrace has under a name of torch, or None."""
    if module.partition(".")[0] != "torch":
        return None
    own = "gradtrace" + module.removeprefix("torch")
    while own:
        try:
            return getattr(import_module(own), name)
        except (ImportError, AttributeError):
            # PyTorch has more files, such as torch.utils.data.dataset.
            own = own.rpartition(".")[0]
    return None


def rebuild_tensor(
    array: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False, *unused: Any
) -> Tensor:
    """Return a tensor on its part of a storage. ValueError if it is larger than that."""
    if len(size) != len(stride) or min((offset, *size, *stride)) < 0:
        raise ValueError("the file is damaged: a tensor has a negative size")
    if 0 in size:
        tensor = Tensor._wrap(np.empty(size, array.dtype))
    else:
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if last >= len(array):
            raise ValueError("the file is damaged: a tensor is larger than its storage")
        steps = [step * array.itemsize for step in stride]
        tensor = Tensor._wrap(np.ndarray(size, array.dtype, array, offset * array.itemsize, steps))
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_parameter(data: Tensor, requires_grad: bool, *unused: Any) -> Parameter:
    """Return a parameter of these data."""
    return Parameter(data, requires_grad)


# The global names that a pickle may contain with `weights_only`, and their values here.
ALLOWED: dict[TorchName, Any] = {
    REBUILD_TENSOR: rebuild_tensor,
    REBUILD_PARAMETER: rebuild_parameter,
    TorchName("torch._tensor", "_rebuild_from_type_v2"): lambda function, kind, args, state: (
        function(*args)
    ),
    TorchName("collections", "OrderedDict"): OrderedDict,
    TorchName("collections", "Counter"): Counter,
    TorchName("torch", "Size"): Size,
    TorchName("torch", "device"): device,
    TorchName("torch", "Tensor"): Tensor,
    TorchName("torch.nn.parameter", "Parameter"): Parameter,
    TorchName("builtins", "set"): set,
    TorchName("__builtin__", "set"): set,
}
PICKLED_AS: dict[Any, TorchName] = {
    value: name for name, value in ALLOWED.items() if value.__module__.startswith("gradtrace.")
}
_safe_globals: dict[str, Any] = {}


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes and functions in checkpoints that are loaded with `weights_only`; a pair has a
    class and its name in the file.
    """
    for value in safe_globals:
        kind, name = value if isinstance(value, tuple) else (value, "")
        _safe_globals[name or f"{kind.__module__}.{kind.__qualname__}"] = kind


def get_safe_globals() -> list[Any]:
    """Return the classes and functions that were allowed by `add_safe_globals`."""
    return list(_safe_globals.values())


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` allowed."""
    _safe_globals.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow classes and functions in checkpoints within this context."""
    before = dict(_safe_globals)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe_globals.clear()
        _safe_globals.update(before)
