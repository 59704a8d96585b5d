"""Makes the playground's folder: python docs/make_playground.py SITE/playground

Pyodide and viz.js come from the npm registry (the versions below) unless `--packages FOLDER` has them unpacked; click
and graphviz from this Python's installed packages. node compiles Python's standard library and gradtrace, so that the
browser need not. Nothing is loaded from another host afterwards.

numpy's wheel is the one that Pyodide's lock file names, from `--packages FOLDER` or from Pyodide's distribution.
Without it the page offers only the examples that do not need it.
"""

import argparse
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NPM = {"pyodide": "pyodide@314.0.7", "viz": "@viz-js/viz@3.31.0"}
PYODIDE = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
PAGE = ("index.html", "playground.css", "playground.js", "worker.js")
WHEELS = "https://cdn.jsdelivr.net/pyodide/v{version}/full/{file}"
KEPT = {".py", ".txt", ".html", ".css", ".js", ".ttf", ".json"}


def fetched(name: str, folder: Path) -> Path:
    """An npm package, unpacked."""
    done = subprocess.run(
        ["npm", "pack", "--silent", NPM[name]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    shutil.unpack_archive(folder / done.stdout.split()[-1], folder / name)
    return folder / name / "package"


def add_numpy(folder: Path, packages: Path | None) -> bool:
    """Copy the wheel of numpy beside Pyodide; return whether it could be had, with the checksum of the lock file."""
    lock = json.loads((folder / "pyodide-lock.json").read_text())["packages"]["numpy"]
    given = packages / lock["file_name"] if packages else None
    try:
        if given is not None and given.is_file():
            data = given.read_bytes()
        else:
            version = NPM["pyodide"].rpartition("@")[2]
            address = WHEELS.format(version=version, file=lock["file_name"])
            with urllib.request.urlopen(address, timeout=60) as answer:
                data = answer.read()
    except OSError as error:
        print(f"the playground is made without numpy: {error}", file=sys.stderr)
        return False
    if hashlib.sha256(data).hexdigest() != lock["sha256"]:
        raise ValueError(f"{lock['file_name']} has another checksum than pyodide-lock.json says")
    (folder / lock["file_name"]).write_bytes(data)
    return True


def write_archive(path: Path) -> None:
    """gradtrace and the two packages that it needs everywhere, as one zip."""
    sources = [ROOT / "gradtrace"]
    for name in ("click", "graphviz"):
        spec = importlib.util.find_spec(name)
        sources.append(Path(spec.origin).parent)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sources:
            for file in sorted(source.rglob("*")):
                if file.suffix in KEPT and "__pycache__" not in file.parts:
                    archive.write(file, Path(source.name, file.relative_to(source)))


def make(folder: Path, packages: Path | None = None) -> None:
    """Write the playground into `folder`. CalledProcessError or OSError if npm, node or the packages are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        sources = {
            name: packages / name if packages else fetched(name, Path(scratch)) for name in NPM
        }
        (folder / "pyodide").mkdir(exist_ok=True)
        for name in PYODIDE:
            shutil.copy(sources["pyodide"] / name, folder / "pyodide" / name)
        wheels = ["numpy"] if add_numpy(folder / "pyodide", packages) else []
        (folder / "wheels.json").write_text(json.dumps(wheels))
        shutil.copy(sources["viz"] / "dist" / "viz.js", folder / "viz.js")
    for name in PAGE:
        shutil.copy(ROOT / "docs" / "playground" / name, folder / name)
    # as text, since some servers do not give out .py files
    shutil.copy(ROOT / "docs" / "playground" / "playground.py", folder / "playground.py.txt")
    archives = [folder / "gradtrace.zip", folder / "pyodide" / "python_stdlib.zip"]
    write_archive(archives[0])
    subprocess.run(
        ["node", ROOT / "docs" / "playground" / "compile.mjs", folder, *archives], check=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", type=Path)
    chosen = parser.parse_args()
    make(chosen.folder, chosen.packages)


if __name__ == "__main__":
    main()
