"""A formula in Python's notation as LaTeX: "g * cos(self)" -> "g \\cdot \\cos\\left(\\mathrm{self}\\right)"."""

from __future__ import annotations

import ast

KNOWN = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "max", "min", "arcsin", "arccos", "arctan", "det")
NAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "maximum": "max", "minimum": "min"}
SIGNS: dict[type[ast.AST], str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: r"\cdot", ast.MatMult: "", ast.Mod: r"\bmod"},
    **{ast.Lt: "<", ast.Gt: ">", ast.LtE: r"\le", ast.GtE: r"\ge", ast.Eq: "=", ast.NotEq: r"\ne"},
    **{ast.BitAnd: r"\wedge", ast.BitOr: r"\vee", ast.And: r"\wedge", ast.Or: r"\vee", ast.Is: "=", ast.IsNot: r"\ne"},
}
# How tightly an expression holds together: what is looser than its place asks for gets parentheses.
LOOSE, SUM, PRODUCT, POWER, TIGHT = range(5)


def latex(text: str) -> str:
    """The formula in LaTeX's mathematics; as typewriter text where it is none."""
    try:
        return term(ast.parse(text, mode="eval").body, LOOSE)
    except SyntaxError:
        return typewriter(text)


def term(node: ast.expr, place: int) -> str:
    """An expression within one that binds as tightly as `place`."""
    written, tightness = parts(node)
    return written if tightness >= place else rf"\left({written}\right)"


def parts(node: ast.expr) -> tuple[str, int]:
    """An expression, and how tightly it holds together."""
    if isinstance(node, ast.Name):
        return name(node.id), TIGHT
    if isinstance(node, ast.Constant) and node.value is ...:
        return r"\ldots", TIGHT
    if isinstance(node, ast.Constant):
        return (str(node.value) if isinstance(node.value, (int, float)) else typewriter(repr(node.value))), TIGHT
    if isinstance(node, ast.UnaryOp):
        sign = {ast.USub: "-", ast.UAdd: "+"}.get(type(node.op), r"\neg ")
        return sign + term(node.operand, POWER), PRODUCT
    if isinstance(node, ast.BinOp):
        return binary(node)
    if isinstance(node, ast.Call):
        return call(node)
    if isinstance(node, ast.Compare):
        signs = (SIGNS.get(type(op), r"\in") for op in node.ops)
        others = (f" {sign} {term(one, SUM)}" for sign, one in zip(signs, node.comparators, strict=True))
        return term(node.left, SUM) + "".join(others), LOOSE
    if isinstance(node, ast.IfExp):
        yes, no, when = term(node.body, LOOSE), term(node.orelse, LOOSE), term(node.test, LOOSE)
        return rf"\begin{{cases}}{yes} & {when} \\ {no} & \text{{else}}\end{{cases}}", TIGHT
    if isinstance(node, ast.Tuple):
        return ", ".join(term(one, SUM) for one in node.elts), LOOSE
    return typewriter(ast.unparse(node)), TIGHT


def binary(node: ast.BinOp) -> tuple[str, int]:
    if isinstance(node.op, ast.Div):
        return rf"\frac{{{term(node.left, LOOSE)}}}{{{term(node.right, LOOSE)}}}", TIGHT
    if isinstance(node.op, ast.Pow):
        return rf"{term(node.left, TIGHT)}^{{{term(node.right, LOOSE)}}}", POWER
    tightness = SUM if isinstance(node.op, (ast.Add, ast.Sub)) else PRODUCT
    sign = SIGNS.get(type(node.op), r"\star")
    return f"{term(node.left, tightness)} {sign} {term(node.right, tightness + 1)}", tightness


def call(node: ast.Call) -> tuple[str, int]:
    function = ast.unparse(node.func)
    arguments = [term(one.value if isinstance(one, ast.Starred) else one, SUM) for one in node.args]
    arguments += [rf"{name(one.arg or '')} = {term(one.value, SUM)}" for one in node.keywords]
    if function == "sqrt" and len(arguments) == 1:
        return rf"\sqrt{{{arguments[0]}}}", TIGHT
    if function == "abs" and len(arguments) == 1:
        return rf"\left|{arguments[0]}\right|", TIGHT
    if function == "where" and len(arguments) == 3:
        when, (yes, no) = term(node.args[0], LOOSE), arguments[1:]
        return rf"\begin{{cases}}{yes} & {when} \\ {no} & \text{{else}}\end{{cases}}", TIGHT
    shown = NAMED.get(function, function)
    head = f"\\{shown}" if shown in KNOWN else rf"\operatorname{{{escaped(function)}}}"
    return rf"{head}\left({', '.join(arguments)}\right)", TIGHT


def name(text: str) -> str:
    return text if len(text) == 1 else rf"\mathrm{{{escaped(text)}}}"


def typewriter(text: str) -> str:
    return rf"\texttt{{{escaped(text)}}}"


def escaped(text: str) -> str:
    marks = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "^": r"\^{}", "~": r"\~{}"}
    return "".join(marks.get(char, f"\\{char}" if char in "_%&#$" else char) for char in text)
