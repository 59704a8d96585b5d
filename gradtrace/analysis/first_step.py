"""The first training step of a program that is running: its model, arguments and loss, for
`probe_all`.

The model is the outermost module that has trained parameters, the largest of several before
backward(). An engine notes what is computed after its call, which is computed again for the loss
of a copy. The program ends before its first backward().
"""

from __future__ import annotations

import gc

from gradtrace.analysis.probed import ProbedModel, Tensor, cloned, kept_random, leaves, rebuilt
from gradtrace.analysis.probes import ModelCheck, probe_all
from gradtrace.annotations import Any
from gradtrace.errors import UsageError

HOW = "gradtrace.torch.check_model(model, batch, loss_fn) checks a model; so does gradtrace's"


class FirstStep:
    """A context for the run of a program; `checked` is what the probes say of its first step."""

    def __init__(self, engine: Any, steps: int) -> None:
        super().__init__()
        self.engine = engine
        self.steps = steps
        self.model: Any = None
        self.call: Any = None  # the model's arguments, and its result
        self.calls: list[tuple[Any, Any, Any, Any]] = []  # function, arguments, result
        self.depth = 0  # of calls of modules
        self.checked: ModelCheck | None = None

    def __enter__(self) -> Any:
        modules = self.engine.nn.modules.module
        self.handles = [
            modules.register_module_forward_pre_hook(self.before),
            modules.register_module_forward_hook(self.after, with_kwargs=True, always_call=True),
        ]
        self.backward = self.engine.Tensor.backward

        def backward(root: Tensor, *args: Any, **kwargs: Any) -> None:
            if self.is_reached(root):
                self.check(root)
            self.model = None
            self.backward(root, *args, **kwargs)

        self.engine.Tensor.backward = backward
        return self

    def __exit__(self, *error: object) -> None:
        self.model = None
        for handle in self.handles:
            handle.remove()
        self.engine.Tensor.backward = self.backward

    def result(self) -> ModelCheck:
        """Return what the probes say; UsageError if the program has no training step."""
        if self.checked is None:
            raise UsageError("no backward() follows a call of a Module", HOW)
        return self.checked

    # ---- what the program does

    def before(self, module: Any, args: Any) -> None:
        self.depth += 1

    def after(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.depth -= 1
        is_outer = not self.depth and self.engine.is_grad_enabled()
        if is_outer and trained_size(module) > trained_size(self.model):
            self.model = module
            self.call = cloned((args, kwargs)), output
            self.calls = []

    def note(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Note a computation after the model's call."""
        if self.model is not None:
            self.calls.append((function, args, kwargs, result))

    def is_reached(self, root: Tensor) -> bool:
        """Whether a loss depends on the model; keep the calls that it needs."""
        needed = {id(root)}
        calls, self.calls = self.calls, []
        for call in reversed(calls):
            if needed & ids(call[3]):
                needed |= ids(call[1:3])
                self.calls.insert(0, call)
        return self.model is not None and bool(needed & ids(self.call[1]))

    # ---- the probes

    def check(self, root: Tensor) -> None:
        """Probe the model, and end the program."""
        model, calls = self.model, self.calls
        arguments, output = self.call
        self.__exit__()

        def loss(copied: Any) -> Tensor:
            values = dict(zip(map(id, tensors_of(model)), tensors_of(copied), strict=True))

            def bind(tensors: Any, computed: Any) -> None:
                for (_, own), (_, tensor) in zip(leaves(tensors), leaves(computed), strict=True):
                    values[id(own)] = tensor

            def value(tensor: Tensor) -> Tensor:
                return values.setdefault(id(tensor), tensor.detach().clone())

            bind(output, probed.call(copied))
            for function, args, kwargs, result in calls:
                bind(result, function(*rebuilt(args, value), **rebuilt(kwargs, value)))
            return values[id(root)]

        own = set(map(id, model.parameters()))
        kind = self.engine.optim.Optimizer
        optimizers = [
            candidate
            for candidate in gc.get_objects()
            if issubclass(type(candidate), kind)
            and own & ids([group["params"] for group in candidate.param_groups])
            # a wrapper of a trainer does more than a step
            and not any(isinstance(value, kind) for value in vars(candidate).values())
        ]
        probed = ProbedModel(self.engine, model, arguments, loss, *optimizers[:1])
        with kept_random(self.engine), self.engine.enable_grad():
            self.checked = probe_all(probed, self.steps)
        raise SystemExit(0)


def ids(value: Any) -> set[int]:
    return {id(tensor) for _, tensor in leaves(value)}


def tensors_of(model: Any) -> list[Tensor]:
    return [*model.parameters(), *model.buffers()]


def trained_size(model: Any) -> int:
    """Return how many elements of parameters a model trains."""
    parameters = model.parameters() if model is not None else ()
    return sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
