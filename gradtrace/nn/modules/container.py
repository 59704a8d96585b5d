"""Containers of modules: Sequential, ModuleList, ModuleDict, DataParallel."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from gradtrace.nn.modules._text import class_text, indent
from gradtrace.nn.modules.module import Module


def absolute(index: Any, size: int) -> int:
    """Normalise an index to be non-negative; raise IndexError if it is out of range."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return int(index) % size


def _renumber(module: Module) -> None:
    module.__dict__["_modules"] = {
        str(i): child for i, child in enumerate(module._modules.values())
    }


class _Numbered(Module):
    """Base of the containers that are indexed by number."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def pop(self: Any, key: Any) -> Any:
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """A chain of modules, called one after another, named by number or by the keys of an
    OrderedDict.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
            return
        for i, module in enumerate(args):
            self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def _key(self, index: Any) -> str:
        return next(islice(self._modules, absolute(index, len(self)), None))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        _renumber(self)

    def __add__(self, other: Any) -> Sequential:
        return Sequential().extend(self).extend(_sequential(other))

    def __iadd__(self, other: Any) -> Any:
        return self.extend(list(_sequential(other)))

    def __mul__(self, times: Any) -> Sequential:
        combined = Sequential()
        for _ in range(_times(self, times)):
            combined.extend(self)
        return combined

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Any:
        own = list(self)
        for _ in range(_times(self, times) - 1):
            self.extend(own)
        return self

    def extend(self, sequential: Iterable[Module]) -> Any:
        for module in sequential:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {class_text(Module)}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        children = list(self)
        children.insert(index + n if index < 0 else index, module)
        self.__dict__["_modules"] = {str(i): child for i, child in enumerate(children)}
        return self


def _sequential(modules: Any) -> Sequential:
    if not isinstance(modules, Sequential):
        class_name = class_text(type(modules))
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {class_name} is given."
        )
    return modules


def _times(module: Module, times: Any) -> int:
    if not isinstance(times, int):
        raise TypeError(
            f"unsupported operand type(s) for *: {class_text(type(module))} and "
            f"{class_text(type(times))}"
        )
    if times <= 0:
        raise ValueError(
            f"Non-positive multiplication factor {times} for {class_text(type(module))}"
        )
    return times


class ModuleList(_Numbered):
    """A list of modules; it has no forward method."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[str(absolute(index, len(self)))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(absolute(index, len(self))), module)

    def __delitem__(self, index: Any) -> None:
        gone = range(len(self))[index] if isinstance(index, slice) else [absolute(index, len(self))]
        for i in gone:
            delattr(self, str(i))
        _renumber(self)

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(self).extend(other)

    def extend(self, modules: Iterable[Module]) -> Any:
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for i, module in enumerate(list(modules), len(self)):
            self.add_module(str(i), module)
        return self

    def insert(self, index: int, module: Module) -> None:
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def __repr__(self) -> str:
        """Show equal neighbours once, with their range and count."""
        blocks: list[tuple[int, int, str]] = []
        for i, text in enumerate(map(repr, self)):
            if blocks and blocks[-1][2] == text:
                blocks[-1] = (blocks[-1][0], i, text)
            else:
                blocks.append((i, i, text))
        if not blocks:
            return self._get_name() + "()"
        lines = [
            indent(f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}", 2)
            for a, b, text in blocks
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules, in order of insertion; it has no forward method."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Any:
        return self._modules.pop(key)

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        for key, module in named_pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


def named_pairs(source: Any, name: str, plural: str) -> list[tuple[str, Any]]:
    """Return the validated (key, value) pairs of a mapping or of a sequence of pairs."""
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{plural}.update should be called with an iterable of key/value pairs, but got "
            + type(source).__name__
        )
    if isinstance(source, Mapping) or (isinstance(source, Module) and hasattr(source, "items")):
        return list(source.items())
    pairs = []
    for j, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{name} update sequence element #{j} should be Iterable; is" + type(pair).__name__
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{name} update sequence element #{j} has length {len(pair)}; 2 is required"
            )
        pairs.append(pair)
    return pairs


class DataParallel(Module):
    """Wrapper that runs a module on several devices; the CPU is the only one, so it just calls the
    module.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """Wrapper for one of several processes, of which there are none: it cannot be made."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
