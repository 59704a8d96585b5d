"""The magics of a notebook, called as IPython calls them."""

from gradtrace.cli import magic


def test_the_magic_alone_says_what_it_can():
    said = str(magic.magic("", "w * 2", {}))
    assert said.startswith(
        "%%gradtrace COMMAND [NAMES] [OPTIONS] above a cell runs the command on the cell"
    )
    commands = [line.split()[0] for line in said.splitlines() if line.startswith("  ")]
    assert commands == list(magic.OF_CELLS) and {"eval", "graph", "why"} <= {*commands}
    assert str(magic.magic("", None, {})) == said


def test_every_command_that_it_names_takes_a_cell():
    for command in set(magic.OF_CELLS) - {"page", "graph"}:
        found = magic.magic(command, "x * w", {"x": 2.0, "w": 3.0})
        assert command == "run" or str(found).strip(), command


def test_a_command_without_a_cell_is_pointed_to(capsys):
    assert magic.magic("ops relu", "w * 2", {}) is None
    assert (
        capsys.readouterr().err
        == "gradtrace: ops takes no cell; write %gradtrace ops relu on a line of its own\n"
    )


def test_the_text_of_a_drawing_is_its_tree():
    drawing = magic.magic("graph", "y = x * w", {"x": 2.0, "w": 3.0})
    assert repr(drawing).splitlines()[0] == "y = x * w   6   MulBackward0"
    assert "w   3   leaf   grad 2" in repr(drawing)
    assert drawing._repr_svg_().startswith("<?xml")
