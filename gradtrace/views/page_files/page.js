"use strict";
// The page's script. The data (see page.py, `document`) names everything by keys that are also the ids in the drawing:
// t0 a tensor, o0 an operation, f0 a function, g0 a group of the view that is shown, e0 its edges.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const stage = $("stage");
let view, svg, home, box, facts, before, after, home_of, picked = null;
let shownBox = null;  // while the page is printed: the part of the drawing that the screen shows
let closed = new Set();  // open scopes of the view that a box covers
const narrow = matchMedia("(max-width: 50rem)");

function element(name, text, cls) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (cls) made.className = cls;
  return made;
}

// ---- views

function show(index, keep, shut) {
  view = data.views[index];
  closed = new Set(shut);
  $("views").value = view.name && !closed.size ? index : "own";
  const drawing = (narrow.matches && $("view" + index + "down")) || $("view" + index);
  stage.replaceChildren(drawing.content.cloneNode(true));
  svg = stage.querySelector("svg");
  home = svg.getAttribute("viewBox").split(" ").map(Number);
  facts = new Map(view.nodes.map((node) => [node.id, node]));
  before = new Map(); after = new Map(); home_of = new Map();
  view.edges.forEach((edge, i) => {
    push(before, edge.target, [edge.source, "e" + i]);
    push(after, edge.source, [edge.target, "e" + i]);
  });
  view.groups.forEach((operations, g) => operations.forEach((o) => home_of.set(o, "g" + g)));
  for (const [key, fact] of facts) dress(key, fact);
  order();
  for (const title of svg.querySelectorAll("title")) title.remove();
  for (const scope of view.opens) dressFrame(scope);
  for (const scope of closed) cover(scope);
  if (closed.size) squeeze([...closed].map((scope) => svg.getElementById("k" + scope)));
  svg.append(backwardArrows());
  rewrite();
  unhide();
  begin();
  picked = null;
  if (keep && facts.has(keep)) pick(keep); else describe(null);
  search();
  if (moment >= 0) paint();
}

// In the document as in the graph, what comes first first: so Tab goes along the edges.
function order() {
  const waits = new Map(view.nodes.map((node) => [node.id, (before.get(node.id) || []).length]));
  const ready = view.nodes.map((node) => node.id).filter((id) => !waits.get(id));
  for (let i = 0; i < ready.length; i++) {
    const node = svg.getElementById(ready[i]);
    if (node) node.parentNode.append(node);
    for (const [next] of after.get(ready[i]) || []) {
      waits.set(next, waits.get(next) - 1);
      if (!waits.get(next)) ready.push(next);
    }
  }
}

function push(map, key, value) { if (map.has(key)) map.get(key).push(value); else map.set(key, [value]); }

function dress(key, fact) {
  const node = svg.getElementById(key);
  if (!node) return;
  node.setAttribute("tabindex", "0");
  node.setAttribute("role", "button");
  describeAloud(fact, node);
  let row = "";
  for (const text of node.querySelectorAll("text")) {
    const said = text.textContent.trim();
    if (said === "value") row = "amount";
    else if (said === "grad" || said === "|grad|") row = "gradient";
    else if (row) text.classList.add(row);
    if (text.getAttribute("fill") === "#8a3b00" || text.getAttribute("fill") === "#c98a5a") text.classList.add("gradient");
  }
  const unfolds = way(key);
  if (unfolds) node.setAttribute("aria-expanded", "false");
  const act = (event) => { if (unfolds && !event.shiftKey) unfold(key); else pick(key); };
  node.addEventListener("click", (event) => { if (!moved) { event.stopPropagation(); act(event); } });
  node.addEventListener("keydown", (event) => { if (event.key === "Enter") act(event); });
}

// ---- folding and unfolding one group: the smallest drawing where all is open that should be, the rest covered

