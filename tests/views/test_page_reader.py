"""The page as a reader meets it, in Chromium: on a laptop and on a phone, in light and dark."""

import base64
import json
import re
import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from selenium_pages import LAPTOP, PHONE, click, key_of, title, visiting

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.ledger.step import step_books
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from gradtrace.trace.window import step_window
from gradtrace.views import page
from gradtrace.views.dot import DotOptions
from gradtrace.views.fold import fold
from gradtrace.views.model import model

pytestmark = pytest.mark.slow

NET = """import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))  # a line that is much longer than the panel is wide
x = torch.ones(1, 2)
loss = net(x).sum()
loss.backward()
""" + "\n".join(f"after_{i} = {i}" for i in range(40))


def written(text=NET, depth=None, style="data"):
    watch = Watch()
    run = run_program(parse(text, name="net.py"), record=Keeper, watcher=watch)
    trace = capture(run, watch=watch)
    return page.page(model(trace, style, fold(trace, depth)), DotOptions(style=style))


@pytest.fixture
def visit(browser, tmp_path):
    yield from visiting(browser, tmp_path)


def is_in_view(browser, selector):
    """Whether the element is within the window and nothing lies over its middle."""
    return browser.execute_script(
        "const e = document.querySelector(arguments[0]), r = e.getBoundingClientRect();"
        "const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);"
        "return r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth && e.contains(top)",
        selector,
    )


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_a_click_shows_details_and_they_stay_in_view(visit, size):
    browser = visit(written(), size)
    for label in ("x", "net.2.weight", "loss"):
        click(browser, key_of(browser, label))
        assert title(browser) == label and is_in_view(browser, "#details h2")
        assert browser.execute_script("return document.documentElement.scrollHeight <= innerHeight")
    assert is_in_view(browser, "#program .now")  # its line too, which scrolls the program alone


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_details_follow_the_player(visit, size):
    browser = visit(
        written(
            "import torch\nw = torch.tensor(2., requires_grad=True)\na = w * 3\ny = a + 1\ny.backward()"
        ),
        size,
    )
    said = []
    while "Done" not in browser.find_element("id", "moment").text:
        browser.find_element("id", "next").click()
        said.append(title(browser))
        assert is_in_view(browser, "#details h2")
    assert said == ["Details", "a", "y", "y", "a", "w", "Details"]


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_search_finds_what_is_folded_and_opens_it(visit, size):
    browser = visit(written(depth=0), size)
    weight = key_of(browser, "net.2.weight")
    assert not browser.find_elements("id", weight)
    box = browser.find_element("id", "search")
    box.send_keys("net.2.weight")
    assert browser.find_element("id", "found").text == "1 found, 1 folded: Enter opens"
    box.send_keys("\n")
    assert "picked" in browser.find_element("id", weight).get_attribute("class")
    assert title(browser) == "net.2.weight" and browser.find_element("id", "found").text == "1 of 1"


def test_search_tells_where_something_is_that_no_drawing_shows(visit):
    lines = ["import torch", "a0 = torch.tensor(1., requires_grad=True)"]
    browser = visit(written("\n".join(lines + [f"a{i + 1} = a{i} * 1.001" for i in range(2000)])))
    shown = browser.execute_script("return data.views.flatMap((v) => v.nodes).map((n) => n.label)")
    label = next(f"a{i}" for i in range(1000, 2000) if f"a{i}" not in shown)
    browser.find_element("id", "search").send_keys(label + "\n")
    assert (
        title(browser) == label
        and "mul 1.001, within" in browser.find_element("id", "details").text
    )


