"""Convert a formula in Python's notation to LaTeX: "g * cos(self)" -> "g \\cdot \\cos\\left(\\mathrm{self}\\right)".

`analysis/formulas.py` describes the notation: an expression, or equations and conditions separated by semicolons.
"""

from __future__ import annotations

import ast

from gradtrace.lazy_names import word_pairs, words

KNOWN = words("sin cos tan sinh cosh tanh exp log max min arcsin arccos arctan det gcd")
NAMED = word_pairs("asin arcsin  acos arccos  atan arctan  maximum max  minimum min  gamma Gamma")
SYMBOLS = {
    **{name: f"\\{name}" for name in words("alpha beta gamma delta theta mu pi rho sigma tau")},
    **{"lambd": r"\lambda", "eps": r"\varepsilon", "inf": r"\infty"},
}
SIGNS: dict[type[ast.AST], str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: r"\cdot", ast.MatMult: r"\,", ast.Mod: r"\bmod", ast.BitXor: r"\oplus"},
    **{
        ast.Lt: "<",
        ast.Gt: ">",
        ast.LtE: r"\le",
        ast.GtE: r"\ge",
        ast.Eq: "=",
        ast.NotEq: r"\ne",
        ast.NotIn: r"\notin",
    },
    **{ast.BitAnd: r"\wedge", ast.BitOr: r"\vee", ast.And: r"\wedge", ast.Or: r"\vee", ast.Is: "=", ast.IsNot: r"\ne"},
}
# A function with an index, in brackets between its name and its argument.
BIG = word_pairs(r"sum \sum  prod \prod  all \bigwedge  any \bigvee  integral \int")
# How tightly an expression holds together: what is looser than its place asks for gets parentheses.
LOOSE, SUM, PRODUCT, POWER, TIGHT = range(5)


def latex(text: str) -> str:
    """Return the formula in LaTeX's mathematics; text that is not a formula is set as typewriter text."""
    try:
        return r",\quad ".join(statement(one.strip()) for one in text.split(";"))
    except SyntaxError:
        return typewriter(text)


def equation(text: str) -> str:
    """Return a formula with the result's name before a plain value: "self + 1" -> "out = self + 1"."""
    first, *more = text.split(";")
    return "; ".join([first if is_statement(first) else f"out = {first}", *(one.strip() for one in more)])


def is_statement(text: str) -> bool:
    """Whether a formula is an equation or a condition, not a plain value."""
    if " ~ " in text:
        return True
    node = ast.parse(text.strip()).body[0]
    return not isinstance(node, ast.Expr) or isinstance(node.value, ast.Compare)


def statement(text: str) -> str:
    """Return one equation, condition, distribution or value in LaTeX."""
    if " ~ " in text:
        return r" \sim ".join(term(ast.parse(side, mode="eval").body, SUM) for side in text.split(" ~ "))
    node = ast.parse(text).body[0]
    if isinstance(node, ast.Assign):
        sides = [*node.targets, node.value]
        return " = ".join(term(side, PRODUCT if isinstance(side, ast.Tuple) else LOOSE) for side in sides)
    if isinstance(node, ast.Expr):
        return term(node.value, LOOSE)
    raise SyntaxError(text)


def term(node: ast.expr, place: int) -> str:
    """Return an expression inside another one, in parentheses if it binds less tightly than `place`."""
    written, tightness = parts(node)
    return written if tightness >= place else rf"\left({written}\right)"


def parts(node: ast.expr) -> tuple[str, int]:
    """Return an expression in LaTeX, and how tightly it binds."""
    if isinstance(node, ast.Name):
        return name(node.id), TIGHT
    if isinstance(node, ast.Constant) and node.value is ...:
        return r"\ldots", TIGHT
    if isinstance(node, ast.Constant) and node.value is None:
        return r"\text{None}", TIGHT
    if isinstance(node, ast.Constant):
        return (str(node.value) if isinstance(node.value, (int, float)) else typewriter(repr(node.value))), TIGHT
    if isinstance(node, ast.UnaryOp):
        sign = {ast.USub: "-", ast.UAdd: "+"}.get(type(node.op), r"\neg ")
        return sign + term(node.operand, POWER), PRODUCT
    if isinstance(node, ast.BinOp):
        return binary(node)
    if isinstance(node, ast.BoolOp):
        return f" {SIGNS[type(node.op)]} ".join(term(one, PRODUCT) for one in node.values), LOOSE
    if isinstance(node, ast.Call):
        return call(node)
    if isinstance(node, ast.Subscript):
        base = term(node.value, TIGHT)
        base = f"{{{base}}}" if isinstance(node.value, ast.Subscript) else base  # TeX refuses a second index
        return rf"{base}_{{{term(node.slice, LOOSE)}}}", TIGHT
    if isinstance(node, ast.Compare):
        signs = (SIGNS.get(type(op), r"\in") for op in node.ops)
        others = (f" {sign} {term(one, SUM)}" for sign, one in zip(signs, node.comparators, strict=True))
        return term(node.left, SUM) + "".join(others), LOOSE
    if isinstance(node, ast.IfExp):
        return cases(node.body, node.orelse, node.test), TIGHT
    if isinstance(node, ast.Tuple):
        return ", ".join(term(one, SUM) for one in node.elts), LOOSE
    if isinstance(node, ast.Set):
        return rf"\left\{{{', '.join(term(one, SUM) for one in node.elts)}\right\}}", TIGHT
    if isinstance(node, ast.Slice):
        return ":", TIGHT
    return typewriter(ast.unparse(node)), TIGHT


