"""Translate mathematical notation to Python, for the hints of errors: "2x² + sin x" is "2*x**2 +
sin(x)".

    translated("2x+1")                  "2*x+1"
    translated("|x|(x+1)")              "abs(x)*(x+1)"
    translated("x(x+1)", {"x"})         "x*(x+1)": x is a variable, not a function

A product without its sign, powers as raised digits, roots, absolute values between bars, and
functions without brackets are known. A longer word that stands beside another factor is not: "50
percent of x" is a sentence, so it is read only if it names a variable or a known function. A
function takes the product that follows it, up to the next function: sin 2x cos x is
sin(2*x)*cos(x).
"""

from __future__ import annotations

import keyword
import re

from gradtrace.annotations import NamedTuple
from gradtrace.lazy_names import words
from gradtrace.ops import api
from gradtrace.program import syntax as ast
from gradtrace.program.names import SYNONYMS, is_known

SIGNS = dict(
    zip(
        "^×·⋅∙∗÷−–≤≥≠",
        ("**", "*", "*", "*", "*", "*", "/", "-", "-", "<=", ">=", "!="),
        strict=True,
    )
)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
MODULES = ("torch.", "math.", "np.", "F.")
ROOTS = {"√": "sqrt({})", "∛": "({})**(1/3)"}
WORD = r"[^\W\d⁰¹²³⁴⁵⁶⁷⁸⁹][^\W⁰¹²³⁴⁵⁶⁷⁸⁹]*"
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<raised>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    rf"|(?P<name>{WORD}(?:\.{WORD})*)|(?P<sign>\*\*|//|->|[<>=!]=|:=|\S))"
)
GREEK = frozenset(
    words(
        "alpha beta gamma delta epsilon zeta eta theta kappa mu nu xi rho sigma tau phi chi psi "
        "omega"
    )
)
QUOTES = "\"'#\\`"  # of text, comments and code, which are not mathematics
MANY = 2000  # characters of a line: a longer one is not translated
DEEP = 50  # brackets within brackets


class Lexeme(NamedTuple):
    kind: str  # "number", "name", "raised" or "sign"
    text: str
    spaced: bool  # whether a space comes before it


class NotNotation(Exception):
    """The line is nothing that this module reads."""


