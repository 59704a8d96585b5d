"""A signal that comes while a recording begins or ends leaves PyTorch as it was."""

import gc
import io
import linecache
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
import gradtrace.torch as gt  # noqa: E402
from gradtrace.torch import capsule_asked, guard_call, guard_capsule, patches, private, recording  # noqa: E402
from gradtrace.torch.recorder import Recorder  # noqa: E402

ROOT = Path(__file__).parents[2]
PARTS = {recording.__file__, patches.__file__, private.__file__}
WITHOUT = "with private.without_torch_function()"


class Interrupt(BaseException):
    pass


def patched():
    """All that a recording replaces, as it is now."""
    places = [
        (torch.autograd, private.ENGINE),
        (torch.nn.Module, private.MODULE_CALL),
        (private.function_base(), private.FUNCTION_APPLY),
        (private.FunctionMeta, "__getattribute__"),
        (torch.nn.Parameter, "__new__"),
        (torch.optim.Optimizer, "zero_grad"),
        (torch.optim.Optimizer, "__init__"),
        (torch.utils, "swap_tensors"),
        (torch, "compile"),
        *((module, name) for module, names in private.questions() for name in names),
    ]
    found = [owner.__dict__.get(name) for owner, name in places]
    hooks = (
        dict(private.optimizer._global_optimizer_pre_hooks),
        dict(private.optimizer._global_optimizer_post_hooks),
    )
    return (
        found,
        hooks,
        private.mode_depth(),
        patches.active(),
        torch._C._is_torch_function_enabled(),
    )


def record_something(weight):
    with gt.record() as recorded:
        weight.square().sum().backward()
    return recorded


def interrupted(number, keep):
    """Raise at one line of `__enter__` or `__exit__` or what they call; return the line, or None after the last."""
    passed, raised, kept = 0, None, []

    def trace(frame, event, argument):
        nonlocal passed, raised
        if frame.f_code.co_filename not in PARTS or frame.f_code.co_name in ("__del__", "_release"):
            return None
        # the line of this `with` is also that of its end, where Python does not check for signals before the call
        leaving = (
            linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip().startswith(WITHOUT)
        )
        if event == "line" and raised is None and not leaving:
            passed += 1
            if passed == number:
                raised = frame.f_code.co_name, frame.f_lineno
                raise Interrupt
        return trace

    weight = torch.ones(2, requires_grad=True)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        one = gt.record()
        if keep:
            kept.append(one)
        with one:
            del one
            weight.sum()
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
    return raised


def test_an_exception_at_any_line_of_the_beginning_or_end_restores_everything():
    """The recording is freed when the exception has been handled, which ends one whose `__exit__` did not begin."""
    record_something(torch.ones(1, requires_grad=True))
    wanted = patched()
    number = 0
    while (where := interrupted(number := number + 1, keep=False)) is not None:
        assert patched() == wanted, where
    assert number > 150
    assert record_something(torch.ones(2, requires_grad=True)).trace().passes


def test_it_is_restored_at_once_while_the_recording_is_kept():
    """All lines but those with which `__exit__` begins, where Python does not check for signals: before these the
    recording is restored when it is freed.
    """
    wanted = patched()
    lines = {line for _, _, line in recording.record.__exit__.__code__.co_lines() if line}
    beginning = sorted(lines)[:3]
    number = 0
    while (where := interrupted(number := number + 1, keep=True)) is not None:
        if where[0] == "__exit__" and where[1] in beginning:
            gc.collect()
        assert patched() == wanted, where


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_signals_at_random_moments_restore_everything(times):
    weight = torch.ones(2, requires_grad=True)
    record_something(weight)
    wanted, rng, raised = patched(), random.Random(1), 0
    begun = time.perf_counter()
    for _ in range(50):
        with gt.record():
            weight.sum()
    length = (time.perf_counter() - begun) / 50

    def handler(number, frame):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(times):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + rng.random() * length)
                with gt.record():
                    weight.sum()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                raised += 1
            assert patched() == wanted
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert raised > times / 10
    assert record_something(weight).trace().passes


def test_modes_of_the_program_stay_when_the_recorder_is_below_them():
    recorder, other = Recorder("summary"), Recorder("summary")
    for one in (recorder, other, recorder):
        private.push_mode(one)
    private.remove_mode(recorder)
    assert private.mode_depth() == 1
    assert private.pop_mode() is other


