// Compiles the Python files in zip archives with Pyodide's own Python, so that the browser need not:
// node compile.mjs FOLDER ARCHIVE..., where FOLDER/pyodide has Pyodide. This halves the time to the first picture.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...archives] = process.argv.slice(2).map((name) => path.resolve(name));
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${folder}/pyodide/` });
for (const name of archives) {
  python.FS.writeFile("/archive.zip", new Uint8Array(fs.readFileSync(name)));
  // the hash in a .pyc is never compared: its source is not in the archive
  python.runPython(`
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc
from importlib.util import source_hash

with zipfile.ZipFile("/archive.zip") as old, zipfile.ZipFile("/compiled.zip", "w", zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist():
        data = old.read(name)
        if name.endswith(".py"):
            code = compile(data, name, "exec", dont_inherit=True, optimize=2)
            data = bytes(_code_to_hash_pyc(code, source_hash(data), False))
            name += "c"
        new.writestr(name, data)
`);
  fs.writeFileSync(name, python.FS.readFile("/compiled.zip"));
}
