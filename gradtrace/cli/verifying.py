"""Run the cells of a note in order, in one namespace, and compare their output with the recorded
output.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from gradtrace.cli import console, running
from gradtrace.documents import notes, outputs
from gradtrace.documents.cells import Cell
from gradtrace.errors import BudgetError, GradtraceError, LanguageError, ProgramError
from gradtrace.limits import Budget
from gradtrace.program.budget import Output
from gradtrace.program.dialogue import Dialogue

DRAWS = re.compile(
    r"\b(randn?|rand_like|randn_like|randint|randperm|normal|bernoulli|multinomial|dropout|Linear|Conv\w*)\b"
)
INTEGERS = re.compile(r"\b(randint|randint_like|randperm|random_|multinomial|DataLoader|random)\b")
RAN = "no record"
FAILED = "failed"
SKIPPED = "not run"
REFUSED = "refused"
TWICE = "run twice"
MOST_ELEMENTS = 10_000  # of a variable that a magic's program reads
AGREES = (outputs.SAME, outputs.ADDRESSES, outputs.VERSION)
SHOWS = re.compile(r"\b(import|from) gradtrace\b.*?\b(draw|page|why|stats|steps)\b", re.DOTALL)
RECORDS = re.compile(r"^\s*(import|from) gradtrace\.(torch|pytest_plugin)\b", re.MULTILINE)
NUMBERED = re.compile(r"In \[(\d+)\]")


class Checked(NamedTuple):
    """The result of one cell. The verdict is one of `outputs`, or "no record", "failed", "not run",
    "refused" (it needs PyTorch, reached a limit, or was not allowed a file), or "run twice": the
    cell numbers show two runs, and the output of the second agrees.
    """

    cell: Cell
    verdict: str
    detail: str
    printed: str
    raised: bool = False  # what was printed ends with an error

    @property
    def passed(self) -> bool:
        return self.verdict not in (outputs.DIFFERS, FAILED, REFUSED)

    @property
    def compared(self) -> bool:
        """Whether the cell's output was compared with a recorded output."""
        return self.verdict not in (RAN, SKIPPED, REFUSED) and bool(
            (self.cell.record or "").strip()
        )


class Notebook:
    """A note that is being run: the namespace that its cells share, and the cell numbers so far."""

    def __init__(self, name: str, budget: Budget) -> None:
        self.budget = budget
        running.offer_pictures()
        self.talk = Dialogue(name, budget)
        self.draws = self.draws_integers = False
        self.numbers: set[int] = set()  # of the cells so far

    def check(self, cell: Cell) -> Checked:
        """Run a cell; if its output differs and the cell numbers show that it was run twice, run it
        again.
        """
        checked = self.check_once(cell)
        if checked.verdict == outputs.DIFFERS and outputs.error_of(
            outputs.normal(cell.record or "")
        ):
            missing = self.number_before(cell)
            again = self.check_once(cell) if missing else None
            if again is not None and again.verdict in AGREES:
                why = (
                    f"In [{missing}] is missing: the cell was run twice, and its record is of "
                    "the second run"
                )
                checked = again._replace(
                    verdict=TWICE, detail="; ".join(filter(None, (why, again.detail)))
                )
        number = NUMBERED.match(cell.label)
        if number:
            self.numbers.add(int(number[1]))
        return checked

    def number_before(self, cell: Cell) -> int:
        """Return the number before a cell's if no earlier cell has it, else 0. A missing number
        means that the cell was run twice.
        """
        number = NUMBERED.match(cell.label)
        before = int(number[1]) - 1 if number else 0
        return before if before not in self.numbers else 0

    def check_once(self, cell: Cell) -> Checked:
        """Run a cell, unless it is marked to be skipped, and compare its output."""
        if cell.skipped:
            return Checked(cell, SKIPPED, cell.skipped, "")
        if RECORDS.search(cell.code):
            return Checked(cell, SKIPPED, "it records real PyTorch, which needs full rights", "")
        checked = self.compared(cell)
        if not cell.left_out:
            return checked
        return checked._replace(
            detail="; ".join(
                filter(None, (checked.detail, f"left out: {', '.join(cell.left_out)}"))
            )
        )

    def compared(self, cell: Cell) -> Checked:
        """Run a cell and compare its output with its record."""
        if cell.command:
            return self.command_line(cell)
        self.draws = self.draws or bool(DRAWS.search(cell.code))
        self.draws_integers = self.draws_integers or bool(INTEGERS.search(cell.code))
        printed, result, error = self.run(cell)
        if isinstance(error, (LanguageError, BudgetError)):
            return Checked(cell, REFUSED, error.message, printed)
        if (
            isinstance(error, ProgramError)
            and isinstance(error.__cause__, PermissionError)
            and error.hint
        ):
            return Checked(cell, REFUSED, f"{error.message}; {error.hint}", printed)
        if cell.record is None:
            return Checked(
                cell,
                RAN if error is None else FAILED,
                "" if error is None else error.message,
                printed,
            )
        shown = printed if error is None else f"{printed}{error.message}\n"
        comparison = outputs.compare(
            cell.record,
            shown,
            self.draws,
            self.draws_integers,
            cell.ellipsis,
            result,
            error.message if error is not None and error.is_of_library else "",
        )
        if error is not None and comparison.verdict == outputs.DIFFERS:
            return Checked(cell, FAILED, error.message, shown, True)
        return Checked(cell, *comparison, shown, error is not None)

    def command_line(self, cell: Cell) -> Checked:
        """Run a command line of the document, unless it asks for a right, and compare what it
        prints.
        """
        program = cell.code if cell.is_magic else ""
        words = cell.command
        reason = console.hindrance(cell.command, cell.is_magic, self.budget.allow_read)
        if cell.is_magic and not reason:
            settings, reason = self.inputs(program)
            words = (*words, *settings)
            reason = reason or console.hindrance(words, True, self.budget.allow_read)
        if not console.is_utf8(program):
            reason = "it has a character that no file in UTF-8 can have"
        if reason:
            return Checked(cell, SKIPPED, reason, "")
        code, out, err = console.result_of(words, program, self.budget)
        if console.NO_WALL in err:
            return Checked(cell, SKIPPED, err.strip(), "")
        # a picture is not compared
        if cell.record is None or (cell.is_magic and words[0] == "graph"):
            last = (err.strip() or f"exit code {code}").split("\n")[0]
            return (
                Checked(cell, FAILED, last, err if cell.is_magic else err + out)
                if code
                else Checked(cell, RAN, "", "" if cell.is_magic else out)
            )
        ways = (out,) if cell.is_magic and not code else (out, err + out, out + err)
        tries = [(outputs.compare(cell.record, shown, False), shown) for shown in ways]
        comparison, shown = next(
            (attempt for attempt in tries if attempt[0].verdict in AGREES), tries[-1]
        )
        return Checked(cell, *comparison, shown, raised=bool(code) and not out)

    def inputs(self, program: str) -> tuple[list[str], str]:
        """Return the options that give a magic's program the values of the note's variables, as the
        magic does; or why that cannot be done.
        """
        from gradtrace.cli import magic
        from gradtrace.program.parse import parse

        try:
            free = [
                variable.name
                for variable in parse(program).inputs
                if variable.name in self.talk.variables
            ]
        except GradtraceError:
            return [], ""  # the command itself says what is wrong
        words: list[str] = []
        for name in free:
            array, is_leaf = magic.contents(self.talk.variables[name])
            if array is None or array.size > MOST_ELEMENTS:
                return [], f"its input {name} is not a number or a small tensor"
            words += [
                "--set",
                f"{name}=torch.tensor({array.tolist()}, dtype=torch.{array.dtype.name})",
            ]
            words += [] if is_leaf else ["--no-grad", name]
        return words, ""

    def run(self, cell: Cell) -> tuple[str, str, GradtraceError | None]:
        """Run a cell; return its output, the end of it that is the value of the last expression,
        and its error.
        """
        out = Written(self.budget)
        code = displayed(cell.code, cell.record or "")
        try:
            program = self.talk.parse(code)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.talk.run(program, stdout=out, stderr=Output(self.budget))
        except GradtraceError as error:
            return out.getvalue(), "", error
        has_result = code != cell.code and self.talk.variables.get("_") is not None
        return out.getvalue(), out.getvalue()[out.start :] if has_result else "", None