def test_an_exception_whose_text_raises_stays_the_programs_own():
    class Odd(Exception):
        def __str__(self):
            raise ValueError("no text")

    recorded = gt.record()
    with pytest.raises(Odd), recorded:
        raise Odd
    assert recorded.trace().failure.kind == "Odd"
    assert patches.active() is None

    def fail(gradient):
        raise Odd

    weight = torch.ones(2, requires_grad=True)
    weight.register_hook(fail)
    with pytest.raises(Odd), gt.record():
        weight.sum().backward()


def interrupted_guard(step, number):
    """Raise at one line of a guard's call with an asked capsule; return whether there was such a line."""
    guarding, passed = sys.modules["gradtrace.torch.guard"], 0
    files = {one.__file__ for one in (capsule_asked, guarding, guard_call, guard_capsule)}

    def trace(frame, event, argument):
        nonlocal passed
        code = frame.f_code
        if code.co_filename not in files or code.co_name in ("drop", "keep"):
            return None
        line = linecache.getline(code.co_filename, frame.f_lineno).strip()
        if event == "line" and line not in ENDING and code.co_name != "__exit__":
            passed += 1
            if passed == number:
                raise Interrupt
        return trace

    gt.capsule("now")
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step(torch.ones(2))
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
        capsule_asked.asking.is_waiting = False
    return passed >= number


# lines of the clean-up itself; that of a `with` is also that of its end; at a `try` Python checks for no signals
ENDING = (
    "try:",
    "self.running = False",
    "self.replaced.close()",
    "raise",
    "with private.OptimizerHooks(self.check):",
    "with AskedCapsule(self, args, kwargs) as asked:",
    "with self.replaced:  # a file that has its name by then is not dropped",
)


def test_a_guard_and_its_asked_capsule_are_as_before_after_an_exception_at_any_line(tmp_path):
    weight = torch.nn.Parameter(torch.ones(2))
    model = torch.nn.Module()
    model.weight = weight
    optimizer = torch.optim.SGD([weight], 0.1)

    @gt.guard(capsule=tmp_path, out=io.StringIO())
    def step(x):
        optimizer.zero_grad()
        (model.weight * x).square().sum().backward()
        optimizer.step()

    step(torch.ones(2))
    wanted, number = (patched(), torch.amp.GradScaler.step), 1
    while interrupted_guard(step, number):
        assert (patched(), torch.amp.GradScaler.step) == wanted, number
        assert not step.guard.running, number
        assert not list(tmp_path.glob("*.part")), number
        number += 1
    assert number > 50


PATCHED = [
    (torch.optim.Optimizer, "zero_grad"),
    (torch.optim.Optimizer, "__init__"),
    (torch.autograd, private.ENGINE),
    (torch.nn.Module, private.MODULE_CALL),
    (torch.utils, "swap_tensors"),
    (torch, "compile"),
    (torch.amp.GradScaler, "step"),
]


@pytest.mark.parametrize("owner, name", PATCHED, ids=[name for _, name in PATCHED])
def test_what_the_program_itself_replaces_meanwhile_stays(monkeypatch, owner, name):
    model, calls = torch.nn.Linear(3, 1), []

    def train():
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu")
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(2, 3)).sum()).backward()
        scaler.step(optimizer)

    monkeypatch.setattr(owner, name, getattr(owner, name))  # restored after the test
    with gt.record() as recorded:
        train()
        former = getattr(owner, name)

        def own(*args, **kwargs):
            calls.append(name)
            return former(*args, **kwargs)

        setattr(owner, name, own)
    assert getattr(owner, name) is own
    passes = len(recorded.trace().passes)
    train()
    if name not in ("swap_tensors", "compile"):
        assert calls
    assert len(recorded.trace().passes) == passes
    with gt.record() as again:
        train()
    assert len(again.trace().passes) == 1
    assert not again.trace().left_out
    assert getattr(owner, name) is own


TERMINATED = """\
import signal, sys, time
import torch
import gradtrace.torch as gt
w = torch.ones(3, requires_grad=True)
try:
    with gt.record() as r:
        w.square().sum().backward()
        print("recorded", flush=True)
        time.sleep(60)
finally:
    print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    r.save("step.gt")
"""


@pytest.mark.slow
@pytest.mark.parametrize("launched", [True, False])
def test_a_process_of_torchrun_that_is_terminated_saves_its_record(tmp_path, launched):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment |= {"LOCAL_RANK": "1"} if launched else {}
    process = subprocess.Popen(
        [sys.executable, "-c", TERMINATED],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "recorded\n"
    process.terminate()
    rest, _ = process.communicate(timeout=60)
    assert (rest, process.returncode) == (("True\n", 143) if launched else ("", -15))
    assert (tmp_path / "step.gt").exists() is launched
