"""Record what PyTorch prints for the expressions in `recorded/`: python tests/ops/record.py reduce matrix linalg

Needs PyTorch 2.13 (the project's `compare` extra). Only the results are written; expressions are edited by hand.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from conftest import recorded, shown

HEADER = "Printed by PyTorch 2.13.0 on the CPU. See tests/ops/record.py.\n"

for name in sys.argv[1:]:
    blocks = [
        f"\n>>> {expression}\n{shown(torch, expression)}\n" for expression, _ in recorded(name)
    ]
    (Path(__file__).parent / "recorded" / f"{name}.txt").write_text(
        HEADER + "".join(blocks), encoding="utf-8"
    )
