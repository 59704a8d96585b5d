"""Probes of a model for what no record of a run shows: each tries one property, on copies.

`check_model` serves real PyTorch and gradtrace's engine. A probe is a function of a ProbedModel
that yields Probes; each says the number that was measured and, where it is known, the line.
"""

from __future__ import annotations

import copy
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

import gradtrace
from gradtrace.analysis.probed import (
    Model,
    ProbedModel,
    Seen,
    Tensor,
    cloned,
    gap,
    is_tensor,
    kept_random,
    leaves,
)
from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.errors import UsageError

OK, REMARK, WRONG, NOT_TRIED = "ok", "remark", "wrong", "not tried"
STEPS = 100
FEWEST = 5  # of them, so that layers behind those that begin at zero get a gradient
LEARNT, FALLS = 0.1, 0.98  # of the first loss: a batch is learnt, the loss falls
HIGH, FAR = 2.0, 4.0  # times the loss of a guess
SHARE = 1e-3  # of a change of one sample: what must change elsewhere to count
MOST = 32  # entries along an axis that are tried one by one
FLAG = "requires_grad"
MODELS = ("model", "module", "net", "network")  # names of the first parameter of a loss
REGRESSION = {"MseLoss": 2, "L1Loss": 1, "SmoothL1Loss": 2, "HuberLoss": 2}


class Probe(NamedTuple):
    """What was measured. `verdict` is "ok", "remark", "wrong" or "not tried"."""

    code: str
    verdict: str
    sentence: str
    measured: float | None = None
    file: str = ""
    line: int = 0

    def text(self) -> str:
        """Return the probe as one line."""
        place = f" ({os.path.basename(self.file)}:{self.line})" if self.line else ""
        return f"{self.verdict:<9}  {self.code}: {self.sentence}{place}"


