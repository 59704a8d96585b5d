"""Text that TeX typesets literally: every special character of TeX escaped, symbols as their commands.

Characters that 8-bit fonts do not have are written for LuaLaTeX and XeLaTeX; pdfLaTeX shows a question mark instead.
"""

from __future__ import annotations

from gradtrace.lazy_names import word_pairs, words
from gradtrace.views.cells import visible

# Each character, and how TeX writes it.
ESCAPES = word_pairs(r"""
    \ \textbackslash{}  { \{  } \}  $ \$  & \&  # \#  % \%  _ \_  ^ \textasciicircum{}  ~ \textasciitilde{}
    < \textless{}  > \textgreater{}  | \textbar{}  ' \textquotesingle{}  ` \textasciigrave{}
    … \ldots{}  – \textendash{}  — \textemdash{}  µ \ensuremath{\mu}
""")
GREEK = words("""
    alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma sigma tau upsilon
    varphi chi psi omega
""")
# Each character, and its name in TeX's mathematics.
SIGNS = word_pairs(r"""
    Γ Gamma  Δ Delta  Θ Theta  Λ Lambda  Ξ Xi  Π Pi  Σ Sigma  Υ Upsilon  Φ Phi  Ψ Psi  Ω Omega
    ε epsilon  ϕ phi  ϵ epsilon
    ∂ partial  · cdot  × times  ÷ div  − -  ∞ infty  √ surd  ≤ le  ≥ ge  ≠ ne  ≈ approx  ∑ sum  ∏ prod
    → rightarrow  ← leftarrow  ↔ leftrightarrow
    ² {}^2  ³ {}^3  ¹ {}^1  ⊙ odot  ∇ nabla  ± pm  ° {}^\circ  ✓ surd
""")
MATHS = {chr(0x3B1 + i): name for i, name in enumerate(GREEK)} | SIGNS


def escaped(text: str) -> str:
    """Return a line of text for TeX; control characters are shown as the terminal shows them."""
    return "".join(map(_escaped, visible(text))).replace("--", "-{}-").replace("--", "-{}-")  # no dash of two


def _escaped(char: str) -> str:
    command = ESCAPES.get(char)
    if command is None and char in MATHS:
        name = MATHS[char]
        command = ESCAPES[char] = rf"\ensuremath{{{name if name[0] in '-{' or name == 'o' else chr(92) + name}}}"
    if command is not None:
        return command
    # \Umathchar is of XeTeX and LuaTeX alone; \pdftexversion some packages define in LuaTeX too
    return char if " " <= char <= "~" or "¡" <= char <= "ÿ" else rf"\ifdefined\Umathchar {char}\else ?\fi{{}}"
