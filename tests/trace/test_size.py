"""Recording, saving and reading take work in proportion to the steps of the run."""

import io
from functools import partial

import pytest

from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace import file
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from tests.counting import instructions

STEPS = (50, 200)
LOOP = """
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(2, 3)
for i in range({}):
    optimizer.zero_grad()
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
"""


def recorded(steps):
    watch = Watch()
    run = run_program(parse(LOOP.format(steps), "loop.py"), {}, record=Keeper, watcher=watch)
    return capture(run, everything=True, watch=watch)


def written(trace):
    about = file.About(trace.source_name, trace.source_text, "float32", None, True)
    stream = io.BytesIO()
    file.write(about, dict.fromkeys(file.VARIANTS, trace), stream)
    return stream


def read(stream):
    return file.read("loop.gt", stream).trace("all")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "work, prepared",
    [
        pytest.param(recorded, int, id="recording"),
        pytest.param(written, recorded, id="saving"),
        pytest.param(read, lambda steps: written(recorded(steps)), id="reading"),
    ],
)
def test_work_grows_with_the_steps(work, prepared):
    few, many = map(prepared, STEPS)
    work(few)  # what a first call loads
    assert instructions(partial(work, many)) < 4.4 * instructions(partial(work, few))


def test_reading_gives_the_record_that_was_written():
    trace = recorded(STEPS[0])
    assert len(trace.operations) >= 2 * STEPS[0]
    assert read(written(trace)) == trace