function way(key) {
  const found = key[0] === "g" ? view.ways[Number(key.slice(1))] : null;
  return found && (found.view !== undefined || found.scopes) ? found : null;
}
function around(scope) {
  const chain = [];
  for (let at = scope; at !== null && at !== undefined; at = data.scopes[at] && data.scopes[at].parent) chain.push(at);
  return chain;
}
function openNow() { return view.opens.filter((scope) => !around(scope).some((at) => closed.has(at))); }
function arrange(wanted, keep) {
  let best = -1;
  data.views.forEach((other, i) => {
    if (!wanted.every((scope) => other.opens.includes(scope))) return;
    if (best < 0 || other.nodes.length < data.views[best].nodes.length) best = i;
  });
  if (best < 0) return;
  const open = new Set(wanted);
  const outermost = (scope) => around(scope).slice(1).every((at) => open.has(at));
  show(best, keep, data.views[best].opens.filter((scope) => !open.has(scope) && outermost(scope)));
}
function unfold(key) {
  const found = way(key), fact = facts.get(key), size = scale();
  if (found.view !== undefined) show(found.view, null);
  else arrange([...new Set([...openNow(), ...found.scopes.flatMap(around)])], null);
  if (found.scopes) lookAt(found.scopes[0], size); else describe(null, fact);
}
function fold(scope) {
  const size = scale();
  arrange(openNow().filter((other) => !around(other).includes(scope)), null);
  const own = svg.getElementById("k" + scope);
  if (!own) return;
  own.focus({ preventScroll: true });
  stay(own.querySelector("rect"), size);
}
function open(scope) {
  const size = scale();
  arrange([...new Set([...openNow(), ...around(scope)])], null);
  lookAt(scope, size);
}
function lookAt(scope, size) {
  const frame = svg.getElementById("s" + scope), shape = frame && frame.querySelector("path, polygon");
  if (shape) {
    frame.querySelector(".sign").focus({ preventScroll: true });
    if (size) stay(shape, size);
  }
  const known = data.scopes[scope];
  describe(null, known && { kind: "scope", role: "open", scope_id: scope, label: known.name, detail: known.detail, line: known.line,
    text: count(known.operations) });
}
// What was readable stays so: the scale is kept, as far as the whole drawing is not smaller than the stage.
function stay(shape, size) {
  const all = stage.getBoundingClientRect(), at = shape.getBBox(), moves = shape.getCTM(), to = svg.getCTM().inverse();
  const middle = new DOMPoint(at.x + at.width / 2, at.y + at.height / 2).matrixTransform(to.multiply(moves));
  const unit = Math.max(size, 0.6), w = all.width * unit, h = all.height * unit;
  if (w >= home[2] && h >= home[3]) return;
  const left = w >= home[2] ? home[0] + (home[2] - w) / 2 : Math.max(home[0], Math.min(home[0] + home[2] - w, middle.x - w / 2));
  const top = h >= home[3] ? home[1] + (home[3] - h) / 2 : Math.max(home[1], Math.min(home[1] + home[3] - h, middle.y - h / 2));
  setBox([left, top, w, h]);
}
function count(operations) { return operations + (operations === 1 ? " operation" : " operations"); }

function dressFrame(scope) {
  const frame = svg.getElementById("s" + scope), shape = frame && frame.querySelector("path, polygon");
  if (!shape) return;
  const at = shape.getBBox(), sign = drawn("text", { x: at.x + at.width - 11, y: at.y + 12, class: "sign",
    tabindex: "0", role: "button", "aria-expanded": "true", "aria-label": "Fold " + data.scopes[scope].name }, "⊟");
  frame.append(sign);
  for (const text of frame.querySelectorAll("text")) {
    text.classList.add("title");
    text.addEventListener("click", (event) => { if (!moved) { event.stopPropagation(); fold(scope); } });
  }
  sign.addEventListener("keydown", (event) => { if (event.key === "Enter") fold(scope); });
}

const SVG = "http://www.w3.org/2000/svg";
function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

function cover(scope) {
  const frame = svg.getElementById("s" + scope), shape = frame && frame.querySelector("path, polygon");
  if (!shape) { closed.delete(scope); return; }
  const at = shape.getBBox(), known = data.scopes[scope], x = at.x + at.width / 2, y = at.y + at.height / 2;
  const group = drawn("g", { id: "k" + scope, class: "node cover", tabindex: "0", role: "button",
    "aria-expanded": "false", "aria-label": "Unfold " + known.name + ", " + count(known.operations) });
  group.append(drawn("rect", { x: at.x, y: at.y, width: at.width, height: at.height, rx: 6 }));
  group.append(drawn("text", { x, y: y - 2, class: "title" }, "⊞ " + known.name),
    drawn("text", { x, y: y + 12 }, [known.detail, count(known.operations)].filter(Boolean).join(" · ")));
  group.addEventListener("click", (event) => { if (!moved) { event.stopPropagation(); open(scope); } });
  group.addEventListener("keydown", (event) => { if (event.key === "Enter") open(scope); });
  frame.parentNode.append(group);
  const within = (place) => place !== undefined && around(place).includes(scope);
  for (const node of view.nodes) if (within(node.place)) mark(node.id, "covered");
  for (const other of view.opens) if (within(other)) mark("s" + other, "covered");
  view.edges.forEach((edge, i) => {
    if (within(facts.get(edge.source).place) && within(facts.get(edge.target).place)) mark("e" + i, "covered");
  });
}
// In backward, arrows stand at the other end of their lines, and a stub where the head was.
function backwardArrows() {
  const defs = drawn("defs");
  for (const [id, length, orient, refX, path] of [["backward", 9, "auto-start-reverse", 9, "M0 1 10 5 0 9z"], ["stub", 6, "auto", 0, "M0 4h10v2h-10z"]]) {
    const marker = drawn("marker", { id, viewBox: "0 0 10 10", refX, refY: 5, markerWidth: length, markerHeight: length,
      markerUnits: "userSpaceOnUse", orient });
    marker.append(drawn("path", { d: path }));
    defs.append(marker);
  }
  return defs;
}

