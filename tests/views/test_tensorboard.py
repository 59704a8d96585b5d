"""TensorBoard's event file: names it takes, unique, no dangling input, the structure of the module."""

import re
import shutil
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from json import loads
from pathlib import Path

import pytest
import trace_samples as samples

from gradtrace.errors import RenderError, UsageError
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.views import tensorboard

pytest.importorskip("tensorboardX")

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, 1))
        self.b = nn.Parameter(torch.zeros(1, 1))
    def forward(self, x):
        y = x@self.w + self.b
        return y
net = Net()
x = torch.rand(10, 2)
y = net(x)
"""


def graph_of(folder):
    """The graph in the only event file of a folder: {name: (op, inputs, shapes, attributes)}."""
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.graph_pb2 import GraphDef

    (path,) = Path(folder).glob("events.out.tfevents.*")
    content, at, graphs = path.read_bytes(), 0, []
    while at < len(content):
        (length,) = struct.unpack("<Q", content[at : at + 8])
        event = Event.FromString(content[at + 12 : at + 12 + length])
        at += 16 + length
        if event.graph_def:
            graphs.append(GraphDef.FromString(event.graph_def))
    (graph,) = graphs
    assert len({n.name for n in graph.node}) == len(graph.node)
    return {n.name: n for n in graph.node}


def shape(node):
    (found,) = node.attr["_output_shapes"].list.shape
    return [dim.size for dim in found.dim]


def traced(text):
    run = run_program(parse(text, name="s.py"), record=Keeper)
    return capture(run)


def test_the_module_of_the_note(tmp_path):
    tensorboard.write(traced(NET), str(tmp_path / "runs"))
    nodes = graph_of(tmp_path / "runs")
    found = {n.name: (n.op, list(n.input), shape(n)) for n in nodes.values()}
    assert found == {
        "input/x": ("Input", [], [10, 2]),
        "net_Net/w/w": ("Parameter", [], [2, 1]),
        "net_Net/b/b": ("Parameter", [], [1, 1]),
        "net_Net/op0_mm": ("mm", ["input/x", "net_Net/w/w"], [10, 1]),
        "net_Net/op1_add": ("add", ["net_Net/op0_mm", "net_Net/b/b"], [10, 1]),
        "output/y": ("Output", ["net_Net/op1_add"], [10, 1]),
    }
    assert nodes["net_Net/op1_add"].attr["grad_fn"].s == b"AddBackward0"


@pytest.mark.parametrize("name", ["a:b", "x y", "日本", "", "/", "a/b", "w" * 5000])
def test_names_are_what_tensorboard_takes(tmp_path, name):
    tensorboard.write(samples.hostile(name), str(tmp_path))
    nodes = graph_of(tmp_path)
    for node in nodes.values():
        assert all(
            part and part[0] not in "_-" and ":" not in part for part in node.name.split("/")
        )
        assert node.name.isascii() and set(node.input) <= set(nodes)
        assert all(len(value.s) < 1024 for value in node.attr.values())


def test_a_long_chain(tmp_path):
    tensorboard.write(samples.chain(2000), str(tmp_path))
    nodes = graph_of(tmp_path)
    assert len(nodes) == 2002
    assert all(input in nodes for node in nodes.values() for input in node.input)


def test_without_tensorboardx(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(RenderError, match="needs tensorboardX") as caught:
        tensorboard.write(samples.notes(), str(tmp_path))
    assert "gradtrace[tensorboard]" in caught.value.hint


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write into"):
        tensorboard.write(samples.notes(), str(tmp_path / "file"))


def test_the_real_server_takes_it(tmp_path):
    """TensorBoard itself, over its HTTP API on loopback."""
    if shutil.which("tensorboard") is None:
        pytest.skip("tensorboard is not installed")
    tensorboard.write(traced(NET), str(tmp_path / "net"))
    with asked_of(tmp_path) as ask:
        said = ask("/data/plugin/graphs/graph?run=net&conceptual=false")
    names = re.findall(r'^  name: "(.*)"$', said, re.MULTILINE)
    assert sorted(names) == sorted(
        ["input/x", "net_Net/w/w", "net_Net/b/b", "net_Net/op0_mm", "net_Net/op1_add", "output/y"]
    )


@contextmanager
def asked_of(folder):
    """A TensorBoard of a folder; what it is asked is answered once it has read it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        shutil.which("tensorboard"),
        "--logdir",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--load_fast",
        "false",
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(path, json=False):
        said = answer_of(f"http://127.0.0.1:{port}{path}")
        return loads(said) if json else said

    try:
        yield ask
    finally:
        server.terminate()
        server.wait(30)


def answer_of(address):
    """The answer, once the server has read the folder."""
    for _ in range(60):
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                said = answer.read().decode()
            if said.strip() not in ("{}", "[]"):
                return said
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.5)
    raise AssertionError("no answer from tensorboard")
