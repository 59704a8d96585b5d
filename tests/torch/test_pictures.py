"""Pictures of recorded models show what the loss was computed from: no initialisation, no data loading, no metrics."""

import json
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

READABLE = 10  # pixels of the smallest text in a frame of 1,600 by 900
STEP = """
images, labels = torch.randint(0, 256, (2, 3, {size}, {size})), torch.randint(0, 10, (2,))
images = (images.float() / 255 - 0.5) / 0.25
logits = model(images)
loss = nn.functional.cross_entropy(logits, labels)
accuracy = (logits.argmax(1) == labels).float().mean()
opt.zero_grad()
loss.backward()
opt.step()
"""
EVALUATION = """
model.eval()
with torch.no_grad():
    held_out = model(images[:1].clone())
    error = nn.functional.cross_entropy(held_out, labels[:1])
"""
HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
"""
OPTIMIZER = "opt = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
# what torchvision's Python part, which timm imports, expects of its compiled part: not every build of PyTorch loads it
TORCHVISION = """
try:
    import torchvision
except RuntimeError:
    torch.library.define("torchvision::nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    torch.library.define("torchvision::qnms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""
TIMM = {
    "vit": ("vit_tiny_patch16_224", "img_size=64", 64),
    "swin": ("swin_tiny_patch4_window7_224", "embed_dim=24", 224),
    "convnext": ("convnext_atto", "", 64),
}
OWN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 8)
        self.norm = nn.LayerNorm(8)
        self.last = nn.Linear(8, 10)
        self.scale = nn.Parameter(torch.empty(8))
        self.register_buffer("mask", (torch.arange(8) % 3 > 0).float() * 2)
        nn.init.trunc_normal_(self.first.weight, std=0.02)
        nn.init.zeros_(self.first.bias)
        nn.init.kaiming_uniform_(self.last.weight)
        self.last.bias.data.fill_(0.1)
        self.norm.weight.data = torch.ones(8) * 0.9
        with torch.no_grad():
            self.scale.uniform_(0, 1).mul_(0.5).add_(0.75).clamp_(0.8, 1.2)
            self.norm.bias.copy_(torch.linspace(0, 1, 8))
            self.last.weight[0] = 0
    def forward(self, x):
        return self.last(torch.tanh(self.norm(self.first(x.flatten(1))) * self.scale * self.mask))
