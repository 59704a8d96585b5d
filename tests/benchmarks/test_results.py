"""What the benchmarks make of measurements: no clock runs here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import report, results
from benchmarks.measure import ONE_THREAD, SETTINGS, Figures, Setting, measure, run_job
from benchmarks.table import JOBS, OURS, SCRIPTS, Job, Target, run_script, than

HOME = Path(__file__).parents[2]
JOB = Job("a job", "ms", {OURS: [], "torch": []}, than("torch", 0.5, 0.2))


def found(*pairs):
    return {
        OURS: [Figures(a, 10.0, 1.0) for a, _ in pairs],
        "torch": [Figures(b, 100.0, 1.0) for _, b in pairs],
    }


def entry(*pairs):
    return results.summary(JOB, found(*pairs))


def document(**jobs):
    return {**results.SCHEMA, "machine": {"cores": "2"}, "jobs": jobs}


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)


def test_a_ratio_is_the_median_of_the_rounds_own_ratios():
    # The second round ran on a slowed machine: each figure doubled, the ratio did not.
    made = entry((1.0, 4.0), (2.0, 8.0), (1.0, 2.0))
    assert made["ratios"]["torch"]["seconds"] == 0.25
    assert made["ratios"]["torch"]["best"] == 0.5
    assert made["ratios"]["torch"]["bytes"] == pytest.approx(0.1)
    assert made["peers"]["torch"] == {
        "seconds": 4.0,
        "bytes": 100.0,
        "check": 1.0,
        "best": 2.0,
        "cpu": None,
    }
    assert made["agree"] is True


def test_medians_and_shortest_times_of_a_process_are_kept_apart():
    # A process that runs its program several times prints both.
    ours, theirs = (
        [Figures(3.0, best=2.0), Figures(5.0, best=1.0)],
        [Figures(4.0, best=4.0), Figures(5.0, best=2.0)],
    )
    made = results.summary(JOB, {OURS: ours, "torch": theirs})
    assert made["peers"][OURS]["seconds"] == 4.0 and made["peers"][OURS]["best"] == 1.0
    assert made["ratios"]["torch"]["seconds"] == pytest.approx((3 / 4 + 1) / 2)
    assert made["ratios"]["torch"]["best"] == 0.5
    text = report.text("large", made)
    assert "4000 ms (best 1000)" in text and "ratio  0.875, of the shortest  0.500" in text


def test_results_that_differ_are_seen():
    apart = found((1.0, 1.0))
    apart["torch"] = [Figures(1.0, None, 1.0 + 1e-6)]
    assert results.agreement(JOB, apart) is False
    assert results.agreement(JOB._replace(agree=1e-5), apart) is True
    assert results.agreement(JOB, {OURS: [Figures(1.0)]}) is None
    assert "DO NOT AGREE" in report.text("scalar", {**entry((1.0, 1.0)), "agree": False})


def test_a_slowdown_shows_in_the_median_and_in_the_best_time():
    before = entry((1.0, 10.0))
    assert results.slower("scalar", entry((2.0, 10.0)), before, 0.25) == [
        "scalar: the time over torch's was 0.1 and is 0.2"
    ]
    assert results.slower("scalar", entry((1.2, 10.0)), before, 0.25) == []
    assert (
        results.slower("scalar", entry((9.0, 10.0), (1.0, 10.0), (9.0, 10.0)), before, 0.25) == []
    )
    assert results.slower("scalar", {**before, "ratios": {}}, before, 0.25) == []


def test_more_memory_is_a_slowdown_too():
    before, now = entry((1.0, 10.0)), entry((1.0, 10.0))
    now["ratios"]["torch"]["bytes"] *= 2
    assert results.slower("million", now, before, 0.25) == [
        "million: the memory over torch's was 0.1 and is 0.2"
    ]


def test_jobs_not_run_keep_their_figures():
    older, newer = (
        document(scalar=entry((1.0, 1.0)), ten=entry((1.0, 1.0))),
        document(ten=entry((2.0, 1.0))),
    )
    joined = results.together(newer, older)
    assert joined == document(scalar=older["jobs"]["scalar"], ten=newer["jobs"]["ten"])
    assert list(joined["jobs"]) == ["scalar", "ten"]


def test_jobs_of_another_machine_keep_their_figures_and_name_it(tmp_path):
    page, large = tmp_path / "page.md", {"cores": "64"}
    page.write_text(f"{report.BEGIN}\n{report.END}\n")
    older = {**document(scalar=entry((1.0, 1.0)), ten=entry((1.0, 2.0))), "machine": large}
    joined = results.together(document(ten=entry((2.0, 1.0))), older)
    assert joined["machine"] == {"cores": "2"} and "machine" not in joined["jobs"]["ten"]
    assert joined["jobs"]["scalar"] == {**entry((1.0, 1.0)), "machine": large}
    assert (
        "machine"
        not in results.together({**document(), "machine": large}, joined)["jobs"]["scalar"]
    )
    report.write(page, joined)
    text = page.read_text()
    assert "\nMeasured on: cores 64.\n\nRows with [2] on: cores 2.\n" in text
    assert (
        f"| {JOBS['scalar'].title} | torch |" in text
        and f"| {JOBS['ten'].title} [2] | torch |" in text
    )


def test_the_page_has_each_target_with_its_verdict(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write(page, document(million=entry((1.0, 20.0)), ten=entry((1.0, 2.0))))
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    title = JOBS["million"].title
    assert (
        f"| {title} | torch | 0.1 | **0.05** | 0.05 | 1 s (best 1) | 20 s (best 20) | reached |"
        in text
    )
    assert f"| {title}: memory | torch | 0.2 | **0.1** |  | 0 MiB | 0 MiB | reached |" in text
    assert (
        "| torch | 0.35 | **0.5** | 0.5 | 1e+06 us (best 1e+06) | 2e+06 us (best 2e+06) | missed by 43% |"
        in text
    )
    assert "cores 2" in text


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no lines"):
        report.write(tmp_path / "page.md", document())


def test_every_job_has_a_script_and_targets_among_its_peers():
    for name, job in JOBS.items():
        assert OURS in job.peers, name
        assert all(target.peer in job.peers for target in job.targets), name
        paths = [part for command in job.peers.values() for part in command if part.endswith(".py")]
        assert all(Path(path).parent == SCRIPTS and Path(path).exists() for path in paths), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("mixed_ops", ("sin", 0, 20)),
        pytest.param("mixed_ops", ("sin", 10, 20), marks=pytest.mark.slow),
        pytest.param("mixed_ops", ("sqrt", 10, 20), marks=pytest.mark.slow),
        ("long_chain", (40,)),
        pytest.param("mlp", (3,), marks=pytest.mark.slow),
        pytest.param("black_scholes", (100,), marks=pytest.mark.slow),
        ("repeated", (10,)),
    ],
)
def test_gradtrace_and_the_derivative_by_hand_agree(script, arguments):
    peers = [OURS, *(peer for peer in ("numpy", "floats") if peer in HAND[script])]
    job = Job("", "s", {})
    checks = [
        measure(job, peer, [sys.executable, *run_script(script, peer, *arguments)[1:]]).check
        for peer in peers
    ]
    assert checks == pytest.approx([checks[0]] * len(checks), rel=1e-4 if script == "mlp" else 1e-9)


HAND = {
    "mixed_ops": ("numpy",),
    "long_chain": (),
    "mlp": ("numpy",),
    "black_scholes": ("numpy",),
    "repeated": ("floats",),
}


def test_each_use_of_a_long_recording_is_timed():
    pytest.importorskip("torch")
    names = [name for name in JOBS if name.startswith("linear-")]
    assert len(names) == 9
    commands = [[sys.executable, *run_script("linear", what, 80)[1:]] for what in ("read", "all")]
    read, together = (measure(JOBS[names[0]], OURS, command).seconds for command in commands)
    assert 0 < read < together < 1


def test_every_peer_of_a_job_runs_in_the_same_environment():
    job = JOBS["larger"]._replace(environment={"SECONDS_TO_PRINT": "7"})
    code = "import os; print('{\"seconds\": ' + os.environ['SECONDS_TO_PRINT'] + '}')"
    assert [measure(job, peer, [sys.executable, "-c", code]).seconds for peer in job.peers] == [
        7
    ] * len(job.peers)
    assert all(JOBS[name].environment for name in ("large", "larger", "large-sine", "larger-sine"))


def test_a_job_runs_with_one_thread_and_with_the_default_idle_and_beside_a_busy_process(tmp_path):
    code = f"import os; print('{{\"seconds\": ' + os.environ.get('{min(ONE_THREAD)}', '3') + '}}')"
    job = Job("a job", "s", {OURS: ["{python}", "-c", code], "torch": ["{python}", "-c", code]})
    figures = run_job(job, 2, {}, print)
    assert {name: [figure.seconds for figure in rounds] for name, rounds in figures.items()} == {
        OURS: [1, 1],
        "torch": [1, 1],
        "default threads": [3, 3],
        "one thread, busy": [1, 1],
        "default threads, busy": [3, 3],
    }
    result = results.summary(job, figures)
    assert list(result["peers"]) == [OURS, "torch"]
    assert list(result["ratios"]) == ["torch"]
    assert [result["threads"][setting.title]["seconds"] for setting in SETTINGS] == [3, 1, 3]
    assert Setting() not in SETTINGS
    assert "default threads, busy    time over one thread's 3.00" in report.text("scalar", result)
    page = tmp_path / "page.md"
    page.write_text(f"{report.BEGIN}\n{report.END}\n")
    report.write(page, document(scalar=result))
    assert f"| {JOBS['scalar'].title} | 3.00 (processor time" in page.read_text()


def test_a_peer_that_is_not_installed_is_left_out():
    assert (
        measure(Job("", "s", {}), "other", [sys.executable, "-c", "import no_such_package_here"])
        is None
    )
    with pytest.raises(SystemExit, match="no_such_package_here"):
        measure(Job("", "s", {}), OURS, [sys.executable, "-c", "import no_such_package_here"])


def test_the_command_compares_with_a_baseline(tmp_path):
    now, same, faster = tmp_path / "now.json", tmp_path / "same.json", tmp_path / "faster.json"
    results.save(now, document(scalar=entry((1.0, 10.0))))
    results.save(same, document(scalar=entry((1.1, 10.0))))
    results.save(faster, document(scalar=entry((0.1, 10.0))))
    done = run("--from", now, "--compare", same)
    assert done.returncode == 0, done.stderr
    assert "nothing is slower" in done.stdout
    done = run("--from", now, "--compare", faster)
    assert done.returncode == 1
    assert done.stderr == "scalar: the time over torch's was 0.01 and is 0.1\n"


def test_the_command_refuses_what_it_does_not_know(tmp_path):
    assert "no job 'scalr'" in run("scalr").stderr
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"schema": "another"}))
    done = run("--from", other)
    assert done.returncode == 1 and "no results of" in done.stderr


def test_targets_name_figures_that_are_measured():
    assert all(target.figure in Figures._fields for job in JOBS.values() for target in job.targets)
    assert Target("torch", 0.5).figure == "seconds"
