"""Names and texts of a program that would be code where they are shown: in DOT, SVG, a page, Mermaid, a table."""

import json
import re
from xml.etree import ElementTree

import pytest

from tests.fork_server import WARM_UP_ARRAYS as WARM_UP  # noqa: F401  # for the fixture `yard`

NAMES = {
    "dot": 'a"]; x [image="secret" URL="http://localhost:@PORT@/"]; "',
    "backslash": 'a\\"]; x [image="secret"]; y [label="\\',
    "markup": '<IMG SRC="secret"/><script>alert(1)</script>',
    "closing": '</script></style></svg><script>alert(1)</script><img src="http://localhost:@PORT@/">',
    "attribute": '" onload="alert(1)" x="',
    "entity": "&lt;script&gt;alert(1)&#60;/script&#62; %3Cscript%3E",
    "template": "${alert(1)} {{alert(1)}} `alert(1)`",
    "mermaid": 'x"]\n  click A "javascript:alert(1)"',
    "control": "\x1b[2J\x07\u202e\u2028",
}
PROGRAM = """import torch
model = torch.nn.Sequential()
model.add_module({name!r}, torch.nn.Linear(1, 1))
x = torch.ones(1, requires_grad=True)  # {comment}
model(x).sum()
"""


def program(name, door):
    name = NAMES[name].replace("@PORT@", str(door.port))
    comment = (
        name.replace("\n", " ").replace("\u2028", " ").replace("\x1b", " ").replace("\x07", " ")
    )
    return PROGRAM.format(name=name, comment=comment)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("suffix", ["svg", "html", "dot", "mmd", "graphml", "json"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_stays_a_name(name, suffix, yard):
    (yard.folder / "p.py").write_text(program(name, yard.door), "utf-8")
    done = yard.run(
        "graph", "p.py", "--depth", "all", "-o", f"out/g.{suffix}", makes=(f"out/g.{suffix}",)
    )
    assert done.returncode == 0, done.stderr
    made = (yard.folder / "out" / f"g.{suffix}").read_text("utf-8")
    if suffix == "svg":
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(made).iter()}
        attributes = {
            name for element in ElementTree.fromstring(made).iter() for name in element.attrib
        }
        assert not tags & {"script", "image", "foreignObject"} and not [
            a for a in attributes if a.startswith("on")
        ]
    if suffix == "html":
        assert "<script>alert" not in made and "<img src=" not in made.lower()
    if suffix == "graphml":
        ElementTree.fromstring(made)
    if suffix == "json":
        json.loads(made)
    if suffix == "mmd":
        assert not re.search(r"^\s*click", made, re.MULTILINE)


@pytest.mark.parametrize("format", ["table", "json", "csv", "md", "latex"])
@pytest.mark.parametrize("name", NAMES)
def test_a_table_holds_a_name(name, format, yard):
    done = yard.run("eval", "-", "--format", format, text=program(name, yard.door))
    assert done.returncode == 0, done.stderr
    assert (
        not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", done.stdout)
        or format == "csv"
    )
    if format == "json":
        json.loads(done.stdout)
    if format == "md":
        assert not re.search(r"(?<!\\)<(script|img)", done.stdout)