function isLater(key) { const node = svg.getElementById(key); return node && node.classList.contains("later"); }
function isCovered(key) { const node = svg.getElementById(key); return node && node.classList.contains("covered"); }

// A node's name is what is written in it, but for bars; what only its look tells is its description.
function describeAloud(fact, node) {
  const bars = /^[\s\u2500-\u25ff]*$/, texts = [...node.querySelectorAll("text")];
  for (const text of texts) if (bars.test(text.textContent)) text.setAttribute("aria-hidden", "true");
  const seen = texts.map((text) => text.textContent).join(" ").replace(/\s+/g, " ");
  const parts = [fact.label, fact.kind === "operation" ? "operation" : fact.role, fact.grad_fn];
  if (fact.value_text && !(hides("values", fact.id) && wantsGuess(fact))) parts.push("value " + fact.value_text);
  if (fact.grad_text && !hides("gradients", fact.id) && !tells()) parts.push("gradient " + fact.grad_text);
  const unseen = parts.filter((part) => part && !seen.includes(part)).join(", ");
  if (unseen) node.setAttribute("aria-description", unseen); else node.removeAttribute("aria-description");
}

// ---- moving about

function setBox(next) {
  box = next;
  svg.setAttribute("viewBox", box.map((x) => x.toFixed(2)).join(" "));
}
function fit() { setBox(home.slice()); }
let begun = null;  // the part that was shown at first, while it is still shown
new ResizeObserver(() => { if (box === begun) begin(); }).observe(stage);
// As a drawing is shown at first: whole, if it can be read; else as wide as a narrow screen, or its beginning.
const SMALLEST = 8, READABLE = 10, FAINT = 6;  // points of the smallest print, pixels that it shall have, too few pixels
function begin() {
  const size = stage.getBoundingClientRect(), high = home[2] * size.height / size.width;
  const unit = Math.max(home[2] / size.width, home[3] / size.height), close = SMALLEST / READABLE;
  if (shownBox) fit();
  else if (SMALLEST / unit >= FAINT) fit();
  else if (narrow.matches && high < home[3]) setBox([home[0], home[1], home[2], high]);
  else setBox(start(size.width * close, size.height * close));
  begun = box;
}
// The part of that size where the drawing begins: at the first of its nodes, or at the left edge of all if both fit.
function start(w, h) {
  const shown = view.nodes.filter((node) => svg.getElementById(node.id));
  const corner = (node) => {
    const shape = svg.getElementById(node.id), from = shape.getBBox();
    return new DOMPoint(from.x, from.y).matrixTransform(svg.getCTM().inverse().multiply(shape.getCTM()));
  };
  const first = shown.find((node) => !before.has(node.id));
  const at = first ? corner(first) : new DOMPoint(home[0], home[1]);
  const left = shown.reduce((least, node) => Math.min(least, corner(node).x), at.x);
  const along = (low, whole, wanted, place) => wanted >= whole ? low + (whole - wanted) / 2
    : Math.max(low, Math.min(low + whole - wanted, place));
  const x = at.x - left < w * 0.75 ? left - w / 24 : at.x - w / 4;
  return [along(home[0], home[2], w, x), along(home[1], home[3], h, at.y - h / 4), w, h];
}
function zoom(factor, at) {
  const size = stage.getBoundingClientRect();
  const x = at ? (at.clientX - size.left) / size.width : 0.5, y = at ? (at.clientY - size.top) / size.height : 0.5;
  const w = Math.min(home[2] * 4, Math.max(20, box[2] * factor)), h = box[3] * (w / box[2]);
  setBox([box[0] + (box[2] - w) * x, box[1] + (box[3] - h) * y, w, h]);
}
function move(dx, dy) { setBox([box[0] + dx * box[2], box[1] + dy * box[3], box[2], box[3]]); }
function scale() {
  const size = stage.getBoundingClientRect();
  return Math.max(box[2] / size.width, box[3] / size.height);
}
function center(key) {
  const node = svg.getElementById(key);
  if (!node) return;
  const at = node.getBoundingClientRect(), all = stage.getBoundingClientRect(), s = scale();
  if (at.left >= all.left && at.right <= all.right && at.top >= all.top && at.bottom <= all.bottom) return;
  const dx = (at.left + at.width / 2 - all.left - all.width / 2) * s;
  const dy = (at.top + at.height / 2 - all.top - all.height / 2) * s;
  setBox([box[0] + dx, box[1] + dy, box[2], box[3]]);
}

