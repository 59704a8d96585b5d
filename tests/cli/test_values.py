"""Values of variables: every form, and every malformed one."""

import json

import numpy as np
import pytest


@pytest.fixture
def value(answer):
    """The value that x gets, as --get prints it."""

    def read(text, *args, **extra):
        return answer(
            "eval", "x*1", "--x", text, "--no-backward", "--get", "x", *args, **extra
        ).strip()

    return read


@pytest.fixture
def complaint(refusal):
    def read(text, **extra):
        code, said = refusal("eval", "x*1", "--x", text, "--no-backward", **extra)
        assert code == 2
        assert len(said.splitlines()) == 1, said
        assert said.startswith("gradtrace: --x: ")
        return said

    return read


@pytest.mark.parametrize(
    "text, expected",
    [
        ("2", "2.0"),
        ("1e-3", "0.001"),
        (" 2 ", "2.0"),
        ("nan", "nan"),
        ("-inf", "-inf"),
        ("1_000", "1000.0"),
        ("0.1", "0.1"),
        ("1,2,3", "[1.0, 2.0, 3.0]"),
        ("1, 2, 3", "[1.0, 2.0, 3.0]"),
        ("5,", "[5.0]"),
        ("1,2;3,4", "[[1.0, 2.0], [3.0, 4.0]]"),
        ("1;2", "[[1.0], [2.0]]"),
        ("[1]", "[1.0]"),
        ("[[1,2],[3,4]]", "[[1.0, 2.0], [3.0, 4.0]]"),
        ("pi/2", "1.5707963267948966"),
        ("[1, 2*3]", "[1.0, 6.0]"),
        ("1/4, 2", "[0.25, 2.0]"),
        ("1/4, 2; 3, 4", "[[0.25, 2.0], [3.0, 4.0]]"),
        ("exp(0)", "1.0"),
        ("ones(2)", "[1.0, 1.0]"),
        ("[exp(0), 2]", "[1.0, 2.0]"),
        ("True", "1.0"),
        ("1e999", "inf"),
        ("[]", "[]"),
    ],
)
def test_values_as_text(value, text, expected):
    assert value(text) == expected


def test_random_values_by_seed(value):
    first, again, other = (value("randn(3,4)", "--seed", seed) for seed in (1, 1, 2))
    assert first == again != other
    assert np.array(json.loads(first)).shape == (3, 4)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty value"),
        ("1,2;3", "different lengths"),
        ("[[1],[2,3]]", "different lengths"),
        ("[1,[2]]", "different lengths"),
        ("1,,2", "'1,,2' is not a value"),
        ("abc", "'abc' is not a value"),
        ("abc", "a value is a number"),
        ("'s'", "not a number"),
        ("None", "not a number"),
        ("1 2", "is not a value"),
        ("10**400", "too large"),
        ("1/0", "is not a value"),
        ("@", "file's name is missing"),
        ("@none.npy", "no such file"),
        ("@data.xyz", "cannot tell what"),
        ("@.", "cannot tell what"),
    ],
)
def test_malformed_text(complaint, text, words):
    assert words in complaint(text)


# ---- files


def test_npy(value, here):
    np.save("a.npy", np.array([[1.5, 2], [3, 4]]))
    np.save("i.npy", np.array([1, 2], dtype=">i4"))
    np.save("s.npy", np.array(7.0))
    np.save("f.npy", np.asfortranarray([[1.0, 2], [3, 4]], dtype=np.float32))
    np.save("b.npy", np.array([True, False]))
    assert value("@a.npy") == "[[1.5, 2.0], [3.0, 4.0]]"
    assert value("@i.npy") == "[1.0, 2.0]"
    assert value("@s.npy") == "7.0"
    assert value("@f.npy") == "[[1.0, 2.0], [3.0, 4.0]]"
    assert value("@b.npy") == "[1.0, 0.0]"
    assert value(f"@{here}/a.npy") == "[[1.5, 2.0], [3.0, 4.0]]"


def test_npz(value, complaint, here):
    np.savez("two.npz", a=np.ones(2), b=np.zeros(1))
    np.savez("one.npz", only=np.ones(2))
    assert value("@two.npz#a") == "[1.0, 1.0]"
    assert value("@one.npz") == "[1.0, 1.0]"
    assert "holds 2 arrays; choose one: @two.npz#a, @two.npz#b" in complaint("@two.npz")
    assert "has no array 'z'" in complaint("@two.npz#z")


