"""Pages for lessons in Chromium: inputs to change, derivations to check, numbers to guess; and how a page opens."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from selenium_pages import LAPTOP, PHONE, click, key_of, title, visiting

pytestmark = pytest.mark.slow

NOTES = "x: leaf = 2.\nw: leaf = 1.\na = x + w\nb = w + 1\ny = a * b\n"
MANY = """x: leaf = 0.5
w: leaf = 1.25
a = sin(x) * cos(w) + tan(x) / w - tanh(x) + exp(-x) * expm1(w)
b = log(w) + log1p(x) + log2(w + x) + log10(w) + sqrt(x) + rsqrt(w) + reciprocal(x + 3)
c = asin(x / 4) + acos(x / 4) + atan(w) + sinh(x) * cosh(w) + sigmoid(x) + relu(w) + abs(-w) + square(x)
y = a * b + c + x**w + 2**x + w**3 + 1 / x
"""
LENET = (Path(__file__).parents[2] / "docs/models/lenet.py").read_text(encoding="utf-8")
NET = """import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
x = torch.ones(1, 2)
loss = net(x).sum()
loss.backward()
"""


@pytest.fixture
def visit(browser, tmp_path):
    yield from visiting(browser, tmp_path)


def written(text, *options):
    """The page of a program, as the command line writes it."""
    command = [sys.executable, "-m", "gradtrace", "page", "-", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def box_text(browser, key):
    return browser.find_element("id", key).text.split()


# ---- guesses


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_a_gradient_is_hidden_until_it_is_guessed(visit, size):
    browser = visit(written(NOTES, "--predict", "gradients"), size)
    key = key_of(browser, "w")
    assert (
        "5" not in box_text(browser, key)
        and "5" not in browser.find_element("id", key).accessible_name
    )
    task = browser.find_element("id", "details").text
    assert task.startswith("Your task\nWork out the gradients that are not shown")
    assert task.endswith("You have two tries for each. 5 to go.")
    click(browser, key)
    assert "\n5\n" not in browser.find_element("id", "details").text
    browser.find_element("id", "guess-field").send_keys("3\n")
    said = browser.find_element("id", "guess-said").text
    assert said == "Your guess 3 is off by 2, too low (40 %). Try once more."
    assert "5" not in box_text(browser, key)
    browser.find_element("id", "guess-field").clear()
    browser.find_element("id", "guess-field").send_keys("4\n")
    said = browser.find_element("id", "guess-said").text
    assert said == "Your guess 4 is off by 1, too low (20 %). 0 of 1 right."
    details = browser.find_element("id", "details").text
    assert "5" in box_text(browser, key) and "\n5\n" in details
    assert "comes from" not in details  # the gradients of a and b, which are still to be guessed
    other = key_of(browser, "x")
    click(browser, other)
    browser.find_element("id", "guess-field").send_keys("what\n")
    assert browser.find_element("id", "guess-said").text == "no number is called what"
    assert box_text(browser, other) == ["x", "value", "2", "grad"]
    browser.find_element("id", "guess-field").clear()
    browser.find_element("id", "guess-field").send_keys("1 + 1\n")
    assert browser.find_element("id", "guess-said").text == "Right: 1 + 1. 1 of 2 right."
    assert box_text(browser, other) == ["x", "value", "2", "grad", "2"]


def test_values_are_hidden_but_for_the_inputs(visit):
    browser = visit(written(NOTES, "--predict", "values"))
    assert box_text(browser, key_of(browser, "x"))[:3] == ["x", "value", "2"]
    y = key_of(browser, "y")
    assert "6" not in box_text(browser, y)
    # the gradient of a factor is the value of the other one
    assert "3" not in box_text(browser, key_of(browser, "b"))
    click(browser, key_of(browser, "w"))
    assert "grad\n5" not in browser.find_element("id", "details").text
    click(browser, y)
    browser.find_element("css selector", "#guess button[type=button]").click()
    assert "6" in box_text(browser, y) and "0 of 1" in browser.find_element("id", "guess-said").text
    for name, value in (("a", "2 + 1"), ("b", "2")):
        click(browser, key_of(browser, name))
        browser.find_element("id", "guess-field").send_keys(f"{value}\n")
    assert "5" in box_text(browser, key_of(browser, "w"))  # everything has been guessed


def test_the_player_does_not_tell_what_is_to_be_guessed(visit):
    browser = visit(written(NOTES, "--predict", "gradients"))
    said = []
    for _ in range(10):
        browser.find_element("id", "next").click()
        said.append(browser.find_element("id", "moment").text)
    assert "5/10 Backward: MulBackward0 of y runs." in said and not any(
        "gets" in one for one in said
    )


# ---- derivations


def check(browser, text):
    field = browser.find_element("id", "typed")
    field.clear()
    field.send_keys(text + "\n")
    return browser.find_element("id", "derived").text


def test_a_derivation_is_compared_with_the_numbers(visit):
    browser = visit(written(NOTES))
    assert check(browser, "dy/dw = (x + w) * 1 + (w+1)") == "Right: 5, and for 3 other inputs too."
    assert check(browser, "dL/dx = b") == "Right: 2, and for 3 other inputs too."
    assert check(browser, "da/dw = 1") == "Right: 1, and for 3 other inputs too."
    assert check(browser, "dy/dw = x*(w+1)") == "Yours is 4, off by 1, too low (20 %)."
    assert check(browser, "dy/dw = x + 3").startswith(
        "Right: 5 here, but not for other inputs: at x = 2.31, w = "
    )
    assert check(browser, "dy/dw = -2**2 + 9").startswith("Right: 5 here")
    assert check(browser, "dy/dw = 2x") == "write an operator before x, such as *"
    assert check(browser, "dy/dw = (x") == "expected ) at the end"
    assert check(browser, "dy/dv = 1") == "no tensor is called v"
    assert check(browser, "5") == "write it as dy/dx = ..."
    assert check(browser, "dy/dw = constructor") == "no number is called constructor"


# ---- inputs


def set_input(browser, name, text):
    field = browser.execute_script(
        "return document.querySelector(`#inputs input[data-tensor='${arguments[0].slice(1)}']`)",
        key_of(browser, name),
    )
    field.clear()
    field.send_keys(text + "\n")


def numbers(browser, name):
    return browser.execute_script(
        "const n = data.views.flatMap((v) => v.nodes).find((n) => n.label === arguments[0]);"
        "return [n.value, n.grad ?? n.flowed]",
        name,
    )


def test_the_graph_follows_a_changed_input(visit):
    browser = visit(written(NOTES))
    set_input(browser, "x", "1/4")
    assert box_text(browser, key_of(browser, "y"))[:4] == ["y", "MulBackward0", "value", "2.5"]
    assert box_text(browser, key_of(browser, "w")) == ["w", "value", "1", "grad", "3.25"]
    click(browser, key_of(browser, "w"))
    assert "\n3.25\n" in browser.find_element("id", "details").text
    browser.find_element("id", "next").click()  # the player shows the run as it was recorded
    assert box_text(browser, key_of(browser, "x"))[:3] == ["x", "value", "2"]


@pytest.mark.parametrize(
    ("made", "value", "grad"),
    [
        ("[1.0]", "[9.029]", "[3.01]"),
        ("0.1", "9.029", "3.01"),
        ("[[1.0]]", "[[9.029]]", "[[3.01]]"),
    ],
)
def test_the_inputs_of_a_script_can_be_changed(visit, made, value, grad):
    """Tensors of one element, in float32: each result is rounded as PyTorch rounds it."""
    browser = visit(
        written(
            f"import torch\nx = torch.tensor({made}, requires_grad=True)\n"
            f"w = torch.tensor({made}, requires_grad=True)\ny = x * w\ny.backward()\n"
        )
    )
    assert not browser.find_element("id", "input-said").text
    set_input(browser, "x", "3.0")
    set_input(browser, "w", "3.0097")
    assert value in box_text(browser, key_of(browser, "y"))
    assert grad in box_text(browser, key_of(browser, "x"))
    click(browser, key_of(browser, "y"))
    assert value.replace("9.029", "9.0291") in browser.find_element("id", "details").text


@pytest.mark.parametrize(("x", "w"), [(0.5, 1.25), (1.75, 0.3), (0.125, 2.5)])
def test_every_rule_of_the_page_gives_what_gradtrace_gives(visit, x, w):
    browser = visit(written(MANY))
    assert not browser.find_element("id", "input-said").text
    set_input(browser, "x", str(x))
    set_input(browser, "w", str(w))
    text = MANY.replace("= 0.5\n", f"= {x}\n").replace("= 1.25\n", f"= {w}\n")
    done = subprocess.run(
        [sys.executable, "-m", "gradtrace", "eval", "-", "--format", "json"],
        input=text,
        capture_output=True,
        text=True,
    )
    known = {t["name"]: t for t in json.loads(done.stdout)["tensors"]}
    assert numbers(browser, "y")[0] == pytest.approx(known["y"]["value"], rel=1e-12)
    assert numbers(browser, "x")[1] == pytest.approx(known["x"]["grad"], rel=1e-12)
    assert numbers(browser, "w")[1] == pytest.approx(known["w"]["grad"], rel=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x: leaf = 2.\ny = gelu(x)\n", "this page has no rule for gelu"),
        (
            "x: leaf = 2.\ny = x\nif x > 1:\n    y = x * 2\ny = y + x\n",
            "the program has a branch, a loop or a function",
        ),
        (
            "x: leaf = 2.\nv: leaf = [1., 2.]\ny = (x * v).sum()\n",
            "v is not one number of type float64",
        ),
        ("x: leaf = 2.\ny = x * x.item()\n", "a value leaves the graph"),
    ],
)
def test_an_input_that_cannot_be_changed_says_why(visit, text, reason):
    browser = visit(written(text))
    assert not browser.find_element("css selector", "#inputs input").is_enabled()
    assert reason in browser.find_element("id", "input-said").text


# ---- in a frame


@pytest.mark.parametrize("frame", [(900, 500), (360, 420)])
def test_an_embedded_page_fills_its_frame(visit, tmp_path, frame):
    (tmp_path / "inner.html").write_text(written(NOTES, "--embed"), encoding="utf-8")
    width, height = frame
    browser = visit(
        f'<!DOCTYPE html><iframe src="inner.html" width="{width}" height="{height}"></iframe>'
    )
    browser.switch_to.frame(0)
    assert not browser.find_element("css selector", "header").is_displayed()
    assert not browser.find_element("id", "side").is_displayed()
    stage, player = (
        browser.find_element("id", "stage").rect,
        browser.find_element("id", "player").rect,
    )
    assert stage["width"] == width and stage["height"] + player["height"] == height
    assert browser.execute_script("return String(box) === String(home)")
    browser.find_element("id", "last").click()
    assert browser.find_element("id", "moment").text.endswith("saved values are freed.")
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    browser.switch_to.default_content()


# ---- how it opens and plays


def test_a_network_opens_whole_with_its_loss_in_view(visit):
    browser = visit(written(LENET))
    assert browser.execute_script("return String(box) === String(home)")
    stage, loss = (
        browser.find_element("id", "stage").rect,
        browser.find_element("id", key_of(browser, "loss")).rect,
    )
    assert loss["x"] > 0 and loss["x"] + loss["width"] < stage["x"] + stage["width"]
    assert loss["y"] + loss["height"] < stage["y"] + stage["height"]
    unit = browser.execute_script("return 1 / scale()")
    assert 8 * unit >= 6  # the smallest print is 8 points


def test_the_graph_has_two_thirds_of_a_phone(visit):
    browser = visit(written(LENET), PHONE)
    for _ in range(3):
        assert browser.find_element("id", "stage").rect["height"] >= 844 * 0.66
        browser.find_element("id", "next").click()


def test_a_page_that_changes_its_size_is_fitted_again_until_the_reader_moves_it(visit):
    browser = visit(written(NOTES), (300, 160))
    resized = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", resized)
    settled = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(%s)))"
    assert browser.execute_async_script(settled % "box.join() === home.join()")
    browser.execute_script("zoom(0.5)")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**resized, "width": 1000})
    assert not browser.execute_async_script(settled % "box.join() === home.join()")


def test_a_phone_shows_the_names_of_the_first_layers(visit):
    browser = visit(written(LENET), PHONE)
    for label in ("images", "conv1"):
        find = "[...svg.querySelectorAll('text')].find((text) => text.textContent === arguments[0])"
        place = browser.execute_script(f"return {find}.getBoundingClientRect()", label)
        assert place["left"] >= 0 and place["right"] <= 390, label


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_a_line_of_the_program_begins_beside_its_number(visit, size):
    name = "value_of_the_function" * 4
    text = f"def f(x):\n    if x > 0:\n        {name} = x * 2\n        return {name}\nx: leaf = 2.\ny = f(x)\n"
    browser = visit(written(text), size)
    tops = "return [...document.querySelectorAll('#program li')].map((li) => "
    tops += "li.firstElementChild.getBoundingClientRect().top - li.getBoundingClientRect().top)"
    assert max(browser.execute_script(tops)) < 4
    text = browser.execute_script("return document.querySelectorAll('#program li')[2].textContent")
    assert text.startswith("        value_of")


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_nothing_jumps_while_it_plays(visit, size):
    browser = visit(written(LENET), size)
    places = set()
    for _ in range(12):
        places.add(
            tuple(
                browser.find_element("id", name).rect[side]
                for name in ("stage", "player")
                for side in "xy"
            )
        )
        places.add(("height", browser.find_element("id", "player").rect["height"]))
        browser.find_element("id", "next").click()
    assert len(places) == 2


def test_a_folded_module_leaves_no_empty_frame(visit):
    browser = visit(written(NET, "--depth", "all"))
    size = "const r = document.querySelector(arguments[0]).getBBox(); return [r.width, r.height]"
    scope = browser.execute_script(
        "return Object.entries(data.scopes).find(([, s]) => s.name === 'net.0')[0]"
    )
    before, home = browser.execute_script(size, f"#s{scope}"), browser.execute_script("return home")
    sign = browser.find_element("css selector", f"#s{scope} .sign")
    sign.send_keys("\n")
    after = browser.execute_script(size, f"#k{scope}")
    assert (
        after[1] < 0.5 * before[1]
        and browser.execute_script("return home[3]") < home[3] - 0.4 * before[1]
    )
    overlaps = browser.execute_script(
        "const all = [...svg.querySelectorAll('g.node:not(.covered)')].map((n) => n.getBoundingClientRect());"
        "return all.flatMap((a, i) => all.slice(i + 1).filter((b) => a.left < b.right - 1 && b.left < a.right - 1"
        " && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length"
    )
    assert overlaps == 0


def test_backward_has_arrows_that_point_back_and_gradients_that_arrive(visit):
    browser = visit(written(NOTES))
    seen = (
        "return getComputedStyle(document.querySelector(`#${arguments[0]} text.gradient`)).opacity"
    )
    a, w = key_of(browser, "a"), key_of(browser, "w")
    while "Backward" not in browser.find_element("id", "moment").text:
        assert not browser.find_elements("css selector", "g.edge.back")
        browser.find_element("id", "next").click()
    # MulBackward0 has sent a its gradient; w has only the first of two
    assert browser.execute_script(seen, a) == "1" and browser.execute_script(seen, w) == "0"
    back = browser.find_elements("css selector", "g.edge.back > path")
    assert back and all(
        one.value_of_css_property("marker-start") == 'url("#backward")' for one in back
    )
    browser.find_element("id", "last").click()
    assert (
        not browser.find_elements("css selector", "g.edge.back")
        and browser.execute_script(seen, w) == "1"
    )


def test_a_gradient_that_passed_is_told_apart_from_grad(visit):
    browser = visit(written(NOTES))
    assert "passed, not kept" in browser.find_element("id", key_of(browser, "a")).text
    click(browser, key_of(browser, "a"))
    said = browser.find_element("id", "details").text
    assert (
        title(browser) == "a"
        and "gradient that passed\n2\n" in said
        and ".grad\nNone (non-leaf" in said
    )
