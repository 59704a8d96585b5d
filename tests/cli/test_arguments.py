"""Finding the source, and the variables as options."""

import pytest

NOTES = "(x+w)*(w+1)"


@pytest.mark.parametrize(
    "args",
    [
        [NOTES, "--x", "2", "--w", "1"],
        ["--x", "2", "--w", "1", NOTES],
        ["--x", "2", NOTES, "--w", "1"],
        ["--x=2", "--w=1", NOTES],
        ["--retain-graph", "--x", "2", NOTES, "--w=1"],
        [NOTES, "-s", "x=2", "--set", "w=1"],
        [NOTES, "-sx=2", "--set=w=1"],
        ["-e", NOTES, "--x", "2", "--w", "1"],
        ["--x", "2", "--w", "1", "--", NOTES],
        ["--format", "value", NOTES, "--x", "2", "--w", "1"],
    ],
)
def test_options_stand_anywhere(answer, args):
    assert answer("eval", *args, "--get", "root").strip() == "6.0" if "--" not in args else True
    if "--" in args:
        assert answer("eval", "--get", "root", *args).strip() == "6.0"


@pytest.mark.parametrize(
    "text, value",
    [
        ("-1", "-1.0"),
        ("-1e-3", "-0.001"),
        ("-1e5", "-100000.0"),
        ("-.5", "-0.5"),
        ("-1,-2", "[-1.0, -2.0]"),
        ("-inf", "-inf"),
        ("--1", "1.0"),
    ],
)
def test_negative_values(answer, text, value):
    assert answer("eval", "w*1", "--w", text, "--no-backward", "--get", "w").strip() == value
    assert answer("eval", "w*1", f"--w={text}", "--no-backward", "--get", "w").strip() == value
    assert answer("eval", "--no-backward", "--get", "w", "--w", text, "w*1").strip() == value


def test_greek_and_normalised_names(answer):
    assert answer("eval", "λ*λ", "--λ", "2", "--get", "λ.grad") == "4.0\n"
    assert (
        answer("eval", "µ*2", "--µ", "3", "--format", "value") == "6.0\n"
    )  # MICRO SIGN is Greek mu to Python
    assert answer("eval", "µ*2", "--set", "µ=3", "--format", "value") == "6.0\n"


def test_dashes_for_underscores(answer):
    assert answer("eval", "learning_rate*2", "--learning-rate", "3", "--format", "value") == "6.0\n"
    assert answer("eval", "learning_rate*2", "--learning_rate", "3", "--format", "value") == "6.0\n"
    assert answer("eval", "learning_rate*2", "--learning-rate=-3", "--format", "value") == "-6.0\n"


def test_a_tool_option_wins_over_a_variable(answer, refusal):
    assert answer("eval", "seed*2", "-s", "seed=4", "--format", "value") == "8.0\n"
    assert answer("eval", "seed*2", "--seed", "3", "-s", "seed=4", "--format", "value") == "8.0\n"
    code, said = refusal("eval", "seed*w", "--seed", "3", "--w", "1")
    assert code == 2 and "no value for seed; give -s seed=VALUE" in said


def test_an_expression_that_begins_with_a_dash(answer):
    assert answer("eval", "-x*w", "--x", "2", "--w", "3", "--format", "value") == "-6.0\n"
    assert answer("eval", "--x", "0", "-exp(x)", "--format", "value") == "-1.0\n"
    assert answer("eval", "-sin(x)", "--x", "0", "--get", "x.grad") == "-1.0\n"


