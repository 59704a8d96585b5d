"""`gradtrace tutorial`: an introduction of about ten minutes, at a terminal with questions, else
without.

Commands run in processes of their own, in a temporary folder that holds the tutorial's programs. No
shell is involved: what the learner types is a gradtrace command line or an expression.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from gradtrace.annotations import Any, Iterable
from gradtrace.cli import options, output, prompt
from gradtrace.cli.clicked import command_of
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import flag, number, section
from gradtrace.cli.tutorial_steps import END, PROGRAMS, STEPS, Question, Step
from gradtrace.errors import UsageError
from gradtrace.views import cells

HELP = """Learn gradtrace in ten minutes: each step has a short text, a command to run or to change, its real output,
and a question. Commands run in a temporary folder with the tutorial's programs.

Ctrl-D, Ctrl-C or `quit` end it, and --start goes on from there. Where input or output is not a terminal, and with
--no-input, all steps are printed with their outputs and answers."""

EXAMPLES = """Examples:
  gradtrace tutorial
  gradtrace tutorial --start 4
  gradtrace tutorial --no-input | less"""

WIDTH = 80
ATTEMPTS = 3
QUIT = ("q", "quit", "exit")
SKIP = ("s", "skip")
KEYS = (
    "Enter runs the command. Or type one of your own, or an expression; `skip` leaves out a "
    "step, `quit` ends."
)


class Left(Exception):
    """Raised when the learner ends the tutorial."""


class Tutorial:
    """A run of the tutorial in a temporary folder; `interactive`: it waits for input and asks
    questions.
    """

    def __init__(self, folder: str, interactive: bool, coloured: bool) -> None:
        self.folder = folder
        self.interactive = interactive
        self.coloured = coloured
        for name, text in PROGRAMS.items():
            Path(folder, name).write_text(text, encoding="utf-8")

    def walk(self, first: int) -> int:
        """Go through the steps from number `first` on; return the exit code."""
        if self.interactive:
            prompt.load()
            self.paragraph(KEYS)
        for current in range(first, len(STEPS) + 1):
            try:
                self.step(current, STEPS[current - 1])
            except (Left, EOFError, KeyboardInterrupt) as end:
                self.say(f"\nTo go on from here: gradtrace tutorial --start {current}")
                return Exit.INTERRUPTED if isinstance(end, KeyboardInterrupt) else Exit.OK
        self.say("\n" + END.rstrip())
        return Exit.OK

    def step(self, current: int, step: Step) -> None:
        self.say("\n" + self.paint(f"Step {current} of {len(STEPS)}: {step.title}", "bold") + "\n")
        self.paragraph(step.text)
        if step.program:
            self.say(
                f"\n{step.program}:\n\n{textwrap.indent(PROGRAMS[step.program].rstrip(), '    ')}"
            )
        self.say("\n" + self.paint(f"$ {step.command}", "cyan"))
        if self.interactive and not self.reaches(step.command):
            return
        self.run(step.command)
        if step.written and Path(self.folder, step.written).exists():
            self.say(Path(self.folder, step.written).read_text(encoding="utf-8").rstrip())
        self.say("")
        self.paragraph(step.remarks)
        self.ask(step.question)

    def reaches(self, shown: str) -> bool:
        """Run what the learner types; return True at the command shown or Enter, and False at
        `skip`.
        """
        while typed := self.typed("Enter to run it> "):
            if typed in SKIP:
                return False
            if shlex_split(typed) == shlex_split(shown):
                break
            self.run(as_command(typed))
        return True

    def ask(self, question: Question) -> None:
        self.say("")
        self.paragraph("Question: " + question.text)
        answers = question.words or (self.printed(question.command),)
        if not self.interactive:
            self.say(f"Answer: {answers[0]}")
            return
        for _ in range(ATTEMPTS):
            typed = self.typed("Your answer (Enter shows it)> ")
            while is_command(typed):
                self.run(typed)
                typed = self.typed("Your answer (Enter shows it)> ")
            if not typed or typed in SKIP:
                break
            if is_right(typed, answers):
                self.say(self.paint("Right.", "green"))
                return
            self.paragraph(f"Not quite. {question.hint}")
        self.say(f"The answer is {answers[0]}.")

    # ---- commands

    def run(self, command: str) -> None:
        """Run a gradtrace command line and show what it prints."""
        words = shlex_split(command)
        if words is None:
            self.say("A quotation mark is not closed; close it and try again.")
            return
        terminal = output.is_terminal(sys.stdout)
        sys.stdout.flush()
        done = self.process(
            words, *((None, None) if terminal else (subprocess.PIPE, subprocess.STDOUT))
        )
        if not terminal and done.stdout.strip():
            self.say(done.stdout.rstrip())

    def printed(self, command: str) -> str:
        """Return the text that a command prints to stdout, stripped."""
        return self.process(shlex.split(command), subprocess.PIPE).stdout.strip()

    def process(
        self, words: list[str], stdout: int | None = None, stderr: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line `words` in the tutorial's folder."""
        package = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        env = {
            **os.environ,
            "PYTHONPATH": path,
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": str(output.columns()),
        }
        env.pop("NO_COLOR", None)
        env["FORCE_COLOR"] = "1" if self.coloured else "0"
        return subprocess.run(
            [sys.executable, "-m", "gradtrace", *words[1:]],
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            env=env,
            encoding="utf-8",
            check=False,
            stdout=stdout,
            stderr=stderr,
        )

    # ---- the terminal

    def typed(self, text: str) -> str:
        line = input(text).strip()
        if line in QUIT:
            raise Left
        return line

    def say(self, text: str) -> None:
        output.state.is_styled = self.coloured
        output.write(text + "\n")

    def paragraph(self, text: str) -> None:
        self.say(
            textwrap.fill(
                text, min(WIDTH, output.columns()), break_long_words=False, break_on_hyphens=False
            )
        )

    def paint(self, text: str, style: str) -> str:
        return cells.paint(text, style if self.coloured else "")


