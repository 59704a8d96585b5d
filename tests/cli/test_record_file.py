"""A recorded run as a file: every command's answer from it is that from the source; damaged files are errors."""

import io
import json
import random
import zipfile
from contextlib import suppress

import numpy as np
import pytest

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
VIEW = """import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = w[0]
loss = v * 3
loss.backward()
with torch.no_grad():
    w *= 100
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


@pytest.mark.parametrize("name", [n for n in SOURCES if n != "e.txt"])
@pytest.mark.parametrize("command", COMMANDS)
def test_answers_are_those_from_the_source(gt, records, name, command):
    saved = records(name)
    ours, theirs = gt(*command.split(), name), gt(*command.split(), saved)
    assert (theirs.stdout, theirs.exit_code) == (ours.stdout, ours.exit_code)
    assert ours.stdout or ours.exit_code


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
    assert answer("eval", saved, "--w", "3") == answer("eval", "e.txt", "--seed", "5", "--x", "1,2,4", "--w", "3")


def test_the_file_is_json_and_npy_and_always_the_same(records, here):
    first = (here / records("loop.py")).read_bytes()
    assert (here / records("loop.py")).read_bytes() == first
    with zipfile.ZipFile(io.BytesIO(first)) as file:
        names = file.namelist()
        document = json.loads(file.read("record.json"))
        assert (document["schema"], document["version"]) == ("gradtrace/record", 1)
        for name in (n for n in names if n.startswith("arrays/")):
            assert np.load(io.BytesIO(file.read(name)), allow_pickle=False) is not None


def test_a_large_array_beyond_the_budget_stays_a_summary(answer, records, here):
    saved = records("loop.py", "--max-record", "0")
    assert answer("stats", saved) == answer("stats", "loop.py", "--max-record", "0")
    assert answer("trace", saved) == answer("trace", "loop.py", "--max-record", "0")


def test_a_text_file_of_that_suffix_is_still_a_program(answer, here):
    (here / "text.gt").write_text("x*x\n")
    assert answer("eval", "text.gt", "--x", "3", "--get", "x.grad") == "6.0\n"


def test_a_failed_write_leaves_the_old_file(gt, records, here):
    saved = records("view.py")
    before = (here / saved).read_bytes()
    (here / "fail.py").write_text("import torch\nx = torch.ones(2)\nx @ torch.ones(3)\n")
    assert gt("graph", "fail.py", "-o", "run.gt").exit_code == 1
    assert (here / saved).read_bytes() == before and not [p for p in here.iterdir() if "tmp" in p.name]


# ---- damaged files


def edited(content, change):
    """The file with its document changed by `change(document)`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "record.json":
                document = json.loads(data)
                trace = f"traces/{document['variants']['all']}.json"
                document["traces"] = {"all": json.loads(old.read(trace))}
                change(document)
                changed = document.pop("traces", None)
                data = json.dumps(document).encode()
            elif name == trace:
                data = json.dumps(changed["all"]).encode()
            new.writestr(name, data)
    return out.getvalue()