@pytest.mark.parametrize(
    "args, meant",
    [
        ([NOTES, "--x", "2", "--w", "1", "--retian-graph"], "--retain-graph"),
        (["--retian-graph", NOTES, "--x", "2", "--w", "1"], "--retain-graph"),
        ([NOTES, "--retian-graph", "--x", "2", "--w", "1"], "--retain-graph"),
        (["x*weight", "--x", "2", "--wieght", "3"], "--weight"),
        (["x*weight", "--x", "2", "--wieght=3"], "--weight"),
        ([NOTES, "--x", "2", "--w", "1", "--formt", "json"], "--format"),
    ],
)
def test_typing_errors_get_did_you_mean(refusal, args, meant):
    code, said = refusal("eval", *args)
    assert code == 2
    assert f"did you mean {meant}?" in said
    assert len(said.splitlines()) == 1


def test_unknown_names(refusal):
    assert (
        "no such option '--z'; the variables are x"
        in refusal("eval", "x*2", "--x", "1", "--z", "3")[1]
    )
    assert (
        "no such option '--z'; the program has no variables"
        in refusal("eval", "2*2", "--z", "3")[1]
    )
    code, said = refusal("eval", "x*weight", "--x", "1", "-s", "wieght=3")
    assert code == 2 and "no variable 'wieght'; did you mean weight?" in said
    assert (
        "no variable 'q'; its variables are x"
        in refusal("eval", "x*2", "--x", "1", "--no-grad", "q")[1]
    )
    assert "no such command 'evla'; did you mean eval?" in refusal("evla", "x")[1]
    assert "to evaluate it: gradtrace eval 'x*2'" in refusal("x*2")[1]
    assert "no such option '-z'" in refusal("eval", "-z", "x*2")[1]


@pytest.mark.parametrize(
    "args, hint",
    [
        (["compare", "a.py", "b.py"], "gradtrace plan SOURCE --compare"),
        (["map", "x*x", "--to", "csv"], "did you mean --format?"),
        (["replay", "step.gtc", "--step", "train:step"], "did you mean --step-function?"),
        (
            ["hessian", "x*x", "--x", "1", "--create-graph"],
            "an option of eval, graph, page and others",
        ),
        (["plan", "x*x", "--x", "1", "--get", "x.grad"], "--get is an option of eval"),
    ],
)
def test_names_of_other_commands_and_versions(refusal, args, hint):
    code, message = refusal(*args)
    assert code == 2 and hint in message
    assert len(message.splitlines()) == 1


def test_usage_errors(refusal):
    for args, words in [
        (["eval"], "no SOURCE given; give an expression, a file, or - for stdin"),
        (["eval", "--x", "2"], "no SOURCE given; '2' is the value of --x; give an expression"),
        (["run"], "no FILE given; see gradtrace run --help"),
        (["eval", "x", "y"], "unexpected extra argument 'y'"),
        (["eval", "-e", "x", "y"], "unexpected extra argument 'y'"),
        (["eval", "x", "--x"], "'--x' requires an argument"),
        (["eval", "x", "--x", "--retain-graph"], "'--x' requires an argument"),
        (["eval", "x", "--x", "1", "--backward", "0"], "--backward"),
        (["eval", "x", "--x", "1", "--seed", "s"], "--seed"),
        (["eval", "x", "--x", "1", "--format", "xml"], "--format"),
        (["eval", "x", "--x", "1", "-s", "x"], "'x' is not NAME=VALUE"),
        (["eval", "x", "--x", "1", "-s", "1=2"], "'1=2' is not NAME=VALUE"),
        (["eval", "x", "--x", "1", "--format", "csv", "--get", "x"], "bare values"),
    ]:
        code, said = refusal(*args)
        assert code == 2, args
        assert words in said, said
        assert len(said.splitlines()) == 1, said


def test_missing_values_are_named_with_their_options(refusal):
    code, said = refusal("eval", "x*w", "--x", "2")
    assert code == 2
    assert said.splitlines() == [
        "<expression>:1:3: no value for w; give --w VALUE",
        "    x*w",
        "      ^",
    ]
    assert "no value for x, w; give --x VALUE --w VALUE" in refusal("eval", "x*w")[1]


# ---- the source, decided by syntax


