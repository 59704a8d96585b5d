"""Explain and draw a real PyTorch tensor from the graph that it still holds, without a
recording.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import torch

from gradtrace.torch import private
from gradtrace.torch.build import Ending, RecordingBuilder
from gradtrace.torch.contents import dtype_name
from gradtrace.torch.graph_modules import with_modules
from gradtrace.torch.names import LIBRARY
from gradtrace.torch.recorder import Recorder
from gradtrace.torch.recording import undisturbed, variables_of
from gradtrace.trace.array_summary import unmeasured
from gradtrace.trace.names import Names
from gradtrace.trace.record import Trace, Value
from gradtrace.trace.values import summarized
from gradtrace.views.fold import FITS


def draw(
    tensor: torch.Tensor,
    path: Any = None,
    *,
    names: Mapping[str, torch.Tensor] | None = None,
    **options: Any,
) -> Any:
    """Return the picture of the graph behind a tensor; see `gradtrace.draw` for the options.

    `names` maps names to tensors; by default the names are those of the caller's variables and of
    modules' parameters. If `path` is given, the picture is also written to this file. TypeError for
    anything but a tensor.
    """
    env = dict(names) if names is not None else variables_of(sys._getframe(1))
    return picture(tensor, path, env, options)


def picture(tensor: Any, path: Any, env: Mapping[str, Any], options: dict[str, Any]) -> Any:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"draw() takes a tensor, not {type(tensor).__name__}")

    def work() -> Any:
        from gradtrace.views.notebook import picture_of

        drawing = picture_of(graph_of(tensor, env), **options)
        if path is not None:
            drawing.save(path)
        return drawing

    return undisturbed(work)


@private.modeless
def graph_of(tensor: Any, env: Mapping[str, Any]) -> Trace:
    """Return the graph behind a tensor as a Trace. Its operations were not recorded; a graph that
    is too large to be drawn whole gets one for each node, and the modules of `env`.
    """
    recorder = Recorder("summary")
    root = recorder.entry(tensor)
    named = {
        name: value
        for name, value in env.items()
        if not isinstance(value, torch.Tensor) or in_graph(recorder, value)
    }
    ending = Ending(recorder, named, None)
    builder = RecordingBuilder(ending, "<graph>")
    builder.start = root
    trace = builder.build()
    if len(trace.functions) <= FITS:
        return trace
    modules = {path: type(module).__name__ for path, module in Names(env, LIBRARY).modules}
    return with_modules(trace, modules, shapes_behind(tensor, recorder, builder))


def shapes_behind(
    tensor: Any, recorder: Recorder, builder: RecordingBuilder
) -> dict[int, list[Value]]:
    """Return the shapes and dtypes of what the operation of each node gave, by the node's id."""
    shapes: dict[int, list[Value]] = {}
    waiting = [tensor.grad_fn]
    while waiting:
        fn = waiting.pop()
        number = None if fn is None else builder.new[recorder.index_of(fn)]
        if number is None or number in shapes:
            continue
        shapes[number] = [
            summarized(unmeasured(tuple(part.shape), dtype_name(part.dtype), ""))
            for part in private.results_of(fn)
        ]
        waiting += [following for following, _ in fn.next_functions]
    return shapes


def in_graph(recorder: Recorder, tensor: Any) -> bool:
    """Whether the root was computed from this tensor."""
    if recorder.known_entry(tensor) is not None:
        return True
    fn = tensor.grad_fn
    return fn is not None and (fn.metadata.get("gradtrace") or (None,))[0] is recorder.token


def why(tensor: torch.Tensor, loss: torch.Tensor | None = None) -> str:
    """Explain a tensor's gradient from the graph alone; with the loss, also whether the loss
    depends on the tensor.

    A recorded run (`record`) can say more: where a path was cut, where the first NaN arose.
    TypeError for anything but a tensor.
    """
    return answer(tensor, loss, variables_of(sys._getframe(1)))


@private.modeless
def answer(tensor: Any, loss: Any, env: Mapping[str, Any]) -> str:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"why() takes a tensor, not {type(tensor).__name__}")
    own = [
        key
        for key, value in env.items()
        if value is tensor and key.isidentifier() and key[0] != "_"
    ]
    name = own[0] if own else parameter_name(tensor, env)
    said = sentence(tensor, loss, name or "it")
    return f"{name or 'the tensor'}.grad {'' if said.startswith('has ') else 'is '}{said}\n"


def parameter_name(tensor: Any, env: Mapping[str, Any]) -> str:
    for key, value in env.items():
        if isinstance(value, torch.nn.Module):
            for path, parameter in value.named_parameters():
                if parameter is tensor:
                    return f"{key}.{path}"
    return ""


MORE = "; to see where, run it under gradtrace.torch.record()"


def sentence(tensor: Any, loss: Any, name: str) -> str:
    grad = private.kept_gradient(tensor)
    if grad is not None:
        if grad.layout is torch.strided and not bool(torch.isfinite(grad).all()):
            bad = grad.numel() - int(torch.isfinite(grad).sum())
            return f"not finite in {bad} of {grad.numel()} elements{MORE}."
        if grad.layout is torch.strided and not int(torch.count_nonzero(grad)):
            return f"zero everywhere: backward reached {name}, and nothing arrived{MORE}."
        size = (
            float(torch.linalg.vector_norm(grad.float()))
            if grad.layout is torch.strided
            else float("nan")
        )
        return f"has the shape {tuple(grad.shape)} and the norm {size:.6g}."
    if not tensor.requires_grad:
        return f"None: {name} does not require grad" + (
            " (it holds integers)." if not tensor.is_floating_point() else "."
        )
    if not private.is_leaf(tensor):
        return (
            f"None: {name} is a non-leaf, and backward keeps gradients only for leaf tensors; "
            "call retain_grad() first."
        )
    if loss is None:
        return f"None: no backward has reached {name}{MORE}."
    if leaf_is_behind(tensor, loss):
        return (
            f"None, though the loss depends on {name}: backward was not called since it was "
            "cleared."
        )
    return (
        f"None: the loss does not depend on {name}, or only through a value without history "
        f"(detach, no_grad){MORE}."
    )


def leaf_is_behind(leaf: Any, loss: Any) -> bool:
    """Whether a gradient could flow from the loss to a leaf."""
    waiting = [loss.grad_fn]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if getattr(node, "variable", None) is leaf:
            return True
        waiting.extend(following for following, _ in node.next_functions)
    return False
