"""Write the table of names and the type stubs from the operators' records. Run it after adding an operator:

python -m tools.generate
"""

from __future__ import annotations

import subprocess
import sys

from tools import families

if __name__ == "__main__":
    families.write()
    subprocess.run(
        [sys.executable, "-m", "tools.stubs"], check=True
    )  # on the operators as others see them
