"""The gallery and the page of acceptance rows: every row has its command, every picture is there."""

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROWS = [
    *(f"A{i}" for i in range(2, 12)),
    "A13",
    "B3",
    "B4",
    "B5",
    "C9",
    "G2",
    "G3",
    "G6",
    "G7",
    "G11",
    *(f"H{i}" for i in range(4, 10)),
]


def module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def gallery():
    return module("make_gallery")


def test_every_row_of_pictures_has_its_command():
    made = gallery()
    page_rows = (
        "G2 G7 H5 H8 H9",
        "H5 H9",
    )  # the page and TensorBoard's tab, at the end of docs/acceptance.md
    codes = " ".join(
        [*module("acceptance_rows").ROWS, *(rows for *_, rows in made.PICTURES), *page_rows]
    )
    answered = set(re.findall(r"[A-I]\d+", codes))
    assert [row for row in ROWS if row not in answered] == []


def test_every_picture_is_there_and_told():
    made = gallery()
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    named = [name for _, _, _, name, _ in made.PICTURES]
    for name in [*named, made.PAGE[1], "mlp.svg"]:
        assert (DOCS / "gallery" / name).stat().st_size > 1000 and f"gallery/{name})" in text
    for title, _, command, name, _ in made.PICTURES:
        assert f"## {title}\n" in text and f"{command} -o {name}\n" in text
    there = {path.name for path in (DOCS / "gallery").iterdir() if path.is_file()}
    assert there == {*named, made.PAGE[1], "mlp.svg", "expression.svg"}
