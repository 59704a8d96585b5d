"""The formats of `eval` other than the table."""

import csv
import io
import json
import math

import pytest

from gradtrace.cli.commands import COMMANDS, GROUPS

NOTES = ("(x+w)*(w+1)", "--x", "2", "--w", "1")
COLUMNS = [
    "name",
    "value",
    "shape",
    "dtype",
    "is_leaf",
    "requires_grad",
    "grad_fn",
    "grad",
    "grad_note",
]


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json(answer):
    said = answer("eval", *NOTES, "--format", "json")
    found = strict(said)
    assert (found["schema"], found["version"]) == ("gradtrace/eval", 1)
    assert found["source"] == {"name": "<expression>", "text": "(x+w)*(w+1)"}
    assert found["backward_runs"] == 1
    assert found["gradients"] == {"x": 2.0, "w": 5.0}
    (output,) = found["outputs"]
    assert found["roots"] == [output]
    root = found["tensors"][output]
    assert (root["value"], root["grad_fn"], root["is_output"], root["line"]) == (
        6.0,
        "MulBackward0",
        True,
        1,
    )
    assert root["grad"] is None and "not retained" in root["grad_note"]
    w = next(t for t in found["tensors"] if t["name"] == "w")
    assert (w["value"], w["grad"], w["shape"], w["dtype"], w["kind"]) == (
        1.0,
        5.0,
        [],
        "float64",
        "leaf",
    )
    assert [t["id"] for t in found["tensors"]] == list(range(5))


def test_json_is_strict(answer):
    found = strict(
        answer("eval", "x*1", "--x", "nan,inf,-inf,1", "--no-backward", "--format", "json")
    )
    assert found["tensors"][0]["value"] == ["NaN", "Infinity", "-Infinity", 1.0]


def test_json_schema_is_documented(answer):
    from gradtrace.views import data

    found = strict(answer("eval", *NOTES, "--format", "json"))
    for field in [*found, *found["tensors"][0]]:
        assert field in data.__doc__, field


def test_jsonl(answer):
    lines = [strict(line) for line in answer("eval", *NOTES, "--format", "jsonl").splitlines()]
    assert [line["label"] for line in lines][:2] == ["x", "w"]
    assert {(line["schema"], line["version"]) for line in lines} == {("gradtrace/eval/tensor", 1)}


def test_same_bytes_every_time(answer):
    assert answer("eval", *NOTES, "--format", "json") == answer("eval", *NOTES, "--format", "json")


def test_csv(answer):
    found = list(
        csv.reader(
            io.StringIO(
                answer("eval", "(x*w).sum()", "--x", "0.1,2", "--w", "1,nan", "--format", "csv")
            )
        )
    )
    assert found[0] == COLUMNS
    cells = {row[0]: dict(zip(COLUMNS, row)) for row in found[1:]}
    assert json.loads(cells["x"]["value"]) == [0.1, 2.0]
    assert cells["x"]["shape"] == "(2,)"
    assert cells["w"]["grad"] == "[0.1, 2.0]"
    assert math.isnan(float(cells["(x*w).sum()"]["value"]))


def test_csv_quotes_labels(answer, here):
    (here / "e.txt").write_text("y = (x * 2).sum(dim=0, keepdim=True).sum()\n")
    found = list(csv.reader(io.StringIO(answer("eval", "e.txt", "--x", "1,2", "--format", "csv"))))
    assert all(len(row) == len(COLUMNS) for row in found)


def test_tsv(answer):
    lines = answer("eval", *NOTES, "--format", "tsv").splitlines()
    assert lines[0].split("\t") == COLUMNS
    assert lines[2].split("\t")[7] == "5.0"
    assert all(line.count("\t") == len(COLUMNS) - 1 for line in lines)


def test_markdown(answer):
    lines = answer("eval", *NOTES, "--format", "md").splitlines()
    assert lines[0].startswith("| name | value | shape |")
    assert set(lines[1]) == set("| -")
    assert any(line.startswith(r"| (x+w)\*(w+1) | 6.0 |") for line in lines)


def test_latex(answer):
    said = answer("eval", "x_1*2", "--x_1", "3", "--format", "latex")
    assert said.startswith(r"% \usepackage{adjustbox,array,booktabs,textcomp}") and said.endswith(
        "\\end{adjustbox}\n"
    )
    assert r"x\_1 & 3.0 & ()" in said


