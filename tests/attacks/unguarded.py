"""The command line with the language's guards switched off: real attributes, built-ins and modules for every program.

`python unguarded.py run FILE`. What is left is the second wall (gradtrace/lang/wall.py), and that is what is tested
with it. No program, option or variable of gradtrace's own leads here.
"""

import builtins
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# What an attack would find loaded: the import of these must not be all that stops it.
PRELOADED = """asyncio code concurrent.futures ctypes dbm fcntl gc glob http.client inspect io marshal mmap
    multiprocessing os pathlib pickle posix pty resource select shutil signal socket sqlite3 subprocess
    syslog tempfile types urllib.request webbrowser zipfile _io"""
for name in PRELOADED.split():
    importlib.import_module(name)
import numpy as np  # noqa: E402, F401

from gradtrace.cli import main  # noqa: E402
from gradtrace.lang import attributes, classes, machine, names, namespaces  # noqa: E402
from gradtrace.lang import builtins as offered  # noqa: E402

REAL = {name: value for name, value in vars(builtins).items() if name not in ("print", "exit", "quit")}


def all_builtins(*needed):
    return {**guarded_builtins(*needed), **REAL}


def import_module(name, modules):
    return importlib.import_module(name)


def import_from(module, name, modules):
    return getattr(importlib.import_module(module), name)


guarded_builtins = machine.builtins
machine.builtins = all_builtins
offered.NAMES = frozenset((*offered.NAMES, *REAL))
offered.REFUSED.clear()
names.is_known = lambda name: name in offered.NAMES
attributes.Gate.get = attributes.Gate.find = lambda self, value, name: getattr(value, name)
attributes.Gate.assign = lambda self, value, name, new: setattr(value, name, new)
classes.checked_base = lambda gate, parent, origin, place: parent
classes.offered_method = lambda name: True
sys.modules["gradtrace.lang.parse"].CONSTANTS.clear()
namespaces.import_module, namespaces.import_from = import_module, import_from

if __name__ == "__main__":
    sys.exit(main.run(sys.argv[1:]))
