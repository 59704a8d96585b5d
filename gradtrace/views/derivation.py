"""A derivation as text or LaTeX.

a = w + x
b = w + 1
y = a*b

dy/dw = dy/da da/dw + dy/db db/dw
      = b*1 + a*1
      = (w + 1) + (w + x)
      = 2w + x + 1
      = 2*1 + 2 + 1        at w = 1, x = 2
      = 5
"""

from __future__ import annotations

from gradtrace.analysis.symbolic import Derivation
from gradtrace.annotations import Sequence


def text(derivations: Sequence[Derivation]) -> str:
    """Return the definitions once, then each derivation, as text."""
    blocks = ["\n".join(line.text for line in derivations[0].definitions)] if derivations else []
    blocks += [derivation_text(derivation) for derivation in derivations]
    return "\n\n".join(block for block in blocks if block) + "\n"


def derivation_text(derivation: Derivation) -> str:
    indent = " " * len(derivation.head.text)
    lines = [
        f"{derivation.head.text if i == 0 else indent} = {step.text}"
        for i, step in enumerate(derivation.steps)
    ]
    if derivation.point:
        lines[-1] += f"    at {', '.join(f'{name} = {value}' for name, value in derivation.point)}"
    return "\n".join(lines)


def latex(derivations: Sequence[Derivation]) -> str:
    """Return the definitions and derivations, each in an `align*` (amsmath)."""
    blocks = (
        [align([line.latex.replace(" = ", " &= ", 1) for line in derivations[0].definitions])]
        if derivations
        else []
    )
    for derivation in derivations:
        first, *more = derivation.steps
        blocks.append(
            align(
                [
                    f"{derivation.head.latex} &= {first.latex}",
                    *(f"&= {step.latex}" for step in more),
                ]
            )
        )
    return "\n".join(blocks)


def align(lines: Sequence[str]) -> str:
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n" if lines else ""
