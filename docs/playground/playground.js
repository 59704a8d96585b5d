// The page: a program on the left, gradtrace's answers on the right. gradtrace itself runs in a worker (worker.js), so
// that a program which does not end can be stopped.

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
const LONG = 500; // milliseconds after which a run can be stopped

const $ = (id) => document.getElementById(id);
let worker = null;
let waiting = 0;
let running = null; // what the worker runs: its start, the timer of the button
let next = false; // the program has changed meanwhile
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

// Begins a run, or has one follow the present run: the newest program is the only one that counts.
function run() {
  next = running !== null || !worker;
  if (next) return;
  const button = setTimeout(() => {
    $("stop").hidden = false;
    $("state").textContent = "Running …";
  }, LONG);
  running = { start: performance.now(), button };
  worker.postMessage({ program: $("program").value, values: JSON.stringify(given) });
}

function ended() {
  clearTimeout(running?.button);
  running = null;
  $("stop").hidden = true;
}

function show(program, result) {
  const time = performance.now() - running.start;
  ended();
  if (next) return run();
  if (program !== $("program").value) return; // it runs soon
  fields(result.inputs);
  for (const view of ["values", "why", "trace"]) $(view).textContent = result[view];
  $("error").hidden = !result.error;
  $("error").textContent = result.error;
  $("picture").srcdoc = result.page.replace("</head>", `${SMALL}</head>`); // "" after an error: no other program's picture
  $("state").textContent = result.error ? "" : `${Math.round(time)} ms`;
  document.body.dataset.runs = Number(document.body.dataset.runs ?? 0) + 1;
}

function clear(state) {
  for (const view of ["values", "why", "trace"]) $(view).textContent = "";
  $("picture").srcdoc = "";
  $("error").hidden = true;
  $("state").textContent = state;
}

// Python ends with its worker; the next one is loaded at once.
function stop() {
  worker.terminate();
  ended();
  next = false;
  clear("Stopped. Change the program to run it again.");
  load(false);
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
$("stop").addEventListener("click", stop);
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

// A worker answers with the wheels of its folder once it is loaded, then with the result of each run.
function load(runs) {
  worker = null;
  const python = new Worker("worker.js", { type: "module" });
  python.onmessage = ({ data }) => {
    if (data.result) show(data.program, data.result);
    else if (data.loading) clear(`Loading ${data.loading} …`);
    else if (data.failure) fail(data.failure);
    else {
      worker = python;
      offer(data.wheels);
      if (runs || next) run();
    }
  };
  python.onerror = (event) => fail(event.message ?? "worker.js cannot be loaded");
}

function offer(wheels) {
  if (document.body.dataset.wheels !== undefined) return;
  document.body.dataset.wheels = wheels.join();
  for (const [name, example] of Object.entries(EXAMPLES))
    if ((example.needs ?? []).every((one) => wheels.includes(one))) $("examples").append(new Option(name, name));
}

function fail(error) {
  $("state").textContent = "The playground cannot be loaded.";
  $("error").hidden = false;
  $("error").textContent = `${error}\nIts files are made by: python docs/make_playground.py SITE/playground`;
}

load(true);