let moved = false, grip = null;
stage.addEventListener("pointerdown", (event) => {
  const edge = stage.getBoundingClientRect();
  // the corner that makes the panes wider and narrower
  if (edge.right - event.clientX < 16 && edge.bottom - event.clientY < 16) return;
  grip = [event.clientX, event.clientY];
  moved = false;
});
stage.addEventListener("pointermove", (event) => {
  if (!grip || !(event.buttons & 1)) return;
  const dx = event.clientX - grip[0], dy = event.clientY - grip[1];
  if (!moved && Math.hypot(dx, dy) < 4) return;
  moved = true;
  stage.classList.add("moving");
  const s = scale();
  setBox([box[0] - dx * s, box[1] - dy * s, box[2], box[3]]);
  grip = [event.clientX, event.clientY];
});
addEventListener("pointerup", () => { grip = null; stage.classList.remove("moving"); });
stage.addEventListener("click", () => { if (!moved) pick(null); });
stage.addEventListener("wheel", (event) => {
  if (data.embed && !event.ctrlKey) return;  // the wheel scrolls the page around the frame
  event.preventDefault();
  zoom(Math.exp(Math.sign(event.deltaY) * 0.15), event);
}, { passive: false });

// ---- choosing a node

function reach(start, next) {
  const found = new Set([start]), edges = new Set(), waiting = [start];
  while (waiting.length) {
    for (const [key, edge] of next.get(waiting.pop()) || []) {
      edges.add(edge);
      if (!found.has(key)) { found.add(key); waiting.push(key); }
    }
  }
  return [found, edges];
}

function pick(key) {
  if (key !== null && isCovered(key)) { arrange([...new Set([...openNow(), ...around(facts.get(key).place)])], key); return; }
  if (key !== null && moment >= 0 && isLater(key)) leave();
  picked = key;
  for (const one of svg.querySelectorAll(".near, .picked")) one.classList.remove("near", "picked");
  svg.classList.toggle("chosen", key !== null);
  if (key !== null) {
    for (const next of [before, after]) for (const set of reach(key, next)) for (const id of set) mark(id, "near");
    mark(key, "picked");
    center(key);
  }
  describe(key);
  link(key);
}
function mark(id, cls) { const found = svg.getElementById(id); if (found) found.classList.add(cls); }

function describe(key, other) {
  const place = $("details");
  place.replaceChildren();
  place.scrollTop = 0;
  underline(null);
  if (key === null && !other) {
    const [head, said] = task() || ["Details", "Choose a node, a line of the program, or play what happened."];
    place.append(element("h2", head), element("p", said));
    return;
  }
  const fact = other || facts.get(key), list = element("dl"), hidden = wantsGuess(fact) && data.predict;
  place.append(element("h2", fact.label || key));
  const rows = [["what", [fact.role || fact.kind, fact.detail].filter(Boolean).join(" · ")], ["of", fact.of],
    ["value", hidden === "values" ? "" : fact.value_text], ["shape", fact.shape && "(" + fact.shape.join(", ") + ")"], ["dtype", fact.dtype],
    [fact.flowed === undefined ? "grad" : "gradient that passed", hidden || tells() ? "" : fact.grad_text],
    [".grad", fact.grad === undefined && fact.grad_note && "None (" + fact.grad_note + ")"], ["grad_fn", fact.grad_fn],
    ["requires_grad", fact.requires_grad], ["is_leaf", fact.is_leaf], ["saved", fact.saved && fact.saved.join("; ")],
    ["holds", (fact.kind === "group" || fact.kind === "scope") && fact.text], ["within", fact.scope && fact.scope.join(" › ")],
    ["line", fact.line && fact.line + ": " + (sourceLine(fact.line) || "").trim()]];
  for (const [title, value] of rows) {
    if (value === undefined || value === "" || value === false && title !== "requires_grad" && title !== "is_leaf") continue;
    list.append(element("dt", title), element("dd", String(value), /^grad(ient|$)/.test(title) ? "grad" : ""));
  }
  place.append(list);
  ask(place, fact);
  if (!hidden && !edited && data.predict !== "values") contributions(place, fact);
  folding(place, fact);
  if (fact.line) underline(fact.line);
}

