"""Text that TeX typesets literally: every special character of TeX escaped, symbols as their commands.

Characters that 8-bit fonts do not have are written for LuaLaTeX and XeLaTeX; pdfLaTeX shows a question mark instead.
"""

from __future__ import annotations

from gradtrace.views.cells import visible

ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "…": r"\ldots{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "µ": r"\ensuremath{\mu}",
}
GREEK = (
    *("alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
    *("xi", "o", "pi", "rho", "varsigma", "sigma", "tau", "upsilon", "varphi", "chi", "psi", "omega"),
)
CAPITALS = {"Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma"}
CAPITALS.update({"Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ε": "epsilon", "ϕ": "phi", "ϵ": "epsilon"})
SIGNS = {
    **{
        "∂": "partial",
        "·": "cdot",
        "×": "times",
        "÷": "div",
        "−": "-",
        "∞": "infty",
        "√": "surd",
        "≤": "le",
        "≥": "ge",
    },
    **{"≠": "ne", "≈": "approx", "→": "rightarrow", "←": "leftarrow", "↔": "leftrightarrow", "∑": "sum", "∏": "prod"},
    **{"▶": "triangleright", "▸": "triangleright", "◀": "triangleleft", "▼": "triangledown", "▲": "triangle"},
    **{"◹": "urcorner", "▔": "sqcap", "❐": "square", "○": "bigcirc"},  # the legend's shapes
    **{"²": "{}^2", "³": "{}^3", "¹": "{}^1", "⊙": "odot", "∇": "nabla", "±": "pm", "°": "{}^\\circ", "✓": "surd"},
}
MATHS = {chr(0x3B1 + i): name for i, name in enumerate(GREEK)} | CAPITALS | SIGNS


def escaped(text: str) -> str:
    """Return a line of text for TeX; control characters are shown as the terminal shows them."""
    return "".join(map(_escaped, visible(text))).replace("--", "-{}-").replace("--", "-{}-")  # no dash of two


def _escaped(char: str) -> str:
    found = ESCAPES.get(char)
    if found is None and char in MATHS:
        name = MATHS[char]
        found = ESCAPES[char] = rf"\ensuremath{{{name if name[0] in '-{' or name == 'o' else chr(92) + name}}}"
    if found is not None:
        return found
    return char if " " <= char <= "~" or "¡" <= char <= "ÿ" else rf"\ifdefined\pdftexversion ?\else {char}\fi{{}}"
