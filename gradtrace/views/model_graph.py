"""One call of a model as a Trace: the graph that `SummaryWriter.add_graph` writes.

The model runs once in evaluation mode, as in PyTorch, under a separate recorder, so that an
enclosing recording does not see it. The outermost box is named after the model's class.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine import Tensor
from gradtrace.engine.data.state import using
from gradtrace.program.parse import parse
from gradtrace.program.result import Run, make_recorder
from gradtrace.trace.capture import capture
from gradtrace.trace.record import Trace


def traced(model: Any, inputs: Any) -> Trace:
    """Return the trace of model(*inputs). TypeError if the model is not a module, or without
    tensors to call it with.
    """
    if getattr(type(model), "named_modules", None) is None:
        raise TypeError(f"add_graph takes a torch.nn.Module, not {type(model).__name__}")
    arguments = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    if not any(isinstance(argument, Tensor) for argument in arguments):
        raise TypeError("add_graph needs input_to_model, the tensors to call the model with")
    records: list[Any] = []
    scopes: list[Any] = []
    recorder = make_recorder(records, scopes, None)
    with using(recorder=recorder, scope=None, watcher=None, planner=None), Evaluating(model):
        out = model(*arguments)
    outputs = tensors_in(out)
    if not outputs:
        raise TypeError(f"the model returned {type(out).__name__}, not a tensor")
    named = {f"output.{i}": tensor for i, tensor in enumerate(outputs, 1)}
    named_inputs = {
        name: argument
        for name, argument in zip(names_of(model, len(arguments)), arguments)
        if isinstance(argument, Tensor)
    }
    env = {type(model).__name__: model, **named_inputs, **named}
    program = parse("", name=type(model).__name__)
    run = Run(program, env, outputs[0], tuple(named.items()), records, [], named_inputs, scopes)
    return capture(run, inputs=named_inputs)


class Evaluating:
    """A context manager that sets all parts of a model to evaluation mode, and restores their modes
    afterwards.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def __enter__(self) -> None:
        self.before = [(part, part.training) for part in self.model.modules()]
        self.model.eval()

    def __exit__(self, *_: object) -> None:
        for part, training in self.before:
            part.training = training


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors of a result: itself, or those in its tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [tensor for item in value for tensor in tensors_in(item)]
        if isinstance(value, (list, tuple))
        else []
    )


def names_of(model: Any, count: int) -> list[str]:
    """Return the names of the arguments of the model's `forward`."""
    forward = type(model).forward
    own = getattr(getattr(forward, "_call", None), "positional", None)
    code = getattr(forward, "__code__", None)
    names = list(own or (code.co_varnames[: code.co_argcount] if code is not None else ()))[1:]
    return [names[i] if i < len(names) else f"input.{i + 1}" for i in range(count)]
