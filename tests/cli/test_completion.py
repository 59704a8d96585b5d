"""`gradtrace completion`, tried in the shell itself."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def complete(tmp_path):
    """What bash offers when the last of the words is being completed, the scripts' own `gradtrace` on the path."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    program = tmp_path / "gradtrace"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gradtrace "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    def offered(*words):
        listed = " ".join(map(shlex.quote, words))
        script = (
            'compopt() { echo "$2"; }\neval "$(gradtrace completion bash)"\n'
            f"COMP_WORDS=(gradtrace {listed})\nCOMP_CWORD={len(words)}\n_gradtrace_completion gradtrace\n"
            'printf "%s\\n" "${COMPREPLY[@]}"\n'
        )
        done = subprocess.run(
            [bash, "--norc", "-c", script], capture_output=True, text=True, env=env, check=True
        )
        assert done.stderr == ""
        return done.stdout.split()

    return offered


def test_commands(complete):
    assert complete("ev") == ["eval"]
    assert "completion" in complete("")


def test_variables_come_before_the_tools_options(complete):
    assert complete("eval", "'(x + w)*rate'", "--")[:3] == ["--x", "--w", "--rate"]
    assert complete("eval", "weight*x", "--we") == ["--weight"]
    assert complete("eval", "x*", "--form") == ["--format"]  # an expression that is not whole yet


def test_choices(complete):
    assert complete("eval", "x", "--format", "js") == ["json", "jsonl"]
    assert complete("graph", "x", "--style", "") == ["data", "function", "autograd"]


def test_operators(complete):
    assert {"sin", "sinh", "sinc"} <= set(complete("ops", "si"))


@pytest.mark.parametrize(
    "words", [("eval", "no"), ("graph", "x*w", "-o", "g"), ("eval", "x", "--params", "")]
)
def test_files(complete, words):
    assert complete(*words) == ["default"]  # bash's own completion of names of files


def test_shell_from_the_environment():
    def printed(*arguments, shell):
        command = [sys.executable, "-m", "gradtrace", "completion", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "SHELL": shell}
        )

    assert printed(shell="/usr/bin/zsh").stdout == printed("zsh", shell="").stdout
    assert "compdef" in printed("zsh", shell="").stdout
    assert "complete --no-files" in printed("fish", shell="/bin/bash").stdout
    refused = printed(shell="/bin/tcsh")
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "gradtrace: no completion for the shell 'tcsh'; name one: bash, zsh, fish, powershell\n"
    )


@pytest.fixture
def offered_by_powershell(process):
    """What the command answers PowerShell's script: (type, value, help) of each item."""

    def offered(*words, incomplete=""):
        done = process(
            env={
                "_GRADTRACE_COMPLETE": "powershell_complete",
                "COMP_WORDS": "\n".join(("gradtrace", *words)),
                "COMP_CWORD": incomplete,
            }
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]

    return offered


def test_what_powershells_script_gets(offered_by_powershell):
    commands = offered_by_powershell()
    assert ("plain", "tutorial", "Learn gradtrace in ten minutes, in the terminal.") in commands
    variables = offered_by_powershell("eval", "(x + w)*rate", incomplete="--")
    assert [value for _, value, _ in variables][:3] == ["--x", "--w", "--rate"]
    assert all(kind == "plain" and help for kind, _, help in variables)
    assert offered_by_powershell("eval", "x", "--format", incomplete="js")[0][1] == "json"
    assert offered_by_powershell("graph", "x", "-o", incomplete="g") == [
        ("file", "g", "g")
    ]  # left to PowerShell


def test_powershells_script_in_powershell(process):
    """Where PowerShell is installed: the script's words, asked as its own prompt would ask."""
    shell = shutil.which("pwsh") or shutil.which("powershell")
    script = process("completion", "powershell").stdout
    assert script == process("completion", "pwsh").stdout
    assert script.startswith("Register-ArgumentCompleter -Native -CommandName gradtrace ")
    assert script.count("{") == script.count("}") and "%(" not in script
    if shell is None:
        pytest.skip("PowerShell is not installed")
    ask = f"function gradtrace {{ & {sys.executable} -m gradtrace @args }}\n{script}\n" + (
        "(TabExpansion2 'gradtrace eval \"x*weight\" --we' 30).CompletionMatches.CompletionText"
    )
    done = subprocess.run([shell, "-NoProfile", "-Command", ask], capture_output=True, text=True)
    assert done.stdout.split() == ["--weight"]


def test_a_pipe_or_a_device_is_not_waited_for(complete, tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for file in (tmp_path / "pipe.txt", "/dev/stdin", "/proc/kmsg", tmp_path / "none.txt"):
        assert "--format" in complete("eval", str(file), "--f")