def test_links_to_a_node(visit):
    key = key_of(visit(written(depth=0)), "net.2.weight")
    for given in ("net.2.weight", key):
        browser = visit(written(depth=0), hash=f"#node={given}")
        assert title(browser) == "net.2.weight" and browser.find_elements(
            "css selector", f"#{key}.picked"
        )
    click(browser, key_of(browser, "x"))
    assert browser.execute_script("return location.hash") == f"#node={key_of(browser, 'x')}"
    browser = visit(written(), hash="#node=nothing")
    assert "not in this graph" in browser.find_element("id", "details").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_drawing_can_be_saved(visit, tmp_path, scheme):
    browser = visit(written(), scheme=scheme)
    folder = tmp_path / "saved"
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
    )
    for suffix in ("svg", "png"):
        browser.find_element("id", suffix).click()
        wait(lambda suffix=suffix: (folder / f"net.py.{suffix}").exists())
    drawing = ElementTree.fromstring((folder / "net.py.svg").read_text(encoding="utf-8"))
    assert (
        drawing.tag.endswith("svg")
        and len(list(drawing.iter("{http://www.w3.org/2000/svg}text"))) > 20
    )
    assert ("rgb(20, 23, 28)" in (folder / "net.py.svg").read_text()) == (scheme == "dark")
    image = pytest.importorskip("PIL.Image").open(folder / "net.py.png").convert("RGB")
    assert (
        image.width > 1000
        and abs(image.width / image.height - 16 / 9) < 0.01
        and len(image.getcolors(100_000)) > 20
    )
    assert image.getpixel((0, 0)) == pytest.approx(
        (20, 23, 28) if scheme == "dark" else (255, 255, 255), abs=2
    )


def wait(done):
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_keys_are_told(visit):
    browser = visit(written())
    body = browser.find_element("id", "stage")
    body.send_keys("?")
    assert is_in_view(browser, "#keys h2")
    for key in ("Space", "/", "Esc", "?", "s p"):
        assert key in [one.text for one in browser.find_elements("css selector", "#keys kbd")]
    browser.switch_to.active_element.send_keys("\ue00c")  # Escape
    assert not browser.find_element("id", "keys").is_displayed()
    browser.find_element("id", "help").click()
    browser.find_element("css selector", "#keys button").click()
    assert not browser.find_element("id", "keys").is_displayed()


def places(browser):
    """The middles of net.0's input and of the loss on the screen."""
    found = []
    for label in ("x", "loss"):
        at = browser.find_element("id", key_of(browser, label)).rect
        found.append((at["x"] + at["width"] / 2, at["y"] + at["height"] / 2))
    return found


def test_a_narrow_screen_has_it_top_down(visit):
    (x, y), (to_x, to_y) = places(visit(written()))
    assert to_x - x > abs(to_y - y)
    (x, y), (to_x, to_y) = places(visit(written(), PHONE))
    assert to_y - y > abs(to_x - x)


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_it_prints_to_one_sheet_of_paper(visit, size):
    browser = visit(written(), size)
    browser.find_element("id", "stage").send_keys("+", "+", "+")  # what is printed is the whole
    sheet = base64.b64decode(
        browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    )
    assert len(re.findall(rb"/Type\s*/Page\b", sheet)) == 1