def translated(line: str, variables: frozenset[str] | set[str] = frozenset()) -> str | None:
    """Return the line in Python; None if nothing changes, or nothing can be read."""
    text = line.strip()
    if not text or len(text) > MANY or any(sign in text for sign in QUOTES):
        return None
    tokens = [
        Lexeme(m.lastgroup or "", m[m.lastgroup or 0], m[0][:1].isspace())
        for m in TOKEN.finditer(text)
    ]
    try:
        formula = NotationReader(tokens, variables).statement()
        # *x alone is not a formula
        if any(isinstance(node, ast.Starred) for node in ast.walk(ast.parse(formula))):
            return None
    except (NotNotation, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return None if re.sub(r"\s", "", formula) == re.sub(r"\s", "", text) else formula


def is_long(name: str) -> bool:
    """Whether a name has more letters than one, but for those of a Greek letter's name or an index:
    "of", not "x1".
    """
    letters = name.partition("_")[0].rstrip("0123456789").lower()
    return len(letters) > 1 and letters not in GREEK and letters.isascii()


def is_function(name: str) -> bool:
    """Whether a name is a known function."""
    if name.startswith(MODULES):
        name = name.partition(".")[2]
    return (
        name in api.functions
        or name in SYNONYMS
        or (is_known(name) and name not in ("e", "pi", "inf", "nan", "tau"))
    )


class NotationReader:
    """The reader of one line's tokens; it writes while it reads."""

    def __init__(self, tokens: list[Lexeme], variables: frozenset[str] | set[str]) -> None:
        self.tokens = tokens
        self.variables = variables
        self.at = 0
        self.depth = 0
        self.bars = 0
        self.factors = 0  # of the product that was read last

    @property
    def next(self) -> Lexeme:
        return self.tokens[self.at] if self.at < len(self.tokens) else Lexeme("end", "", False)

    def take(self) -> Lexeme:
        token = self.next
        self.at += 1
        return token

    def statement(self) -> str:
        """Read everything."""
        parts = []
        while self.next.kind != "end":
            parts.append(self.part())
        return "".join(parts).strip()

    def part(self) -> str:
        """Read a product, or the sign between two."""
        space = " " if self.next.spaced else ""
        if self.starts_factor():
            return space + self.product()
        token = self.take()
        if token.kind != "sign":
            raise NotNotation
        sign = SIGNS.get(token.text, token.text)
        if sign == "/" and self.starts_factor():  # 1/2x is 1/(2*x)
            gap = " " * self.next.spaced
            divisor = self.product()
            return f"{space}/{gap}{self.bracketed(divisor)}"
        return space + sign

    def starts_factor(self) -> bool:
        token = self.next
        return (
            token.kind in ("number", "name") or token.text in ROOTS or token.text in ("(", "[", "|")
        )

    def product(self) -> str:
        """Read factors that stand side by side."""
        first = self.next
        formula = self.factor()
        count = 1
        while (
            self.starts_factor()
            and not (self.next.text == "|" and self.bars)
            and self.next.text != "["
        ):
            formula += "*" + self.sided(first)
            count += 1
        self.factors = count
        return formula

    def bracketed(self, product: str) -> str:
        """Return a divisor in brackets if it has several factors."""
        return f"({product})" if self.factors > 1 else product

    def factor(self) -> str:
        """Read one factor with its powers and indices."""
        token = self.take()
        if token.text in ROOTS:
            formula = ROOTS[token.text].format(self.argument())
        elif token.text == "|":
            formula = f"abs({self.inside('|')})"
        elif token.text in ("(", "["):
            formula = (
                token.text
                + self.inside(")" if token.text == "(" else "]")
                + (")" if token.text == "(" else "]")
            )
        elif token.kind == "number":
            return token.text + self.power()
        else:
            formula = self.named(token.text)
        while self.next.text == "[" and not self.next.spaced:
            self.take()
            formula += f"[{self.inside(']')}]"
        return formula + self.power()

    def named(self, name: str) -> str:
        """Read what a name begins: a call, a function without brackets, or a variable."""
        if keyword.iskeyword(name):
            raise NotNotation
        called = self.next.text == "(" and not (self.next.spaced and name in self.variables)
        if name not in self.variables and (called or is_function(name)):
            name = SYNONYMS.get(name, name)
            raised = self.power() or self.caret()  # sin² x, sin^2(x)
            if self.next.text == "(":
                self.take()
                return f"{name}({self.inside(')')}){raised}"
            if self.next.kind == "end" or not self.starts_factor():
                return name
            return f"{name}({self.argument()}){raised}"
        return "pi" if name == "π" else name

    def argument(self) -> str:
        """Read what a function or a root without brackets takes: a bracket alone, or a product up
        to a function.
        """
        if self.next.text == "(":
            self.take()
            return self.inside(")")
        if not self.starts_factor():
            raise NotNotation
        first = self.next
        formula = self.factor()
        while self.next.kind in ("number", "name") and not self.begins_function():
            formula += "*" + self.sided(first)
        return formula

    def sided(self, first: Lexeme) -> str:
        """Read a factor that stands beside another one, the first of which began with a token."""
        if self.is_word(first) or self.is_word(self.next):
            raise NotNotation
        return self.factor()

    def is_word(self, token: Lexeme) -> bool:
        """Whether a token is a word that nothing says to be a variable, a function or a
        constant.
        """
        name = token.text
        return (
            token.kind == "name"
            and is_long(name)
            and name not in self.variables
            and not (is_known(name) or is_function(name))
        )

    def begins_function(self) -> bool:
        name = self.next.text
        return self.next.kind == "name" and name not in self.variables and is_function(name)

    def power(self) -> str:
        return f"**{self.take().text.translate(RAISED)}" if self.next.kind == "raised" else ""

    def caret(self) -> str:
        """Read the power between a function and its argument; sin^-1(x) may be the inverse, so it
        is not read.
        """
        sign, number, after = (
            *self.tokens[self.at : self.at + 3],
            *[Lexeme("end", "", False)] * 3,
        )[:3]
        if sign.text not in ("^", "**"):
            return ""
        if number.kind != "number" or (after.text != "(" and after.kind != "name"):
            raise NotNotation
        self.at += 2
        return f"**{number.text}"

    def inside(self, end: str) -> str:
        """Read up to a closing bracket or bar."""
        self.depth += 1
        bars = self.bars
        self.bars = int(end == "|")
        if self.depth > DEEP:
            raise NotNotation
        parts = []
        while self.next.text != end:
            if self.next.kind == "end":
                raise NotNotation
            parts.append(self.part())
        self.take()
        self.depth = self.depth - 1
        self.bars = bars
        return "".join(parts).strip()


def called_like_function(text: str, name: str) -> str | None:
    """Return the first line of a program that calls a variable, as a product: x(x+1) as
    "x*(x+1)".
    """
    for line in text.splitlines():
        if re.search(rf"(?<![\w.]){re.escape(name)}\(", line):
            return translated(line, {name})
    return None


# Lines of other notations: what each is written as, and whether that is code with which the line is
# replaced.
OTHERS = (
    (re.compile(r"(.+?)\?(.+?):(.+)"), "write {1} if {0} else {2}", True),
    (re.compile(r"(\w+)\s*:=(.+)"), "write {0} = {1}", True),
    (
        re.compile(r"[d∂]\s*/\s*[d∂]\s*\w+\s*[(\[]?(.+?)[)\]]?"),
        "every result is differentiated; write {0}",
        True,
    ),
    (
        re.compile(r"(\w+)\((\w+)\)\s*=(?!=)(.+)"),
        "write {2}, or a function: def {0}({1}): return {2}",
        False,
    ),
    (re.compile(r"[∑Σ]\s*(.+)"), "write sum({0})", True),
    (re.compile(r"[∏Π]\s*(.+)"), "write prod({0})", True),
    (re.compile(r".*?(\w+|\([^()]*\))!(?!=).*"), "{0}! is exp(lgamma({0} + 1))", False),
)
# A percent sign that is not Python's remainder: 50% of x, x%, (1 - 5%)*x.
PERCENT = re.compile(
    r"((?:\b[^\W\d]\w*)?\([^()]*\)|\b\d[\w.]*|\b[^\W\d]\w*)(?:(?<=[\d.])\s*)?%(?:(\s*of\b\s*)|(?=\s*(?:[*/)+-]|$)))"
)


def of_other_notation(line: str) -> str:
    """Return what to write for a line of a notation that is not mathematics alone: a ? b : c, f(x)
    = ..., d/dx, n!.
    """
    line = line.strip()
    if len(line) > MANY or any(sign in line for sign in QUOTES):
        return ""
    if (hundredths := PERCENT.sub(in_hundredths, line)) != line:
        meant = translated(hundredths) or (hundredths if is_program(hundredths) else None)
        return f"a percent is a hundredth; write {meant}" if meant else ""
    for pattern, template, is_whole in OTHERS:
        match = pattern.fullmatch(line)
        if match is None:
            continue
        said = template.format(*(part.strip() for part in match.groups()))
        if not is_whole or is_program(said.partition("write ")[2]):
            return said
    if not is_program(line) and is_program(re.sub(r"(?<![=<>!])=(?!=)", "==", line)):
        return "an equation has no value; write its left side minus its right side"
    return ""


def in_hundredths(match: re.Match[str]) -> str:
    """Return the division by 100 for a percentage, in brackets unless it begins the line."""
    hundredths = f"{match[1]}/100"
    return (f"({hundredths})" if match.start() else hundredths) + "*" * bool(match[2])


def is_program(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def correction(line: str) -> str:
    """Return what to write for a line in mathematical notation, or with a word of Python as a name;
    "" for another.
    """
    if advice := of_other_notation(line):
        return advice
    if line.rstrip()[-1:] in tuple("+-*/@%") and is_program(f"{line.strip()} 1"):
        return "what follows the last sign is missing"
    meant = translated(line)
    if meant is not None:
        return f"write {meant}"
    word = keyword_in(line)
    return (
        f"'{word}' is a word of Python; give the variable another name, such as {word[:3]}"
        if word
        else ""
    )


def keyword_in(line: str) -> str:
    """Return the word of Python that stands in a formula as if it were a variable: lambda*x; "" if
    none does.
    """
    for word in re.findall(r"[^\W\d]\w*", line):
        is_free = keyword.iskeyword(word) and word not in ("True", "False", "None")
        if is_free and is_program(re.sub(rf"\b{word}\b", f"{word}_", line).strip()):
            return word
    return ""