def test_arrays_that_are_refused(complaint, here):
    np.save("object.npy", np.array([object()]), allow_pickle=True)
    np.savez("object.npz", a=np.array([object()]))
    np.save("complex.npy", np.array([1j]))
    np.save("text.npy", np.array(["a"]))
    np.save("record.npy", np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]))
    np.save("good.npy", np.ones(100))
    content = (here / "good.npy").read_bytes()
    (here / "cut.npy").write_bytes(content[:150])
    (here / "head.npy").write_bytes(content[:20])
    (here / "empty.npy").write_bytes(b"")
    (here / "garbage.npy").write_bytes(b"garbage")
    (here / "garbage.npz").write_bytes(b"PK\x03\x04garbage")
    (here / "huge.npy").write_bytes(content[:128].replace(b"(100,), }", b"(9**9,), }"))
    assert "Python objects, which are never loaded" in complaint("@object.npy")
    assert "Python objects, which are never loaded" in complaint("@object.npz")
    for name in ("complex", "text", "record"):
        assert "not numbers" in complaint(f"@{name}.npy")
    for name in ("cut.npy", "head.npy", "empty.npy", "garbage.npy", "garbage.npz", "huge.npy"):
        assert f"cannot read {name}" in complaint(f"@{name}"), name
    assert "has no keys" in complaint("@good.npy#a")


def test_csv(value, complaint, here):
    (here / "t.csv").write_text("price,size\n1,2\n3,4\n")
    (here / "n.csv").write_text("1,2\n3,4\n")
    (here / "column.csv").write_text("1\n2\n3\n")
    (here / "row.csv").write_text("1,2,3\n")
    (here / "cell.csv").write_text("5\n")
    (here / "semi.csv").write_text("a;b\n1;2\n3;4\n")
    (here / "tabs.tsv").write_text("a\tb\n1\t2\n3\t4\n")
    (here / "blanks.txt").write_text("# measured\n1 2\n3   4\n\n")
    (here / "blanks.tsv").write_text("a b\n1 2\n3   4\n")
    (here / "title.tsv").write_text("wind speed\n1\n2\n3\n")
    (here / "quoted.csv").write_text('"a, b",c\r\n"1","2"\r\n"3","4"\r\n')
    square = "[[1.0, 2.0], [3.0, 4.0]]"
    for name in (
        "t.csv",
        "n.csv",
        "semi.csv",
        "tabs.tsv",
        "blanks.txt",
        "blanks.tsv",
        "quoted.csv",
    ):
        assert value(f"@{name}") == square, name
    assert value("@t.csv#size") == "[2.0, 4.0]"
    assert value("@quoted.csv#a, b") == "[1.0, 3.0]"
    assert value("@column.csv") == "[1.0, 2.0, 3.0]"
    assert value("@title.tsv") == "[1.0, 2.0, 3.0]"
    assert value("@row.csv") == "[1.0, 2.0, 3.0]"
    assert value("@cell.csv") == "5.0"
    assert "no column 'x'; there are price, size" in complaint("@t.csv#x")
    assert "its columns have no names" in complaint("@n.csv#x")


def test_malformed_tables(complaint, here):
    for text, words in [
        ("1,2\n3,x\n", "bad.csv:2: 'x' is not a number"),
        ("1,2\n3\n", "bad.csv:2: 1 values, where the first line has 2"),
        ("1,2\n\n3,\n", "bad.csv:3: an empty cell"),
        ("1\n2\n3 4\n", "bad.csv:3: '3 4' is not a number"),
        ("1 2\n3 4\n", "name the file .txt if blanks separate its numbers"),
        ("a,b\n", "holds no numbers"),
        ("", "holds no numbers"),
    ]:
        (here / "bad.csv").write_text(text)
        assert words in complaint("@bad.csv")


def test_json(value, complaint, here):
    (here / "n.json").write_text("2")
    (here / "l.json").write_text('[[1, 2.5], ["NaN", "-Infinity"]]')
    (here / "o.json").write_text('{"w": [1, 2], "none": null, "t": "x"}')
    (here / "bad.json").write_text("[1, 2")
    (here / "deep.json").write_text("[" * 100000)
    (here / "ragged.json").write_text("[[1], [2, 3]]")
    assert value("@n.json") == "2.0"
    assert value("@l.json") == "[[1.0, 2.5], [nan, -inf]]"
    assert value("@o.json#w") == "[1.0, 2.0]"
    assert "choose a key: #w, #none, #t" in complaint("@o.json")
    assert "has no key 'z'" in complaint("@o.json#z")
    assert "null is not a number" in complaint("@o.json#none")
    assert 'the text "x" is not a number' in complaint("@o.json#t")
    assert "bad.json:1:6: not JSON" in complaint("@bad.json")
    assert "nested too deeply" in complaint("@deep.json")
    assert "different lengths" in complaint("@ragged.json")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("2\n", "2.0"),
        ("1,2,3\n", "[1.0, 2.0, 3.0]"),
        ("1 2\n3 4\n", "[[1.0, 2.0], [3.0, 4.0]]"),
        ("1,2;3,4", "[[1.0, 2.0], [3.0, 4.0]]"),
        ("[1, 2]", "[1.0, 2.0]"),
        ("1\n2\n", "[1.0, 2.0]"),
    ],
)
def test_stdin(value, text, expected):
    assert value("@-", input=text) == expected