function contributions(place, fact) {
  const rows = [];
  for (const step of data.story) {
    if (step.kind !== "backward" || step.made.some((id) => facts.has("t" + id) && wantsGuess(facts.get("t" + id)))) continue;
    for (const sent of step.sent) {
      const here = fact.kind === "tensor" ? "t" + sent.tensor === fact.id : "f" + sent.to === fact.id;
      if (here) rows.push([step.name + made(step), step.upstream.join(", "), sent.local || "", sent.value]);
    }
  }
  if (!rows.length) return;
  place.append(element("h2", "Where its gradient comes from"));
  const list = element("dl", undefined, "flow");
  for (const [who, upstream, local, arrives] of rows) {
    const told = element("dd", (upstream || "–") + (local ? " · " + local : "") + " = ");
    told.append(element("span", arrives, "grad"));
    list.append(element("dt", who), told);
  }
  const sum = rows.reduce((all, row) => all + single(row[3]), 0), known = single(fact.grad_text);
  if (rows.length > 1 && !Number.isNaN(known) && !off(sum, known)) {
    list.append(element("dt", "together"), element("dd", rows.map((row) => row[3]).join(" + ") + " = " + fact.grad_text));
  }
  place.append(list);
}
function labelOf(tensor) { const fact = facts.get("t" + tensor); return fact ? fact.label : undefined; }
function made(step) { const label = labelOf(step.made[0]); return label ? " of " + label : ""; }

function folding(place, fact) {
  const add = (text, act) => {
    const button = element("button", text);
    button.type = "button";
    button.addEventListener("click", act);
    place.append(button, " ");
  };
  if (fact.kind === "group" && way(fact.id)) add("Unfold", () => unfold(fact.id));
  const inner = fact.kind === "scope" ? fact.scope_id : fact.place;
  if (inner !== undefined && svg.getElementById("s" + inner)) add("Fold " + data.scopes[inner].name, () => fold(inner));
  if (view.of !== undefined) add("Fold again", () => show(view.of, null));
}

// ---- the program, and what became of the gradients

function tabs() {
  const areas = [$("source"), $("books")], buttons = [...$("tabs").children];
  $("tabs").hidden = !$("books").textContent;
  const choose = (chosen) => buttons.forEach((button, i) => {
    button.classList.toggle("now", i === chosen);
    button.setAttribute("aria-selected", i === chosen);
    areas[i].hidden = i !== chosen;
  });
  buttons.forEach((button, i) => button.addEventListener("click", () => choose(i)));
  if (!$("tabs").hidden) choose(0);
}
function sourceLine(number) { return data.source.text.split("\n")[number - 1]; }
function underline(number) {
  for (const line of document.querySelectorAll("#program .now")) line.classList.remove("now");
  const line = number && $("program").children[number - 1];
  if (!line) return;
  line.classList.add("now");
  const all = $("source"), top = line.offsetTop - all.offsetTop;  // scrolls the program alone, never Details
  if (top < all.scrollTop || top + line.offsetHeight > all.scrollTop + all.clientHeight) all.scrollTop = top - all.clientHeight / 3;
}
function program() {
  const lines = data.source.text.replace(/\n$/, "").split("\n");
  const known = new Set(data.story.map((m) => m.line));
  $("source").hidden = !data.source.text;
  lines.forEach((text, i) => {
    const has = known.has(i + 1), indent = /^ */.exec(text)[0], line = element("li", indent);
    const code = element(has ? "button" : "span", text.slice(indent.length) || " ");
    code.style.maxWidth = `max(8ch, 100% - ${indent.length}ch)`;  // it begins in the first row, and wraps below itself
    if (has) {
      code.type = "button";
      code.addEventListener("click", () => {
        const at = view.nodes.filter((n) => n.line === i + 1 && n.kind !== "operation").pop();
        if (at) pick(at.id);
        underline(i + 1);
      });
    }
    line.append(code);
    $("program").append(line);
  });
}

// ---- finding a node: in this drawing, in another one, or in the box that hides it