def test_sources(answer, here):
    (here / "e.txt").write_text("y = x*x\n")
    (here / "plain").write_text("y = x*x*x\n")
    (here / "marked.py").write_bytes(b"\xef\xbb\xbfy = x*x\r\ny = y + 1\r\n")
    for argument in ("e.txt", "./e.txt", "@e.txt", str(here / "e.txt")):
        assert answer("eval", argument, "--x", "3", "--get", "y") == "9.0\n"
    assert answer("eval", "@plain", "--x", "3", "--get", "y") == "27.0\n"
    assert answer("eval", "marked.py", "--x", "3", "--get", "y") == "10.0\n"
    assert answer("eval", "-", "--x", "3", "--get", "y", input="y = x*x\n") == "9.0\n"


def test_nothing_but_syntax_decides(refusal, answer, here):
    (here / "x").write_text("y = 1\n")
    assert answer("eval", "x", "--x", "3", "--format", "value") == "3.0\n"
    code, said = refusal("eval", "w.txt")
    assert code == 2 and "no such file: 'w.txt'" in said and "-e" in said


def test_a_variables_value_may_be_a_file_name_and_no_source(answer, here):
    (here / "v.txt").write_text("7\n")
    assert answer("eval", "--x", "@v.txt", "x*1", "--format", "value") == "7.0\n"


def test_sources_that_cannot_be_read(refusal, here):
    (here / "latin.txt").write_bytes(b"a = 1\nb = '\xe9'\n")
    (here / "folder.txt").mkdir()
    assert "latin.txt:2: not UTF-8 text" in refusal("eval", "latin.txt")[1]
    assert "cannot read 'folder.txt': is a directory" in refusal("eval", "folder.txt")[1]
    assert "a file's name is missing after '@'" in refusal("eval", "@")[1]
    assert "cannot read" in refusal("eval", "./a\0b")[1]


def test_stdin_serves_once(refusal):
    code, said = refusal("eval", "-", "--x", "@-", input="x*x")
    assert code == 2 and "stdin is already read for the source" in said


# ---- help


def test_help_lists_the_variables(answer, here):
    (here / "e.txt").write_text("w: leaf = 1.0\nx: data = [1, 2, 3]\ny = (w*x*z).sum()\n")
    said = answer("eval", "e.txt", "--help")
    section = said.partition("Variables of this expression:")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in section.strip().splitlines()] == ["--w", "--x", "--z"]
    assert "default 1.0" in section and "required" in section and "data, no grad" in section


def test_help_without_a_source_or_with_a_broken_one(answer):
    for args in (
        ["eval", "--help"],
        ["eval", "x*", "--help"],
        ["eval", "x*", "--help-all"],
        ["ops", "--help-all"],
        ["eval", "none.txt", "-h"],
        ["run", "--help"],
        ["graph", "-", "--help"],
        ["--help"],
    ):
        said = answer(*args)
        assert said.startswith("Usage: gradtrace")
        assert "Variables of this expression" not in said
        assert all(len(line) <= 80 for line in said.splitlines())


def test_version(answer):
    from gradtrace import __version__

    assert answer("--version") == f"gradtrace {__version__}\n"


def test_completion_knows_the_variables():
    from click.shell_completion import ShellComplete

    from gradtrace.cli.group import cli

    complete = ShellComplete(cli, {}, "gradtrace", "_GRADTRACE_COMPLETE")
    found = {item.value for item in complete.get_completions(["eval", "weight*x"], "--we")}
    assert found == {"--weight"}
    assert {item.value for item in complete.get_completions([], "e")} == {"eval"}


def test_no_arguments_show_the_help_and_are_a_mistake(refusal, answer):
    code, said = refusal()
    assert (code, said) == (2, answer("--help"))


def test_a_picture_of_any_suffix_can_be_attached_to_o():
    from gradtrace.cli import argv
    from gradtrace.views.suffixes import SUFFIXES

    assert all(argv.is_attached(f"-oa.{suffix}") for suffix in (*SUFFIXES, "gt"))