def shlex_split(line: str) -> list[str] | None:
    """Split a command line into words; return None if a quotation mark is not closed."""
    try:
        return shlex.split(line)
    except ValueError:
        return None


def is_command(line: str) -> bool:
    return line == "gradtrace" or line.startswith("gradtrace ")


def as_command(line: str) -> str:
    """Return a gradtrace command line unchanged, and an expression as the command line that
    evaluates it.
    """
    return line if is_command(line) else f"gradtrace eval {shlex.quote(line)}"


def is_right(typed: str, answers: Iterable[str]) -> bool:
    """Whether an answer, after the name in `b = 1`, equals one of `answers`: as numbers if
    possible, else as text without regard to case, blanks and the kind of quotation marks.
    """
    said = plain(typed.rpartition("=")[2])
    return any(said == plain(answer) or is_same_number(said, answer) for answer in answers)


def plain(text: str) -> str:
    return "".join(text.split()).replace("'", '"').casefold()


def is_same_number(a: str, b: str) -> bool:
    try:
        return abs(float(a) - float(b)) <= 1e-6 * max(1.0, abs(float(b)))
    except ValueError:
        return False


def tutorial(
    step: int | None, list_steps: bool, no_input: bool, color: str | None, **_: Any
) -> int:
    if list_steps:
        output.write("".join(f"{i}  {step.title}\n" for i, step in enumerate(STEPS, 1)))
        return 0
    last = len(STEPS)
    first = 1 if step is None else step
    if first > last:
        raise UsageError(f"no step {first}", f"the tutorial has {last} steps; --list shows them")
    interactive = not no_input and output.is_terminal(sys.stdin) and output.is_terminal(sys.stdout)
    with tempfile.TemporaryDirectory(prefix="gradtrace-tutorial-") as folder:
        return Tutorial(folder, interactive, output.wants_colour(color, sys.stdout)).walk(first)


ROWS = section(
    "Tutorial",
    number("--start N", "Start at step N. Default: 1.", 1, field="step"),
    flag("--list", "List the steps and exit.", "list_steps"),
    flag("--no-input", "Ask nothing: print all steps with their outputs and answers."),
)
command = command_of(tutorial, HELP, [*ROWS, *options.COMMON], epilog=EXAMPLES)
