"""The page: one file that fetches nothing; and in a real browser: search, select, fold, play, no error."""

import json
import re

import pytest
import trace_samples as samples

from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from gradtrace.views import page
from gradtrace.views.dot import DotOptions
from gradtrace.views.fold import fold
from gradtrace.views.model import model
from gradtrace.views.story import story

NOTES = """
import torch
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(1.0, requires_grad=True)
a = x + w
b = w + 1
y = a * b
y.backward()
"""
NET = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
x = torch.ones(1, 2)
loss = net(x).sum()
loss.backward()
"""


def traced(text):
    watch = Watch()
    run = run_program(parse(text, name="s.py"), record=Keeper, watcher=watch)
    return capture(run, watch=watch)


def written(trace, folded=None, style="data"):
    return page.page(model(trace, style, folded or fold(trace)), DotOptions(style=style))


def data_of(text):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    )


def test_it_fetches_nothing_and_is_the_same_every_time():
    trace = traced(NOTES)
    text = written(trace)
    assert text == written(trace)
    assert "default-src 'none'" in text
    outside = re.findall(r'(?:src|href)\s*=\s*"([^"#][^"]*)"|url\(([^#)][^)]*)\)|@import', text)
    assert [a or b for a, b in outside if not (a or b).startswith("http://www.w3.org/")] == []


def test_the_story_is_the_program_then_the_engines_order():
    trace = traced(NOTES)
    moments = story(trace)
    assert [m.kind for m in moments] == ["leaves", *["forward"] * 3, *["backward"] * 5, "done"]
    assert [m.text for m in moments[1:4]] == ["a = x + w", "b = w + 1", "y = a * b"]
    backward = [m for m in data_of(written(trace))["story"] if m["kind"] == "backward"]
    assert [(m["name"], m["upstream"]) for m in backward] == [
        ("MulBackward0", ["1"]),
        ("AddBackward0", ["3"]),
        ("AddBackward0", ["2"]),
        ("AccumulateGrad", ["2"]),
        ("AccumulateGrad", ["5"]),
    ]
    assert [(s["local"], s["value"]) for s in backward[0]["sent"]] == [("2", "2"), ("3", "3")]


def test_two_passes_alternate_with_what_ran_between():
    trace = traced("""
