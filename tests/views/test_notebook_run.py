"""A notebook run by nbconvert, as a reader would: its HTML, opened in Chromium, shows the drawings and plays."""

import os
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

pytestmark = pytest.mark.slow

CELLS = [
    "import gradtrace as torch\nfrom gradtrace import nn\n%load_ext gradtrace",
    "x = torch.tensor(2.0, requires_grad=True)\nw = torch.tensor(1.0, requires_grad=True)\n"
    "a = x + w\nb = w + 1\ny = a * b",
    "torch.draw(y)",
    "torch.draw(y, style='function')",
    "torch.draw(y, style='autograd')",
    "torch.page(y)",
    "torch.why(w, y)",
    "torch.stats(y)",
    "torch.steps(y)",
    "%%gradtrace why w\nimport torch\nw = torch.tensor(1.0, requires_grad=True)\n"
    "v = torch.tensor(1.0, requires_grad=True)\nloss = w.detach() * v\nloss.backward()\n",
    "%%gradtrace eval\nx * w + 3",
    "%%gradtrace graph\nx * w + 3",
    "%%gradtrace page\nx * w + 3",
    "%gradtrace eval 'x * 2' --x 3",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The notebook after it was run, and its HTML file."""
    from nbconvert.preprocessors import ExecutePreprocessor

    folder = tmp_path_factory.mktemp("notebook")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    kernels = folder / "kernels" / "gradtrace-tests"
    kernels.mkdir(parents=True)
    start = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (kernels / "kernel.json").write_text(
        f'{{"argv": {start}, "display_name": "tests", "language": "python"}}'
    )
    with pytest.MonkeyPatch.context() as patch:
        installed = Path(nbconvert.__file__).parents[4] / "share" / "jupyter"  # with the templates
        patch.setenv("JUPYTER_PATH", os.pathsep.join(map(str, (folder, installed))))
        patch.setenv("JUPYTER_DATA_DIR", str(folder))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        ExecutePreprocessor(timeout=120, kernel_name="gradtrace-tests").preprocess(
            book, {"metadata": {"path": folder}}
        )
        html, _ = nbconvert.HTMLExporter(mathjax_url="", require_js_url="").from_notebook_node(book)
    file = folder / "notebook.html"
    file.write_text(html, encoding="utf-8")
    return book, file


def data(book, start):
    """What the cell that begins so gave, by MIME type."""
    cell = next(cell for cell in book.cells if cell.source.startswith(start))
    return next(output.data for output in cell.outputs if "data" in output)


def test_every_style_draws_values_under_the_notebooks_names(run):
    for start in (
        "torch.draw(y)",
        "torch.draw(y, style='function')",
        "torch.draw(y, style='autograd')",
    ):
        svg = data(run[0], start)["image/svg+xml"]
        assert ">x<" in svg and ">w<" in svg and svg.count('class="edge"') >= 4
    text = data(run[0], "torch.draw(y)")["text/plain"]
    assert text.splitlines()[0] == "y   6   MulBackward0" and "├─ a   3   AddBackward0" in text


def test_answers_are_rich_and_plain(run):
    assert "the loss depends on it" in data(run[0], "torch.why")["text/html"]
    assert "depth 3, width 2" in data(run[0], "torch.stats")["text/plain"]
    assert "sum: 3 + 2, from b, a" in data(run[0], "torch.steps")["text/html"]


def test_a_cell_is_a_program(run):
    assert "detach()" in data(run[0], "%%gradtrace why")["text/plain"]
    assert "5" in data(run[0], "%%gradtrace eval")["text/plain"]
    assert "<svg" in data(run[0], "%%gradtrace graph")["image/svg+xml"]
    assert "6" in data(run[0], "%gradtrace eval")["text/plain"]


def test_its_html_shows_drawings_and_plays(run, browser):
    browser.get(run[1].as_uri())
    drawings = browser.find_elements("css selector", "img[src^='data:image/svg']")
    assert len(drawings) == 4 and all(
        img.size["width"] > 100 and img.size["height"] > 50 for img in drawings
    )
    frames = browser.find_elements("css selector", "iframe")
    assert len(frames) == 2
    for frame, moments in zip(frames, ("9/10", "/")):
        browser.execute_script("arguments[0].scrollIntoView()", frame)
        browser.switch_to.frame(frame)
        assert browser.find_element("css selector", "#stage svg").size["height"] > 100
        browser.find_element("id", "last").click()
        browser.find_element("id", "back").click()
        assert moments in browser.find_element("id", "moment").text
        browser.switch_to.default_content()
    assert [entry for entry in browser.get_log("browser") if "unpkg" not in entry["message"]] == []