source, model = Net(), Net()
model.load_state_dict(source.state_dict())
"""
INITIALISES = r"(erfinv|mul|add|clamp|uniform|normal|fill|copy|zero)_$"


def gradtrace(folder, *args):
    command = [sys.executable, "-m", "gradtrace", *args]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def recorded(folder, text):
    """Record a script; return the nodes of its picture."""
    (folder / "train.py").write_text(text)
    gradtrace(folder, "graph", "--engine", "torch", "train.py", "-o", "run.gt")
    return drawn(folder)


def drawn(folder, *options):
    gradtrace(folder, "graph", "run.gt", "-o", "run.json", *options)
    return json.loads((folder / "run.json").read_text())["nodes"]


def smallest(svg):
    width, height = map(
        float, re.search(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg).groups()
    )
    return min(1600 / width, 900 / height) * min(
        map(float, re.findall(r'font-size="([\d.]+)"', svg))
    )


def labels(nodes, kind="tensor"):
    return [node["label"] for node in nodes if node["kind"] == kind]


def loop(text, count=2):
    return f"for step in range({count}):\n" + "".join(
        f"    {line}\n" for line in text.strip().splitlines()
    )


@pytest.fixture(
    scope="module",
    params=[(name, steps) for name in TIMM for steps in (1, 2)],
    ids=lambda p: f"{p[0]}_{p[1]}",
)
def timm_run(request, tmp_path_factory):
    """A folder with the record of a training script, of one step or of two, and the nodes of its picture."""
    find_timm()
    name, steps = request.param
    model, options, size = TIMM[name]
    create = f"import timm\nmodel = timm.create_model({model!r}, num_classes=10, {options})\n"
    step = STEP.format(size=size)
    folder = tmp_path_factory.mktemp(f"{name}_{steps}")
    body = step if steps == 1 else loop(step, steps)
    return folder, recorded(folder, HEAD + TORCHVISION + create + OPTIMIZER + body + EVALUATION)


def find_timm():
    import importlib.util

    for library in ("timm", "torchvision"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")


def test_a_model_of_timm_is_drawn_from_its_input_to_its_loss(timm_run):
    _, nodes = timm_run
    shown = labels(nodes)
    assert {"images", "labels", "loss"} <= set(shown)
    assert not [
        label for label in shown if "accuracy" in label or "held_out" in label or "version" in label
    ]
    assert sum(node["kind"] == "tensor" for node in nodes) < 25
    assert not [node for node in nodes if re.search(INITIALISES, node["label"])]


@pytest.mark.parametrize("style", ["data", "function", "autograd"])
def test_the_text_of_a_timm_picture_is_readable(timm_run, style):
    folder, _ = timm_run
    gradtrace(folder, "graph", "run.gt", "-o", "run.svg", "--style", style)
    assert smallest((folder / "run.svg").read_text()) >= READABLE


def test_a_timm_picture_shows_the_gradients_of_initialised_parameters(timm_run):
    folder, _ = timm_run
    gradtrace(folder, "graph", "run.gt", "-o", "run.svg")
    assert not re.findall(r">[^<>]*grad None[^<>]*</text>", (folder / "run.svg").read_text())


def test_the_page_of_a_timm_model_is_fitted(timm_run):
    """A page opens with the whole drawing, if its text is readable then on a screen of 1,600 by 1,200 pixels."""
    folder, _ = timm_run
    gradtrace(folder, "page", "run.gt", "-o", "run.html")
    width, height = map(
        float,
        re.search(
            r'viewBox=\\?"0.00 0.00 ([\d.]+) ([\d.]+)', (folder / "run.html").read_text()
        ).groups(),
    )
    assert 9 * min(1600 / width, 1200 / height) >= READABLE


@pytest.fixture(scope="module", params=["once", "loop", "loop and evaluation"])
def own_run(request, tmp_path_factory):
    step = STEP.format(size=2)
    body = step if request.param == "once" else loop(step, 3)
    tail = EVALUATION if request.param != "loop" else ""
    folder = tmp_path_factory.mktemp("own")
    return folder, recorded(folder, HEAD + OWN + OPTIMIZER + body + tail)


def test_initialisation_data_loading_and_metrics_are_not_drawn(own_run):
    _, nodes = own_run
    leaves = {node["label"] for node in nodes if node["kind"] == "tensor" and node.get("is_leaf")}
    parameters = {
        f"model.{part}.{of}" for part in ("first", "norm", "last") for of in ("weight", "bias")
    }
    assert leaves - {"x.flatten(1)", "x.flatten(1) #1"} == {
        "images",
        "labels",
        "model.scale",
        "model.mask",
        *parameters,
    }
    assert not [node for node in nodes if re.search(INITIALISES, node["label"])]
    assert not {"accuracy", "held_out", "error"} & set(labels(nodes))


def test_what_a_picture_leaves_out_is_told_and_drawn_on_request(own_run):
    folder, nodes = own_run
    more = drawn(folder, "--depth", "all")
    assert len(more) >= len(nodes)


def test_results_that_the_loss_does_not_depend_on_are_named(tmp_path):
    recorded(tmp_path, HEAD + OWN + OPTIMIZER + STEP.format(size=2) + EVALUATION)
    said = gradtrace(tmp_path, "graph", "run.gt", "-o", "run.svg")
    assert (
        "not drawn, as loss does not depend on it: accuracy, held_out, error; --depth all draws everything"
        in said
    )
    assert "accuracy" in labels(drawn(tmp_path, "--depth", "all"))


def test_a_part_has_the_gradients_of_the_versions_that_forward_read(tmp_path):
    """An initialisation in place makes versions of a leaf, which have no gradient."""
    text = "w = torch.zeros(2, requires_grad=True)\nwith torch.no_grad():\n    w.add_(1).mul_(3)\n"
    text += "opt = torch.optim.SGD([w], lr=0.1)\n" + loop(
        "loss = (w ** 2).sum()\nopt.zero_grad()\nloss.backward()\nopt.step()"
    )
    nodes = recorded(tmp_path, HEAD + text)
    w = next(node for node in nodes if node["label"] == "w")
    assert w["grad"] == pytest.approx([4.8, 4.8])


def test_a_large_graph_without_a_recording_is_folded_by_modules():
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 8), torch.nn.Linear(16, 1))
    loss = model(torch.randn(2, 4, 16)).square().mean()
    loss.backward()
    drawing = gt.draw(loss)
    text = str(drawing)
    assert "TransformerEncoderLayer" in text
    assert "Linear" in text
    assert len(text.splitlines()) < 60
    width, height = re.search(r'width="(\d+)pt" height="(\d+)pt"', drawing.svg()).groups()
    assert int(width) < 1600
    assert int(height) < 1600
