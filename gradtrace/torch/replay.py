"""`replay`: run the step of a capsule again under a recorder, and compare its loss and gradients
with the capsule's.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import random
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from gradtrace.errors import UsageError
from gradtrace.torch.capsule import PACKAGES, numbers, sums_of, versions
from gradtrace.torch.capsule_file import HINT, read
from gradtrace.torch.capsule_models import built
from gradtrace.torch.capsule_state import on_devices, restore, write
from gradtrace.torch.finite import all_finite, losses_of
from gradtrace.torch.guard_capsule import roots_of
from gradtrace.torch.memory import numpy
from gradtrace.torch.recording import record
from gradtrace.torch.repetition import answer_of, samples_of
from gradtrace.torch.samples import SampleWatch
from gradtrace.views.cells import visible

OTHER_LOSS = (
    "the loss was computed by {}, and here it is the one that the model returns: --step-function "
    "names another"
)
AVERAGED = (
    "the capsule is of rank {} of {}: its gradients are means over the ranks, here they are "
    "those of this rank"
)
SCALED = (
    "the step has a GradScaler: gradients that it has divided by its scale have other bits "
    "than before that"
)
STEP = "name a function step(model, batch) that calls backward: --step-function module:function"


class Replay(NamedTuple):
    """A step that was run again: its recording, whether the bits of the loss (None if one of the
    two has no loss) and of all gradients are those of the capsule, remarks, what made the first
    value that is not finite ("" if all are finite), and the sample that stands out by its size if
    all are ("" if none does).
    """

    recorded: record
    same_loss: bool | None
    same_gradients: bool
    notes: list[str]
    answer: str = ""
    large: str = ""

    def text(self) -> str:
        """Return all of it as text."""
        lines = [
            f"loss: {COMPARED[self.same_loss]}",
            f"gradients: {COMPARED[self.same_gradients]}",
            *(f"note: {note}" for note in self.notes),
            *(
                ["", self.answer.rstrip()]
                if self.answer
                else filter(None, ["all values of this step are finite", self.large])
            ),
        ]
        return "\n".join(lines) + "\n"


COMPARED = {
    True: "the same bits as in the capsule",
    False: "other bits than in the capsule",
    None: "not compared, since the capsule or the step here has no loss that is one number",
}


def replay(
    path: str | os.PathLike[str],
    step: Callable[[Any, Any], Any] | None = None,
    model: Any = None,
    *,
    level: str = "summary",
) -> Replay:
    """Run the step of a capsule again under `record(level)`.

    `model` is a module with the same parameters and buffers as that of the capsule, or a function
    without arguments that returns it; it receives the capsule's state. None builds a model of
    transformers from its configuration. `step(model, batch)` is the step up to the update; None
    calls the model with the batch, a dict, and takes the loss that it returns, as the Trainer of
    transformers does. The process's random states are set to those of the capsule. UsageError if
    the capsule is damaged, the model is another one, or one of the two is needed.
    """
    name = os.fspath(path)
    document = read(name)
    if model is None:
        model = built(name, document)
    if not isinstance(model, torch.nn.Module):
        check_call("the model", "name a function without arguments that returns it", model)
    if step is not None:
        check_call("the step", STEP, step, model, document["batch"])
    module = model if isinstance(model, torch.nn.Module) else model()
    if not isinstance(module, torch.nn.Module):
        raise UsageError(
            f"the model is a {type(module).__qualname__}, not a torch.nn.Module", "return the model"
        )
    load(name, document, module)
    own = TrainerStep(name, document) if step is None else None
    document["batch"], notes = on_devices(document, module)
    notes += [] if own is None else own.notes
    notes += restore(document, module, own or step, document["batch"])
    set_random(name, document["random"])
    recorded = recording_of(document, step, module, level)
    watch = SampleWatch(recorded, document["batch"])
    with recorded, watch:
        result = (own or step)(module, document["batch"])  # type: ignore[misc]
    return compared(document, recorded, module, result, notes, watch)


def check_call(label: str, remedy: str, function: Any, *args: Any) -> None:
    """UsageError if a function cannot be called with these arguments."""
    with contextlib.suppress(ValueError):  # a function in C may have no signature
        try:
            inspect.signature(function).bind(*args)
        except TypeError as error:
            raise UsageError(f"{label} cannot be called: {error}", remedy) from error


def recording_of(document: dict[str, Any], step: Any, module: Any, level: str) -> record:
    """Return a recording in which the model and the batch have their names."""
    recorded = record(level)
    function = getattr(step, "__func__", step)
    variables = {
        document["name"] if document["name"].isidentifier() else "model": module,
        "batch": document["batch"],
    }
    recorded._env = {**getattr(function, "__globals__", {}), **variables}
    recorded._main = getattr(getattr(function, "__code__", None), "co_filename", "")
    return recorded


def compared(
    document: dict[str, Any],
    recorded: record,
    module: Any,
    result: Any,
    notes: list[str],
    watch: SampleWatch,
) -> Replay:
    roots = roots_of(recorded.trace())
    results = numbers(result)
    sums = sums_of(module, {})
    pairs = (roots, document["roots"]), (results, document["results"])
    same_loss = next(
        (replayed == wanted for replayed, wanted in pairs if replayed and wanted), None
    )
    same_gradients = all(
        sums.get(key) == checksum for key, checksum in document["gradient_sums"].items()
    )
    bad = not all_finite([*losses_of(result), *gradients_of(module)])
    answer = answer_of(recorded, losses_of(result)) + samples_of(recorded, watch) if bad else ""
    scaled = [SCALED] if document["scalers"] and not same_gradients else []
    notes = [*notes, *remarks(document), *scaled]
    large = "" if bad else watch.large_text()
    return Replay(recorded, same_loss, same_gradients, notes, answer, large)


def gradients_of(module: Any) -> list[Any]:
    return [p.grad for p in module.parameters() if p.grad is not None]


def remarks(document: dict[str, Any]) -> list[str]:
    """Say which versions and which of the program's files are other ones than those of the capsule.

    A capsule is data: no file is opened because it names it, only files that this process has
    imported are compared.
    """
    here = versions()
    notes = [
        f"the capsule is of {key} {visible(there)}, this is {here.get(key) or 'without it'}"
        for key, there in document["versions"].items()
        if key in ("python", *PACKAGES)
        and here.get(key) != there
        and (key in here or key != "numpy")
    ]
    if document["rank"] is not None:
        notes.append(AVERAGED.format(*document["rank"]))
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    for file, text in document["sources"].items():
        if text and file in loaded and is_changed(file, text):
            notes.append(f"{visible(file)} has changed since the capsule was written")
    return notes


def is_changed(file: str, text: str) -> bool:
    """Whether a file has another text; no more than that text is read of it."""
    with contextlib.suppress(OSError, ValueError), open(file, encoding="utf-8") as stream:
        return stream.read(len(text) + 1) != text
    return False


class TrainerStep:
    """The step of a capsule without a function of the user: forward and backward as the Trainer of
    transformers does them, with its own division by the steps of accumulation and its autocast.
    """

    def __init__(self, name: str, document: dict[str, Any]) -> None:
        batch = document["batch"]
        call = document["call"]
        if not isinstance(batch, dict):
            raise UsageError(
                f"{name}: its batch is not a dict, so how the model is called is not known", STEP
            )
        self.name = name
        self.is_of_trainer = bool(call)
        self.divisor, self.scale = call.get("divisor", 1), call.get("scale", 1)
        self.dtype = getattr(torch, str(call.get("autocast") or ""), None)
        computing = call.get("loss") or ("" if call else document["step"])
        self.notes = [OTHER_LOSS.format(computing)] if computing else []

    def __call__(self, model: Any, batch: Any) -> Any:
        if self.is_of_trainer:
            model.train()
        device = next(model.parameters()).device.type
        with torch.autocast(device, self.dtype) if self.dtype else contextlib.nullcontext():
            output = model(**batch)
        loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        if not isinstance(loss, torch.Tensor):
            raise UsageError(f"{self.name}: the model returns no loss for this batch", STEP)
        loss = loss.float() if self.dtype else loss
        if self.divisor != 1:
            loss = loss / self.divisor
        (loss if self.scale == 1 else loss * self.scale).backward()  # as a GradScaler does
        return loss.detach()


def named(spec: str, option: str) -> Any:
    """Return what MODULE:NAME stands for. UsageError if that is not found."""
    module, _, path = spec.partition(":")
    try:
        target = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise UsageError(
            f"{option}: module '{module}' is not found here", "run this in the folder of train.py"
        ) from error
    for part in path.split("."):
        if not hasattr(target, part):
            raise UsageError(
                f"{option}: '{module}' has no '{path}'", f"name a function of {module}"
            )
        target = getattr(target, part)
    return target


# ---- the state


def load(name: str, document: dict[str, Any], model: Any) -> None:
    """Give a model the state of a capsule, after checking that it is the same in names, shapes and
    dtypes.
    """
    parameters = dict(model.named_parameters())
    own = {**parameters, **dict(model.named_buffers())}
    state = document["state"]
    gradients = document["gradients"]
    differing = sorted(own.keys() ^ state.keys())
    differing += [
        key for key in own.keys() & state.keys() if not has_same_form(own[key], state[key])
    ]
    differing += [
        key
        for key, gradient in gradients.items()
        if key not in parameters or not has_same_form(parameters[key], gradient)
    ]
    if differing:
        raise UsageError(
            f"{name}: the model differs from the capsule's ({visible(document['model'])}) in "
            f"{visible(differing[0])}",
            "give a model with the same parameters and buffers",
        )
    with torch.no_grad():
        for key, tensor in own.items():
            write(tensor, state[key])
    trained = set(document["trained"])
    for key, parameter in parameters.items():
        parameter.requires_grad_(key in trained)
        parameter.grad = gradients[key].to(parameter.device) if key in gradients else None
    for key, module in model.named_modules():
        module.training = document["modes"].get(key, module.training)


def has_same_form(a: Any, b: Any) -> bool:
    return bool(a.shape == b.shape and a.dtype == b.dtype)


def set_random(name: str, states: Any) -> None:
    try:
        on_cpu, (version, words, kept), of_numpy = states
        torch.set_rng_state(on_cpu)
        random.setstate((version, tuple(words), kept))
        if of_numpy is not None and numpy is not None:
            numpy.random.set_state(("MT19937", *of_numpy))
    except (
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        RuntimeError,
        OverflowError,
    ) as error:
        raise UsageError(f"{name}: its random states are damaged", HINT) from error
