"""Read and write a capsule: a zip with a document in JSON and an array for each tensor.

A file is untrusted: it is read with the limits of `trace/file.py`, and every field is checked.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections import UserDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from gradtrace.errors import UsageError
from gradtrace.torch import private
from gradtrace.torch.contents import dtype_name
from gradtrace.torch.finite import has_elements
from gradtrace.torch.sharded import is_sharded
from gradtrace.trace import fields
from gradtrace.trace.fields import Damaged
from gradtrace.trace.file import (
    DOCUMENT,
    check_sizes,
    dumped,
    guarded,
    put,
    put_array,
    read_elements,
)

SCHEMA = "gradtrace/capsule"
VERSION = 1
KIND = "a capsule"
HINT = "write it again: gt.capsule(PATH, step, model, batch)"
AUTOCAST = ("", "bfloat16", "float16")
DEPTH = 50  # of containers in containers
# fields that older capsules lack, with the form of a value in place of them
LATER: dict[str, Any] = {
    "devices": ["list", []],  # of the batch's tensors, in order
    "layouts": ["list", []],  # of these too: whether they require gradients, and their strides
    "generators": ["dict", []],  # states of the program's own, by name
    "scalers": ["dict", []],  # states of each GradScaler, by name
    "device_random": ["plain", None],  # the random states of the GPUs
    # of a model whose gradients are averaged over ranks: the rank, and their number
    "rank": ["plain", None],
}


def octets(tensor: Any) -> Any:
    """Return a tensor's bits as a flat tensor of uint8 on the CPU; numpy lacks bfloat16 and
    others.
    """
    return tensor.cpu().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


# what a capsule cannot have, and what to give in place of it
REFUSED: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
    (
        is_lazy,
        "a parameter without a shape",
        "call the model once before, so that it gets its shape",
    ),
    (lambda candidate: candidate.is_nested, "a nested tensor", "pad it: x.to_padded_tensor(0.0)"),
    (
        is_sharded,
        "a part of a tensor that several processes hold (DTensor)",
        "write the capsule in a run of one process; under torchrun, gt.record() records each rank",
    ),
    (
        lambda candidate: candidate.layout is not torch.strided,
        "a sparse tensor",
        "make it dense: x.to_dense()",
    ),
    (
        lambda candidate: not has_elements(candidate),
        "a tensor without elements",
        "move it from the meta device",
    ),
    (
        lambda candidate: private.is_dispatched(type(candidate)),
        "a tensor of a class that computes in Python",
        "give a torch.Tensor",
    ),
)


class Tensors:
    """The tensors of a capsule, copied unless it is written before they change, and the form in
    which the document has values.
    """

    def __init__(self, is_copying: bool = True) -> None:
        self.is_copying = is_copying
        self.parts: list[Any] = []
        self.size = 0

    def add(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """Return the form of a value for the document, which `value` reads. UsageError, with the
        value's `name`, for another kind of value.
        """
        if depth > DEPTH:
            raise UsageError(f"a capsule cannot have containers nested more than {DEPTH} deep")
        if isinstance(value, torch.Tensor):
            return self.tensor(value, name)
        if type(value) is float:
            return ["float", value.hex()]
        if value is None or type(value) in (bool, int, str):
            return ["plain", value]
        if type(value) in (list, tuple):
            return [
                type(value).__name__,
                [self.add(element, f"{name}[{i}]", depth + 1) for i, element in enumerate(value)],
            ]
        if isinstance(value, (dict, UserDict)) and all(type(key) is str for key in value):
            return [
                "dict",
                [
                    [key, self.add(element, f"{name}[{key!r}]", depth + 1)]
                    for key, element in value.items()
                ],
            ]
        raise UsageError(
            "a capsule cannot have an object of type "
            f"{type(value).__qualname__}{f': {name}' if name else ''}",
            "a batch is made of tensors, numbers, texts, lists and dicts with texts as keys",
        )

    def tensor(self, value: Any, name: str) -> Any:
        for is_of_kind, kind, remedy in REFUSED:
            if is_of_kind(value):
                raise UsageError(
                    f"a capsule cannot have {kind}{f': {name}' if name else ''}", remedy
                )
        content = octets(value.detach())
        self.parts.append(content.clone() if self.is_copying else content)
        self.size += content.numel()
        return ["tensor", len(self.parts) - 1, dtype_name(value.dtype), list(value.shape)]


def write(document: dict[str, Any], tensors: Tensors, stream: Any) -> None:
    with zipfile.ZipFile(stream, "w") as file:
        write_tensors(file, tensors)
        write_document(file, document)


def write_tensors(file: zipfile.ZipFile, tensors: Tensors) -> None:
    for number, part in enumerate(tensors.parts):
        put_array(file, f"arrays/{number}.npy", [part.numpy()], part.numel(), "uint8")


def write_document(file: zipfile.ZipFile, document: dict[str, Any]) -> None:
    put(file, DOCUMENT, dumped({"schema": SCHEMA, "version": VERSION, **document}))


def read(name: str) -> dict[str, Any]:
    """Return the document of a capsule with its tensors. UsageError if the file is damaged or
    cannot be read.
    """

    def opened() -> dict[str, Any]:
        with open(name, "rb") as stream, zipfile.ZipFile(stream) as file:
            check_sizes(file, stream.seek(0, io.SEEK_END))
            document = fields.mapped(
                json.loads(file.read(DOCUMENT).decode("utf-8", "surrogatepass"))
            )
            if document.get("schema") != SCHEMA or document.get("version") != VERSION:
                raise Damaged("its document is not that of a capsule of version 1")
            used: set[int] = set()
            for key in ("state", "gradients", "batch", "random"):
                document[key] = value(file, document.get(key), used)
            for key, missing in LATER.items():
                document[key] = value(file, document.get(key, missing), used)
            check(document)
            return document

    return guarded(name, opened, KIND, HINT)


def value(file: zipfile.ZipFile, form: Any, used: set[int], depth: int = 0) -> Any:
    """Return the value that a form stands for. Each array is `used` once, or a small file could ask
    for any amount.
    """
    kind, *rest = fields.listed(form) or [None]
    if depth > DEPTH + 2 or len(rest) != (3 if kind == "tensor" else 1):
        raise Damaged("a value is damaged")
    if kind == "tensor":
        return tensor(file, used, *rest)
    if kind == "float":
        return float.fromhex(fields.text(rest[0]))
    if kind == "plain" and (rest[0] is None or type(rest[0]) in (bool, int, str)):
        return rest[0]
    if kind in ("list", "tuple"):
        elements = [
            value(file, inner_form, used, depth + 1) for inner_form in fields.listed(rest[0])
        ]
        return elements if kind == "list" else tuple(elements)
    if kind == "dict" and all(len(fields.listed(pair)) == 2 for pair in fields.listed(rest[0])):
        return {
            fields.text(key): value(file, inner_form, used, depth + 1)
            for key, inner_form in rest[0]
        }
    raise Damaged("a value is of an unknown kind")


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors of a value that a capsule can have, in the order of its form."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict, UserDict)):
        for element in value if isinstance(value, (list, tuple)) else value.values():
            yield from tensors_in(element)


def tensor(file: zipfile.ZipFile, used: set[int], number: Any, name: Any, shape: Any) -> Any:
    dtype = getattr(torch, fields.text(name), None)
    sizes = [fields.integer(size) for size in fields.listed(shape)]
    if not isinstance(dtype, torch.dtype) or any(size < 0 for size in sizes):
        raise Damaged("a tensor has an unknown dtype or shape")
    if fields.integer(number) in used:
        raise Damaged("two tensors have one array")
    used.add(number)
    content = read_elements(file, fields.integer(number))
    if content.dtype.name != "uint8" or len(content) != math.prod(sizes) * dtype.itemsize:
        raise Damaged("a tensor has another number of bytes than its shape says")
    if not len(content):
        return torch.empty(sizes, dtype=dtype)  # a view of no bytes is an error
    return torch.from_numpy(content.copy()).view(dtype).reshape(sizes)


def check(document: dict[str, Any]) -> None:
    """Check the parts of a document that are not tensors."""
    for key in ("state", "gradients"):
        if not all(
            isinstance(entry, torch.Tensor) for entry in fields.mapped(document[key]).values()
        ):
            raise Damaged(f"its {key} are damaged")
    for key, kind in (("modes", bool), ("versions", str), ("gradient_sums", str), ("sources", str)):
        if any(type(entry) is not kind for entry in fields.mapped(document.get(key)).values()):
            raise Damaged(f"its {key} are damaged")
    for name in fields.listed(document.get("trained")):
        fields.text(name)
    check_later(document)
    for key in ("roots", "results"):
        for number in fields.listed(document.get(key)):
            float.fromhex(fields.text(number))
    for key in ("model", "name", "step"):
        fields.text(document.get(key))
    for key in ("config", "call"):
        fields.mapped(document.get(key))
    call = document["call"]
    factors = call.get("divisor", 1), call.get("scale", 1)
    if (
        not all(type(factor) in (int, float) and factor > 0 for factor in factors)
        or call.get("autocast", "") not in AUTOCAST
    ):
        raise Damaged("how its model is called is damaged")
    if type(call.get("loss", "")) is not str:
        raise Damaged("how its model is called is damaged")
    if type(document["random"]) is not tuple or len(document["random"]) != 3:
        raise Damaged("its random states are damaged")


def check_later(document: dict[str, Any]) -> None:
    """Check the fields that older capsules lack."""
    if not all(
        isinstance(state, (torch.Tensor, tuple, dict))
        for state in fields.mapped(document["generators"]).values()
    ):
        raise Damaged("its random states are damaged")
    states = [] if document["device_random"] is None else fields.listed(document["device_random"])
    if not all(isinstance(state, torch.Tensor) for state in states):
        raise Damaged("its random states are damaged")
    if not all(isinstance(state, dict) for state in fields.mapped(document["scalers"]).values()):
        raise Damaged("its scalers are damaged")
    if document["rank"] is not None and [
        type(number) for number in fields.listed(document["rank"])
    ] != [int, int]:
        raise Damaged("its rank is damaged")
    for device in fields.listed(document["devices"]):
        fields.text(device)
    for layout, batch_tensor in zip(
        fields.listed(document["layouts"]), tensors_in(document["batch"]), strict=False
    ):
        is_trained, strides = [*fields.listed(layout), None, None][:2]
        has_gradients = batch_tensor.is_floating_point() or batch_tensor.is_complex()
        if (
            type(is_trained) is not bool
            or is_trained > has_gradients
            or len(fields.listed(strides)) != batch_tensor.dim()
        ):
            raise Damaged("the layouts of its batch are damaged")
        if any(fields.integer(stride) < 0 for stride in strides):
            raise Damaged("the layouts of its batch are damaged")
