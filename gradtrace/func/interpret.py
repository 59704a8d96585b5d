"""Execution of calls under vmap: operators by their batching rules, other calls in a loop over the samples."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from gradtrace.engine import Function, Tensor
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data.state import state
from gradtrace.engine.operators.namespace import TRACED
from gradtrace.engine.operators.op import Op
from gradtrace.engine.operators.tables import function_table
from gradtrace.engine.reverse.gradients import NO_HISTORY, one_pass
from gradtrace.func.batched import Batched
from gradtrace.func.by_sample import (
    AnyFunction,
    Args,
    Options,
    expand_like,
    highest,
    map_samples,
    map_samples_in_place,
    sample,
    stacked,
)
from gradtrace.func.function_rules import FUNCTION_RULES, in_front, is_of_level
from gradtrace.func.pytree import apply, broadcast, flatten, torch_function, unflatten
from gradtrace.func.rules import aligned, front, plain_are_shared, rule_of
from gradtrace.ops.random.generator import default_generator

UNBATCHED_RANDOM = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)
SAME_RANDOM = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
UNBATCHED_TARGET = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a "
    "vmap. Please try to use out-of-place operators instead of {0}. If said operator is being called inside the "
    "PyTorch framework, please file a bug report instead."
)
MASK_INDEX = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)
DYNAMIC_SHAPE = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please "
    "file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)
NO_VMAP = (
    "You tried to vmap over {}, but it does not have vmap support. Please override and implement the vmap staticmethod "
    "or set generate_vmap_rule=True. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)
TWO_RULES = (
    "You tried to vmap over {}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please "
    "set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. For more details, "
    "please see https://pytorch.org/docs/main/notes/extending.func.html"
)
RULE_RETURNS = (
    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with "
    "the output. Got {} instead"
)
RULE_DIMS = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims={} "
    "to be compatible with the structure of `output`. out_dims has structure {} but output has structure {}. For more "
    "details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)
REFUSALS = function_table(
    "func.interpret.REFUSALS",
    {
        "nonzero": DYNAMIC_SHAPE.format("nonzero"),
        "argwhere": DYNAMIC_SHAPE.format("nonzero"),
        "where": DYNAMIC_SHAPE.format("where"),
        "unique": DYNAMIC_SHAPE.format("_unique2"),
        "unique_consecutive": DYNAMIC_SHAPE.format("unique_consecutive"),
        "masked_select": (
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
            "each batch this would return a differently shaped Tensor. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        ),
        "allclose": (
            "vmap over torch.allclose isn't supported yet. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        ),
        "equal": "Batching rule not implemented for aten::equal. We could not generate a fallback.",
        "one_hot": (
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."
        ),
    },
)
BY_ELEMENT = ("elementwise", "fill")  # kinds of records
OF_ELEMENTS = ("bernoulli", "binomial", "multinomial", "normal", "poisson")  # draw from the values of a tensor


class VmapInfo(NamedTuple):
    """The first argument of a custom Function's `vmap`: the size of the batch, and vmap's option `randomness`."""

    batch_size: int
    randomness: str


class Interpreter:
    """The object that runs calls under vmap: the value of `state.batching` while a vmap runs."""

    # ---- operators

    def operate(self, record: Op, args: Args) -> Any:
        """Run an operator on batched tensors; return NotImplemented if no argument is batched."""
        level = highest(args)
        if level is None:
            return NotImplemented
        rule = rule_of(record)
        if rule is not None:
            pairs = [_whole(a, level) for a in args]
            if record.variadic or not any(type(d) is tuple for _, d in pairs):
                result = rule(record, level.size, [x for x, _ in pairs], [d for _, d in pairs])
                if result is not NotImplemented:
                    out, bdim = result
                    return _wrapped(out, bdim, level)
        return map_samples(record, args, {}, level)

    def operate_inplace(self, record: Op, args: Args) -> Any:
        level = highest(args)
        if level is None:
            return NotImplemented
        target = args[0]
        if not isinstance(target, Batched) or target.level is not level:
            self._refuse_target(record, target, level)
        pairs = [_whole(a, level) for a in args]
        dims = [d for _, d in pairs]
        if record.kind not in BY_ELEMENT or not plain_are_shared(record, dims):
            return map_samples_in_place(lambda *own: inplace(record, *own), target, args[1:], {})
        first, *rest = aligned(record, [x for x, _ in pairs], dims)
        inplace(record, first if first.dtype is target.dtype else front(target.value, target.bdim, level.size), *rest)
        return target

    def _refuse_target(self, record: Op, target: Tensor, level: Any) -> None:
        if record.aten in ("add_.Tensor", "sub_.Tensor"):
            shape = list(target.shape)
            raise RuntimeError(f"output with shape {shape} doesn't match the broadcast shape {[level.size, *shape]}")
        name = "inplace arithmetic" if record.kind in BY_ELEMENT else record.name + "_"
        raise RuntimeError(UNBATCHED_TARGET.format(name))

    def reshape(self, target: Tensor, view: Any) -> bool:
        """Give a batched tensor the shape of a view of it, in place; return False for any other tensor."""
        if not isinstance(target, Batched):
            return False
        target.value, target.bdim = view.value, view.bdim
        return True

    def apply(self, function: type[Function], args: Args, options: Options) -> Any:
        """Run a custom Function on batched tensors: by its `vmap`, or for each sample with `generate_vmap_rule`."""
        level = highest(args)
        if level is None:
            return NotImplemented
        rule = None if function.vmap is Function.vmap else function.vmap
        if rule is not None and function.generate_vmap_rule:
            raise RuntimeError(TWO_RULES.format(function.__name__))
        if rule is None and not function.generate_vmap_rule:
            raise RuntimeError(NO_VMAP.format(function.__name__))
        if rule is None or not state.levels[-1].batches:
            return map_samples(function.apply, args, {}, level)
        leaves, spec = flatten(args)
        wholes, in_dims = zip(*(_whole(x, level) for x in leaves), strict=True)
        info = VmapInfo(level.size, level.randomness)
        answer = rule(info, unflatten(in_dims, spec), *unflatten(wholes, spec), **options)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            got = f"{len(answer)} returns" if isinstance(answer, tuple) else f"a {type(answer)}"
            raise RuntimeError(RULE_RETURNS.format(got))
        outputs, out_spec = flatten(answer[0])
        dims = broadcast(answer[1], out_spec)
        if dims is None:
            raise RuntimeError(RULE_DIMS.format(answer[1], flatten(answer[1])[1], out_spec))
        return unflatten(
            [o if d is None else Batched(o, d, level) for o, d in zip(outputs, dims, strict=True)], out_spec
        )

    # ---- functions that read values

    def call(self, function: AnyFunction, public: Any, args: Args, options: Options) -> Any:
        """Run the call of a public function under vmap.

        `function` computes without vmap; `public` is the function that users call, which an outer vmap intercepts too.
        """
        name, kind = function.__name__, public.vmap
        if kind == "random":
            return self._random(function, public, args, options)
        level = highest(flatten((args, options))[0])
        if level is None:
            return function(*args, **options)
        if kind == "dynamic" or name == "one_hot":
            self._refuse(name, args, options)
        if name == "where":
            return function(*args, **options)
        if kind == "like":
            return expand_like(function(*args, **options), flatten((args, options))[0])
        if name.endswith("_"):
            return self._in_place(name, public, args, options, level)
        rule = FUNCTION_RULES.get(name)
        result = NotImplemented if rule is None else rule(public, args, options, level)
        return map_samples(public, args, options, level) if result is NotImplemented else result

    def _refuse(self, name: str, args: Args, options: Options) -> None:
        """Raise RuntimeError for a call whose result would have a different shape or truth value for each sample."""
        if name == "one_hot" and (*args[1:], options.get("num_classes", -1))[0] > 0:
            return
        if name == "where" and len(args) + len(options) > 1:
            return
        if name == "masked_select" and not isinstance((*args[1:], *options.values())[0], Batched):
            return
        raise RuntimeError(REFUSALS[name])

    def _in_place(self, name: str, function: AnyFunction, args: Args, options: Options, level: Any) -> Any:
        target = args[0]
        if not isinstance(target, Batched) or target.level is not level:
            raise RuntimeError(UNBATCHED_TARGET.format(name))
        return map_samples_in_place(function, target, args[1:], options)

    # ---- random numbers

    def _random(self, function: AnyFunction, public: Any, args: Args, options: Options) -> Any:
        """Draw for all samples of all running vmaps with randomness "different", in the order of memory."""
        levels = [level for level in state.levels if level.batches and not level.drawing]
        name, batched = function.__name__, highest(flatten((args, options))[0])
        by_value = name in OF_ELEMENTS or highest(args[1:]) is not None
        if levels and by_value:
            levels[-1].allow_random()
            if levels[-1].randomness == "same" and batched is not None:
                raise RuntimeError(SAME_RANDOM)
        different = [level for level in levels if level.randomness == "different"]
        if not different:
            return function(*args, **options)
        level = levels[-1]
        if name.endswith("_") and level in different and not is_of_level(args[0], level):
            raise RuntimeError(UNBATCHED_TARGET.format(f"inplace {name[:-1]}") if by_value else UNBATCHED_RANDOM)
        if batched is None:
            return self._drawn(function, args, options, different)
        level.drawing = True
        try:
            if level not in different:
                return public(*args, **options)
            if name in OF_ELEMENTS or name.endswith(("_", "_like")):
                whole = apply(lambda x: in_front(x, level) if isinstance(x, Tensor) else x, (args, options))
                result = public(*whole[0], **whole[1])
                return args[0] if name.endswith("_") else Batched(result, 0, level)
            return self._by_sample(lambda: map_samples(public, args, options, level), level.size, options)
        finally:
            level.drawing = False

    def _drawn(self, function: AnyFunction, args: Args, options: Options, levels: list[Any]) -> Any:
        """Return one result for each sample of the vmaps `levels`, none of which batches an argument."""
        sizes = [level.size for level in levels]
        count = prod(sizes)
        draws = self._by_sample(lambda: [function(*args, **options) for _ in range(count)], count, options)
        result = torch_function("stack")(draws)
        result = result.view(*sizes, *result.shape[1:])
        for level in levels:
            result = Batched(result, 0, level)
        return result

    def _by_sample(self, draw: Callable[[], Any], count: int, options: Options) -> Any:
        """Call `draw`, which draws for `count` samples one by one what PyTorch draws at once."""
        source = (options.get("generator") or default_generator).source
        source.samples = count
        try:
            return draw()
        finally:
            source.samples, source.ahead = 0, None

    # ---- indexing

    def getitem(self, function: AnyFunction, tensor: Tensor, key: Any) -> Any:
        """Return tensor[key], by a loop over the samples if the key is batched."""
        level = self._level_of_key(key)
        if level is None:
            return function(tensor, key)
        return map_samples(operator.getitem, (tensor, key), {}, level)

    def setitem(self, function: AnyFunction, tensor: Tensor, key: Any, value: Any) -> None:
        level = self._level_of_key(key)
        if level is None:
            function(tensor, key, value)
            return
        if not isinstance(tensor, Batched) or tensor.level is not level:
            raise RuntimeError(UNBATCHED_TARGET.format("index_put_"))
        map_samples_in_place(operator.setitem, tensor, (key, value), {})

    def _level_of_key(self, key: Any) -> Any:
        keys = key if isinstance(key, (tuple, list)) else (key,)
        level = highest(keys)
        if level is not None and any(isinstance(k, Batched) and k.dtype.name == "bool" for k in keys):
            raise RuntimeError(MASK_INDEX)
        return level

    # ---- gradients

    def gradients(
        self, outputs: Any, targets: Any, grad_outputs: Any, keep: bool, create_graph: bool
    ) -> tuple[Any, ...]:
        """Compute torch.autograd.grad under vmap; RuntimeError for a batched output that does not require grad."""
        for i, out in enumerate(outputs):
            if isinstance(out, Batched) and not out.requires_grad:
                raise RuntimeError(NO_HISTORY.format(i))
        return self.one_pass(outputs, targets, grad_outputs, keep, create_graph)

    def one_pass(
        self, outputs: Any, targets: Any, grad_outputs: Any, keep: bool, create_graph: bool
    ) -> tuple[Any, ...]:
        """Return the gradients of batched tensors: from one pass if the vmap batches all of them, else by a loop."""
        given = (
            (None,) * len(outputs)
            if grad_outputs is None
            else tuple(grad_outputs if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,))
        )
        level = highest((*outputs, *targets, *given))
        if level is None:
            return one_pass(outputs, targets, grad_outputs, keep, create_graph)
        if all(isinstance(t, Batched) and t.level is level for t in (*outputs, *targets)):
            vectors = tuple(_like(g, out, level) for g, out in zip(given, outputs, strict=True))
            result = self.one_pass(
                tuple(o.value for o in outputs), tuple(t.value for t in targets), vectors, keep, create_graph
            )
            return tuple(None if g is None else Batched(g, t.bdim, level) for g, t in zip(result, targets, strict=True))
        rows = []
        wholes = tuple(_whole(t, level)[0] for t in targets)
        for i in range(level.size):
            outs, vectors = (tuple(sample(x, level, i) for x in values) for values in (outputs, given))
            result = self.one_pass(outs, wholes, vectors, True, create_graph)
            rows.append(
                tuple(
                    g
                    if g is None or not isinstance(t, Batched) or t.level is not level
                    else TRACED.select(g, t.bdim, i)
                    for g, t in zip(result, targets, strict=True)
                )
            )
        return tuple(stacked(list(column), level) for column in zip(*rows, strict=True))


def _whole(value: Any, level: Any) -> tuple[Any, Any]:
    """Return a batched tensor of the level as (whole, bdim), any other value as (value, None); tuples item by item."""
    if isinstance(value, Batched) and value.level is level:
        return value.value, value.bdim
    if type(value) is tuple and any(isinstance(v, Batched) for v in value):
        pairs = [_whole(v, level) for v in value]
        return tuple(x for x, _ in pairs), tuple(d for _, d in pairs)
    return value, None


def _wrapped(out: Any, bdim: int, level: Any) -> Any:
    if isinstance(out, tuple):
        return tuple(Batched(o, bdim, level) for o in out)
    return Batched(out, bdim, level)


def _like(vector: Any, out: Batched, level: Any) -> Any:
    """Return the gradient of an output in the layout of its batched tensor; ones if None is given for a scalar."""
    if vector is None:
        if out.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return TRACED.ones_like(out.value).detach()
    x, bdim = _whole(vector, level)
    x = front(x, bdim, level.size)
    order = tuple(range(1, out.bdim + 1)) + (0,) + tuple(range(out.bdim + 1, x.ndim))
    return x if out.bdim == 0 else TRACED.permute(x, order)


interpreter = Interpreter()
