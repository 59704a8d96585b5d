"""What a record has of a training loop beside its operations, on both engines: modes, steps, clipping, hooks."""

import io
import sys
import types
import warnings

import pytest

from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.file import About, read, write
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.relevant import relevant
from gradtrace.trace.steps import Watch
from gradtrace.trace.window import step_window

FIELDS = ("optimisers", "changes", "clips", "hooks", "schedules", "scalings", "scopes")
HEAD = """import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
torch.manual_seed(0)
"""
# 1 to 30: every kind of call
TRAINING = (
    HEAD
    + """model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
head = nn.Linear(4, 1)
first = torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.5}, {"params": model[2].parameters()}], lr=0.25)
second = torch.optim.Adam(head.parameters(), lr=0.125)
schedule = torch.optim.lr_scheduler.StepLR(first, 2, 0.5)
warm = torch.optim.lr_scheduler.LinearLR(second, total_iters=2)
both = torch.optim.lr_scheduler.SequentialLR(
    second, [warm, torch.optim.lr_scheduler.ExponentialLR(second, 0.5)], [2]
)
def seen(module, args, out):
    return None
handle = model[0].register_forward_hook(seen)
model[2].weight.register_hook(lambda gradient: 2 * gradient)
for step in range(3):
    first.zero_grad()
    x = torch.randn(5, 3)
    loss = model(x).pow(2).mean()
    loss.backward()
    clip_grad_norm_(model.parameters(), 0.5)
    clip_grad_value_([model[2].bias, head.bias], clip_value=2)
    first.step()
    second.step()
    schedule.step()
    both.step()
    handle.remove()
model.eval()
with torch.no_grad():
    out = model(x)
"""
)


def in_gradtrace(text):
    watch = Watch()
    run = run_program(parse(text, name="s.py"), record=Keeper, watcher=watch)
    return capture(run, everything=True, watch=watch)


@pytest.fixture(params=["gradtrace", "torch"])
def traced(request, tmp_path, monkeypatch):
    """A function that runs a program on one of the engines and returns its Trace."""
    if request.param == "gradtrace":
        return in_gradtrace
    torch = pytest.importorskip("torch")
    gt = pytest.importorskip("gradtrace.torch")
    torch.set_num_threads(1)

    def in_pytorch(text):
        path = tmp_path / "s.py"
        path.write_text(text)
        module = types.ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", module)
        recording = gt.record()
        recording._env, recording._main = module.__dict__, str(path)
        with recording:
            exec(compile(text, str(path), "exec"), module.__dict__)
        trace = recording.trace()
        assert trace.left_out == ()
        return trace

    return in_pytorch


def names(trace, tensors):
    return [trace.tensors[i].name for i in tensors]


def line(entry):
    return None if entry.span is None else entry.span.line


def written(trace):
    """The trace as it is read from a file."""
    content = io.BytesIO()
    variants = dict.fromkeys(("all", "eval", "graph", "watched"), trace)
    write(About("s.py", TRAINING, "float32", 0, True, engine=trace.engine), variants, content)
    content.seek(0)
    return read("s.gt", content).trace("all")


def test_a_modules_call_has_its_mode(traced):
    trace = traced(TRAINING)
    modes = [(s.name, s.training) for s in trace.scopes if s.kind == "module"]
    assert modes[:2] == [("model", True), ("model.0", True)]
    assert modes[-1] == ("model.2", False)
    assert {scope.training for scope in trace.scopes if scope.kind != "module"} <= {None}


def test_an_update_says_which_optimiser_made_it(traced):
    trace = traced(TRAINING)
    steps = [c for c in trace.changes if c.how == "step"]
    assert len(steps) == 3 * 4
    assert {c.optimiser for c in steps} == {0}  # the other one has no gradient
    assert {c.optimiser for c in trace.changes if c.how != "step"} <= {None}


def test_two_optimisers_are_told_apart(traced):
    trace = traced(
        HEAD
        + """a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
one = torch.optim.SGD([a], lr=0.1)
two = torch.optim.Adam([b], lr=0.1)
for step in range(2):
    (a * b).sum().backward()
    two.step()
    one.step()
"""
    )
    made = [c.optimiser for c in trace.changes if c.how == "step"]
    assert made == [1, 0, 1, 0]


