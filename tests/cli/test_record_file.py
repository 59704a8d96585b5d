"""A recorded run as a file: every command's answer from it is that from the source; damaged files are errors."""

import io
import json
import random
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from programs import FAILING, VIEW

from gradtrace.analysis import symmetries
from gradtrace.trace import file
from gradtrace.trace.record import Value

LOOP = """import torch
torch.manual_seed(0)
x = torch.randn(20, 8)
y = torch.randn(20, 1)
m = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(12):
    opt.zero_grad()
    loss = ((m(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
"""
BAD = """import torch
w = torch.tensor([3.0, 0.0, float('nan')], requires_grad=True)
n = torch.arange(4)
loss = (w.log() * 2).sum() + n.sum() / 0
loss.backward()
w.register_hook(lambda g: g * 2)
k = (w * w).sum()
k.backward()
"""
EXPRESSION = "x: data = [1, 2, 3]\nw: leaf = 2.0\n(x * w).sum() * randn(1)\n"
SOURCES = {"loop.py": LOOP, "view.py": VIEW, "bad.py": BAD, "e.txt": EXPRESSION}
COMMANDS = [
    "eval", "eval --format json", "eval --format csv", "eval --all", "trace", "trace --format jsonl", "stats",
    "stats --format json", "why", "why --format json", "graph", "graph --style autograd", "graph --style function",
    "graph --derivatives", "paths", "check", "graph --depth all", "trace --follow w",
]  # fmt: skip


@pytest.fixture
def records(here, gt):
    """record(name): the file of a program's recorded run."""

    def record(name, *args):
        (here / name).write_text(SOURCES[name])
        assert gt("graph", name, "-o", "run.gt", *args).exit_code == 0
        return "run.gt"

    return record


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [n for n in SOURCES if n != "e.txt"])
@pytest.mark.parametrize("command", COMMANDS)
def test_answers_are_those_from_the_source(gt, records, name, command):
    saved = records(name)
    ours, theirs = gt(*command.split(), name), gt(*command.split(), saved)
    assert (theirs.stdout, theirs.exit_code) == (ours.stdout, ours.exit_code)
    assert ours.stdout or ours.exit_code


@pytest.mark.sampled(5)
@pytest.mark.parametrize("command", ["eval", "trace", "stats", "why", "graph"])
@pytest.mark.parametrize("part", ["--step 1", "--step 12", "--step all", "--pass 5"])
def test_steps_are_those_from_the_source(gt, records, command, part):
    saved = records("loop.py")
    ours, theirs = gt(command, "loop.py", *part.split()), gt(command, saved, *part.split())
    assert theirs.stdout == ours.stdout and theirs.exit_code == 0


@pytest.mark.parametrize("suffix", ["svg", "html", "json", "mmd", "graphml", "txt", "dot"])
def test_pictures_are_those_from_the_source(gt, records, here, suffix):
    saved = records("loop.py")
    assert gt("graph", "loop.py", "-o", f"a.{suffix}").exit_code == 0
    assert gt("graph", saved, "-o", f"b.{suffix}").exit_code == 0
    assert (here / f"a.{suffix}").read_bytes() == (here / f"b.{suffix}").read_bytes()


def test_a_program_with_inputs_and_a_seed(answer, records):
    saved = records("e.txt", "--seed", "5", "--x", "1,2,4")
    assert answer("eval", saved) == answer("eval", "e.txt", "--seed", "5", "--x", "1,2,4")
    assert answer("check", saved) == answer("check", "e.txt", "--seed", "5", "--x", "1,2,4")
    assert answer("eval", saved, "--w", "3") == answer(
        "eval", "e.txt", "--seed", "5", "--x", "1,2,4", "--w", "3"
    )


def test_the_file_is_json_and_npy_and_always_the_same(records, here):
    first = (here / records("loop.py")).read_bytes()
    assert (here / records("loop.py")).read_bytes() == first
    with zipfile.ZipFile(io.BytesIO(first)) as file:
        document = json.loads(file.read("record.json"))
        assert (document["schema"], document["version"]) == ("gradtrace/record", 2)
        for name in file.namelist():
            assert (
                name == "record.json"
                or np.load(io.BytesIO(file.read(name)), allow_pickle=False).size
            )


def test_a_large_array_beyond_the_budget_stays_a_summary(answer, records, here):
    saved = records("loop.py", "--max-record", "0")
    assert answer("stats", saved) == answer("stats", "loop.py", "--max-record", "0")
    assert answer("trace", saved) == answer("trace", "loop.py", "--max-record", "0")