import torch
w = torch.tensor(1.0, requires_grad=True)
a = w * 2
a.backward()
b = w * 3
b.backward()
""")
    kinds = [m.kind for m in story(trace)]
    assert kinds == [
        "leaves",
        "forward",
        "backward",
        "backward",
        "forward",
        "backward",
        "backward",
        "done",
    ]


def test_every_depth_that_fits_is_a_view():
    views = data_of(written(traced(NET)))["views"]
    assert [view["name"] for view in views] == ["depth 0", "depth 1", "everything"]
    assert [len(view["groups"]) for view in views] == [1, 3, 0]


@pytest.mark.parametrize(
    "name", ["</script><script>alert(1)</script>", "<!--", "</template>", "a & b", "\u2028"]
)
def test_no_text_gets_out_of_its_place(name):
    text = written(samples.hostile(name))
    assert "<script>alert" not in text and text.count("</script>") == 2
    assert text.count("</template>") == 2 * len(data_of(text)["views"])  # to the right, and down


# ---- in a browser


@pytest.fixture
def opened(browser, tmp_path):
    """opened(page text) -> the browser; at the end there must be no message on its console."""

    def load(text):
        (tmp_path / "g.html").write_text(text, encoding="utf-8")
        browser.get((tmp_path / "g.html").as_uri())
        return browser

    yield load
    assert browser.get_log("browser") == []


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def classes(browser, key):
    return set((browser.find_element("id", key).get_attribute("class") or "").split())


def test_search_and_select(opened):
    browser = opened(written(traced(NOTES)))
    box = browser.find_element("id", "search")
    box.send_keys("mulb")
    assert browser.find_element("id", "found").text == "2 found"
    box.send_keys("\n")
    box.clear()
    browser.find_element("id", "t1").click()
    said = browser.find_element("id", "details").text
    assert "Where its gradient comes from" in said and "AddBackward0 of a" in said
    assert {"near", "picked"} <= classes(browser, "t1")
    assert "near" in classes(browser, "t4") and "near" not in classes(browser, "t0")
    leaf = browser.find_element("id", "t1")
    assert leaf.accessible_name.split() == ["w", "value", "1", "grad", "5"]
    assert leaf.get_attribute("aria-description") == "leaf, gradient 5"


def test_fold_and_unfold(opened):
    browser = opened(written(traced(NET)))
    assert not find(browser, "#g0")
    browser.find_element("css selector", "#views option[value='0']").click()
    assert len(find(browser, "#g0")) == 1
    browser.find_element("id", "g0").click()
    assert len(find(browser, "#g2")) == 1
    assert "net" in browser.find_element("css selector", "#details h2").text


def test_one_group_at_a_time(opened):
    """One module of three is folded and unfolded; the others stay as they are."""
    browser = opened(written(traced(NET)))
    browser.find_element("css selector", "#views option[value='1']").click()
    browser.find_element("id", "g0").click()  # of the three modules, the first
    assert (
        len(find(browser, ".cover")) == 2
        and displayed(browser, "o1")
        and not displayed(browser, "o4")
    )
    assert browser.find_element("id", "views").get_attribute("value") == "own"
    cover = find(browser, ".cover")[-1]
    assert cover.get_attribute("aria-expanded") == "false" and "net.2" in cover.get_attribute(
        "aria-label"
    )
    key(browser, cover)
    assert len(find(browser, ".cover")) == 1 and displayed(browser, "o4")
    key(
        browser, next(f for f in find(browser, ".sign") if "net.0" in f.get_attribute("aria-label"))
    )
    assert (
        len(find(browser, ".cover")) == 2
        and not displayed(browser, "o1")
        and displayed(browser, "o4")
    )
    key(
        browser,
        next(f for f in find(browser, ".sign") if f.get_attribute("aria-label") == "Fold net"),
    )
    assert browser.find_element("id", "views").get_attribute("value") == "0"


def test_search_opens_what_is_folded(opened):
    browser = opened(written(traced(NET)))
    browser.find_element("css selector", "#views option[value='1']").click()
    browser.find_element("id", "g0").click()
    hidden = browser.find_element("id", "search")
    hidden.send_keys("SumBackward")
    hidden.clear()
    hidden.send_keys("net.2.weight\n")
    assert displayed(browser, "t" + str(found_tensor(browser, "net.2.weight")))


def test_search_finds_the_path_of_a_module(opened):
    blocks = "[nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)) for _ in range(3)]"
    text = f"""
import torch
from torch import nn
blocks = nn.Sequential(*{blocks})
def train():
    h = blocks(torch.ones(1, 2))
    h.sum().backward()
train()
"""
    browser = opened(written(traced(text)))
    search = browser.find_element("id", "search")
    search.send_keys("blocks.1.1")
    search.send_keys("\n\n\n")  # weight, bias, result
    assert browser.find_element("id", "found").text == "3 of 3"
    details = browser.find_element("id", "details").text
    assert details.startswith("blocks.1 output")


def test_a_folded_page_plays(opened):
    browser = opened(written(traced(NET)))
    browser.find_element("css selector", "#views option[value='1']").click()
    browser.find_element("id", "g0").click()
    browser.find_element("id", "last").click()
    assert browser.find_element("id", "moment").text.endswith("saved values are freed.")


def test_a_run_of_statements_unfolds(opened):
    browser = opened(written(samples.chain(1000)))
    browser.find_element("id", "g0").click()
    assert len(find(browser, "#o0")) == 1 and len(find(browser, "#g0")) == 1
    next(b for b in find(browser, "#details button") if b.text == "Fold again").click()
    assert not find(browser, "#o0")


def displayed(browser, key):
    """Whether no box covers it; it may lie beyond the stage's edge."""
    return "covered" not in classes(browser, key)