class Written(Output):
    """What a cell prints, and where the last text before a line's end begins."""

    start = 0

    def write(self, text: str, /) -> int:
        if text != "\n":
            self.start = self.tell()
        return super().write(text)


def displayed(code: str, record: str) -> str:
    """Return the cell's code changed to print its last expression unless that is None, as a
    notebook does; of manual_seed only if the record has its generator.
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or last.col_offset:
        return code
    if is_silent(last.value) and "torch._C.Generator" not in record:
        return code
    head = "\n".join(code.split("\n")[: last.lineno - 1])
    expression = ast.get_source_segment(code, last)
    return (
        f"{head}{chr(10) if head else ''}_ = ({expression})\nif _ is not None:\n    "
        "print(repr(_))\n"
    )


def is_silent(node: ast.expr) -> bool:
    """Whether an expression is a call whose value need not be printed: print, backward,
    zero_grad.
    """
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in (
        "print",
        "backward",
        "step",
        "zero_grad",
        "manual_seed",
        "close",
        "add_graph",
        "list",
        "start",
    )


def verify(name: str, text: str, budget: Budget) -> list[Checked]:
    """Run all cells of a note and return their verdicts."""
    import gradtrace.ops.random.generator  # noqa: F401  (so that its seed is among what is kept between cells)

    notebook = Notebook(name, budget)
    if SHOWS.search(text) is None:
        return [notebook.check(cell) for cell in notes.cells(name, text)]
    import graphviz  # noqa: F401  (no cell may import it)

    from gradtrace.trace.cell_values import CellRecorder, of_note

    of_note.append(vars(notebook.talk.module))
    notebook.talk.recorder = CellRecorder()
    try:
        return [notebook.check(cell) for cell in notes.cells(name, text)]
    finally:
        of_note.pop()


def updated(name: str, text: str, checks: list[Checked]) -> tuple[str, list[Cell]]:
    """Return the document with each outdated record replaced by the cell's present output, unless
    that is an error, and the cells whose records were replaced.
    """
    kept = (outputs.SAME, outputs.ADDRESSES, REFUSED, SKIPPED, TWICE)
    stale = [
        (c.cell, c.printed)
        for c in checks
        if c.cell.record is not None and c.verdict not in kept and not c.raised
    ]
    if name.endswith(".ipynb"):
        return notes.updated_json(text, stale), [cell for cell, _ in stale]
    return notes.updated_text(text, stale)