function holds(texts, wanted) { return texts.some((text) => text && text.toLowerCase().includes(wanted)); }
function factTexts(n) { return [n.label, n.grad_fn, n.op, n.text, n.of, n.detail]; }
// The group of the present drawing that hides an operation, or the operation of a result or a function.
function operationOf(key) {
  const number = Number(key.slice(1));
  if (key[0] === "o") return number;
  if (key[0] === "f") return byFunction.get(number);
  return data.operations.findIndex((operation) => operation.outputs.includes(number));
}
function reveal(key) {
  if (facts.has(key)) { pick(key); return true; }
  const held = data.views.map((other, i) => [other, i]).filter(([other]) => other.nodes.some((n) => n.id === key));
  if (key[0] !== "g" && held.length) {
    held.sort(([one], [other]) => one.nodes.length - other.nodes.length);
    const place = held[0][0].nodes.find((n) => n.id === key).place;
    if (place !== undefined) arrange([...new Set([...openNow(), ...around(place)])], key);
    if (!facts.has(key)) show(held[0][1], key);
    if (picked !== key) pick(key);
    return true;
  }
  const operation = operationOf(key), group = operation === undefined ? undefined : home_of.get(operation);
  if (group === undefined) return false;
  pick(group);
  const known = data.operations[operation];
  describe(null, { ...facts.get(group), label: known.made || known.label,
    detail: known.label + ", within " + facts.get(group).label, id: group });
  return true;
}
function named(name) {
  for (const one of [view, ...data.views]) {
    const found = one.nodes.find((n) => n.label === name);
    if (found) return found.id;
  }
  const at = data.operations.findIndex((operation) => operation.made === name);
  return at < 0 ? null : "t" + data.operations[at].outputs[0];
}
function link(key) {
  const wanted = key === null ? "" : "#node=" + encodeURIComponent(key);
  if (location.hash === wanted) return;
  try { history.replaceState(null, "", wanted || location.pathname + location.search); } catch (error) { /* a frame without an address */ }
}
function follow() {
  const given = /^#node=(.*)$/.exec(location.hash);
  if (!given) return;
  const wanted = decodeURIComponent(given[1]);
  const key = data.views.some((one) => one.nodes.some((n) => n.id === wanted)) ? wanted : named(wanted);
  if (key === null || !reveal(key)) describe(null, { label: wanted, role: "not in this graph" });
}
addEventListener("hashchange", follow);

// ---- search

let hits = [], hit = -1;
function search() {
  for (const one of svg.querySelectorAll(".hit")) one.classList.remove("hit");
  const wanted = $("search").value.trim().toLowerCase();
  hit = -1;
  hits = wanted ? matches(wanted) : [];
  for (const key of hits) mark(key, "hit");
  const folded = hits.filter((key) => !facts.has(key) || isCovered(key)).length;
  $("found").textContent = !wanted ? "" : !hits.length ? "nothing found"
    : hits.length + " found" + (folded ? ", " + folded + " folded: Enter opens" : "");
}
function matches(wanted) {
  const found = new Set(view.nodes.filter((n) => holds(factTexts(n), wanted)).map((n) => n.id));
  for (const other of data.views) {
    for (const n of other.nodes) if (n.kind !== "group" && holds(factTexts(n), wanted)) found.add(n.id);
  }
  const shown = new Set(data.views.flatMap((other) => other.nodes.map((n) => n.id)));
  data.operations.forEach((operation, i) => {
    const result = data.style === "autograd" ? "f" + operation.function : "t" + operation.outputs[0];
    if (holds([operation.label, operation.made, operation.module], wanted)) found.add(shown.has(result) ? result : "o" + i);
  });
  return [...found];
}
$("search").addEventListener("input", search);
$("search").addEventListener("keydown", (event) => {
  event.stopPropagation();
  if (event.key === "Enter" && hits.length) {
    const all = hits, at = (hit + (event.shiftKey ? all.length - 1 : 1)) % all.length;
    reveal(all[at]);  // another drawing searches again
    hits = all;
    hit = at;
    $("found").textContent = (at + 1) + " of " + all.length;
  } else if (event.key === "Escape") { event.target.value = ""; search(); pick(null); stage.focus(); }
});

// ---- the player

let moment = -1, timer = null;
const last = data.story.length - 1;
function keyOf(operation) { return facts.has("o" + operation) ? "o" + operation : home_of.get(operation); }
const byFunction = new Map();
data.operations.forEach((o, i) => { if (o.function !== null) byFunction.set(o.function, i); });
function keysOf(step) {
  const keys = step.made.map((t) => "t" + t);
  if (byFunction.has(step.function)) keys.push(keyOf(byFunction.get(step.function)));
  keys.push("f" + step.function);
  return keys.filter((key) => key && svg.getElementById(key));
}