def test_a_text_file_of_that_suffix_is_still_a_program(answer, here):
    (here / "text.gt").write_text("x*x\n")
    assert answer("eval", "text.gt", "--x", "3", "--get", "x.grad") == "6.0\n"


def test_a_failed_write_leaves_the_old_file(gt, records, here, monkeypatch):
    saved = records("view.py")
    before = (here / saved).read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file, "put_table", fail)
    result = gt("run", "view.py", "-o", "run.gt")
    assert result.exit_code == 2 and "no space left" in result.stderr
    assert (here / saved).read_bytes() == before and not [
        p for p in here.iterdir() if "tmp" in p.name
    ]


# ---- run -o


def test_run_records_what_graph_records(gt, records, here):
    by_graph = (here / records("loop.py")).read_bytes()
    (here / "loud.py").write_text(LOOP + "print('loss', loss.item() < 9)\n")
    result = gt("run", "loud.py", "-o", "loud.gt")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "loss True\n", "")
    assert gt("run", "loop.py", "-o", "run.gt").exit_code == 0
    assert (here / "run.gt").read_bytes() == by_graph
    refused = gt("run", "loop.py", "-o", "run.svg")
    assert refused.exit_code == 2 and "-o" in refused.stderr and ".gt" in refused.stderr


@pytest.mark.parametrize("name", FAILING)
def test_a_program_that_fails_has_a_record(gt, here, name):
    (here / "fail.py").write_text(FAILING[name])
    bare, saved = gt("run", "fail.py"), gt("run", "fail.py", "-o", "run.gt")
    assert saved.exit_code == 1 and saved.stderr == bare.stderr
    for command in (*COMMANDS, "run"):
        ours, theirs = gt(*command.split(), "fail.py"), gt(*command.split(), "run.gt")
        assert (theirs.stdout, theirs.stderr, theirs.exit_code) == (
            ours.stdout,
            ours.stderr,
            ours.exit_code,
        ), command


def test_what_only_the_tools_own_backward_refuses_is_no_failure_of_the_program(gt, here):
    (here / "vector.py").write_text(
        "import torch\nw = torch.ones(3, requires_grad=True)\ny = w * 2\nprint('end')\n"
    )
    result = gt("run", "vector.py", "-o", "run.gt")
    assert (result.exit_code, result.stdout) == (0, "end\n")
    for command in ("eval", "why", "trace"):
        ours, theirs = gt(command, "vector.py"), gt(command, "run.gt")
        assert (theirs.stdout, theirs.exit_code) == (ours.stdout, ours.exit_code)


# ---- commands that run the recorded program again

REBOUND = (
    "x: data = [1, 2, 3]\nw: leaf = 2.0\nk: data = 1\nx = x * 2\n(x * w * k).sum() * randn(1)\n"
)


def test_inputs_are_those_that_the_run_began_with(answer, gt, here):
    (here / "e.txt").write_text(REBOUND)
    assert gt("graph", "e.txt", "--x", "1,2,4", "--w", "randn(1)", "-o", "run.gt").exit_code == 0
    first = json.loads(answer("eval", "run.gt", "--format", "json"))["tensors"]
    again = json.loads(answer("eval", "run.gt", "--format", "json", "--k", "1"))["tensors"]
    assert again == first
    gradient = next(t["grad"][0] for t in first if t["name"] == "w")
    assert f"w.grad = {gradient:.6g}" in answer("paths", "run.gt")
    assert f"{gradient:.6g}" in answer("jacobian", "run.gt")


def test_a_plan_and_a_map_take_the_recorded_inputs(answer, gt, here):
    (here / "e.txt").write_text("x: data = [1, 2, 3]\nw: leaf = 2.0\n(x * w).sum()\n")
    (here / "t.csv").write_text("w\n1\n2\n")
    assert gt("graph", "e.txt", "--x", "1,2,4,5", "-o", "run.gt").exit_code == 0
    assert answer("map", "run.gt", "--data", "t.csv").splitlines()[1] == "1,12.0,12.0"
    assert "(4,)" in answer("plan", "run.gt") and "(3,)" not in answer("plan", "run.gt")


def test_how_backward_was_called_is_recorded(answer, gt, here):
    (here / "e.txt").write_text("w: leaf = 2.0\nh = w * w\ny = h * 3\n")
    assert gt("graph", "e.txt", "--output", "h", "-o", "run.gt").exit_code == 0
    assert (
        answer("paths", "run.gt")
        == answer("paths", "e.txt", "--output", "h")
        != answer("paths", "e.txt")
    )


