"""Arbitrary arguments and values: an answer or one clear error, never a fault of our own."""

import json
import os

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gradtrace.cli.group import cli

TOKENS = st.sampled_from(
    [
        *(
            "eval",
            "graph",
            "x*w",
            "x",
            "(x+w)*(w+1)",
            "-x",
            "--",
            "-",
            "--x",
            "--w",
            "--x=1",
            "-s",
            "x=1",
            "-sx=1",
        ),
        *(
            "1",
            "-1",
            "1,2",
            "--get",
            "w.grad",
            "root",
            "--format",
            "json",
            "csv",
            "--backward",
            "2",
            "--retain-graph",
        ),
        *(
            "--inputs",
            "--retain-grad",
            "all",
            "--no-grad",
            "--output",
            "--grad-tensors",
            "--help",
            "--help-all",
            "--seed",
            "--dtype",
        ),
        *(
            "--retian-graph",
            "--no-backward",
            "@none.npy",
            "@-",
            "--params",
            "-e",
            "--errors",
            "--color",
            "always",
            "",
        ),
    ]
)
QUIET = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])


def outcome(args, text="2"):
    result = CliRunner().invoke(cli, args, input=text, prog_name="gradtrace")
    assert result.exit_code in (0, 1, 2), (args, result.stderr)
    assert "Traceback" not in result.stderr
    if result.exit_code:
        assert result.stdout == ""
        assert result.stderr.strip()
    return result


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@QUIET
@given(st.lists(TOKENS, max_size=8))
@example(["eval", "--x"])
@example(["--", "eval"])
def test_arguments(args):
    outcome(args)


VALUES = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="0123456789.,;-+e[]() @#*/", max_size=14),
    st.floats().map(repr),
    st.lists(st.floats()).map(str),
)


@QUIET
@given(VALUES)
@example("@-")
@example("9" * 400)
@example("[" * 300)
@example("@\0")
@example("(" * 250 + ")" * 250)
def test_values(text):
    outcome(["eval", "x*1", f"--x={text}", "--no-backward", "--format", "json"], "")


@QUIET
@given(
    st.sampled_from(["npy", "npz", "csv", "tsv", "txt", "json"]),
    st.binary(max_size=80),
    st.booleans(),
)
@example("npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8',", True)
@example("json", b"[1, [2]]", False)
@example("csv", b'1,2\n"3', False)
@example("csv", b"\x00,1\n2,3", False)
def test_files(suffix, content, magic):
    head = {"npy": b"\x93NUMPY\x01\x00", "npz": b"PK\x03\x04"}.get(suffix, b"") if magic else b""
    with open(f"data.{suffix}", "wb") as file:
        file.write(head + content)
    outcome(["eval", "x*1", "--x", f"@data.{suffix}", "--no-backward", "--format", "json"])
    os.remove(f"data.{suffix}")


@QUIET
@given(st.floats())
def test_numbers_survive_the_way_there_and_back(number):
    result = outcome(["eval", "x*1", f"--x={number!r}", "--no-backward", "--get", "x"])
    again = float(result.stdout)
    assert again == number or (again != again and number != number)
    result = outcome(["eval", "x*1", f"--x={number!r}", "--no-backward", "--format", "json"])
    assert float(json.loads(result.stdout)["tensors"][0]["value"]) == number or number != number