def key(browser, element):
    element.send_keys("\n")


def found_tensor(browser, label):
    return browser.execute_script(
        "return view.nodes.find((n) => n.label === arguments[0]).id.slice(1)", label
    )


def test_play_forward_and_backward(opened):
    browser = opened(written(traced(NOTES)))
    step = browser.find_element("id", "next")
    step.click()
    assert "later" in classes(browser, "t2") and "later" not in classes(browser, "t0")
    step.click()
    assert browser.find_element("id", "moment").text == "2/10 Forward: a = x + w"
    assert "now" in classes(browser, "t2") and "later" in classes(browser, "t4")
    for _ in range(3):
        step.click()
    assert (
        "MulBackward0 of y gets 1, sends 1 · 2 = 2 to a; 1 · 3 = 3 to b; its saved values are freed"
        in (browser.find_element("id", "moment").text)
    )
    assert "flowed" in classes(browser, "t4") and "freed" not in classes(browser, "o2")
    step.click()  # what is freed after a node has run fades, and nothing else
    assert [
        key
        for key in ("t0", "t2", "t3", "t4", "o0", "o1", "o2")
        if "freed" in classes(browser, key)
    ] == ["o2"]
    for _ in range(3):
        step.click()
    said = browser.find_element("id", "moment").text
    assert said == "9/10 Backward: w adds up 3 + 2 = 5, its grad is 5"
    assert "together\n3 + 2 = 5" in browser.find_element("id", "details").text
    browser.find_element("id", "last").click()
    assert browser.find_element("id", "moment").text.endswith("saved values are freed.")
    browser.find_element("id", "back").click()
    assert "Backward" in browser.find_element("id", "moment").text


def test_keys(opened):
    browser = opened(written(traced(NOTES)))
    stage = browser.find_element("id", "stage")
    view = "return document.querySelector('#stage svg').getAttribute('viewBox')"
    whole = browser.execute_script(view)
    stage.send_keys("+")
    assert browser.execute_script(view) != whole
    stage.send_keys("0")
    assert [float(x) for x in browser.execute_script(view).split()] == [
        float(x) for x in whole.split()
    ]
    stage.send_keys("n")
    assert browser.find_element("id", "moment").text.startswith("1/")
    stage.send_keys("/")
    assert browser.switch_to.active_element.get_attribute("id") == "search"


@pytest.mark.parametrize("style", ["function", "autograd"])
def test_other_styles_play_too(opened, style):
    browser = opened(written(traced(NOTES), style=style))
    browser.find_element("id", "last").click()
    assert not find(browser, "g.node.later")


def test_a_large_page_opens(opened):
    browser = opened(written(samples.chain(1000)))
    assert len(find(browser, "#stage g.node")) == 5


def test_the_panes_are_made_wider_and_lines_of_the_program_scroll(opened):
    actions = pytest.importorskip("selenium.webdriver").ActionChains
    browser = opened(written(traced(NOTES + f"total = {' + '.join(['y'] * 40)}\n")))
    stage, side = (browser.find_element("id", name) for name in ("stage", "side"))
    view = "return document.querySelector('#stage svg').getAttribute('viewBox')"
    whole, width = browser.execute_script(view), side.size["width"]
    x = stage.location["x"] + stage.size["width"] - 4
    y = stage.location["y"] + stage.size["height"] - 4
    drag = actions(browser)
    pointer = drag.w3c_actions.pointer_action
    pointer.move_to_location(x, y).pointer_down().move_to_location(x - 200, y).pointer_up()
    drag.perform()
    assert side.size["width"] == width + 200
    assert browser.execute_script(view) == whole  # the graph stays where it is
    lines = find(browser, "#program li")
    assert len({line.size["height"] for line in lines}) == 1
    script = (
        "const pane = document.getElementById('source'); return pane.scrollWidth > pane.clientWidth"
    )
    assert browser.execute_script(script)