def binary(node: ast.BinOp) -> tuple[str, int]:
    if isinstance(node.op, (ast.Div, ast.FloorDiv)):
        written = rf"\frac{{{term(node.left, LOOSE)}}}{{{term(node.right, LOOSE)}}}"
        return (written if isinstance(node.op, ast.Div) else rf"\left\lfloor {written} \right\rfloor"), TIGHT
    if isinstance(node.op, ast.Pow):
        return power(node), POWER
    tightness = SUM if isinstance(node.op, (ast.Add, ast.Sub)) else PRODUCT
    if isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        # In mathematics it is looser than a comparison beside it, whatever Python says.
        return f"{term(node.left, LOOSE)} {SIGNS[type(node.op)]} {term(node.right, LOOSE)}", LOOSE
    sign = SIGNS.get(type(node.op), r"\star")
    return f"{term(node.left, tightness)} {sign} {term(node.right, tightness + 1)}", tightness


def power(node: ast.BinOp) -> str:
    """Return a power; the exponent of a fraction or of a function is written outside its parentheses."""
    base = term(node.left, TIGHT)
    if isinstance(node.left, ast.BinOp) or (isinstance(node.left, ast.Call) and not base.endswith("|")):
        base = rf"\left({parts(node.left)[0]}\right)"
    return rf"{base}^{{{term(node.right, LOOSE)}}}"


def call(node: ast.Call) -> tuple[str, int]:
    if isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name) and len(node.args) == 1:
        return indexed(node.func.value.id, node.func.slice, node.args[0])
    function = ast.unparse(node.func)
    arguments = [term(one.value if isinstance(one, ast.Starred) else one, SUM) for one in node.args]
    arguments += [rf"{name(one.arg or '')} = {term(one.value, SUM)}" for one in node.keywords]
    if len(arguments) == 1 and function in AROUND:
        return AROUND[function].format(arguments[0]), TIGHT
    if len(arguments) == 1 and function in AFTER:
        return AFTER[function].format(term(node.args[0], TIGHT)), TIGHT
    if function == "where" and len(arguments) == 3:
        return cases(node.args[1], node.args[2], node.args[0]), TIGHT
    return rf"{head(function)}\left({', '.join(arguments)}\right)", TIGHT


# Functions of one argument that have a sign of their own.
AROUND = {
    "sqrt": r"\sqrt{{{}}}",
    "abs": r"\left|{}\right|",
    "floor": r"\left\lfloor {} \right\rfloor",
    "ceil": r"\left\lceil {} \right\rceil",
    "norm": r"\left\lVert {} \right\rVert",
}
AFTER = {"T": r"{}^{{\top}}", "inverse": r"{}^{{-1}}", "factorial": "{}!"}


def head(function: str) -> str:
    shown = NAMED.get(function, function)
    return f"\\{shown}" if shown in (*KNOWN, "Gamma") else rf"\operatorname{{{escaped(function)}}}"


def indexed(function: str, index: ast.expr, argument: ast.expr) -> tuple[str, int]:
    """Return a function with an index: a sum over it, or a derivative with respect to it."""
    given = [term(one, LOOSE) for one in (index.elts if isinstance(index, ast.Tuple) else [index])]
    if function == "d":
        times = rf"^{{{given[1]}}}" if len(given) == 2 else ""
        return rf"\frac{{d{times}}}{{d {given[0]}{times}}} {term(argument, PRODUCT)}", PRODUCT
    if function == "integral":
        return rf"\int_{{{given[1]}}}^{{{given[2]}}} {term(argument, PRODUCT)} \, d{given[0]}", PRODUCT
    below, above = ", ".join(given), ""
    if len(given) == 3 and function in BIG:
        below, above = f"{given[0]} = {given[1]}", f"^{{{given[2]}}}"
    elif len(given) == 3:
        below = rf"{given[1]} \le {given[0]} \le {given[2]}"
    if function in BIG:
        return rf"{BIG[function]}_{{{below}}}{above} {term(argument, PRODUCT)}", PRODUCT
    shown = head(function).replace("operatorname", "operatorname*") if function[:3] == "arg" else head(function)
    return rf"{shown}_{{{below}}}\left({term(argument, LOOSE)}\right)", TIGHT


def cases(yes: ast.expr, no: ast.expr, when: ast.expr) -> str:
    """Return the cases of a conditional expression; its else part may be conditional too."""
    rows = [(yes, when)]
    while True:
        if isinstance(no, ast.IfExp):
            rows, no = [*rows, (no.body, no.test)], no.orelse
        elif isinstance(no, ast.Call) and ast.unparse(no.func) == "where" and len(no.args) == 3:
            rows, no = [*rows, (no.args[1], no.args[0])], no.args[2]
        else:
            break
    lines = [rf"{term(value, LOOSE)} & {term(test, LOOSE)} \\ " for value, test in rows]
    return rf"\begin{{cases}}{''.join(lines)}{term(no, LOOSE)} & \text{{else}}\end{{cases}}"


def name(text: str) -> str:
    return SYMBOLS.get(text) or (text if len(text) == 1 else rf"\mathrm{{{escaped(text)}}}")


def typewriter(text: str) -> str:
    return rf"\texttt{{{escaped(text)}}}"


def escaped(text: str) -> str:
    marks = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "^": r"\^{}", "~": r"\~{}"}
    return "".join(marks.get(char, f"\\{char}" if char in "_%&#$" else char) for char in text)
