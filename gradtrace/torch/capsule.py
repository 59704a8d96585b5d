"""`capsule`: write what a training step starts from to a file, so that another process can run the
step again.

    def step(model, batch):
        loss = criterion(model(batch["x"]), batch["y"])
        loss.backward()
        return loss

    loss = gt.capsule("step.gtc", step, model, batch)       # calls the step, and writes the file
    again = gt.replay("step.gtc", step, model)              # elsewhere: see replay.py

A capsule is a zip of numpy arrays and a document in JSON, never a pickle; `capsule_file.py` reads
and writes it. `gt.capsule("now")` asks for one of the next step that a guard sees: see
capsule_asked.py.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Literal, overload

import torch
from torch.nn.parameter import is_lazy

from gradtrace.errors import UsageError
from gradtrace.files import check_place, write_output
from gradtrace.torch.capsule_file import Tensors, octets, tensors_in, write
from gradtrace.torch.capsule_models import config_of
from gradtrace.torch.capsule_state import generators_of, scalers_of, sources_of
from gradtrace.torch.finite import all_finite, losses_of
from gradtrace.torch.generators import state_of
from gradtrace.torch.reach import Reach
from gradtrace.torch.recording import name_for, processes, rank
from gradtrace.torch.state import random_state
from gradtrace.views.cells import bytes_text

LIMIT = 2**31  # bytes
PACKAGES = ("torch", "numpy", "transformers", "peft")
HINT = 'gt.capsule(PATH, step, model, batch), or gt.capsule("now")'


@overload
def capsule(path: Literal["now"], *, on: int | None = ...) -> None: ...


@overload
def capsule(
    path: str | os.PathLike[str],
    step: Callable[[Any, Any], Any],
    model: Any,
    batch: Any,
    *,
    only_bad: bool = ...,
    limit: int = ...,
    out: Any = ...,
) -> Any: ...


def capsule(
    path: str | os.PathLike[str],
    step: Any = None,
    model: Any = None,
    batch: Any = None,
    *,
    only_bad: bool = False,
    limit: int = LIMIT,
    out: Any = None,
    on: int | None = None,
) -> Any:
    """Return `step(model, batch)`, and write a capsule of the step to `path`.

    The capsule has the state before the step: the batch, the random states of PyTorch, Python and
    numpy, those of the generators and GradScalers that the step names or the model holds, the
    model's parameters, buffers, gradients and training modes; also checksums of the loss and the
    gradients after it. It does not have the state of an optimiser. With `only_bad` it is written
    only if the loss or a gradient is not finite; the state is copied at every call. A step that
    raises writes nothing. Of several processes each writes its own file: step.rank0.gtc, or with
    the rank in place of {rank}.

    `out` is the stream for the size (stderr by default). UsageError if the capsule has more than
    `limit` bytes, the path cannot be written, or the batch has something else than tensors,
    numbers, texts and containers of these.

    `capsule("now")`, without a step, has the next step that a guard sees (`gt.guard`, `gt.watch`,
    the guards of trainers) written to its folder for capsules, or the current folder.
    `capsule("now", on=signal.SIGUSR1)` does that each time the process receives the signal.
    """
    if step is None:
        return ask(path, on)
    if not isinstance(model, torch.nn.Module):
        raise UsageError(
            f"gt.capsule got a model of type {type(model).__qualname__}, not a torch.nn.Module",
            HINT,
        )
    name = name_for(path, rank())
    check_place(name)
    tensors = Tensors()
    reach = Reach(step, (model, batch), {})
    document = before(tensors, model, batch, reach)
    if tensors.size > limit:
        raise UsageError(
            f"a capsule of {bytes_text(tensors.size)} is larger than the limit of "
            f"{bytes_text(limit)}"
        )
    result = step(model, batch)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    if not only_bad or not all_finite([*losses_of(result), *grads]):
        document.update(
            {**after(model, result), "step": name_of(step), "sources": sources_of(reach.file)}
        )
        print(
            f"gradtrace: writing {name}, a capsule of {bytes_text(tensors.size)}",
            file=out or sys.stderr,
        )
        write_output(name, lambda stream: write(document, tensors, stream))
    return result


class Asking:
    """Whether somebody waits for a capsule of the next step that a guard sees."""

    is_waiting = False


asking = Asking()


def ask(step: Any, on: int | None) -> None:
    """Ask for a capsule of the next step, at once or each time this process receives a signal.
    UsageError for a signal that cannot be handled.
    """
    if step != "now":
        raise UsageError("gt.capsule got no step", HINT)
    if on is None:
        asking.is_waiting = True
        return
    try:
        former = signal.getsignal(on)

        def handler(number: int, frame: Any) -> None:
            asking.is_waiting = True
            if callable(former):
                former(number, frame)

        signal.signal(on, handler)
    except (ValueError, TypeError, OSError) as error:  # also in another thread than the main one
        raise UsageError(
            f"gt.capsule cannot wait for signal {on}: {error}", "on=signal.SIGUSR1"
        ) from error


def before(
    tensors: Tensors, model: Any, batch: Any, reach: Reach, loader: Any = None
) -> dict[str, Any]:
    """Return the document about the state before a step, whose tensors go to `tensors`.

    `reach` is what the step can reach, `loader` what its batches come from.
    """
    on_cpu, on_gpu, (version, words, kept), of_numpy, _ = random_state([])
    is_averaged = isinstance(model, torch.nn.parallel.DistributedDataParallel)
    model = unwrapped(model)
    parameters = dict(model.named_parameters())
    state = {**parameters, **dict(model.named_buffers())}
    return {
        "model": f"{type(model).__module__}.{type(model).__qualname__}",
        "name": "model",
        "step": "",
        "call": {},  # how a Trainer calls its model: see transformers.py
        "config": config_of(model),
        "sources": {},
        "versions": versions(),
        "state": tensors.add(
            {key: tensor if is_lazy(tensor) else tensor.detach() for key, tensor in state.items()},
            "model",
        ),
        "gradients": tensors.add(
            {key: p.grad for key, p in parameters.items() if p.grad is not None}, "gradients"
        ),
        "trained": [key for key, p in parameters.items() if p.requires_grad],
        "modes": {key: module.training for key, module in model.named_modules()},
        "batch": tensors.add(batch, "batch"),
        "devices": tensors.add([str(tensor.device) for tensor in tensors_in(batch)]),
        "layouts": tensors.add(
            [[tensor.requires_grad, list(tensor.stride())] for tensor in tensors_in(batch)]
        ),
        "random": tensors.add((on_cpu, [version, list(words), kept], numpy_words(of_numpy))),
        "device_random": tensors.add(on_gpu),
        "generators": tensors.add(
            {n: state_of(generator) for n, generator in generators_of(model, reach, loader).items()}
        ),
        "scalers": tensors.add({n: scaler.state_dict() for n, scaler in scalers_of(reach).items()}),
        "rank": tensors.add(
            [rank() or 0, processes()] if is_averaged and processes() > 1 else None
        ),
    }


def unwrapped(model: Any) -> Any:
    """Return the module in torch.compile's or DistributedDataParallel's, which adds to the names of
    parameters.
    """
    inner = getattr(model, "_orig_mod", model)
    return inner.module if isinstance(inner, torch.nn.parallel.DistributedDataParallel) else inner


def name_of(step: Any) -> str:
    """Return a function's name with its module's."""
    named = getattr(step, "__func__", step)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', type(step).__qualname__)}"


def numpy_words(state: Any) -> Any:
    """Return the state of numpy's MT19937 as a list; None without numpy or with another
    generator.
    """
    if state is None or state["bit_generator"] != "MT19937":
        return None
    inner = state["state"]
    return [
        inner["key"].tolist(),
        int(inner["pos"]),
        int(state["has_gauss"]),
        float(state["gauss"]),
    ]


def after(model: Any, result: Any) -> dict[str, Any]:
    """Return the losses that a step returned, and checksums of the gradients that it left."""
    return {"roots": [], "results": numbers(result), "gradient_sums": sums_of(model, {})}


def numbers(result: Any) -> list[str]:
    """Return the losses that a step returned, as texts with all their bits."""
    return [float(loss.detach()).hex() for loss in losses_of(result)]


def sums_of(model: Any, step_grads: dict[int, Any]) -> dict[str, str]:
    """Return a checksum of each parameter's gradient ("" without one); `step_grads` are gradients
    by the id of theirs.
    """
    grads = {name: step_grads.get(id(p), p.grad) for name, p in unwrapped(model).named_parameters()}
    return {name: "" if grad is None else checksum(grad) for name, grad in grads.items()}


def checksum(tensor: Any) -> str:
    plain = tensor.detach()
    digest = hashlib.sha256()
    if plain.is_sparse:
        plain = plain.coalesce()
        digest.update(octets(plain.indices()).numpy())
        plain = plain.values()
    digest.update(octets(plain.to_dense() if plain.layout is not torch.strided else plain).numpy())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a step may depend on, of those that
    are loaded.
    """
    package_versions = {
        name: getattr(sys.modules.get(name), "__version__", None) for name in PACKAGES
    }
    return {
        "python": sys.version.split()[0],
        **{name: str(version) for name, version in package_versions.items() if version is not None},
    }
