// gradtrace itself, beside the page: the page can be used while a program runs, and ends this worker if the program does
// not end. Pyodide runs it, viz.js draws. Everything comes from this folder.

import { instance } from "./viz.js";
import { loadPyodide } from "./pyodide/pyodide.mjs";

const bytesOf = async (name) => {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

const textOf = async (name) => new TextDecoder().decode(await bytesOf(name));

async function load() {
  const indexURL = new URL("./pyodide/", location.href).href;
  const [python, viz, archive, source, wheels] = await Promise.all([
    loadPyodide({ indexURL, packageBaseUrl: indexURL }),
    instance(),
    bytesOf("gradtrace.zip"),
    textOf("playground.py.txt"),
    textOf("wheels.json"),
  ]);
  python.unpackArchive(archive, "zip", { extractDir: "/lib/gradtrace" });
  python.registerJsModule("viz", { svg: (text) => viz.renderString(text, { format: "svg" }) });
  python.runPython(source);
  return { python, wheels: JSON.parse(wheels), answer: python.globals.get("answer") };
}

const loaded = load();
loaded.then(
  ({ wheels }) => postMessage({ wheels }),
  (error) => postMessage({ failure: String(error) }),
);

onmessage = async ({ data: { program, values } }) => {
  const { python, wheels, answer } = await loaded;
  let result = JSON.parse(answer(program, values));
  if (wheels.includes(result.needs)) {
    postMessage({ loading: result.needs });
    await python.loadPackage(result.needs);
    result = JSON.parse(answer(program, values));
  }
  postMessage({ program, result });
};
