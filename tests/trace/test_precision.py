"""The records of rounding errors: written to a file and read, and cut to a part of the run."""

import io

import pytest

from gradtrace.analysis.precision import answer
from gradtrace.cli import session
from gradtrace.cli.options import Request
from gradtrace.program.parse import parse
from gradtrace.trace import file
from gradtrace.trace.precision import LossScale
from gradtrace.trace.window import step_window

TEXT = """import torch
w = torch.tensor([0.1, 0.7]).half().requires_grad_()
opt = torch.optim.SGD([w], lr=1e-7)
for i in range(3):
    opt.zero_grad()
    loss = (w * w * 0.3).sum().exp()
    loss.backward()
    opt.step()
"""


def measured():
    wanted = session.GRADIENTS._replace(measuring=True)
    return session.record(Request(parse(TEXT, name="loop.py")), wanted)


def test_a_file_has_the_rounding_errors():
    trace = measured()
    about = file.About("loop.py", TEXT, "float32", None, False)
    stream = io.BytesIO()
    file.write(about, dict.fromkeys(file.VARIANTS, trace), stream)
    read = file.read("loop.gt", stream).trace("all")
    assert trace.precision.measured
    assert trace.precision.updates
    assert read.precision == trace.precision


def test_a_step_has_its_own_rounding_errors():
    trace = measured()
    part = step_window(trace, 2)
    assert len(part.precision.measured) * 3 + 1 == len(
        trace.precision.measured
    )  # the cast before the loop
    assert {row.passed for row in part.precision.measured} == {None, 0}
    for row in part.precision.measured:
        assert row.operation is None or row.operation < len(part.operations)
        assert row.tensor < len(part.tensors)
    assert [row.error for row in part.precision.measured]


def test_updates_that_are_lost():
    updates = measured().precision.updates
    assert [(one.wanted, one.lost) for one in updates] == [(2, 2)] * 3
    assert all(0 < one.largest < 1e-6 for one in updates)


def test_a_skipped_step_is_explained_with_the_scale_that_fits():
    trace = measured()
    scale = LossScale(4, 65536.0, True, 1024.0, (trace.tensor("w").id,), (1,))
    trace = trace._replace(precision=trace.precision._replace(scales=(scale,)))
    first = answer(trace).losses[0].cause
    assert first.code == "skipped step"
    assert first.symptom == "a step was skipped: the gradients of w are not finite"
    assert first.advice == (
        "GradScaler(init_scale=1024): every gradient measured in the skipped step would be finite",
    )


@pytest.mark.parametrize(
    ("fits", "said"),
    [
        (
            (1024.0, 64.0),
            "init_scale=64): every gradient measured in the 2 skipped steps would be finite",
        ),
        (
            (1024.0, 0.0, 64.0),
            "init_scale=64): every gradient measured in 2 of the 3 skipped steps would be finite",
        ),
        ((0.0, 64.0), None),
    ],
)
def test_the_scale_that_is_named_fits_all_skipped_steps(fits, said):
    trace = measured()
    scales = tuple(LossScale(4, 65536.0, True, one, (trace.tensor("w").id,), (1,)) for one in fits)
    trace = trace._replace(precision=trace.precision._replace(scales=scales))
    assert answer(trace).losses[0].cause.advice == (() if said is None else (f"GradScaler({said}",))
