"""`gradtrace verify` of command lines in documents: terminals' blocks in Markdown and magics in notebooks.

They get no rights: what asks for one is not run.
"""

import json
import os
import subprocess
import sys

import pytest

from gradtrace.cli import console, plain

NOTE = """\
```console
$ gradtrace eval "(x+w)*(w+1)" --x 2 --w 1 --get w.grad
5.0
$ gradtrace eval "x*2" \\
    --x 3 --get {name}
6.0
```
"""
# what asks for a right: the reason why it is not run
RIGHTS = {
    "eval 'sum(x)' --x @secret.csv": "it reads secret.csv, and verify reads nothing but the document",
    "eval 'sum(x)' -s x=@secret.csv": "it reads secret.csv",
    "eval 'x' --x 1 --params secret.json": "a document may not give itself --params",
    "run secret.py": "it reads secret.py",
    "run -": "it reads what is typed",
    "eval - --x 1": "it reads what is typed",
    "eval x --x @-": "it reads -",
    "why 'x*w' x ./secret.gt": "it reads ./secret.gt",
    "graph 'x*w' -o out.svg": "a document may not give itself -o",
    "graph 'x*w' -oout.svg": "a document may not give itself -oout.svg",
    "eval x --x 1 --\uff41llow-write .": "a document may not give itself --\uff41llow-write",
    "eval x --x 1 --\uff41llow-write=.": "a document may not give itself --\uff41llow-write",
    "eval x --x 1 --\uff4dax-steps=9": "a document may not give itself --\uff4dax-steps",
    "eval x --x 1 --\uff45ngine=torch": "a document may not give itself --\uff45ngine",
    "check pipe --\uff41gainst=torch": "a document may not give itself --\uff41gainst",
    "graph 'x*w' -ooops": "a document may not give itself -ooops",
    f"eval {'x' * 100_001}": "it is too long",
    f"eval {'x ' * 1_001}": "it is too long",
    "eval x --x 1 --allow-write .": "a document may not give itself --allow-write",
    "eval x --x 1 --allow-read /etc/passwd": "a document may not give itself --allow-read",
    "eval x --x 1 --allow-import=.": "a document may not give itself --allow-import",
    "run secret.py --engine torch": "a document may not give itself --engine",
    "why x --x 1 --python ./python": "a document may not give itself --python",
    "check 'x*x' --x 1 --against torch": "a document may not give itself --against",
    "eval x --x 1 --max-seconds 1e6": "a document may not give itself --max-seconds",
    "map 'x*2' --data secret.csv": "verify runs eval, run,",
    "verify note.md --update": "verify runs eval, run,",
    "repl": "verify runs eval, run,",
    "eval x --x 1 > out.txt": "it needs a shell",
    "eval x --x 1 | tee out.txt": "it needs a shell",
    "eval x --x $(cat secret.csv)": "it needs a shell",
    'eval x --x "$(cat secret.csv)"': "it needs a shell",
    "eval x --x 1; rm secret.csv": "it needs a shell",
    "eval 'x": "it is not a command line",
}


@pytest.fixture
def cells(process, here):
    """cells(name, text, ...) -> exit code and the cells as plain data, by the console script."""

    def check(name, text, *args):
        (here / name).write_text(text)
        result = process("verify", name, "--format", "json", *args)
        assert result.stdout, result.stderr
        return result.returncode, json.loads(result.stdout)["cells"]

    return check


def test_a_command_line_is_run_and_compared(cells):
    code, found = cells("note.md", NOTE.format(name="y"))
    assert code == 0 and [(one["line"], one["verdict"]) for one in found] == [
        (2, "same"),
        (4, "same"),
    ]
    code, found = cells("note.md", NOTE.format(name="x.grad"))
    assert code == 1 and found[1]["detail"] == "line 1: recorded '6.0', now '2.0'"


def test_the_record_of_a_command_line_is_rewritten(cells, here):
    code, _ = cells("note.md", NOTE.format(name="x.grad"), "--update")
    assert code == 0 and (here / "note.md").read_text() == NOTE.format(name="x.grad").replace(
        "6.0", "2.0"
    )


def test_an_error_is_compared_too(cells):
    shown = "<expression>:1:1: syntax error: invalid decimal literal; write 2*x\n    2x\n    ^\n"
    code, found = cells("note.md", f"```console\n$ gradtrace eval 2x --x 1\n{shown}```\n")
    assert (code, found[0]["verdict"]) == (0, "same"), found


def test_a_command_line_that_fails_without_a_record_fails(cells):
    code, (found,) = cells("note.md", "```console\n$ gradtrace eval 'x +' --x 1\n```\n")
    assert (code, found["verdict"]) == (1, "failed") and "syntax error" in found["detail"]


def test_what_asks_for_a_right_is_not_run(cells, here):
    (here / "secret.csv").write_text("31337\n")
    lines = [f"$ gradtrace {one}" for one in RIGHTS]
    _, found = cells(
        "note.md", "```console\n$ gradtrace eval '2*3' --get y\n6\n" + "\n".join(lines) + "\n```\n"
    )
    assert found[0]["verdict"] == "same"
    for line, one, reason in zip(lines, found[1:], RIGHTS.values(), strict=True):
        assert one["verdict"] == "not run" and one["detail"].startswith(reason), (line, one)
        assert "31337" not in one["printed"]
    assert sorted(path.name for path in here.iterdir()) == ["note.md", "secret.csv"]