@pytest.mark.parametrize(
    "args, expected",
    [
        (NOTES, "6.0\n"),
        (("x*2", "--x", "1,2;3,4", "--no-backward"), "[[2.0, 4.0], [6.0, 8.0]]\n"),
    ],
)
def test_value(answer, args, expected):
    assert answer("eval", *args, "--format", "value") == expected


def test_numbers_read_back(answer):
    third = answer("eval", "x/3", "--x", "1", "--format", "value").strip()
    assert answer("eval", "x*3", "--x", third, "--format", "value") == "1.0\n"


PARTS = ("eval", "(x*w).sum() + b", "--x", "1,2,3", "--w", "4,5,6", "--b", "0.5")


def names(text):
    return [line.split(",")[0] for line in text.splitlines()[1:]]


def test_only(answer):
    assert names(answer(*PARTS, "--only", "leaf", "--format", "csv")) == ["x", "w", "b"]
    assert names(answer(*PARTS, "--only", "nonleaf", "--format", "csv")) == [
        "x*w",
        "(x*w).sum()",
        "(x*w).sum() + b",
    ]
    assert answer(*PARTS, "--only", "param") == ""
    kept = json.loads(answer(*PARTS, "--only", "leaf", "--format", "json"))
    assert [t["name"] for t in kept["tensors"]] == ["x", "w", "b"] and kept["outputs"] == [5]


def test_sort(answer):
    """Numbers by value, arrays by their norm; what has none comes last."""
    assert names(answer(*PARTS, "--only", "leaf", "--sort", "value", "--format", "csv")) == [
        "b",
        "x",
        "w",
    ]
    assert names(answer(*PARTS, "--only", "leaf", "--sort", "-grad", "--format", "csv")) == [
        "x",
        "w",
        "b",
    ]
    assert names(answer(*PARTS, "--sort", "-grad", "--format", "csv"))[3:] == [
        "x*w",
        "(x*w).sum()",
        "(x*w).sum() + b",
    ]
    said = answer(*PARTS, "--only", "leaf", "--sort=-name", "--format", "tsv", "--columns", "name")
    assert said.split() == ["name", "x", "w", "b"]


def test_columns(answer, refusal):
    assert answer(
        *PARTS, "--columns", "grad_fn,name", "--only", "nonleaf", "--format", "csv"
    ).splitlines() == [
        "grad_fn,name",
        "MulBackward0,x*w",
        "SumBackward0,(x*w).sum()",
        "AddBackward0,(x*w).sum() + b",
    ]
    table = answer(*PARTS, "--columns", "name,value").splitlines()
    assert table[0].split() == ["name", "value"] and "¹" not in "".join(table)
    for wrong, words in [
        (("--columns", "nme"), "did you mean name?"),
        (("--sort", "size"), "did you mean shape?"),
        (("--columns", "name", "--format", "json"), "--columns is for tables, not for json"),
    ]:
        code, said = refusal(*PARTS, *wrong)
        assert code == 2 and words in said


@pytest.mark.parametrize(
    "path, expected",
    [
        ("y", "6.0\n"),
        ("dy/dx", "2.0\n"),
        ("dy/dw", "5.0\n"),
        ("y.shape", "()\n"),
        ("root", "6.0\n"),
    ],
)
def test_the_names_that_map_gives_its_columns(answer, path, expected):
    assert answer("eval", *NOTES, "--get", path) == expected


def test_a_variable_y_is_itself(answer, refusal):
    assert answer("eval", "y*3", "--y", "2", "--get", "y") == "2.0\n"
    assert answer("eval", "z = x*3", "--x", "2", "--get", "dz/dx") == "3.0\n"
    assert "no tensor 'v'" in refusal("eval", *NOTES, "--get", "dy/dv")[1]


def test_help_lists_commands_by_use_and_limits_last(answer):
    said = answer("--help")
    assert [line for line in said.splitlines() if line in HEADS] == list(HEADS)
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    for command in ("eval", "graph", "why", "map"):
        heads = [
            line
            for line in answer(command, "--help-all").splitlines()
            if line.endswith(":") and line[:1] not in " "
        ]
        assert heads[-2:] == ["Limits:", "Examples:"]


HEADS = tuple(f"{title}:" for title in GROUPS)