@pytest.mark.slow
def test_a_long_loop_runs_again_where_every_pass_is_asked_for(answer, gt, here):
    (here / "long.py").write_text(
        LOOP.replace("range(12)", "range(120)").replace("torch.manual_seed(0)\n", "")
    )
    assert gt("run", "long.py", "-o", "run.gt").exit_code == 0
    whole = json.loads(answer("trace", "run.gt", "--format", "json"))["steps"]
    assert answer("trace", "run.gt", "--format", "json") == answer(
        "trace", "run.gt", "--format", "json"
    )
    steps = json.loads(answer("stats", "run.gt", "--format", "json"))["training"]["steps"]
    values = [
        s["outputs"][0]["value"] for s in whole if s["kind"] == "forward" and s["op"] == "mean"
    ]
    assert len(steps) == 120 and [step["loss"] for step in steps] == values


def test_numbers_that_no_seed_fixes_cannot_be_drawn_again(answer, gt, here):
    text = "import torch, random\nw = torch.ones(2, requires_grad=True)\nl = (w * random.random()).sum()\n"
    (here / "r.py").write_text(text)
    assert gt("run", "r.py", "-o", "run.gt").exit_code == 0
    assert answer("eval", "run.gt") == answer("eval", "run.gt")
    refused = gt("paths", "run.gt")
    assert refused.exit_code == 2 and "so it cannot run again as it was recorded" in refused.stderr
    (here / "r.py").write_text(text.replace("w =", "random.seed(1); w ="))
    assert gt("run", "r.py", "-o", "run.gt").exit_code == 0
    assert answer("paths", "run.gt") == answer("paths", "r.py")


def test_own_modules_are_in_the_record(answer, gt, here):
    (here / "lib").mkdir()
    (here / "lib" / "parts.py").write_text(
        "import torch\n\ndef f(x):\n    return torch.relu(x) * 3\n"
    )
    (here / "main.py").write_text(
        "import torch\nfrom parts import *\nw = torch.ones(2, requires_grad=True)\nf(w).sum()\n"
    )
    commands = ("eval", "paths", "check", "trace", "jacobian")
    ours = [answer(command, "main.py", "--allow-import", "lib") for command in commands]
    assert gt("run", "main.py", "--allow-import", "lib", "-o", "run.gt").exit_code == 0
    (here / "lib" / "parts.py").unlink()
    assert [answer(command, "run.gt") for command in commands] == ours


# ---- damaged files


def edited(content, change):
    """The file with its document changed by `change(document)`."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        document = json.loads(old.read("record.json"))
    change(document)
    return replaced(content, "record.json", json.dumps(document).encode())


def rewritten(content, change):
    """The file with its whole trace changed by `change(trace)`."""
    record = file.read("run.gt", io.BytesIO(content))
    traces = {name: record.trace(name) for name in ("all", "eval", "graph", "watched")}
    changed = change(traces["all"])
    out = io.BytesIO()
    file.write(
        record.about,
        {name: changed if t is traces["all"] else t for name, t in traces.items()},
        out,
    )
    return out.getvalue()


def numbers(content, name, change):
    """The file with the numbers of a table changed by `change(array)`, which may return another array."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        array = np.load(io.BytesIO(old.read(name))).copy()
    other = change(array)
    return replaced(content, name, npy(array if other is None else other))


def each(table, index=0, **fields):
    """A change of a trace: fields of one record in a table."""

    def change(trace):
        records = list(getattr(trace, table))
        records[index] = records[index]._replace(**fields)
        return trace._replace(**{table: tuple(records)})

    return change