def test_a_file_is_read_only_where_it_is_allowed(cells, here):
    (here / "shown").mkdir()
    (here / "shown" / "cube.py").write_text("x: leaf = 2.0\ny = x**3\n")
    (here / "shown" / "cube.csv").write_text("1\n2\n")
    (here / "secret.py").write_text("x: leaf = 31337.0\ny = x * 2\n")
    (here / "shown" / "link.py").symlink_to(here / "secret.py")
    os.mkfifo(here / "shown" / "pipe.py")
    lines = ["eval shown/cube.py --get x.grad", "eval 'sum(x)' --x @shown/cube.csv --get y"]
    outside = ", and verify reads nothing but the document and what --allow-read names"
    refused = {
        **dict.fromkeys(
            ["shown/link.py", "shown/../secret.py", "secret.py", str(here / "secret.py")], outside
        ),
        **dict.fromkeys(["shown/pipe.py", "shown"], ", which is not a regular file"),
        "shown/missing.py": ", which does not exist",
    }
    note = "```console\n$ gradtrace {}\n12.0\n$ gradtrace {}\n3.0\n".format(*lines)
    note += "".join(f"$ gradtrace run {path}\n" for path in refused) + "```\n"
    code, found = cells("note.md", note, "--allow-read", "shown")
    assert code == 0 and [one["verdict"] for one in found] == ["same", "same"] + ["not run"] * len(
        refused
    ), found
    for path, one in zip(refused, found[2:], strict=True):
        assert one["detail"].startswith(f"it reads {path}{refused[path]}"), one
    _, found = cells("note.md", note)
    assert {one["verdict"] for one in found} == {"not run"}


def test_lines_for_a_shell_say_why_they_are_not_run(cells):
    note = "```console\n$ gradtrace eval 1+1 --get y\n```\n```sh\npip install gradtrace\n```\n"
    found = cells("note.md", note)[1]
    assert found[1]["detail"] == "it is marked sh: lines for a shell, without recorded output"


def test_a_confined_process_gets_nothing_by_asking_for_more(here):
    """The broker checks the words itself, whatever the process sends."""
    (here / "note.md").write_text(NOTE.format(name="y"))
    code = (
        "import sys\nfrom gradtrace.cli import console, main\n"
        "asked = ['eval', 'x', '--x', '@note.md']\n"
        "console.result_of = lambda *_: console.channel.ask_with('command', b'', words=asked)\n"
        "sys.argv[1:] = ['verify', 'note.md']\nmain.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True)
    assert done.returncode == 1 and "did not keep to its protocol" in done.stderr, done


def test_the_check_of_a_command_line_opens_no_file(here):
    """Of words that a broken process sends: one that opens a pipe would wait for ever."""
    os.mkfifo(here / "pipe")
    for words in (
        ["check", "pipe", "--\uff41gainst=torch"],
        ["check", "pipe", "--against", "torch"],
        ["run", "pipe"],
    ):
        assert console.hindrance(words)


MOST = ("memory", "output", "process", "record", "seconds", "source")


def test_every_option_of_a_document_s_command_is_judged():
    """An option that is new stands among the harmless ones or is refused: these are refused."""
    known = {name for one in console.COMMANDS for name in plain.named(one).arity}
    assert (
        known - console.HARMLESS
        == {
            *(
                "--allow-import",
                "--allow-read",
                "--allow-write",
                "--engine",
                "--python",
                "--against",
                "--params",
                "-o",
            ),
            *("--open", "--tensorboard", "--debug", "--runs", "--speed", "--model", "--steps"),
            *(f"--max-{what}" for what in MOST),
        }
        and known >= console.HARMLESS
    )


def notebook(*cells):
    found = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "source": source,
            "outputs": [
                {"output_type": "display_data", "metadata": {}, "data": {"text/plain": shown}}
            ]
            if shown
            else [],
        }
        for source, shown in cells
    ]
    return json.dumps({"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_magic_runs_on_its_cell_with_the_notebooks_values(cells):
    text = notebook(
        (
            "%load_ext gradtrace\nimport torch\nw = torch.tensor([2., 3.], requires_grad=True)\nx = torch.ones(2)",
            "",
        ),
        ("%%gradtrace eval --get w.grad\n(w * x * 4).sum()", "[4.0, 4.0]"),
        ("%%gradtrace eval --get x.requires_grad\n(w * x).sum()", "False"),
        ("%%gradtrace eval --get w.grad\n(w * x).sum()", "[2.0, 2.0]"),
        ("%%gradtrace graph\n(w * x).sum()", "<gradtrace.cli.magic.Drawing object at 0x7f>"),
        ("%%gradtrace eval --allow-write .\n(w * x).sum()", "1"),
        ("%%gradtrace\nw * x", ""),
        ("%%gradtrace eval --x \ud800\nx + 1", "1"),
        ("%%gradtrace eval\nlen('\ud800') * x", "1"),
        ("%%gradtrace run\nprint(2 * 3)", "6"),
        ("%%gradtrace run\nprint(1 / 0)", "6"),
    )
    code, found = cells("note.ipynb", text)
    verdicts = [
        "no record",
        "same",
        "same",
        "differs",
        "no record",
        *["not run"] * 4,
        "same",
        "differs",
    ]
    assert code == 1 and [one["verdict"] for one in found] == verdicts, found
    assert "division by zero" in found[-1]["detail"] + found[-1]["printed"]