function paint() {
  if (moment < 0) { svg.classList.remove("playing"); return; }
  svg.classList.add("playing");
  const there = new Set(), flowed = new Set(), freed = new Set(), now = new Set(), nowEdges = new Set(), passed = new Set();
  const waits = new Map();  // how many gradients are still to arrive at each tensor
  for (const sent of data.story.flatMap((m) => m.sent || [])) waits.set(sent.tensor, (waits.get(sent.tensor) || 0) + 1);
  const whole = data.style === "autograd";
  data.story.forEach((m, i) => {
    if (i > moment) return;
    const fresh = [];
    for (const o of m.operations || []) {
      fresh.push(keyOf(o));
      if (data.operations[o].function !== null) fresh.push("f" + data.operations[o].function);
    }
    for (const t of m.tensors || []) fresh.push("t" + t);
    if (m.kind === "backward") {
      for (const key of keysOf(m)) {
        flowed.add(key);
        if (i === moment) now.add(key);
        if (m.freed && key[0] !== "t") freed.add(key);  // a tensor keeps its value
      }
      for (const sent of m.sent) {
        waits.set(sent.tensor, waits.get(sent.tensor) - 1);
        const leaf = (facts.get("t" + sent.tensor) || {}).is_leaf;  // a leaf's grad is there when AccumulateGrad has run
        if (!waits.get(sent.tensor) && !leaf) flowed.add("t" + sent.tensor);
      }
      if (m.leaf !== undefined) there.add("f" + m.function);
      for (const key of keysOf(m)) for (const [, edge] of before.get(key) || []) {
        if (!view.edges[Number(edge.slice(1))].flows) continue;
        passed.add(edge);
        if (i === moment) nowEdges.add(edge);
      }
    } else passed.clear();
    for (const key of fresh) { there.add(key); if (i === moment) now.add(key); }
  });
  for (const [key, fact] of facts) {
    const node = svg.getElementById(key);
    const shown = there.has(key) || (whole && fact.role === "accumulate");
    node.classList.toggle("later", !shown);
    node.classList.toggle("flowed", flowed.has(key));
    node.classList.toggle("freed", freed.has(key) && !now.has(key));
    node.classList.toggle("now", now.has(key));
  }
  view.edges.forEach((edge, i) => {
    const line = svg.getElementById("e" + i);
    if (!line) return;
    line.classList.toggle("later", svg.getElementById(edge.source).classList.contains("later")
      || svg.getElementById(edge.target).classList.contains("later"));
    line.classList.toggle("now", nowEdges.has("e" + i));
    line.classList.toggle("back", passed.has("e" + i));
  });
  const m = data.story[moment], first = [...now].find((key) => svg.getElementById(key));
  if (first) center(first);
  describe(shownOf(m, now));
  $("moment").textContent = (moment + 1) + "/" + (last + 1) + "  " + told(m);
  $("moment").title = $("moment").textContent;
  if (m.line) underline(m.line);
}

// What Details tells of a moment: what it made, or whose turn it was.
function shownOf(m, now) {
  const keys = [...now].filter((key) => facts.has(key));
  const results = keys.filter((key) => key[0] === "t");
  if (m.kind === "forward") return results.pop() || keys.pop() || null;
  return m.kind === "backward" ? results[0] || keys[0] || null : null;
}

// The numbers of which the gradient that a step gets is the sum, in the order of arrival.
function summands(m) {
  const earlier = data.story.slice(0, data.story.indexOf(m)).filter((s) => s.kind === "backward" && s.pass === m.pass);
  const parts = earlier.flatMap((s) => s.sent).filter((sent) => sent.tensor === m.made[0]).map((sent) => sent.value);
  return parts.every((part) => !Number.isNaN(single(part))) ? parts : [];
}
// The number of a text, also of one element in brackets: "[3]"; NaN for another text.
function single(text) { return text ? Number(text.replace(/^\[+([^,\[\]]+)\]+$/, "$1")) : NaN; }

function told(m) {
  if (m.kind === "leaves") return "Start: the leaves have their values.";
  if (m.kind === "done") return "Done: " + (data.story.some((s) => s.freed) ? "saved values are freed." : "nothing was freed.");
  if (m.kind === "forward") return "Forward: " + m.text;
  if (data.predict) return "Backward: " + m.name + (labelOf(m.leaf) ? " of " + labelOf(m.leaf) : made(m)) + " runs.";
  const parts = summands(m), sum = m.upstream.map((g) => g || "none").join(", ");
  const got = parts.length > 1 ? parts.join(" + ") + " = " + sum : sum;
  if (m.leaf !== undefined) return "Backward: " + (labelOf(m.leaf) || "a leaf") + " adds up " + got + ", its grad is " + m.after;
  const sent = m.sent.map((s) => (s.local ? got + " · " + s.local + " = " : "") + s.value
    + (labelOf(s.tensor) ? " to " + labelOf(s.tensor) : ""));
  return "Backward: " + m.name + made(m) + " gets " + got + ", sends " + (sent.join("; ") || "nothing")
    + (m.freed ? "; its saved values are freed" : "");
}

