"""Flight logs: the file is bounded, survives a torn row and another run, and `stats` shows it."""

import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradtrace.errors import UsageError
from gradtrace.trace import flight_log
from gradtrace.trace.flight_log import FlightWriter, not_noted, read

COLUMNS = ("time", "loss", "grad a")


def rows(steps, start=0.0):
    """Rows of some steps: their time, a loss of 1 / step, a gradient of 2."""
    return np.array([[start + step, 1 / step, 2.0] for step in steps])


def write(path, steps, most=100, start=0.0, numbers=None):
    writer = FlightWriter(path, COLUMNS, most)
    writer.append(steps[0], rows(steps, start) if numbers is None else numbers)
    writer.close()


def log_of(path):
    with open(path, "rb") as stream:
        return read(str(path), stream)


def test_a_ring_keeps_the_last_steps_and_its_size(here):
    for first in range(1, 301, 7):
        write("run.gtlog", range(first, first + 7), most=20)
        size = os.path.getsize("run.gtlog")
        assert size <= 2 * flight_log.HEADER + 20 * 5 * 8
    log = log_of("run.gtlog")
    assert log.steps.tolist() == list(range(282, 302)) and log.numbers[:, 1].tolist() == [
        1 / s for s in log.steps
    ]


def test_another_run_continues_the_file(here):
    write("run.gtlog", range(1, 5))
    writer = FlightWriter("run.gtlog", COLUMNS, 7)
    assert (writer.last, writer.rows) == (4, 100)
    writer.close()
    with pytest.raises(ValueError, match="another model or optimizer"):
        FlightWriter("run.gtlog", ("time", "loss"), 100)


def test_a_run_that_begins_again_at_a_checkpoint_replaces_the_later_steps(here):
    write("run.gtlog", range(1, 50))
    write("run.gtlog", range(21, 25), start=1000.0)
    assert log_of("run.gtlog").steps.tolist() == list(range(1, 25))


def test_a_torn_row_is_left_out(here):
    write("run.gtlog", range(1, 9))
    for cut in (3, 8, 37):
        with open("run.gtlog", "r+b") as file:
            file.truncate(os.path.getsize("run.gtlog") - cut)
        assert log_of("run.gtlog").steps.tolist() == list(range(1, 8)) or cut == 37
    with open("run.gtlog", "r+b") as file:  # a row whose end is an older row's
        file.seek(2 * flight_log.HEADER + 8 * 5 * 2)
        file.write(np.array([103.0, 1.0], "<f8").tobytes())
    assert 103 not in log_of("run.gtlog").steps and 3 not in log_of("run.gtlog").steps


def test_nan_that_was_computed_is_told_from_what_was_not_noted(here, answer):
    numbers = rows(range(1, 5))
    numbers[1:3, 1] = not_noted(2)
    numbers[3, 2] = np.nan
    write("run.gtlog", range(1, 5), numbers=numbers)
    assert log_of("run.gtlog").noted.tolist() == [
        [True] * 3,
        [True, False, True],
        [True, False, True],
        [True] * 3,
    ]


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=30), st.integers(1, 8))
def test_what_is_written_is_read(tmp_path_factory, losses, most):
    path = tmp_path_factory.mktemp("logs") / "run.gtlog"
    numbers = np.array([[float(i), loss, 0.0] for i, loss in enumerate(losses)])
    write(path, range(1, len(losses) + 1), most, numbers=numbers)
    log = log_of(path)
    assert log.numbers[:, 1].tolist() == losses[-most:] and log.rows == most


@given(st.binary(max_size=300), st.integers(0, 8600))
def test_damage_costs_the_rows_that_it_hits(tmp_path_factory, part, place):
    path = tmp_path_factory.mktemp("logs") / "run.gtlog"
    write(path, range(1, 9))
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(part)
    log = log_of(path)
    width = 8 * 5
    first = 2 * flight_log.HEADER
    spared = [
        step
        for step in range(1, 9)
        if first + step * width <= place or place + len(part) <= first + (step - 1) * width
    ]
    assert set(spared) <= set(log.steps.tolist()) <= set(range(1, 9))
    assert log.numbers[:, 1].tolist() == [1 / step for step in log.steps]


def test_a_log_that_is_no_log_is_refused(here):
    (here / "run.gtlog").write_bytes(b"GTLOG 2\nnothing\n" * 1000)
    with pytest.raises(UsageError, match="is damaged: it has no header of a flight log"):
        log_of("run.gtlog")


def test_a_file_of_version_1_is_read(here):
    document = {"schema": flight_log.SCHEMA, "version": 1, "rows": 20, "columns": COLUMNS}
    header = (flight_log.FORMER + json.dumps(document).encode()).ljust(flight_log.HEADER - 1)
    steps = np.arange(1.0, 9)[:, None]
    table = np.hstack([steps, rows(range(1, 9)), steps]).astype("<f8")
    (here / "run.gtlog").write_bytes(header + b"\n" + table.tobytes())
    assert log_of("run.gtlog").numbers[:, 1].tolist() == [1 / step for step in range(1, 9)]


@pytest.fixture
def spiking(here):
    """A log of 200 steps: the gradient is 40 times its level at step 150, the loss NaN at step 180."""
    numbers = rows(range(1, 201))
    numbers[:, 1] = np.linspace(2, 1, 200)
    numbers[149, 2], numbers[179, 1] = 80.0, np.nan
    write("run.gtlog", range(1, 201), most=1000, numbers=numbers)