class ModelCheck(NamedTuple):
    """The result of `check_model`; its text has a line for each probe."""

    probes: tuple[Probe, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(probe.verdict != WRONG for probe in self.probes)

    def __str__(self) -> str:
        return "\n".join(probe.text() for probe in self.probes)


def check_model(
    model: Model,
    batch: Any,
    loss_fn: Callable[..., Tensor] | None = None,
    optimizer: Any = None,
    *,
    steps: int = STEPS,
    batch_dim: int = 0,
) -> ModelCheck:
    """Try a model on one batch, on copies, for bugs that raise no error.

    `batch` is a tensor, a dict of arguments, or a pair of inputs (a tensor, a tuple or a dict of
    arguments) and targets. `loss_fn(output, target)` is for a pair; a function whose first
    parameter is called model, module, net or network is `loss_fn(model, batch)`. Without one, the
    loss is what the model returns as `loss`. A copy of `optimizer` learns the batch in `steps`
    steps, else Adam. `batch_dim` is the axis of the inputs that has the samples. UsageError if a
    copy of the model cannot be called.
    """
    engine = engine_of(model)
    # a module may change itself in a call
    function = copy.deepcopy(loss_fn) if isinstance(loss_fn, engine.nn.Module) else loss_fn
    names: Any = getattr(getattr(loss_fn, "__code__", None), "co_varnames", ())

    def loss(copied: Model) -> Tensor:
        if function is None:
            return own_loss(call(copied, cloned(batch)))
        if names[:1] and names[0] in MODELS:
            return function(copied, cloned(batch))
        arguments, target = cloned(batch)
        return function(call(copied, arguments), target)

    calls: list[Any] = []
    with kept_random(engine), engine.enable_grad():
        try:
            copied = copy.deepcopy(model)
            copied.register_forward_pre_hook(
                lambda module, args, kwargs: calls.append(cloned((args, kwargs))), with_kwargs=True
            )
            has_loss = is_tensor(loss(copied))
        except Exception as error:
            raise UsageError(
                f"a copy of the model cannot be called: {type(error).__name__}: {error}",
                "check_model(model, (inputs, targets), loss_fn)",
            ) from error
        probed = ProbedModel(
            engine, model, calls[0], loss if has_loss else None, optimizer, batch_dim
        )
        return probe_all(probed, steps)


def call(model: Model, inputs: Any) -> Any:
    """Call a model with a tensor, or with a tuple or a dict of arguments."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (list, tuple)) else model(inputs)


def own_loss(output: Any) -> Any:
    """Return the loss that a model itself returns, or None."""
    loss: Any = output.get("loss") if isinstance(output, Mapping) else output
    return loss if is_tensor(loss) and not loss.ndim else None


def engine_of(model: Model) -> Any:
    """Return the namespace with PyTorch's names that a module belongs to."""
    for engine in (sys.modules.get("torch"), gradtrace):
        if isinstance(model, getattr(getattr(engine, "nn", None), "Module", ())):
            return engine
    raise UsageError(f"a {type(model).__qualname__} is not a Module", "pass a torch.nn.Module")


def probe_all(p: ProbedModel, steps: int) -> ModelCheck:
    """Run every probe; one that cannot be tried says why."""
    results: list[Probe] = []
    probes: list[Any] = [finite, samples, inputs, repeated, masks, flags, first_loss, learning]
    for probe in probes:
        try:
            results += probe(p, steps) if probe is learning else probe(p)
        except Exception as error:
            why = (
                "without a loss: pass loss_fn"
                if p.loss is None
                else f"{type(error).__name__}: {error}"
            )
            results.append(Probe(probe.__name__.replace("_", " "), NOT_TRIED, why))
    return ModelCheck(tuple(results))


def by_module(
    code: str,
    sentence: str,
    calls: Sequence[list[Seen]],
    gap_of: Callable[[list[Tensor], list[Tensor]], float] = gap,
) -> Probe:
    """Return a probe of two calls that differ: ok, or wrong with the first module whose results
    differ. The sentence has a place for the difference.
    """
    pairs = [(a, gap_of(a.tensors, b.tensors)) for a, b in zip(*calls, strict=False)]
    change = pairs[-1][1]
    sentence = sentence.format(change)
    if not change:
        return Probe(code, OK, sentence, 0.0)
    seen = next(seen for seen, size in pairs if size)
    said = f"{sentence}, first in the result of {seen.name}"
    return Probe(code, WRONG, said, change, seen.file, seen.line)


def listed(names: Any, most: int = 4) -> str:
    names = list(map(str, names))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")


# ---- results


def finite(p: ProbedModel) -> Iterator[Probe]:
    """Whether a result is NaN."""
    for seen in p.seen(p.copies(False)[0], p.values):
        count = sum(int(t.isnan().sum()) for t in seen.tensors)
        if count:
            said = f"{count} values are NaN, first in the result of {seen.name}"
            yield Probe("finite", WRONG, said, count, seen.file, seen.line)
            return
    yield Probe("finite", OK, "no result is NaN", 0)


def samples(p: ProbedModel) -> Iterator[Probe]:
    """Whether the result of a sample depends on another one."""
    for is_training in (False, True):
        probe = mixing(p, is_training)
        if probe.verdict == WRONG and is_training:
            probe = probe._replace(verdict=OK if "(BatchNorm" in probe.sentence else REMARK)
        elif probe.verdict == WRONG and any(
            p.axis_of(v) is None or v.shape[:2] == (p.samples, p.samples) for v in p.values
        ):
            probe = probe._replace(verdict=REMARK)  # a matrix or a list of pairs may join them
        elif probe.verdict == WRONG:
            beside = copy.copy(p)
            beside.axis = 1 - p.axis
            if mixing(beside, False).verdict == OK:
                note = f"; along axis {beside.axis} none do: batch_dim={beside.axis} if it has them"
                probe = probe._replace(verdict=REMARK, sentence=probe.sentence + note)
        yield probe
        if probe.verdict != OK:
            return


def mixing(p: ProbedModel, is_training: bool) -> Probe:
    if p.samples < 2:
        return Probe("samples", NOT_TRIED, f"there are not two along axis {p.axis} of the inputs")
    model = p.copies(is_training, True)[0]
    sources = [None if is_mask(label) else p.substitute(v) for label, v in p.pairs]
    axes = [p.axis_of(v) for v in p.values]
    p.seed()
    before = p.seen(model, p.values)
    own = 0.0
    for sample in (0, p.samples - 1):
        values = [
            v if source is None or axis is None else patched(v, axis, [sample], source)
            for v, source, axis in zip(p.values, sources, axes, strict=True)
        ]
        p.seed()
        after = p.seen(model, values)
        own = max(own, gap(before[-1].tensors, after[-1].tensors))

        def moved(first: list[Tensor], second: list[Tensor], sample: int = sample) -> float:
            """Return by how much the other samples differ."""
            rests = p.rest(first, sample), p.rest(second, sample)
            return gap(*rests, SHARE * gap(first, second))

        said = f"in {mode_of(is_training)} mode a change of sample {sample} changes its own result "
        said += f"by {own:.3g} and the others by {{:.3g}}"
        probe = by_module("samples", said, (before, after), moved)
        if probe.verdict == WRONG:
            return probe
    if not own or not p.rest(before[-1].tensors, 0):
        return Probe(
            "samples", NOT_TRIED, f"no result shows an entry of axis {p.axis} of the inputs"
        )
    return probe


def mode_of(is_training: bool) -> str:
    return "training" if is_training else "evaluation"


def patched(value: Tensor, axis: int, entries: list[int], source: Tensor) -> Tensor:
    """Return a value with the entries of another one along an axis."""
    places = (slice(None),) * axis + (entries,)
    tensor = value.clone()
    tensor[places] = source[places]
    return tensor


def repeated(p: ProbedModel) -> Iterator[Probe]:
    """Whether two calls answer the same."""
    for is_training in (False, True):
        model = p.copies(False)[0].train(is_training)
        calls = [p.seen(model, p.values) for _ in range(2)]
        probe = by_module(
            "repeated", f"two calls in {mode_of(is_training)} mode differ by {{:.3g}}", calls
        )
        yield probe._replace(verdict=OK) if is_training else probe


# ---- inputs


def is_mask(label: str) -> bool:
    return "mask" in label.lower()


def inputs(p: ProbedModel) -> Iterator[Probe]:
    """Which inputs, and which entries along an axis of them, have no influence on any result."""
    model = p.copies(False, True)[0]
    before = p.results(model, p.values)
    for index, (label, value) in enumerate(p.pairs):
        source = p.substitute(value)
        if is_mask(label):
            continue
        if source is None:
            yield Probe("inputs", NOT_TRIED, f"{label} has only one value")
            continue
        change = gap(before, p.results(model, p.replaced(index, source)))
        said = f"other values in {label} change the results by {change:.3g}"
        verdict = OK if change else WRONG
        yield Probe("inputs", verdict, said, change, *(() if change else p.forward_place()))
        for axis in range(value.ndim if change else 0):
            if axis != p.axis_of(value) and value.shape[axis] > 1:
                yield from dead_entries(p, model, index, axis, source)


def dead_entries(
    p: ProbedModel, model: Model, index: int, axis: int, source: Tensor
) -> Iterator[Probe]:
    """Find the entries along one axis of an input that have no influence."""
    value = p.values[index]
    length = value.shape[axis]
    before = p.results(model, p.values)

    def is_dead(entries: list[int]) -> bool:
        after = p.results(model, p.replaced(index, patched(value, axis, entries, source)))
        return all(map(p.engine.equal, before, after))

    dead = list(range(length))
    if value.is_floating_point():
        for point in (value, source):
            sizes = influence(p, model, index, point).transpose(0, axis).reshape(length, -1).sum(1)
            dead = [entry for entry in dead if not float(sizes[entry])]
    else:
        dead = [entry for entry in dead[:: length // MOST + 1] if is_dead([entry])]
    if not dead or not is_dead(dead):
        return
    is_feature = value.is_floating_point() and (value.ndim == 2 or (value.ndim > 3 and axis == 1))
    is_most = len(dead) > length / 2 and not any(is_mask(label) for label, _ in p.pairs)
    said = (
        f"{len(dead)} of {length} entries along axis {axis} of {p.pairs[index][0]} have no "
        f"influence on any result: {listed(dead)}"
    )
    verdict = WRONG if is_feature or is_most else REMARK
    yield Probe("inputs", verdict, said, len(dead), *p.forward_place())


def influence(p: ProbedModel, model: Model, index: int, point: Tensor) -> Tensor:
    """Return the size of the gradient of all results, with random weights, at a value of an
    input.
    """
    leaf = point.clone().requires_grad_()
    results = [t for _, t in leaves(p.call(model, p.replaced(index, leaf))) if t.requires_grad]
    total: Any = sum((t * p.engine.randn_like(t)).sum() for t in results)
    gradient = p.engine.autograd.grad(total, leaf, allow_unused=True)[0]
    return p.engine.zeros_like(leaf) if gradient is None else gradient.abs()


def masks(p: ProbedModel) -> Iterator[Probe]:
    """Whether what a mask excludes has no influence on the rest."""
    for label, mask in p.pairs:
        if is_mask(label) and mask.ndim == 2 and bool(((mask == 0) | (mask == 1)).all()):
            yield mask_probe(p, label, mask)


def mask_probe(p: ProbedModel, label: str, mask: Tensor) -> Probe:
    masked = [
        index
        for index, (name, v) in enumerate(p.pairs)
        if v.shape[:2] == mask.shape and not is_mask(name) and p.substitute(v) is not None
    ]
    if not masked:
        return Probe("masks", NOT_TRIED, f"no other input has the shape of {label}")
    where = max(masked, key=lambda index: p.pairs[index][0][:3] == label[:3])
    value = p.values[where]
    source = p.substitute(value)
    marks = mask != 0
    keeps: bool | None = None
    if bool(marks.all()) or not bool(marks.any()):  # nothing is masked: try the last third
        keeps = bool(marks.all())
        marks = marks.clone()
        marks[:, -(marks.shape[1] // 3 or 1) :] = not keeps
    elif "attention_mask" in label or "padding_mask" in label:
        keeps = "attention_mask" in label
    values = [marks.to(mask.dtype) if v is mask else v for v in p.values]
    model = p.copies(False, True)[0]
    before = p.results(model, values)

    def effect(mark: bool | None) -> float:
        """Return by how much other values where the mask is `mark` change the results elsewhere."""
        here = (marks == mark).reshape(*marks.shape, *[1] * (value.ndim - 2))
        changed = [p.engine.where(here, source, v) if v is value else v for v in values]
        first, second = (
            [
                t[marks != mark] if t.shape[:2] == marks.shape else t
                for t in results
                if t.shape[:2] == marks.shape or t.ndim in (1, 2)
            ]
            for results in (before, p.results(model, changed))
        )
        return gap(first, second)

    if keeps is None:
        keeps = effect(True) > effect(False)
    out = effect(not keeps)
    kept = effect(keeps)
    said = f"what {label} excludes (by {int(not keeps)}) changes the other results by {out:.3g}, "
    said += f"what it keeps by {kept:.3g}{': it is inverted' if out and not kept else ''}"
    return Probe("masks", WRONG if out else OK, said, out, *(p.forward_place() if out else ()))


# ---- parameters


def flags(p: ProbedModel) -> Iterator[Probe]:
    """Attributes that PyTorch does not read, and what is not trained."""
    from difflib import get_close_matches

    parameters = dict(p.model.named_parameters())
    count = 0
    for path, holder in [*p.model.named_modules(), *parameters.items()]:
        for name, value in getattr(holder, "__dict__", {}).items():
            if isinstance(value, bool) and get_close_matches(name, [FLAG], 1, 0.85):
                count += 1
                owner = f"model.{path}" if path else "model"
                said = (
                    f"{owner}.{name} = {value}: PyTorch does not read it; {owner}.{FLAG}_({value})"
                )
                yield Probe("flags", WRONG, said, 1)
    if not count:
        yield Probe("flags", OK, "no attribute is a misspelt flag", 0)
    frozen = [name for name, parameter in parameters.items() if not parameter.requires_grad]
    if 0 < len(frozen) < len(parameters):
        said = f"{len(frozen)} of {len(parameters)} parameters are frozen: {listed(frozen)}"
        yield Probe("flags", REMARK, said, len(frozen))


# ---- the loss


def first_loss(p: ProbedModel) -> Iterator[Probe]:
    """Whether the loss begins where a model that knows nothing is."""
    loss = p.loss_of(p.copies(True)[0])
    first = float(loss.detach())
    node: Any = loss.grad_fn
    name = node.name().partition("Backward")[0] if node is not None else "no graph"
    guess = 0.0
    if node is not None and getattr(node, "_saved_reduction", 0) not in (1, "mean"):
        pass
    elif name.startswith("NllLoss"):
        guess = math.log(node._saved_self.shape[node._saved_self.ndim > 1])
        meaning = "that of equal probabilities"
    elif name.startswith("BinaryCrossEntropy"):
        guess = math.log(2)
        meaning = "that of equal probabilities"
    elif name in REGRESSION:
        guess = float(node._saved_target.double().abs().pow(REGRESSION[name]).mean())
        meaning = "that of the answer 0"
    if not guess:
        yield Probe(
            "first loss", NOT_TRIED, f"it is {first:.3g}, not the mean of a known loss: {name}"
        )
        return
    verdict = WRONG if first > FAR * guess else REMARK if first > HIGH * guess else OK
    yield Probe("first loss", verdict, f"it is {first:.3g}, beside {guess:.3g}, {meaning}", first)


class Attempt(NamedTuple):
    """The losses of a copy that learns one batch with an optimiser, and the parameters that got a
    gradient.
    """

    optimizer: str
    losses: list[float]
    moved: set[str]

    @property
    def ratio(self) -> float:
        """The lowest loss as a part of the first."""
        first, best = self.losses[0], min(self.losses)
        return best / first if first > 0 else float(best >= first)

    def __str__(self) -> str:
        count = len(self.losses) - 1
        return f"{self.losses[0]:.3g} to {min(self.losses):.3g} in {count} steps ({self.optimizer})"


def attempt(p: ProbedModel, steps: int, rate: float) -> Attempt:
    """Let a copy learn the batch with Adam, or at rate 0 with a copy of the user's optimiser."""
    model, optimizer = p.copies(True)
    trained = {name: q for name, q in model.named_parameters() if q.requires_grad}
    if rate:
        optimizer = p.engine.optim.Adam(list(trained.values()), lr=rate)
    kind = type(optimizer).__name__
    result = Attempt(f"{kind}, lr {rate:g}" if rate else kind, [], set())

    def closure() -> Tensor:
        loss = p.loss_of(model)
        gradients = p.engine.autograd.grad(loss, list(trained.values()), allow_unused=True)
        for (name, parameter), gradient in zip(trained.items(), gradients, strict=True):
            parameter.grad = gradient
            if gradient is not None and name not in result.moved and bool((gradient != 0).any()):
                result.moved.add(name)
        result.losses.append(float(loss.detach()))
        return loss

    for step in range(steps + 1):
        if not math.isfinite(float(closure().detach())) or (
            step > FEWEST and result.ratio < LEARNT
        ):
            break
        optimizer.step(*[closure] * (kind == "LBFGS"))
    return result


def learning(p: ProbedModel, steps: int) -> Iterator[Probe]:
    """Whether the model learns one batch, and whether every parameter gets a gradient."""
    attempts: list[Attempt] = []
    for rate in (0, 1e-2, 1e-3):
        if (rate or p.optimizer) and (not attempts or attempts[-1].ratio >= LEARNT):
            attempts.append(attempt(p, steps, rate))
    best = min(attempt.ratio for attempt in attempts)
    said = f"the loss of one batch goes from {'; '.join(map(str, attempts))}"
    is_learnt = best < LEARNT and attempts[0].ratio < FALLS
    is_falling = best < FALLS or steps < STEPS / 2
    yield Probe("learning", OK if is_learnt else REMARK if is_falling else WRONG, said, best)
    moved = set().union(*(attempt.moved for attempt in attempts))
    model = p.copies(True)[0]
    loss = float(p.loss_of(model).detach())
    absent: dict[bool, list[str]] = {True: [], False: []}  # by whether they change the loss
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and name not in moved:
            p.shift(parameter)
            before, loss = loss, float(p.loss_of(model).detach())
            absent[loss != before].append(name)
    for has_influence, names in absent.items():
        if names:
            said = f"{listed(names)} get no gradient and {'' if has_influence else 'do not '}"
            said += "change the loss"
            verdict = WRONG if has_influence else REMARK
            yield Probe("gradients", verdict, said, len(names), *p.forward_place())
    if not any(absent.values()):
        yield Probe("gradients", OK, f"{len(moved)} trained parameters get a gradient", 0)