def test_an_optimiser_has_its_groups_and_steps(traced):
    first, second = traced(TRAINING).optimisers
    assert [g.lr for g in first.groups] == [0.5, 0.25]
    assert [g.rates for g in first.groups] == [((1, 0.5), (3, 0.25)), ((1, 0.25), (3, 0.125))]
    assert [len(g.tensors) for g in first.groups] == [2, 2]
    assert first.tensors == first.groups[0].tensors + first.groups[1].tensors
    assert first.rates == ((1, 0.5), (3, 0.25))
    assert [(m.is_idle, line(m)) for m in first.marks] == [(False, 25)] * 3
    assert [(m.is_idle, line(m)) for m in second.marks] == [(True, 26)] * 3
    assert (second.steps, second.idle) == (3, 3)
    counts = [(m.after, m.after_steps) for m in first.marks]
    assert counts == sorted(set(counts))


def test_clipping_is_recorded_also_without_gradients(traced):
    trace = traced(TRAINING)
    assert [c.how for c in trace.clips] == ["norm", "value"] * 3
    norm, value = trace.clips[:2]
    own = [f"model.{i}.{name}" for i in (0, 2) for name in ("weight", "bias")]
    assert (names(trace, norm.tensors), norm.held, norm.limit, line(norm)) == (own, 4, 0.5, 23)
    assert norm.norm is not None and norm.norm > 0
    assert (value.held, value.limit, value.norm, line(value)) == (2, 2.0, None, 24)
    assert names(trace, value.tensors) in (["model.2.bias"], ["model.2.bias", "head.bias"])
    assert trace.clips[2].tensors is norm.tensors  # in a file once
    assert norm.after_steps == len([s for s in trace.steps if s.number == 0])


def test_clipping_of_an_exhausted_iterator_has_no_tensors(traced):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = traced(
            HEAD
            + """model = nn.Linear(2, 1)
parameters = model.parameters()
optimizer = torch.optim.SGD(parameters, lr=0.1)
model(torch.ones(2)).sum().backward()
clip_grad_norm_(parameters, max_norm=1.0)
clip_grad_norm_(iter([model.weight]), 1.0)
clip_grad_norm_(model.bias, 1.0)
optimizer.zero_grad()
clip_grad_norm_(model.parameters(), 1.0)
"""
        )
    assert [(c.held, round(c.norm, 4)) for c in trace.clips] == [
        (0, 0.0), (1, 1.4142), (1, 1.0), (2, 0.0)
    ]  # fmt: skip
    own = ["model.weight", "model.bias"]
    assert [names(trace, c.tensors) for c in trace.clips] == [[], own[:1], own[1:], own]


def test_hooks_are_recorded_with_their_removal(traced):
    trace = traced(
        HEAD
        + """model = nn.Linear(2, 1)
def keep(*args):
    return None
def twice(gradient):
    return 2 * gradient
model.register_forward_pre_hook(keep)
model.register_forward_hook(keep)
model.register_full_backward_pre_hook(keep)
with model.register_full_backward_hook(keep):
    y = model(torch.ones(2)).sum()
handle = y.register_hook(twice)
model.bias.register_post_accumulate_grad_hook(keep)
y.backward()
handle.remove()
handle.remove()
"""
    )
    assert [(h.kind, h.name, h.module, line(h), h.removed is None) for h in trace.hooks] == [
        ("forward_pre", "keep", "model", 10, True),
        ("forward", "keep", "model", 11, True),
        ("backward_pre", "keep", "model", 12, True),
        ("backward", "keep", "model", 13, False),
        ("tensor", "twice", "", 15, False),
        ("accumulated", "keep", "", 16, True),
    ]
    named = [h.tensor if h.tensor is None else trace.tensors[h.tensor].name for h in trace.hooks]
    assert named == [None, None, None, None, "y", "model.bias"]
    assert trace.hooks[0].after == 0
    assert trace.hooks[4].removed >= trace.hooks[4].after > 0


def test_schedules_have_the_programs_calls(traced):
    trace = traced(TRAINING)
    steps, both = trace.schedules  # the inner ones belong to the last
    assert (steps.kind, steps.optimiser, line(steps), steps.step_span.line) == ("StepLR", 0, 9, 27)
    assert (both.kind, both.optimiser, both.step_span.line) == ("SequentialLR", 1, 28)
    assert [len(s.steps) for s in trace.schedules] == [3, 3]
    assert [s[0] for s in steps.steps] == [m.after for m in trace.optimisers[0].marks]


