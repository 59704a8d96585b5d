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


def text(found: Sequence[Derivation]) -> str:
    """Return the definitions once, then each derivation, as text."""
    blocks = ["\n".join(line.text for line in found[0].definitions)] if found else []
    blocks += [one(derivation) for derivation in found]
    return "\n\n".join(block for block in blocks if block) + "\n"


def one(found: Derivation) -> str:
    indent = " " * len(found.head.text)
    lines = [
        f"{found.head.text if i == 0 else indent} = {step.text}"
        for i, step in enumerate(found.steps)
    ]
    if found.point:
        lines[-1] += f"    at {', '.join(f'{name} = {value}' for name, value in found.point)}"
    return "\n".join(lines)


def latex(found: Sequence[Derivation]) -> str:
    """Return the definitions and derivations, each in an `align*` (amsmath)."""
    blocks = (
        [align([line.latex.replace(" = ", " &= ", 1) for line in found[0].definitions])]
        if found
        else []
    )
    for derivation in found:
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
