// The page: a program on the left, gradtrace's answers on the right. gradtrace itself runs in the browser, by Pyodide;
// viz.js draws. Everything comes from this folder.

const EXAMPLES = {
  "The notes' example": "x: leaf = 2\nw: leaf = 1\na = x + w\nb = w + 1\ny = a * b\n",
  "A shared result": "x: leaf = 0.5\nu = sin(x)\ny = u * u + exp(u)\n",
  "Why None?": "x: leaf = 2\nw: leaf = 3\ny = (x * w).detach() + x\n",
  "The other branch makes a NaN": "x: leaf = 0\ny = where(x > 0, sqrt(x), x)\n",
  "A loop": "w: leaf = 0.5\nh = 1.0\nfor i in range(6):\n    h = sin(h * w)\ny = h\n",
  "Second derivatives":
    "import torch\n\nx = torch.tensor(1.0, requires_grad=True)\ny = x**3\n" +
    "(g,) = torch.autograd.grad(y, x, create_graph=True)\ng.backward()\nprint(x.grad)\n",
  "A step of gradient descent":
    "import torch\n\nw = torch.tensor(0.0, requires_grad=True)\nfor step in range(5):\n    loss = (w * 2 - 6) ** 2\n" +
    "    loss.backward()\n    with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None\n    print(step, loss.item())\n",
};
// the program stands on the left already: its panel leaves its room to the picture
const SMALL = "<style>#source { display: none } @media (max-width: 50rem) { #side { height: 7rem } }</style>";
const WAIT = 350; // milliseconds without a key before the program runs

const $ = (id) => document.getElementById(id);
let answer = null; // Python's function
let waiting = 0;

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

function run() {
  if (!answer) return;
  const started = performance.now();
  const found = JSON.parse(answer($("program").value));
  for (const view of ["values", "why", "trace"]) $(view).textContent = found[view];
  $("error").hidden = !found.error;
  $("error").textContent = found.error;
  if (found.page) $("picture").srcdoc = found.page.replace("</head>", `${SMALL}</head>`);
  $("state").textContent = found.error ? "" : `${Math.round(performance.now() - started)} ms`;
  document.body.dataset.runs = Number(document.body.dataset.runs ?? 0) + 1;
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

$("picture").addEventListener("load", () => $("picture").contentDocument.getElementById("fit")?.click());
for (const name of Object.keys(EXAMPLES)) $("examples").append(new Option(name, name));
$("program").value = shared() ?? Object.values(EXAMPLES)[0];
$("program").addEventListener("input", changed);
$("examples").addEventListener("change", (event) => {
  $("program").value = EXAMPLES[event.target.value];
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
  const [python, viz, archive, own] = await Promise.all([
    loadPyodide({ indexURL: new URL("./pyodide/", location.href).href }),
    Viz.instance(),
    bytesOf("gradtrace.zip"),
    bytesOf("playground.py.txt"),
  ]);
  python.unpackArchive(archive, "zip", { extractDir: "/lib/gradtrace" });
  python.registerJsModule("viz", { svg: (text) => viz.renderString(text, { format: "svg" }) });
  python.runPython(new TextDecoder().decode(own));
  answer = python.globals.get("answer");
  run();
}

load().catch((error) => {
  $("state").textContent = "The playground cannot be loaded.";
  $("error").hidden = false;
  $("error").textContent = `${error}\nIts files are made by: python docs/make_playground.py SITE/playground`;
});
