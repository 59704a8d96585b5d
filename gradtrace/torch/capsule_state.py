"""What a capsule has besides the model and the batch: the program's own generators of random
numbers, its GradScalers, its text; and how a replay restores them.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import Any

import torch

from gradtrace.errors import UsageError
from gradtrace.torch.capsule_file import octets
from gradtrace.torch.generators import is_generator, set_state
from gradtrace.torch.reach import Reach
from gradtrace.views.cells import visible

LOADER = "loader"
OF_LOADER = ("dataset", "sampler", "batch_sampler")
SPREAD = 16  # times the memory of its elements, which a tensor of a batch may span


def generators_of(model: Any, reach: Reach, loader: Any = None) -> dict[str, Any]:
    """Return the generators of random numbers that a model's modules hold, that a step names and
    that the loaders of its batches have, each by one name.
    """
    generators: dict[int, tuple[str, Any]] = {}
    for name, generator in named_generators(model, reach, loader):
        generators.setdefault(id(generator), (name, generator))
    return dict(generators.values())


def named_generators(model: Any, reach: Reach, loader: Any = None) -> Iterator[tuple[str, Any]]:
    for path, module in model.named_modules():
        for key, candidate in vars(module).items():
            if is_generator(candidate):
                yield ".".join(("model", path, key) if path else ("model", key)), candidate
    for name, candidate in [*reach.values(), (LOADER, loader)]:
        if name != LOADER and not reach.is_named(name):
            continue
        if is_generator(candidate):
            yield name, candidate
        elif isinstance(candidate, torch.utils.data.DataLoader):
            for key in ("generator", "sampler.generator", "batch_sampler.sampler.generator"):
                owner: Any = candidate
                for part in key.split("."):
                    owner = getattr(owner, part, None)
                if isinstance(owner, torch.Generator):
                    yield f"{name}.{key}", owner
            for part in OF_LOADER:
                held = getattr(getattr(candidate, part, None), "__dict__", {})
                yield from (
                    (f"{name}.{part}.{key}", value)
                    for key, value in held.items()
                    if is_generator(value)
                )


def scalers_of(reach: Reach) -> dict[str, Any]:
    """Return the enabled GradScalers that a step names, each by one name."""
    scalers: dict[int, tuple[str, Any]] = {}
    for name, variable in reach.values():
        if (
            isinstance(variable, torch.amp.GradScaler)
            and variable.is_enabled()
            and reach.is_named(name)
        ):
            scalers.setdefault(id(variable), (name, variable))
    return dict(scalers.values())


def sources_of(file: str) -> dict[str, str]:
    """Return the text of a step's file, by its name; {} if that is not known."""
    text = "".join(linecache.getlines(file))
    return {file: text} if text else {}


# ---- restored


def restore(document: dict[str, Any], model: Any, step: Any, batch: Any) -> list[str]:
    """Give the generators and GradScalers of a step their states from a capsule, by their names;
    return remarks on those that the step has not. UsageError if a state is damaged.
    """
    reach = Reach(step, (model, batch), {})
    generators = dict(named_generators(model, reach))
    scalers = scalers_of(reach)
    notes = []
    for name, state in document["generators"].items():
        if name in generators:
            attempt(
                name, lambda generator=generators[name], state=state: set_state(generator, state)
            )
        elif not is_of_loader(name):
            notes.append(missing("generator", name))
    for name in {id(generator): name for name, generator in reversed(generators.items())}.values():
        if name not in document["generators"]:
            notes.append(
                f"the capsule has no state of the generator {visible(name)}, so it is as it is here"
            )
    for name, state in document["scalers"].items():
        if name in scalers:
            attempt(name, lambda scaler=scalers[name], state=state: scaler.load_state_dict(state))
        else:
            notes.append(missing("GradScaler", name))
    return [*notes, *restore_devices(document["device_random"])]


def attempt(name: str, work: Any) -> None:
    try:
        work()
    except (
        RuntimeError,
        TypeError,
        LookupError,
        ValueError,
        OverflowError,
        AttributeError,
    ) as error:
        raise UsageError(
            f"the state of {visible(name)} in the capsule does not fit: {error}"
        ) from error


def is_of_loader(name: str) -> bool:
    """Whether a generator is that of a DataLoader, whose batch the capsule has."""
    return name.endswith(f"{LOADER}.generator") or any(f".{part}." in name for part in OF_LOADER)


def missing(kind: str, name: str) -> str:
    return (
        f"the capsule has the state of the {kind} {visible(name)}, which the step here does not "
        "name"
    )


def restore_devices(states: Any) -> list[str]:
    """Set the random states of the GPUs; return a remark if they are others here."""
    if not states:
        return []
    if not torch.cuda.is_available() or torch.cuda.device_count() != len(states):
        return [
            f"the capsule has the random states of {len(states)} GPUs, here are "
            f"{torch.cuda.device_count()}"
        ]
    torch.cuda.set_rng_state_all(states)
    return []


def write(tensor: Any, values: Any) -> None:
    """Write values into a tensor; of an expanded one, whose elements share memory, once."""
    target = tensor
    source = values
    for dim, (stride, size) in enumerate(zip(tensor.stride(), tensor.shape, strict=True)):
        if stride == 0 and size > 1:
            target = target.narrow(dim, 0, 1)
            source = source.narrow(dim, 0, 1)
    try:
        target.copy_(source)
        is_written = target is tensor or torch.equal(octets(tensor), octets(values))
    except RuntimeError:  # its elements share memory in another way
        is_written = False
    if not is_written:
        tensor.data = values.to(tensor.device)


def placed(value: Any, place: Any) -> Any:
    """Return a batch with what `place` returns for each tensor."""
    if isinstance(value, torch.Tensor):
        return place(value)
    if isinstance(value, (list, tuple)):
        return type(value)(placed(element, place) for element in value)
    if isinstance(value, dict):
        return {key: placed(element, place) for key, element in value.items()}
    return value


def laid_out(values: Any, is_trained: bool, strides: Any) -> Any:
    """Return a tensor with these strides, unless they ask for far more memory than its elements
    do.
    """
    tensor = values
    shape = values.shape
    if list(values.stride()) != strides and values.numel():
        extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if extent <= SPREAD * values.numel():
            tensor = torch.empty_strided(shape, strides, dtype=values.dtype, device=values.device)
            write(tensor, values)
    return tensor.requires_grad_(is_trained)


def on_devices(document: dict[str, Any], model: Any) -> tuple[Any, list[str]]:
    """Return a capsule's batch on the devices that it had, and remarks on those that are not here:
    in their place is the device of the model.
    """
    here = next((p.device for p in model.parameters()), torch.device("cpu"))
    moved: dict[str, str] = {}

    def where(device: str) -> Any:
        if device == "cpu":
            return device
        try:
            torch.empty(0, device=device)
        # how PyTorch says that a device is not there
        except (RuntimeError, AssertionError, NotImplementedError):
            moved[device] = (
                f"the batch was on {visible(device)}, which is not here: it is on {here}, as the "
                "model"
            )
            return here
        return device

    devices = iter(document["devices"])
    layouts = iter(document["layouts"])

    def place(tensor: Any) -> Any:
        there = tensor.to(where(next(devices, "cpu")))
        return laid_out(there, *next(layouts, (False, list(there.stride()))))

    return placed(document["batch"], place), list(moved.values())