def test_each_kind_of_schedule_counts_once(traced):
    text = """w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
S = torch.optim.lr_scheduler
class Own(S.LRScheduler):
    def get_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]
    def step(self, *args):
        super().step(*args)
schedules = [
    S.LambdaLR(optimizer, lambda epoch: 1.0),
    S.CosineAnnealingWarmRestarts(optimizer, 3),
    S.ReduceLROnPlateau(optimizer),
    S.OneCycleLR(optimizer, 0.2, total_steps=9),
    S.ChainedScheduler([S.StepLR(optimizer, 1), S.ExponentialLR(optimizer, 0.9)]),
    Own(optimizer),
]
(w * w).sum().backward()
optimizer.step()
for schedule in schedules:
    schedule.step(1.0) if type(schedule) is S.ReduceLROnPlateau else schedule.step()
never = S.ConstantLR(optimizer)
"""
    trace = traced(HEAD + text)
    assert [(s.kind, len(s.steps)) for s in trace.schedules] == [
        ("LambdaLR", 1), ("CosineAnnealingWarmRestarts", 1), ("ReduceLROnPlateau", 1), ("OneCycleLR", 1),
        ("ChainedScheduler", 1), ("Own", 1), ("ConstantLR", 0),
    ]  # fmt: skip


def test_the_calls_of_a_grad_scaler_are_recorded(traced):
    trace = traced(
        HEAD
        + """w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
off = torch.amp.GradScaler("cpu", enabled=False)
for step in range(2):
    scaler.scale((w * w).sum()).backward()
    if step:
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    off.update()
"""
    )
    calls = [(s.how, line(s)) for s in trace.scalings]
    first = [("scale", 10), ("step", 13), ("update", 14)]
    assert calls == [*first, first[0], ("unscale_", 12), *first[1:]]
    assert [s.after_steps for s in trace.scalings] == sorted(s.after_steps for s in trace.scalings)


def test_a_file_keeps_it_all(traced):
    trace = traced(TRAINING)
    again = written(trace)
    assert all(getattr(again, field) == getattr(trace, field) for field in FIELDS)


def test_windows_have_their_part(traced):
    trace = traced(TRAINING)
    part = step_window(trace, 2)
    assert [c.how for c in part.clips] == ["norm", "value"]
    assert names(part, part.clips[0].tensors) == names(trace, trace.clips[0].tensors)
    assert 0 < part.clips[0].after <= len(part.operations)
    assert part.clips[0].after_steps == len(part.steps)
    assert [h.kind for h in part.hooks] == ["tensor"]  # the other one was removed
    assert part.tensors[part.hooks[0].tensor].name == "model.2.weight"
    assert {c.optimiser for c in part.changes} <= {None}
    assert (part.optimisers, part.schedules) == ((), ())
    shown = relevant(trace)
    assert len(shown.clips) == 6
    assert written(part).clips == part.clips


def test_the_program_runs_as_unrecorded(tmp_path):
    """Parameters, and the places of warnings, are those of a run that is not recorded."""
    torch = pytest.importorskip("torch")
    gt = pytest.importorskip("gradtrace.torch")
    text = (
        TRAINING
        + """late = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([head.weight], lr=0.1), 1)
late.step()
late.step(3)
clip_grad_norm_((p for p in ()), 1.0)
scaler = torch.amp.GradScaler("cpu")
scaler.scale(model(x).sum()).backward()
scaler.unscale_(first)
scaler.step(first)
scaler.update()
"""
    )
    path = tmp_path / "s.py"
    path.write_text(text)
    results = []
    for record in (None, gt.record()):
        env = {"__name__": "__main__"}
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always")
            code = compile(text, str(path), "exec")
            if record is None:
                exec(code, env)
            else:
                with record:
                    exec(code, env)
        states = [env["model"], env["head"], env["first"], env["second"], env["both"], env["late"]]
        results.append(
            (
                repr([state.state_dict() for state in states]),
                torch.get_rng_state().tolist(),
                [(str(w.message), w.filename, w.lineno) for w in noticed],
            )
        )
    assert results[0] == results[1]
    assert len(results[0][2]) >= 3
    methods = [torch.optim.lr_scheduler.StepLR.__init__, torch.optim.lr_scheduler.LRScheduler.step]
    methods += [torch.nn.Module.register_forward_hook, torch.utils.hooks.RemovableHandle.remove]
    methods.append(torch.nn.utils.clip_grad_norm_.__closure__[0].cell_contents)
    assert all("gradtrace" not in repr(m.__globals__["__name__"]) for m in methods)
    assert "__init_subclass__" not in vars(torch.optim.lr_scheduler.LRScheduler)
