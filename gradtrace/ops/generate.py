"""Generate the tables in `families` and the type stubs from the operators' records. Run it after adding an operator:

python -m gradtrace.ops.generate
"""

from __future__ import annotations

import subprocess
import sys

from gradtrace.ops import families

if __name__ == "__main__":
    families.write()
    subprocess.run([sys.executable, "-m", "gradtrace.ops.stubs"], check=True)  # on the operators as others see them
