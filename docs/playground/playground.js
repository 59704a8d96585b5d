// The page: a program on the left, gradtrace's answers on the right. gradtrace itself runs in the browser, by Pyodide;
// viz.js draws. Everything comes from this folder.

// Each example with the packages that it needs beside gradtrace: only those that can run are offered.
const EXAMPLES = {
  "The notes' example": { text: "x: leaf = 2\nw: leaf = 1\na = x + w\nb = w + 1\ny = a * b\n" },
  "Your own numbers": { text: "a = x + w\nb = w + 1\ny = a * b\n" },
  "A shared result": { text: "x: leaf = 0.5\nu = sin(x)\ny = u * u + exp(u)\n" },
  "Why None?": { text: "x: leaf = 2\nw: leaf = 3\ny = (x * w).detach() + x\n", needs: ["numpy"] },
  "The other branch makes a NaN": { text: "x: leaf = 0\ny = where(x > 0, sqrt(x), x)\n", needs: ["numpy"] },
  "A loop": { text: "w: leaf = 0.5\nh = 1.0\nfor i in range(6):\n    h = sin(h * w)\ny = h\n", needs: ["numpy"] },
  "Second derivatives": {
    text:
      "import torch\n\nx = torch.tensor(1.0, requires_grad=True)\ny = x**3\n" +
      "(g,) = torch.autograd.grad(y, x, create_graph=True)\ng.backward()\nprint(x.grad)\n",
    needs: ["numpy"],
  },
  "A step of gradient descent": {
    text:
      "import torch\n\nw = torch.tensor(0.0, requires_grad=True)\nfor step in range(5):\n    loss = (w * 2 - 6) ** 2\n" +
      "    loss.backward()\n    with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None\n" +
      "    print(step, loss.item())\n",
    needs: ["numpy"],
  },
};
// the program stands beside it already, and a phone has no room for what the other tabs tell
const SMALL = "<style>#source { display: none } @media (max-width: 50rem) { #side { display: none } #stage { flex: 1 1 0 } }</style>";
const WAIT = 350; // milliseconds without a key before the program runs

const $ = (id) => document.getElementById(id);
let answer = null; // Python's function
let waiting = 0;
let wheels = []; // packages that the folder has for Python, which are loaded when a program needs them
let install = null;
const given = {}; // by free name: what was typed for it

function shared() {
  const found = new URLSearchParams(location.hash.slice(1)).get("program");
  if (found === null) return null;
  try {
    const bytes = Uint8Array.from(atob(found.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}

function link() {
  const bytes = String.fromCharCode(...new TextEncoder().encode($("program").value));
  const code = btoa(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  history.replaceState(null, "", `#program=${code}`);
}

async function run() {
  if (!answer) return;
  const started = performance.now();
  const program = $("program").value;
  let found = JSON.parse(answer(program, JSON.stringify(given)));
  if (found.needs && wheels.includes(found.needs)) {
    clear(`Loading ${found.needs} …`);
    await install(found.needs);
    if (program !== $("program").value) return; // a later run shows the newer program
    found = JSON.parse(answer(program, JSON.stringify(given)));
  }
  fields(found.inputs);
  for (const view of ["values", "why", "trace"]) $(view).textContent = found[view];
  $("error").hidden = !found.error;
  $("error").textContent = found.error;
  $("picture").srcdoc = found.page.replace("</head>", `${SMALL}</head>`); // "" after an error: no other program's picture
  $("state").textContent = found.error ? "" : `${Math.round(performance.now() - started)} ms`;
  document.body.dataset.runs = Number(document.body.dataset.runs ?? 0) + 1;
}

function clear(state) {
  for (const view of ["values", "why", "trace"]) $(view).textContent = "";
  $("picture").srcdoc = "";
  $("error").hidden = true;
  $("state").textContent = state;
}

// A field for each name that the program leaves free.
function fields(names) {
  const shown = [...$("inputs").querySelectorAll("input")].map((field) => field.name);
  if (names.join() === shown.join()) return;
  $("inputs").replaceChildren(
    ...names.map((name) => {
      const label = document.createElement("label");
      const field = Object.assign(document.createElement("input"), { name, value: given[name] ?? "1" });
      field.addEventListener("input", () => {
        given[name] = field.value;
        changed();
      });
      label.append(`${name} = `, field);
      return label;
    }),
  );
  $("inputs").hidden = !names.length;
}

function changed() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    link();
    run();
  }, WAIT);
}

function choose(tab) {
  for (const one of document.querySelectorAll('[role="tab"]')) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", chosen);
    one.tabIndex = chosen ? 0 : -1;
    $(one.getAttribute("aria-controls")).hidden = !chosen;
  }
}

$("program").value = shared() ?? Object.values(EXAMPLES)[0].text;
$("program").addEventListener("input", changed);
$("examples").addEventListener("change", (event) => {
  $("program").value = EXAMPLES[event.target.value].text;
  link();
  run();
});
addEventListener("hashchange", () => {
  const text = shared();
  if (text === null || text === $("program").value) return;
  $("program").value = text;
  run();
});
$("share").addEventListener("click", async () => {
  link();
  await navigator.clipboard?.writeText(location.href);
  $("state").textContent = "The address of this page has the program in it.";
});
const tabs = [...document.querySelectorAll('[role="tab"]')];
tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(i + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
});

const bytesOf = async (name) => {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

async function load() {
  const { loadPyodide } = await import("./pyodide/pyodide.mjs");
  const here = new URL("./pyodide/", location.href).href;
  const [python, viz, archive, own, found] = await Promise.all([
    loadPyodide({ indexURL: here, packageBaseUrl: here }),
    Viz.instance(),
    bytesOf("gradtrace.zip"),
    bytesOf("playground.py.txt"),
    bytesOf("wheels.json"),
  ]);
  wheels = JSON.parse(new TextDecoder().decode(found));
  document.body.dataset.wheels = wheels.join();
  install = (name) => python.loadPackage(name);
  for (const [name, example] of Object.entries(EXAMPLES))
    if ((example.needs ?? []).every((one) => wheels.includes(one))) $("examples").append(new Option(name, name));
  python.unpackArchive(archive, "zip", { extractDir: "/lib/gradtrace" });
  python.registerJsModule("viz", { svg: (text) => viz.renderString(text, { format: "svg" }) });
  python.runPython(new TextDecoder().decode(own));
  answer = python.globals.get("answer");
  await run();
}

load().catch((error) => {
  $("state").textContent = "The playground cannot be loaded.";
  $("error").hidden = false;
  $("error").textContent = `${error}\nIts files are made by: python docs/make_playground.py SITE/playground`;
});