def replaced(content, name, data):
    """The file with another entry of this name; None leaves it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
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


ALL = ("traces", "all")
DOCUMENTS = {
    "another schema": put("schema", "gradtrace/eval"),
    "a newer version": put("version", 2),
    "no version": lambda d: d.pop("version"),
    "no traces": put("variants", {}),
    "traces as a list": put("variants", []),
    "a trace that is missing": put("variants", "all", 9),
    "a trace of the wrong length": lambda d: d["traces"]["all"].pop(),
    "a text for the tensors": put(*ALL, 2, "tensors"),
    "tensors out of order": lambda d: d["traces"]["all"][2].reverse(),
    "a tensor with too few fields": lambda d: d["traces"]["all"][2][0].pop(),
    "a negative id": put(*ALL, 2, 0, 0, -1),
    "a huge id": put(*ALL, 2, 0, 0, 10**30),
    "a name that is a number": put(*ALL, 2, 0, 2, 7),
    "a flag that is a number": put(*ALL, 2, 0, 7, 1),
    "a value out of range": put(*ALL, 2, 0, 12, 10**6),
    "a function out of range": put(*ALL, 2, 0, 6, 999),
    "an operand out of range": put(*ALL, 3, 0, 3, 0, 0, 4096),
    "an output out of range": put(*ALL, 3, 0, 4, [12345]),
    "an operation without a result": put(*ALL, 3, 0, 4, []),
    "an edge to nowhere": put(*ALL, 5, 0, 1, 999),
    "a root out of range": put(*ALL, 6, [4321]),
    "a step of an unknown pass": put(*ALL, 11, 0, 0, 77),
    "a step of an unknown function": put(*ALL, 11, 0, 1, 777),
    "a group out of range": put(*ALL, 14, 0, 1, 99),
    "a scope around itself": put(*ALL, 10, [[0, 0, "loop", "x", "", None, None]]),
    "a training step out of range": put(*ALL, 17, 0, 1, [0, 99999]),
    "a span that is a text": put(*ALL, 3, 0, 7, "line 3"),
    "a value without a type": put("values", 0, [[], None, 1.0, None]),
    "a value of another shape": lambda d: d["values"].__setitem__(0, [[3], "float32", 0, None]),
    "a summary with too few facts": lambda d: d["values"].__setitem__(0, [[9], "float32", None, [1]]),
    "a group of texts": lambda d: d["groups"].append(["a"]),
    "an unknown dtype": put("dtype", "object"),
    "a source that is no text": put("source", "text", 5),
}
BYTES = {
    "empty after its start": lambda c: c[:4],
    "half of it": lambda c: c[: len(c) // 2],
    "without its end": lambda c: c[:-30],
    "no document": lambda c: replaced(c, "record.json", None),
    "a document that is no JSON": lambda c: replaced(c, "record.json", b"{"),
    "a document of nothing but brackets": lambda c: replaced(c, "record.json", b"[" * 200_000),
    "a document that is not UTF-8": lambda c: replaced(c, "record.json", b"\xff\xfe"),
    "a huge number": lambda c: replaced(c, "record.json", b"9" * 100_000),
    "an array left out": lambda c: replaced(c, "arrays/0.npy", None),
    "an array that is none": lambda c: replaced(c, "arrays/0.npy", b"no array"),
    "a pickle": lambda c: replaced(c, "arrays/0.npy", npy(np.array([{"a": 1}], object), allow_pickle=True)),
    "another type": lambda c: replaced(c, "arrays/0.npy", npy(np.array([1 + 2j]))),
    "texts": lambda c: replaced(c, "arrays/0.npy", npy(np.array(["a", "b"]))),
    "an array cut short": lambda c: replaced(c, "arrays/0.npy", npy(np.ones(8))[:-8]),
    "an array that promises more": lambda c: replaced(
        c, "arrays/0.npy", npy(np.ones(8)).replace(b"(8,), ", b"(8000000000000,), ")[:190]
    ),
    "another entry": lambda c: replaced(c, "../../evil.py", b"print('out')"),
    "a bit flipped in an array": lambda c: c[: c.index(b"NUMPY") + 90] + b"\x7f" + c[c.index(b"NUMPY") + 91 :],
}


@pytest.mark.parametrize("how", [*DOCUMENTS, *BYTES])
def test_a_damaged_file_is_an_error_with_its_name(gt, records, here, how):
    content = (here / records("loop.py")).read_bytes()
    damaged = edited(content, DOCUMENTS[how]) if how in DOCUMENTS else BYTES[how](content)
    (here / "bad.gt").write_bytes(damaged)
    for command in ("trace", "stats", "why"):
        result = gt(command, "bad.gt")
        assert result.exit_code == 2 and result.stdout == "", result.stdout[:200]
        assert result.stderr.startswith("gradtrace") and "bad.gt: not a record of a run:" in result.stderr


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


def test_random_documents_never_show_a_fault(gt, records, here):
    content = (here / records("view.py")).read_bytes()
    chance = random.Random(1)

    def somewhere(one):
        while isinstance(one, list) and one and (isinstance(one[0], list) or chance.random() < 0.7):
            place = chance.randrange(len(one))
            if not isinstance(one[place], list) or chance.random() < 0.2:
                one[place] = chance.choice((None, 0, 3, -1, "x", True, [], [0], 1e308, [[]], 10**9))
                return
            one = one[place]

    for _ in range(120):
        with suppress(IndexError):
            (here / "bad.gt").write_bytes(edited(content, lambda d: somewhere(d["traces"]["all"])))
        for command in ("trace", "stats", "why"):
            result = gt(command, "bad.gt")
            assert result.exit_code != 70, result.stderr


def test_a_bomb_is_refused_before_it_is_unpacked(gt, records, here):
    content = (here / records("view.py")).read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
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
    assert len(DOCUMENTS) + len(BYTES) >= 40