function go(to) {
  restore();
  moment = Math.max(0, Math.min(last, to));
  $("time").value = moment;
  paint();
}
function leave() { stop(); moment = -1; $("time").value = 0; $("moment").textContent = ""; paint(); }
function stop() { clearInterval(timer); timer = null; $("play").textContent = "▶ Play"; $("play").setAttribute("aria-label", "Play"); }
function play() {
  if (timer) { stop(); return; }
  if (moment >= last) go(0); else go(moment + 1);
  $("play").textContent = "❚❚ Pause";
  $("play").setAttribute("aria-label", "Pause");
  timer = setInterval(() => { if (moment >= last) stop(); else go(moment + 1); }, 900);
}
$("first").addEventListener("click", () => { stop(); go(0); });
$("last").addEventListener("click", () => { stop(); go(last); });
$("back").addEventListener("click", () => { stop(); go(moment - 1); });
$("next").addEventListener("click", () => { stop(); go(moment + 1); });
$("play").addEventListener("click", play);
$("time").addEventListener("input", (event) => { stop(); go(Number(event.target.value)); });
$("in").addEventListener("click", () => zoom(0.8));
$("out").addEventListener("click", () => zoom(1.25));
$("fit").addEventListener("click", fit);
$("views").addEventListener("change", (event) => show(Number(event.target.value), picked));

// ---- saving the drawing that is shown

const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "display", "font-family", "font-size", "font-weight",
  "text-anchor", "visibility"];
function standalone() {
  const copy = svg.cloneNode(true), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((node, i) => {
    const look = getComputedStyle(node);
    to[i].setAttribute("style", LOOK.map((name) => name + ":" + look.getPropertyValue(name)).join(";"));
    for (const extra of ["tabindex", "role", "aria-label", "aria-description", "aria-hidden", "aria-expanded"]) to[i].removeAttribute(extra);
  });
  for (const sign of copy.querySelectorAll(".sign")) sign.remove();
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("viewBox", home.join(" "));
  copy.setAttribute("width", home[2] + "pt");
  copy.setAttribute("height", home[3] + "pt");
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  return new XMLSerializer().serializeToString(copy);
}
function save(address, suffix) {
  const made = element("a");
  made.href = address;
  made.download = (data.source.name.replace(/^.*[\\/]/, "").replace(/[^\w.-]+/g, "_") || "graph") + "." + suffix;
  made.click();
}
function svgAddress() { return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone()); }
function saveSvg() { save(svgAddress(), "svg"); }
function savePng() {
  const image = new Image(), high = Math.max(home[3], home[2] * 9 / 16);  // a slide's shape, whatever the drawing's
  const times = Math.max(1080 / high, Math.min(3, 4500 / high));
  image.addEventListener("load", () => {
    const canvas = element("canvas"), pen = canvas.getContext("2d");
    canvas.height = Math.round(high * times);
    canvas.width = Math.round(canvas.height * 16 / 9);
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const width = home[2] * times, height = home[3] * times;
    pen.drawImage(image, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
    save(canvas.toDataURL("image/png"), "png");
  });
  image.src = svgAddress();
}
$("svg").addEventListener("click", saveSvg);
$("png").addEventListener("click", savePng);
addEventListener("beforeprint", () => { shownBox = box; fit(); });
addEventListener("afterprint", () => { if (shownBox) setBox(shownBox); shownBox = null; });

// ---- keys

function help() {
  if ($("keys").open) { $("keys").close(); return; }
  $("keys-list").replaceChildren(...HELP.flatMap(([keys, does]) => {
    const title = element("dt");
    title.append(element("kbd", keys));
    return [title, element("dd", does)];
  }));
  $("keys").showModal();
}
$("help").addEventListener("click", help);
const HELP = [["Tab", "the next node, along the graph"], ["Enter", "choose it, or unfold it"], ["Shift+click", "choose what a click unfolds"],
  ["/", "search; Enter opens what is found, also what is folded"], ["+ -", "zoom"], ["0", "show all"], ["arrows", "move"],
  ["Space", "play or pause"], ["n b", "a step forward, a step back"], ["Home End", "to the start, to the end"],
  ["s p", "save the drawing as SVG, as PNG"], ["Esc", "choose nothing, stop playing"], ["?", "this list"]];
const KEYS = { "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), "0": fit,
  ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
  n: () => $("next").click(), b: () => $("back").click(), " ": play, Home: () => $("first").click(), End: () => $("last").click(),
  "/": () => $("search").focus(), s: saveSvg, p: savePng, "?": help,
  Escape: () => { leave(); pick(null); } };
addEventListener("keydown", (event) => {
  const at = event.target.tagName;
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open && event.key !== "?") return;
  if (/INPUT|SELECT/.test(at) || at === "BUTTON" && /^( |Enter)$/.test(event.key)) return;
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});

// FURTHER FILES

data.views.forEach((one, i) => { if (one.name) $("views").append(new Option(one.name, i)); });
$("views").append(new Option("as chosen", "own"));
$("views").lastChild.disabled = true;
$("time").max = Math.max(0, last);
$("player").hidden = last < 1;
if (last < 1) $("player").style.display = "none";
program();
tabs();
teach();
show(data.start);
narrow.addEventListener("change", () => show(data.views.indexOf(view), picked, closed));
follow();