def replaced(content, name, data):
    """The file with another entry of this name; None leaves it out."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for known in old.namelist():
            if known != name:
                new.writestr(known, old.read(known))
        if data is not None:
            new.writestr(name, data)
    return out.getvalue()


def put(*path):
    """A change of a document: the last of `path` is set at the place that the rest names."""
    *place, last, value = path

    def change(document):
        for key in place:
            document = document[key]
        document[last] = value

    return change


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


DOCUMENTS = {
    "another schema": put("schema", "gradtrace/eval"),
    "an older version": put("version", 1),
    "a newer version": put("version", 3),
    "no version": lambda d: d.pop("version"),
    "a field that only a later version has": put("fields", "TensorRecord", 99),
    "fewer fields than have no default": put("fields", "TensorRecord", 3),
    "counts of fields as a list": put("fields", []),
    "no traces": put("variants", {}),
    "traces as a list": put("variants", []),
    "a trace that is missing": put("variants", "all", 9),
    "a trace by a negative number": put("variants", "all", -1),
    "texts that are numbers": put("texts", 0, 5),
    "too few texts": lambda d: d["texts"].clear(),
    "texts as a text": put("texts", "abc"),
    "numbers that are texts": put("numbers", ["a"]),
    "no summaries": lambda d: d.pop("summaries"),
    "an unknown dtype": put("dtype", "object"),
    "a source that is not text": put("source", "text", 5),
    "an input without a value": put("inputs", [["x", 10**9, True]]),
    "an input with too few fields": put("inputs", [["x", 0]]),
    "files that are numbers": put("files", [[1, 2]]),
    "a failure of one text": put("failure", ["no"]),
    "a state that is not hexadecimal": put("random_state", "xyz"),
    "a seed that is a text": put("seed", "1"),
    "options as a list": put("options", []),
}
TRACES = {
    "tensors out of order": lambda t: t._replace(tensors=t.tensors[::-1]),
    "an id of another": each("tensors", id=7),
    "an operation out of range": each("tensors", operation=999),
    "a function out of range": each("tensors", function=999),
    "a first version after itself": each("tensors", first=5),
    "an operand out of range": lambda t: each(
        "operations", inputs=(t.operations[0].inputs[0]._replace(tensor=4096),)
    )(t),
    "an output out of range": each("operations", outputs=(12345,)),
    "an operation without a result": each("operations", outputs=()),
    "a scope out of range": each("operations", scope=99),
    "an edge to nowhere": each("function_edges", target=999),
    "a root out of range": lambda t: t._replace(roots=(4321,)),
    "a name of no tensor": lambda t: t._replace(names=(("w", 4321),)),
    "a step of an unknown pass": each("steps", number=77),
    "a step of an unknown function": each("steps", function=777),
    "a pass out of order": each("passes", number=3),
    "a change of no tensor": each("changes", tensors=(4321,)),
    "a scope around itself": each("scopes", parent=0),
    "a training step out of range": each("training", operations=(0, 99999)),
}
TABLE = "traces/0.npy"
TABLES = {
    "a trace cut short": (TABLE, lambda a: a[:-3]),
    "a trace that goes on": (TABLE, lambda a: np.append(a, a)),
    "an empty trace": (TABLE, lambda a: a[:0]),
    "a text out of range": (TABLE, lambda a: a.__setitem__(0, 10**6)),
    "a length beyond the end": (TABLE, lambda a: a.__setitem__(2, 2**31 - 1)),
    "a negative length": (TABLE, lambda a: a.__setitem__(2, -1)),
    "floats for a table": (TABLE, lambda a: a * 1.0),
    "a table of two dimensions": (TABLE, lambda a: a[None]),
    "rows of another width": ("values.npy", lambda a: a[:, :4]),
    "an unknown type of a value": ("values.npy", lambda a: a.__setitem__((0, 0), 77)),
    "a negative type": ("values.npy", lambda a: a.__setitem__((0, 0), -1)),
    "a shape out of range": ("values.npy", lambda a: a.__setitem__((0, 1), 999)),
    "a chunk that is missing": ("values.npy", lambda a: a.__setitem__((0, 2), 999)),
    "a summary that is missing": ("values.npy", lambda a: a.__setitem__((0, 2), -1)),
    "a place beyond the end": ("values.npy", lambda a: a.__setitem__((0, 3), 10**9)),
    "a negative place": ("values.npy", lambda a: a.__setitem__((0, 3), -8)),
    "too few values": ("values.npy", lambda a: a[:1]),
    "too many groups": ("tables.npy", lambda a: a.__setitem__(0, 10**6)),
    "no tables": ("tables.npy", lambda a: a[:0]),
}
BYTES = {
    "empty after its start": lambda c: c[:4],
    "half of it": lambda c: c[: len(c) // 2],
    "without its end": lambda c: c[:-30],
    "no document": lambda c: replaced(c, "record.json", None),
    "a document that is not JSON": lambda c: replaced(c, "record.json", b"{"),
    "a document of nothing but brackets": lambda c: replaced(c, "record.json", b"[" * 200_000),
    "a document that is not UTF-8": lambda c: replaced(c, "record.json", b"\xff\xfe"),
    "a huge number": lambda c: replaced(c, "record.json", b"9" * 100_000),
    "an array left out": lambda c: replaced(c, "arrays/0.npy", None),
    "an array that is none": lambda c: replaced(c, "arrays/0.npy", b"no array"),
    "a pickle": lambda c: replaced(
        c, "arrays/0.npy", npy(np.array([{"a": 1}], object), allow_pickle=True)
    ),
    "another type": lambda c: replaced(c, "arrays/0.npy", npy(np.array([1 + 2j]))),
    "texts": lambda c: replaced(c, "arrays/0.npy", npy(np.array(["a", "b"]))),
    "an array cut short": lambda c: replaced(c, "arrays/0.npy", npy(np.ones(8))[:-8]),
    "an array that promises more": lambda c: replaced(
        c, "arrays/0.npy", npy(np.ones(8)).replace(b"(8,), ", b"(8000000000000,), ")[:190]
    ),
    "another entry": lambda c: replaced(c, "../../evil.py", b"print('out')"),
    "a bit flipped in an array": lambda c: (
        c[: c.index(b"NUMPY") + 90] + b"\x7f" + c[c.index(b"NUMPY") + 91 :]
    ),
}


def damaged(content, how):
    if how in DOCUMENTS:
        return edited(content, DOCUMENTS[how])
    if how in TRACES:
        return rewritten(content, TRACES[how])
    return numbers(content, *TABLES[how]) if how in TABLES else BYTES[how](content)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("how", [*DOCUMENTS, *TRACES, *TABLES, *BYTES])
def test_a_damaged_file_is_an_error_with_its_name(gt, records, here, how):
    content = (here / records("loop.py")).read_bytes()
    (here / "bad.gt").write_bytes(damaged(content, how))
    for command in ("trace", "stats", "why"):
        result = gt(command, "bad.gt")
        assert result.exit_code == 2 and result.stdout == "", result.stdout[:200]
        assert (
            result.stderr.startswith("gradtrace")
            and "bad.gt: not a record of a run:" in result.stderr
        )


def test_flipped_bytes_never_show_a_traceback(gt, records, here):
    content = bytearray((here / records("view.py")).read_bytes())
    chance = random.Random(0)
    for _ in range(60):
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 4))):
            changed[chance.randrange(4, len(changed))] = chance.randrange(256)
        (here / "bad.gt").write_bytes(changed)
        result = gt("trace", "bad.gt")
        assert result.exit_code in (0, 2), result.stderr


@pytest.mark.parametrize(
    "name",
    [TABLE, *(pytest.param(n, marks=pytest.mark.slow) for n in ("values.npy", "tables.npy"))],
)
def test_random_numbers_never_show_a_fault(gt, records, here, name):
    content = (here / records("view.py")).read_bytes()
    chance = random.Random(1)

    def somewhere(array):
        array.flat[chance.randrange(array.size)] = chance.choice(
            (0, 1, 3, -1, -7, 50, 10**6, 2**31 - 1)
        )

    for _ in range(80):
        (here / "bad.gt").write_bytes(numbers(content, name, somewhere))
        for command in ("trace", "stats", "why"):
            result = gt(command, "bad.gt")
            assert result.exit_code != 70, result.stderr


def test_a_gradient_of_another_size_than_its_parameter_is_no_fault():
    """A damaged record can have one, where three equal parts are looked for in it."""
    left = Value((4,), "float64", np.ones(4))
    facts = SimpleNamespace(visits_of=lambda record: [SimpleNamespace(grad_after=left)])
    assert symmetries.keys_cancel(facts, SimpleNamespace(id=0, shape=(3,))) == ""


def test_a_record_whose_parts_do_not_fit_together_is_an_error(gt, records, here):
    """The weight of the first layer has after its updates the value of another tensor."""

    def change(trace):
        foreign = next(t.value for t in trace.tensors if t.value.shape == (20, 8))
        swapped = [
            t._replace(value=foreign) if t.first != t.id and t.value.shape == (12, 8) else t
            for t in trace.tensors
        ]
        return trace._replace(tensors=tuple(swapped))

    (here / "bad.gt").write_bytes(rewritten((here / records("loop.py")).read_bytes(), change))
    result = gt("stats", "bad.gt")
    assert result.exit_code == 2 and "the record is damaged, or this is a fault" in result.stderr, (
        result
    )


def test_a_bomb_is_refused_before_it_is_unpacked(gt, records, here):
    content = (here / records("view.py")).read_bytes()
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
        with new.open("arrays/99.npy", "w") as entry:
            for _ in range(300):
                entry.write(bytes(1 << 20))
    (here / "bomb.gt").write_bytes(out.getvalue())
    assert len(out.getvalue()) < 1 << 20
    result = gt("eval", "bomb.gt")
    assert result.exit_code == 2 and "far more than the file's" in result.stderr


def test_at_least_forty_damaged_files():
    assert len(DOCUMENTS) + len(TRACES) + len(TABLES) + len(BYTES) >= 40
