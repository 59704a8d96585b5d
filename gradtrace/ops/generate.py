"""Write what is made from the operators' records: the table of `families` and the stubs. Run it after adding one.

python -m gradtrace.ops.generate
"""

from __future__ import annotations

import subprocess
import sys

from gradtrace.ops import families

if __name__ == "__main__":
    families.write()
    subprocess.run([sys.executable, "-m", "gradtrace.ops.stubs"], check=True)  # on the operators as others see them
