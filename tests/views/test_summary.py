"""SummaryWriter in programs: what it writes, read back; and that it writes nowhere without the permission."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from test_tensorboard import asked_of

from tests.fork_server import WARM_UP_ARRAYS

pytest.importorskip("tensorboardX")
ROOT = Path(__file__).resolve().parents[2]
NOTE = ROOT / "tests/recorded/seeds/note_5_cells_20_26_24_tensorboard.py"
SCRIPT = """
import math
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(3, 1)
    def forward(self, x, shift):
        return self.out(self.drop(torch.tanh(self.fc(x)))) + shift

net = Net()
with SummaryWriter("runs/exp") as w:
    w.add_graph(net, (torch.rand(4, 2), torch.ones(1)))
    for i in range(3):
        w.add_scalar("loss", torch.tensor(0.5) * i, i)
        w.add_scalars("both", {"sin": math.sin(i), "cos": math.cos(i)}, i)
        w.add_histogram("weight", torch.tensor([1.0, 2.0, 2.0, -3.0]), global_step=i)
    w.add_text("note", "**done**", 2)
    w.flush()
    print(w.log_dir, w.get_logdir(), net.training, net.drop.training)
w.add_scalar("after", 1.0)
w.close()
"""


def run(folder, text, *options, code=0, server=None):
    (folder / "script.py").write_text(text)
    args = ["run", "script.py", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    if server:
        done = server.run(args, cwd=folder, env=environment)
    else:
        command = [sys.executable, "-m", "gradtrace", *args]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=environment, timeout=120
        )
    assert done.returncode == code, done.stderr
    return done


def events(folder):
    """The events of all files of a folder, checksums compared."""
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import masked_crc32c

    found = []
    for path in sorted(Path(folder).glob("events.out.tfevents.*")):
        content, at = path.read_bytes(), 0
        while at < len(content):
            length, check = struct.unpack("<QI", content[at : at + 12])
            assert check == masked_crc32c(content[at : at + 8])
            body = content[at + 12 : at + 12 + length]
            assert struct.unpack("<I", content[at + 12 + length : at + 16 + length])[
                0
            ] == masked_crc32c(body)
            found.append(Event.FromString(body))
            at += 16 + length
    return found


def graph_in(folder):
    from tensorboardX.proto.graph_pb2 import GraphDef

    (graph,) = [GraphDef.FromString(e.graph_def) for e in events(folder) if e.graph_def]
    return {n.name: (n.op, list(n.input)) for n in graph.node}


def test_the_graph_of_the_note(tmp_path):
    """Input x, parameters w and b in the box Net, matmul then add, and the output (note_5..._tensorboard.expect.md)."""
    run(tmp_path, NOTE.read_text(encoding="utf-8"), "--allow-write", "data")
    assert graph_in(tmp_path / "data/tensorboard/2_3_autograph") == {
        "input/x": ("Input", []),
        "Net/w/w": ("Parameter", []),
        "Net/b/b": ("Parameter", []),
        "Net/op0_mm": ("mm", ["input/x", "Net/w/w"]),
        "Net/op1_add": ("add", ["Net/op0_mm", "Net/b/b"]),
        "output/output.1": ("Output", ["Net/op1_add"]),
    }


def test_what_it_writes(tmp_path):
    done = run(tmp_path, SCRIPT, "--allow-write", "runs")
    assert (done.stdout, done.stderr) == ("runs/exp runs/exp True True\n", "")
    found = events(tmp_path / "runs/exp")
    assert [e.file_version for e in found if e.file_version] == [
        "brain.Event:2"
    ] * 2  # one more after close
    values = [(e.step, v) for e in found for v in e.summary.value]
    assert [(s, v.simple_value) for s, v in values if v.tag == "loss"] == [
        (0, 0.0),
        (1, 0.5),
        (2, 1.0),
    ]
    assert [(s, v.simple_value) for s, v in values if v.tag == "after"] == [(0, 1.0)]
    (_, histogram), *more = [(s, v.histo) for s, v in values if v.tag == "weight"]
    assert len(more) == 2
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (-3.0, 2.0, 4.0, 2.0)
    assert histogram.sum_squares == 18.0 and sum(histogram.bucket) == 4.0
    (text,) = [v.tensor.string_val[0] for _, v in values if v.tag == "note/text_summary"]
    assert text == b"**done**"
    curves = {
        p.name: [v.simple_value for e in events(p) for v in e.summary.value]
        for p in (tmp_path / "runs/exp").iterdir()
        if p.is_dir()
    }
    assert (
        set(curves) == {"both_sin", "both_cos"}
        and curves["both_sin"][0] == 0.0
        and curves["both_cos"][0] == 1.0
    )
    nodes = graph_in(tmp_path / "runs/exp")
    assert {"input/x", "input/shift", "output/output.1", "Net/fc_Linear/weight/weight"} <= set(
        nodes
    )
    assert not any("dropout" in op for op, _ in nodes.values())  # the graph is that of evaluation
    assert all(one in nodes for _, inputs in nodes.values() for one in inputs)


def test_it_writes_nowhere_without_the_permission(tmp_path):
    outside = SCRIPT.replace("runs/exp", "runs/../../exp")
    for text, options in (
        (SCRIPT, ()),
        (SCRIPT, ("--allow-write", "other")),
        (outside, ("--allow-write", "runs")),
    ):
        done = run(tmp_path, text, *options)
        assert (
            "SummaryWriter writes no files here; --allow-write DIR names the folder" in done.stderr
        )
    assert (
        sorted(p.name for p in tmp_path.iterdir()) == ["script.py"]
        and not (tmp_path.parent / "exp").exists()
    )


def test_tags_lead_to_no_other_folder(tmp_path):
    text = SCRIPT.replace('"both", {"sin"', '"both", {"../../../../x"')
    done = run(tmp_path, text, "--allow-write", "runs")
    assert (
        "SummaryWriter writes no files here" in done.stderr and not (tmp_path.parent / "x").exists()
    )


@pytest.mark.parametrize(
    "call, words",
    [
        ("w.add_graph(3, x)", "add_graph takes a torch.nn.Module, not int"),
        ("w.add_graph(nn.Linear(2, 1))", "add_graph needs input_to_model"),
        ("w.add_graph(nn.Linear(3, 1), x)", "mat1 and mat2 shapes cannot be multiplied"),
        ("w.add_histogram('h', torch.ones(0))", "The input has no element."),
        ("w.add_scalar('s', x)", "elements cannot be converted to Scalar"),
        ("w.add_picture('i', x)", "'SummaryWriter' object has no attribute 'add_picture'"),
    ],
)
def test_wrong_calls(tmp_path, call, words, is_forked, fork_server):
    text = (
        "import torch\nfrom torch import nn\nfrom torch.utils.tensorboard import SummaryWriter\n"
        f"w = SummaryWriter('runs')\nx = torch.ones(1, 2)\n{call}\n"
    )
    server = fork_server(WARM_UP_ARRAYS, "tensorboardX") if is_forked else None
    done = run(tmp_path, text, "--allow-write", "runs", code=1, server=server)
    assert words in done.stderr and "script.py:6" in done.stderr and "Traceback" not in done.stderr


def test_running_tensorboards_are_listed(tmp_path):
    """The files that TensorBoard leaves for its notebooks (tensorboard/manager.py)."""
    folder = tmp_path / ".tensorboard-info"
    folder.mkdir()
    (folder / "pid-7.info").write_text(
        '{"cache_key": "", "db": "", "logdir": "runs/a", "path_prefix": "", "pid": 7, '
        '"port": 6006, "start_time": 1700000000, "version": "2.21.0"}'
    )
    (folder / "pid-8.info").write_text("{")
    text = "from tensorboard import notebook\nnotebook.list()\nnotebook.start('--logdir runs/a')\n"
    done = run(tmp_path, text)
    first, second = done.stdout.splitlines()
    assert first == "Known TensorBoard instances:"
    assert second.startswith("  - port 6006: logdir runs/a (started ") and second.endswith(
        " ago; pid 7)"
    )
    assert "tensorboard --logdir runs/a" in done.stderr and "-o graph.html" in done.stderr


def test_the_real_server_reads_it(tmp_path):
    """TensorBoard itself, over its HTTP API on loopback."""
    if shutil.which("tensorboard") is None:
        pytest.skip("tensorboard is not installed")
    run(tmp_path, SCRIPT, "--allow-write", "runs")
    with asked_of(tmp_path / "runs") as ask:
        assert '"loss"' in ask("/data/plugin/scalars/tags") and '"both"' in ask(
            "/data/plugin/scalars/tags"
        )
        assert [
            point[1:] for point in ask("/data/plugin/scalars/scalars?run=exp&tag=loss", json=True)
        ] == [
            [0, 0.0],
            [1, 0.5],
            [2, 1.0],
        ]
        assert len(ask("/data/plugin/histograms/histograms?run=exp&tag=weight", json=True)) == 3
        assert "done" in ask("/data/plugin/text/text?run=exp&tag=note/text_summary")
        graph = ask("/data/plugin/graphs/graph?run=exp&conceptual=false")
        assert 'name: "Net/fc_Linear/weight/weight"' in graph