def test_binary_stdin(value, here):
    np.save("a.npy", np.ones(2))
    assert value("@-", input=(here / "a.npy").read_bytes()) == "[1.0, 1.0]"


def test_stdin_is_data_and_never_a_program(complaint):
    assert "<stdin> holds no numbers" in complaint("@-", input="ones(3)")
    assert "stdin is empty" in complaint("@-", input="")


def test_stdin_serves_one_variable(refusal):
    assert (
        "stdin is already read for --x"
        in refusal("eval", "x*w", "--x", "@-", "--w", "@-", input="2")[1]
    )


# ---- --params, --set, and which one wins


def test_params(answer, refusal, here):
    (here / "p.json").write_text('{"x": 2, "w": [1, 2], "z": "ones(2)"}')
    assert answer("eval", "(x*w*z).sum()", "--params", "p.json", "--format", "value") == "6.0\n"
    assert (
        answer("eval", "(x*w*z).sum()", "--params", "p.json", "-s", "x=3", "--format", "value")
        == "9.0\n"
    )
    assert (
        answer(
            "eval",
            "(x*w*z).sum()",
            "--params",
            "p.json",
            "-s",
            "x=3",
            "--x",
            "4",
            "--format",
            "value",
        )
        == "12.0\n"
    )
    assert answer("eval", "x*2", "--params", "-", "--format", "value", input='{"x": 1}') == "2.0\n"
    assert "no variable 'w'" in refusal("eval", "x*2", "--params", "p.json")[1]
    (here / "bad.json").write_text("[1]")
    assert "does not hold an object" in refusal("eval", "x*2", "--params", "bad.json")[1]
    (here / "file.json").write_text('{"x": "@other.npy"}')
    assert "cannot name other files" in refusal("eval", "x*2", "--params", "file.json")[1]
    assert "no such file" in refusal("eval", "x*2", "--params", "none.json")[1]


# ---- kinds and dtypes


def test_dtypes(answer, here):
    def dtype(*args):
        return answer("eval", *args, "--no-backward", "--get", "x.dtype").strip()

    np.save("i.npy", np.array([1, 2]))
    np.save("f.npy", np.array([1, 2], dtype=np.float32))
    assert dtype("x*1", "--x", "2") == "float64"
    assert dtype("x*1", "--x", "2", "--dtype", "float32") == "float32"
    assert dtype("x*1", "--x", "@f.npy") == "float64"
    assert dtype("x*1", "--x", "@i.npy") == "float64"
    assert dtype("x*1", "--x", "1,2", "--no-grad", "x") == "float64"
    (here / "s.py").write_text("import torch\ny = x*1\n")
    assert dtype("s.py", "--x", "2") == "float32"
    assert dtype("s.py", "--x", "2", "--dtype", "float64") == "float64"
    (here / "d.txt").write_text("x: data = [0, 1]\ny = x*1\n")
    assert dtype("d.txt", "--x", "@i.npy") == "int64"


def test_no_grad(answer):
    said = answer(
        "eval",
        "x*w",
        "--x",
        "2",
        "--w",
        "3",
        "--no-grad",
        "x",
        "--get",
        "x.requires_grad",
        "--get",
        "w.grad",
    )
    assert said.splitlines() == ["False", "2.0"]
    said = answer(
        "eval",
        "x*w*z",
        "--x",
        "2",
        "--w",
        "3",
        "--z",
        "1",
        "--no-grad",
        "x,w",
        "--get",
        "w.requires_grad",
    )
    assert said == "False\n"


def test_annotated_defaults(answer, here):
    (here / "d.txt").write_text("w: leaf = 1.5\nx: data = [1, 2, 3]\ny = (w*x).sum()\n")
    said = answer("eval", "d.txt", "--get", "w.grad", "--get", "x.requires_grad", "--get", "y")
    assert said.splitlines() == ["6.0", "False", "9.0"]
    said = answer(
        "eval",
        "d.txt",
        "--w",
        "2",
        "--x",
        "1,1",
        "--get",
        "w.grad",
        "--get",
        "x.requires_grad",
        "--get",
        "y",
    )
    assert said.splitlines() == ["2.0", "False", "4.0"]
    assert (
        answer("eval", "d.txt", "--no-grad", "w", "--get", "w.requires_grad", "--get", "y")
        == "False\n9.0\n"
    )
