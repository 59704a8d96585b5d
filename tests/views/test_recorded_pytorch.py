"""A recorded step of PyTorch as its users look at it: the page of a GPT in a browser, a notebook that shows a step."""

import os
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import gradtrace.torch as gt  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
BLOCKS = 12


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        b, t, c = x.shape
        parts = self.qkv(self.ln_1(x)).split(c, dim=2)
        q, k, v = (one.view(b, t, self.heads, c // self.heads).transpose(1, 2) for one in parts)
        y = (
            nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            .transpose(1, 2)
            .reshape(b, t, c)
        )
        x = x + self.proj(y)
        return x + self.down(nn.functional.gelu(self.up(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocab=100, width=48):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(32, width)
        self.h = nn.ModuleList(Block(width, 4) for _ in range(BLOCKS))
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))


@pytest.fixture(scope="module")
def step():
    torch.manual_seed(0)
    gpt, idx = GPT(), torch.randint(0, 100, (4, 16))
    with gt.record() as r:
        loss = nn.functional.cross_entropy(gpt(idx[:, :-1]).flatten(0, 1), idx[:, 1:].flatten())
        loss.backward()
    return r


def test_twelve_equal_blocks_are_one_box(step):
    picture = step.draw()
    drawn = picture.svg()
    assert drawn.count(f">gpt.h.0 … {BLOCKS - 1}") == 1 and "gpt.h.1<" not in drawn
    assert "12 blocks" in drawn and len(picture.model.nodes) < 25


def test_the_page_of_a_gpt_is_small_and_opens_at_once(step, browser, tmp_path):
    page = tmp_path / "gpt.html"
    step.draw(page)
    assert page.stat().st_size < 1_000_000
    took = []
    for _ in range(3):  # the machine may be busy: the shortest counts
        browser.get(page.as_uri())
        assert browser.find_element("css selector", "#stage svg").size["height"] > 100
        took.append(
            browser.execute_script(
                "return performance.getEntriesByType('navigation')[0].loadEventEnd"
            )
        )
    assert 0 < min(took) < 1000
    assert browser.get_log("browser") == []


CELLS = [
    "import torch\nimport gradtrace.torch as gt\nmodel = torch.nn.Linear(3, 2)\nx = torch.ones(4, 3)",
    "with gt.record() as r:\n    loss = model(x).detach().sum() + model.bias.sum()\n    loss.backward()",
    "r",
    "print(r.why('model.weight'))",
    "gt.draw(model(x).sum())",
]


def test_a_notebook_shows_a_recorded_step(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    from nbconvert.preprocessors import ExecutePreprocessor

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    kernels = tmp_path / "kernels" / "gradtrace-tests"
    kernels.mkdir(parents=True)
    start = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (kernels / "kernel.json").write_text(
        f'{{"argv": {start}, "display_name": "tests", "language": "python"}}'
    )
    installed = Path(nbconvert.__file__).parents[4] / "share" / "jupyter"  # with the templates
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", os.pathsep.join(map(str, (tmp_path, installed))))
        patch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
        patch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
        runner = ExecutePreprocessor(timeout=120, kernel_name="gradtrace-tests")
        runner.preprocess(book, {"metadata": {"path": tmp_path}})
        html, _ = nbconvert.HTMLExporter(mathjax_url="", require_js_url="").from_notebook_node(book)
    shown = [output for cell in book.cells for output in cell.outputs]
    drawings = [
        one.data["image/svg+xml"] for one in shown if "image/svg+xml" in one.get("data", {})
    ]
    assert len(drawings) == 2 and all(">model<" in one or ">model " in one for one in drawings[:1])
    said = next(one.text for one in shown if one.get("name") == "stdout")
    assert "detach() on line 2" in said and "model(x).detach().sum()" in said
    assert html.count("data:image/svg") + html.count("<svg") >= 2
