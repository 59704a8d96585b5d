"""The playground, from a plain static server: a picture, a change, an error, a shared address, no other host."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
CHANGE = """
const box = document.getElementById("program");
box.value = arguments[0];
box.dispatchEvent(new Event("input"));
"""
CHOOSE = """
const menu = document.getElementById("examples");
menu.value = arguments[0];
menu.dispatchEvent(new Event("change"));
"""
TYPE = """
const field = document.querySelector(`#inputs input[name="${arguments[0]}"]`);
field.value = arguments[1];
field.dispatchEvent(new Event("input"));
"""
WAIT = 120  # seconds; on two cores at rest the first picture is there after two


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("site")
    made = subprocess.run(
        [sys.executable, "docs/make_playground.py", str(folder / "playground")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if made.returncode:
        pytest.skip(f"the packages of the playground cannot be had: {made.stderr[-200:]}")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for archive in (
        "gradtrace.zip",
        "pyodide/python_stdlib.zip",
    ):  # compiled: this halves the time to the first picture
        names = zipfile.ZipFile(folder / "playground" / archive).namelist()
        assert any(name.endswith(".pyc") for name in names) and not any(
            name.endswith(".py") for name in names
        )
    yield f"http://127.0.0.1:{server.server_port}/playground/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    if shutil.which("chromedriver") is None:
        pytest.skip("chromedriver is not installed")
    options = webdriver.ChromeOptions()
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-background-networking",
        "disable-component-update",
    ):
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    yield driver
    driver.quit()


def runs(browser, count):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, WAIT).until(
        lambda d: d.execute_script("return document.body.dataset.runs") == str(count)
    )


def has_numpy(browser):
    return browser.execute_script("return document.body.dataset.wheels") == "numpy"


def test_every_example_of_the_menu_runs(site, browser):
    browser.get("about:blank")
    browser.get(site)
    runs(browser, 1)
    names = browser.execute_script(
        "return [...document.getElementById('examples').options].map(o => o.value)"
    )
    assert len(names) == (8 if has_numpy(browser) else 3)
    for number, name in enumerate(names):
        browser.execute_script(CHOOSE, name)
        runs(browser, number + 2)
        assert text(browser, "error") == "", name
        page = browser.execute_script("return document.getElementById('picture').srcdoc")
        assert "<svg" in page and text(browser, "values") and text(browser, "why"), name


def test_free_names_have_fields(site, browser):
    browser.get("about:blank")
    browser.get(site)
    runs(browser, 1)
    browser.execute_script(CHANGE, "y = a * b\n")
    runs(browser, 2)
    fields = "return [...document.querySelectorAll('#inputs input')].map(f => f.name)"
    assert browser.execute_script(fields) == ["a", "b"]
    browser.execute_script(TYPE, "b", "5")
    runs(browser, 3)
    assert "a.grad is 5" in text(browser, "why")


def test_a_program_that_does_not_end_is_stopped(site, browser):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get("about:blank")
    browser.get(site)
    runs(browser, 1)
    browser.execute_script(CHANGE, "n = 1\nwhile n > 0:\n    n += 1\n")
    stop = browser.find_element("id", "stop")
    WebDriverWait(browser, WAIT).until(lambda _: stop.is_displayed())
    assert text(browser, "state") == "Running …"
    stop.click()
    assert not stop.is_displayed() and text(browser, "state").startswith("Stopped.")
    browser.execute_script(CHANGE, "x: leaf = 3\ny = x * x\n")
    runs(browser, 2)
    assert "x.grad is 6" in text(browser, "why")


def text(browser, name):
    return browser.execute_script("return document.getElementById(arguments[0]).textContent", name)


def test_the_playground(site, browser):
    browser.get(site)
    runs(browser, 1)
    assert "MulBackward0" in text(browser, "values") and "w.grad is 5" in text(browser, "why")
    page = browser.execute_script("return document.getElementById('picture').srcdoc")
    assert "<svg" in page and 'id="t4"' in page and "Play" in page

    browser.execute_script(CHANGE, "x: leaf = 2\ny = x * x * x\n")
    runs(browser, 2)
    assert "x.grad is 12" in text(browser, "why")
    address = browser.current_url

    browser.execute_script(CHANGE, "x: leaf = 2\ny = x *\n")
    runs(browser, 3)
    assert "program.py:2:" in text(browser, "error") and "syntax error" in text(browser, "error")

    assert browser.execute_script("return document.getElementById('picture').srcdoc") == ""

    browser.execute_script(CHANGE, "x = tensor([1.0, 2.0])\n")
    runs(browser, 4)
    if not has_numpy(browser):
        assert "numpy is not installed" in text(browser, "error")

    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)"
    )
    assert len(loaded) == len(set(loaded)), "a file was loaded twice: a preload that does not fit"
    host = site.removesuffix("playground/")
    assert loaded and all(name.startswith((host, "data:", "blob:", "about:")) for name in loaded), (
        loaded
    )

    browser.get("about:blank")
    browser.get(address)
    runs(browser, 1)
    assert (
        browser.execute_script("return document.getElementById('program').value")
        == "x: leaf = 2\ny = x * x * x\n"
    )


def test_without_numpy_the_error_says_what_to_install(tmp_path):
    (tmp_path / "p.py").write_text("import torch\nx = torch.tensor(1.0, requires_grad=True)\n")
    (tmp_path / "without.py").write_text(
        "import sys\nsys.modules['numpy'] = None\nfrom gradtrace.cli.main import run\nsys.exit(run(sys.argv[1:]))\n"
    )
    for command in ("eval", "why", "graph -o g.svg"):
        line = [sys.executable, "without.py", *command.split(), "p.py"]
        done = subprocess.run(
            line,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert (
            done.returncode == 1
            and "numpy is not installed" in done.stderr
            and "pip install numpy" in done.stderr
        )