def test_stats_shows_the_curves_and_where_they_leave_their_level(spiking, gt):
    shown = gt("stats", "run.gtlog")
    assert shown.exit_code == 1
    assert "200 steps, 1 to 200, in 3.32 min." in shown.stdout
    assert "Step 150: grad a is 80, 40 times the median of the steps before, 2." in shown.stdout
    assert "Step 180: loss is nan." in shown.stdout
    assert "grad a      2       2       80      150     2  ▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁" in shown.stdout


def test_a_log_without_a_bad_number_is_exit_code_0(here, gt):
    write("run.gtlog", range(1, 4))
    assert gt("stats", "run.gtlog").exit_code == 0


def test_stats_of_a_log_as_data(spiking, gt):
    document = json.loads(gt("stats", "run.gtlog", "--format", "json").stdout)
    assert document["schema"] == "gradtrace/flight" and document["steps"] == {
        "first": 1,
        "last": 200,
        "seconds": 199.0,
    }
    assert document["rows"][179] == {"step": 180, "loss": "NaN", "grad a": 2.0}
    assert [(one["step"], one["name"]) for one in (*document["spikes"], *document["bad"])] == [
        (150, "grad a"),
        (180, "loss"),
    ]
    table = gt("stats", "run.gtlog", "--format", "csv").stdout.splitlines()
    assert table[0] == "step,loss,grad a" and len(table) == 201


def test_the_page_has_every_curve(spiking, gt, here):
    assert gt("stats", "run.gtlog", "-o", "run.html").exit_code == 1
    page = (here / "run.html").read_text(encoding="utf-8")
    # the loss of step 180 is NaN: a gap in its curve, and a mark below
    assert page.count("<polyline") == 3
    assert page.count("<line ") == 1
    assert "Step 150: grad a is 80" in page
    assert "refresh" not in page  # the last step was long ago


def test_the_last_value_is_the_last_one_and_names_leave_out_what_they_share(here, gt):
    columns = (
        "time",
        "loss",
        "grad head",
        "grad backbone.layers.0",
        "grad backbone.layers.1",
        "bad",
    )
    numbers = np.array([[float(step), 1.0, 2.0, 3.0, 4.0, np.nan] for step in range(1, 201)])
    for place in (20, 40, 60, 80):  # four spikes before the first NaN
        numbers[place, 1 + place // 20 % 4] = 900.0
    numbers[:180, 5] = 5.0
    numbers[180:, 1] = np.nan
    writer = FlightWriter("run.gtlog", columns, 1000)
    writer.append(1, numbers)
    writer.close()
    shown = gt("stats", "run.gtlog").stdout
    assert shown.splitlines()[2].split()[:6] == ["loss", "1", "1", "900", "81", "nan"]
    assert "grad ….0" in shown and "… is backbone.layers." in shown
    assert "backbone.layers.0" not in shown
    assert shown.index("Step 181: loss is nan; likewise bad.") < shown.index("Step 21: grad")
    gt("stats", "run.gtlog", "-o", "run.html")
    page = (here / "run.html").read_text(encoding="utf-8")
    assert "<b>grad ….0</b>" in page and "last nan" in page
    document = json.loads(gt("stats", "run.gtlog", "--format", "json").stdout)
    assert [curve["name"] for curve in document["curves"]] == list(columns[1:])
    assert document["curves"][0]["last"] == "NaN"


def test_a_curve_without_a_finite_number_has_a_row(here, gt):
    write("run.gtlog", range(1, 4), numbers=np.array([[1.0, np.nan, 2.0], [2.0, np.nan, 2.0]]))
    assert gt("stats", "run.gtlog").stdout.splitlines()[2].split() == ["loss", "nan", "××"]


def test_a_log_is_not_a_program(spiking, refusal):
    code, said = refusal("why", "run.gtlog")
    assert (
        code == 2
        and "is a flight log, not a program" in said
        and "gradtrace stats run.gtlog" in said
    )


def test_only_a_log_has_a_page(here, refusal):
    code, said = refusal("stats", "x*x", "--x", "2", "-o", "run.html")
    assert code == 2 and "a page of a flight log only" in said
    code, said = refusal("stats", "x*x", "--x", "2", "-o", "run.png")
    assert code == 2 and "end it in .html" in said


def test_a_log_without_a_step_yet(here, answer):
    FlightWriter("run.gtlog", COLUMNS, 10).close()
    assert answer("stats", "run.gtlog") == "No step is in this flight log yet.\n"
    answer("stats", "run.gtlog", "-o", "run.html")
    assert "No step is in this flight log yet." in (here / "run.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("level", [0.0, -0.1])
def test_a_spike_above_a_level_that_is_not_positive(here, gt, level):
    numbers = rows(range(1, 61))
    numbers[:, 1] = level
    numbers[50, 1] = 30.0
    write("run.gtlog", range(1, 61), numbers=numbers)
    shown = gt("stats", "run.gtlog").stdout
    assert "fault" not in shown and "-300 times" not in shown and "loss" in shown


def test_rows_of_zero_bytes_are_noticed(here, gt):
    write("run.gtlog", range(1, 30))
    with open("run.gtlog", "r+b") as file:
        file.seek(2 * flight_log.HEADER + 8 * 5 * 10)
        file.write(bytes(8 * 5 * 3))
    said = gt("stats", "run.gtlog").stdout
    assert "3 steps in between are missing: not noted, or the file is damaged." in said