def test_what_is_printed_is_the_whole_drawing(visit):
    browser = visit(written())
    browser.find_element("id", "stage").send_keys("+", "+", "+")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    # paper is narrow: the drawing from top to bottom takes the place of the wide one
    visit_size = {"width": 700, "height": 990, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", visit_size)
    assert browser.execute_script("return String(box) === String(home)")


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_a_drawing_that_is_too_large_begins_where_it_can_be_read(visit, size):
    lines = ["import torch", "a0 = torch.tensor(1., requires_grad=True)"]
    browser = visit(
        written("\n".join(lines + [f"a{i + 1} = a{i} * {i + 2}" for i in range(30)]), depth=9), size
    )
    height = browser.execute_script(
        "return Math.min(...[...svg.querySelectorAll('text')].map((t) => t.getBoundingClientRect().height))"
    )
    assert height >= 9 and is_in_view(browser, f"#{key_of(browser, 'a0')}")
    browser.find_element("id", "fit").click()
    assert browser.execute_script("return String(box) === String(home)")


def test_what_has_not_happened_yet_can_be_chosen(visit):
    browser = visit(written(depth=9))
    browser.find_element("id", "next").click()
    later = key_of(browser, "loss")
    assert "later" in browser.find_element("id", later).get_attribute("class")
    browser.find_element("id", "search").send_keys("loss\n")
    assert title(browser) == "loss" and browser.find_element("id", "moment").text == ""
    assert not browser.execute_script("return svg.classList.contains('playing')")


def test_keys_work_after_a_click_on_a_button(visit):
    browser = visit(written())
    browser.find_element("id", "next").click()
    browser.switch_to.active_element.send_keys("n")
    assert browser.find_element("id", "moment").text.startswith("2/")
    browser.switch_to.active_element.send_keys("?")
    assert browser.find_element("id", "keys").is_displayed()


@pytest.mark.parametrize("style", ["data", "function", "autograd"])
def test_tab_goes_along_the_graph(visit, style):
    browser = visit(written(style=style))
    order = browser.execute_script(
        "return [...document.querySelectorAll('#stage g.node')].map((n) => n.id)"
    )
    edges = browser.execute_script("return view.edges.map((e) => [e.source, e.target])")
    assert len(order) > 8 and all(
        order.index(source) < order.index(target) for source, target in edges
    )
    browser.execute_script("document.getElementById('stage').focus()")
    seen = []
    for _ in range(len(order) + 12):
        browser.switch_to.active_element.send_keys("\ue004")
        seen.append(browser.switch_to.active_element.get_attribute("id"))
    assert [key for key in seen if key in order] == order


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_long_lines_of_the_program_scroll(visit, size):
    browser = visit(written(), size)
    line = browser.find_element("css selector", "#program li:nth-child(3)")
    other = browser.find_element("css selector", "#program li:nth-child(1)")
    assert line.size["height"] == other.size["height"]
    assert browser.execute_script(
        "const s = document.getElementById('source'); return s.scrollWidth > s.clientWidth"
    )


# ---- axe-core


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The text of axe-core: npm's, or the one that the package axe-core-python has."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is not None:
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
        try:
            subprocess.run(command, capture_output=True, timeout=120, check=True)
            return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
        except (subprocess.SubprocessError, OSError):
            pass
    packed = find_spec("axe_core_python")
    if packed is None or packed.origin is None:
        pytest.skip("axe-core is not installed, and npm cannot fetch it")
    return (Path(packed.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_axe_finds_nothing_serious(visit, axe, size, scheme):
    browser = visit(written(depth=1), size, scheme)
    browser.execute_script(axe)
    assert serious(browser) == []
    browser.find_element("id", "last").click()
    browser.find_element("id", "back").click()
    click(browser, key_of(browser, "loss"))
    browser.execute_script("window.scrollTo(0, 0)")
    assert serious(browser) == []
    browser.find_element("id", "help").click()
    assert serious(browser) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_axe_finds_nothing_serious_in_a_lesson(visit, axe, size, scheme):
    watch = Watch()
    text = "x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)\ny = x * x\ny.backward()"
    run = run_program(parse("import torch\n" + text, name="s.py"), record=Keeper, watcher=watch)
    drawn = model(capture(run, watch=watch))
    browser = visit(page.page(drawn, DotOptions(), page.Lesson(predict="gradients")), size, scheme)
    browser.execute_script(axe)
    click(browser, key_of(browser, "x"))
    assert (
        browser.find_element("css selector", "#inputs input").is_enabled()
        and serious(browser) == []
    )
    browser.find_element("id", "guess-field").send_keys("3\n")
    assert "too low" in browser.find_element("id", "guess-said").text and serious(browser) == []


def serious(browser):
    found = browser.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run().then((r) => done(JSON.stringify(r.violations)))"
    )
    return [
        (one["id"], one["help"], [node["html"] for node in one["nodes"]])
        for one in json.loads(found)
        if one["impact"] in ("serious", "critical")
    ]


TRAINING = """import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(3):
    opt.zero_grad()
    loss = (w * w).sum()
    loss.backward()
    opt.step()
"""


def test_a_tab_shows_what_became_of_the_gradients(visit, axe):
    watch = Watch()
    run = run_program(parse(TRAINING, name="train.py"), record=Keeper, watcher=watch)
    trace = capture(run, watch=watch, everything=True)
    books = step_books(Ledger(Facts(trace)), 3)
    shown = model(step_window(trace, 3, False), "data")
    browser = visit(page.page(shown, DotOptions(), books=books), LAPTOP)
    assert is_in_view(browser, "#program") and not is_in_view(browser, "#books")
    browser.find_element("css selector", "#tabs button:last-child").click()
    assert is_in_view(browser, "#books") and not is_in_view(browser, "#program")
    text = browser.find_element("id", "books").text
    assert "step 3 of 3" in text
    assert "from loss (line 7); norm 1.81; used by opt; change 20.00%" in text
    browser.execute_script(axe)
    assert serious(browser) == []
