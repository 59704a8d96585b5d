// For lessons: inputs to change, derivations to check, numbers to guess. The recorded operations (page_recipe.py) are
// computed here, forward and backward; what a reader types is read by a small parser and never run as code.

// Of each operation its value, then the derivatives by its operands, given these and the value.
const one = (value, slope) => ({ operands: 1, value, slopes: (a, y) => [slope(a, y)] });
const RULES = {
  add: { operands: 2, value: (a, b) => a + b, slopes: () => [1, 1] },
  sub: { operands: 2, value: (a, b) => a - b, slopes: () => [1, -1] },
  mul: { operands: 2, value: (a, b) => a * b, slopes: (a, b) => [b, a] },
  div: { operands: 2, value: (a, b) => a / b, slopes: (a, b) => [1 / b, -a / b / b] },
  pow: { operands: 2, value: power, slopes: (a, b, y) => [b === 0 ? 0 : b * power(a, b - 1),
    a === 0 && b >= 0 ? 0 : y * Math.log(a)] },
  neg: one((a) => -a, () => -1),
  abs: one(Math.abs, Math.sign),
  square: one((a) => a * a, (a) => 2 * a),
  reciprocal: one((a) => 1 / a, (a, y) => -y * y),
  sqrt: one(Math.sqrt, (a, y) => 0.5 / y),
  rsqrt: one((a) => 1 / Math.sqrt(a), (a, y) => -0.5 * y * y * y),
  exp: one(Math.exp, (a, y) => y),
  expm1: one(Math.expm1, (a, y) => y + 1),
  log: one(Math.log, (a) => 1 / a),
  log1p: one(Math.log1p, (a) => 1 / (a + 1)),
  log2: one(Math.log2, (a) => 1 / (a * Math.LN2)),
  log10: one(Math.log10, (a) => 1 / (a * Math.LN10)),
  sin: one(Math.sin, Math.cos),
  cos: one(Math.cos, (a) => -Math.sin(a)),
  tan: one(Math.tan, (a, y) => 1 + y * y),
  asin: one(Math.asin, (a) => 1 / Math.sqrt(1 - a * a)),
  acos: one(Math.acos, (a) => -1 / Math.sqrt(1 - a * a)),
  atan: one(Math.atan, (a) => 1 / (1 + a * a)),
  sinh: one(Math.sinh, Math.cosh),
  cosh: one(Math.cosh, Math.sinh),
  tanh: one(Math.tanh, (a, y) => 1 - y * y),
  sigmoid: one((a) => 1 / (1 + Math.exp(-a)), (a, y) => y * (1 - y)),
  relu: one((a) => (a > 0 ? a : a <= 0 ? 0 : NaN), (a, y) => (y > 0 ? 1 : 0)),
};
// 1 ** NaN and (-1) ** Infinity are 1, as in Python and in PyTorch
function power(a, b) { return a === 1 || a === -1 && Math.abs(b) === Infinity ? 1 : Math.pow(a, b); }

const recipe = data.recipe;
const ids = new Map();  // the number of each tensor by its name
for (const n of data.views.flatMap((one) => one.nodes)) if (n.kind === "tensor") ids.set(n.label, Number(n.id.slice(1)));

// Why the inputs cannot be changed; "" if they can.
function hindrance() {
  if (!recipe.steps) return recipe.reason;
  for (const [name, operands] of recipe.steps) {
    const rule = Object.hasOwn(RULES, name) ? RULES[name] : null, odd = operands.find((o) => typeof o === "string");
    if (!rule || odd !== undefined || rule.operands !== operands.length) {
      return "this page has no rule for " + name + (odd !== undefined ? " with " + odd : "");
    }
  }
  return "";
}
const fixed = hindrance();

const rounded = recipe.single ? Math.fround : (x) => x;
function forward(changed) {
  const values = { ...recipe.values, ...changed };
  for (const [name, operands, out] of recipe.steps) values[out] = rounded(RULES[name].value(...read(operands, values)));
  return values;
}
function read(operands, values) { return operands.map((o) => (typeof o === "number" ? Number(values[o]) : Number(o.number))); }
function backward(values, root, seed) {
  const grads = { [root]: seed }, requires = new Set(recipe.requires);
  for (const [name, operands, out] of recipe.steps.slice().reverse()) {
    if (grads[out] === undefined || !requires.has(out)) continue;
    const slopes = RULES[name].slopes(...read(operands, values), values[out]);
    operands.forEach((o, i) => {
      if (typeof o === "number" && requires.has(o)) grads[o] = rounded((grads[o] || 0) + rounded(grads[out] * slopes[i]));
    });
  }
  return grads;
}

// ---- expressions that a reader types

const NAMES = { pi: Math.PI, e: Math.E };
const POWER = 4, SIGN = 3;
const BINARY = { "+": [1, "add"], "-": [1, "sub"], "*": [2, "mul"], "/": [2, "div"], "**": [POWER, "pow"], "^": [POWER, "pow"] };
// The value of an expression; an Error that says what is wrong with it.
function evaluate(text, names) {
  const tokens = text.match(/\s+|\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|[\p{L}_][\p{L}\p{N}_.]*|\*\*|./giu) || [];
  const words = tokens.filter((token) => token.trim());
  let at = 0;
  const take = (wanted) => { if (words[at] !== wanted) throw new Error("expected " + wanted + (at < words.length ? " before " + words[at] : " at the end")); at++; };
  const power_of = (token) => (token !== undefined && Object.hasOwn(BINARY, token) ? BINARY[token] : null);
  function binary(least) {
    let left = unary();
    for (let found = power_of(words[at]); found && found[0] >= least; found = power_of(words[at])) {
      at++;
      left = RULES[found[1]].value(left, binary(found[0] === POWER ? SIGN : found[0] + 1));
    }
    return left;
  }
  function unary() {
    if (words[at] === "-") { at++; return -binary(SIGN); }
    if (words[at] === "+") { at++; return binary(SIGN); }
    return atom();
  }
  function atom() {
    const word = words[at++];
    if (word === undefined) throw new Error("something is missing at the end");
    if (word === "(") { const inside = binary(0); take(")"); return inside; }
    if (/^[\d.]/.test(word)) return Number(word);
    const name = word.replace(/^(torch|math)\./, ""), rule = Object.hasOwn(RULES, name) ? RULES[name] : null;
    if (words[at] === "(" && rule && rule.operands === 1) { at++; const inside = binary(0); take(")"); return rule.value(inside); }
    if (names.has(word)) return names.get(word);
    if (Object.hasOwn(NAMES, word)) return NAMES[word];
    throw new Error(/^[\p{L}_]/u.test(word) ? "no number is called " + word : "not understood: " + word);
  }
  const found = binary(0);
  if (at < words.length) throw new Error("write an operator before " + words[at] + ", such as *");
  return found;
}
// Of a number as Python writes it in JSON, also alone in lists, or null.
function numeric(value) {
  while (Array.isArray(value) && value.length === 1) value = value[0];
  if (typeof value === "number") return value;
  return ["NaN", "Infinity", "-Infinity"].includes(value) ? Number(value) : null;
}
function digits(x, count = 6) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  const size = x === 0 ? 0 : Math.floor(Math.log10(Math.abs(x))), text = Number(x.toPrecision(count));
  if (size >= -4 && size < count) return String(text);
  return text.toExponential().replace("e+", "e");
}
// The text of a tensor's only number, in the brackets of its shape.
function shownAs(n, x, count = 6) {
  const depth = (n.shape || []).length;
  return "[".repeat(depth) + digits(x, count) + "]".repeat(depth);
}
// How far a guess is off, in words; "" if it is right to the digits that the page shows.
function off(guess, known) {
  if (Object.is(guess, known) || guess === known) return "";
  const by = guess - known, share = Math.abs(by / known);
  if (Math.abs(by) <= 5e-6 * Math.max(1e-12, Math.abs(known)) || Math.abs(by) < 1e-12) return "";
  if (!Number.isFinite(by)) return "it is not that";
  return "off by " + digits(Math.abs(by), 4) + ", too " + (by > 0 ? "high" : "low")
    + (Number.isFinite(share) ? " (" + digits(100 * share, 3) + " %)" : "");
}

// ---- inputs that can be changed

let edited = null;  // the values and gradients of changed inputs
const recorded = new Map();  // the facts of the tensors, as they were recorded
function change(changed) {
  const values = forward(changed), grads = backward(values, recipe.root, Number(recipe.seed));
  edited = { inputs: changed, values, grads };
  for (const n of data.views.flatMap((one) => one.nodes)) {
    if (n.kind !== "tensor") continue;
    if (!recorded.has(n)) recorded.set(n, { ...n });
    const id = Number(n.id.slice(1)), grad = grads[id];
    n.value = values[id];
    n.value_text = shownAs(n, values[id]);
    if (grad === undefined || n.grad_text === undefined) continue;
    n[n.flowed === undefined ? "grad" : "flowed"] = grad;
    n.grad_text = shownAs(n, grad);
  }
  guessed.clear();
  leave();
  show(data.views.indexOf(view), picked, closed);
}
function restore() {
  if (!edited) return;
  for (const [n, before] of recorded) Object.assign(n, before);
  recorded.clear();
  edited = null;
  guessed.clear();
  show(data.views.indexOf(view), picked, closed);
  inputs();
}
// Write the changed numbers into the drawing; a box that is too narrow for them becomes wider.
function rewrite() {
  svg.classList.toggle("edited", edited !== null);
  if (edited) for (const n of view.nodes) {
    const old = recorded.get(n), node = old && svg.getElementById(n.id);
    if (!node) continue;
    const shape = node.querySelector("path, polygon, ellipse"), at = shape.getBBox();
    let over = 0;
    for (const [cls, text, value] of [["amount", "value_text", n.value], ["gradient", "grad_text", n.grad ?? n.flowed]]) {
      const line = [...node.querySelectorAll("text." + cls)].find((one) => one.textContent.trim() === old[text]);
      if (!line || n[text] === old[text]) continue;
      line.textContent = shownAs(n, value, 4);
      const remark = line.nextElementSibling, wide = line.getBBox();
      if (remark && remark.classList.contains(cls)) remark.setAttribute("x", wide.x + wide.width + 6);
      over = Math.max(over, ...[line, remark].filter((one) => one && one.classList.contains(cls)).map((one) => {
        const box = one.getBBox();
        return box.x + box.width + 6 - at.x - at.width;
      }));
    }
    if (over > 0) {
      const wider = 1 + over / at.width;
      shape.setAttribute("transform", "translate(" + at.x * (1 - wider) + ") scale(" + wider + " 1)");
    }
    for (const link of node.querySelectorAll("a")) link.removeAttribute("xlink:title");
    describeAloud(n, node);
  }
}
function inputs() {
  const place = $("inputs");
  place.replaceChildren();
  if (!recipe.inputs.length) return;
  place.append(element("h2", "Inputs"));
  const known = (id) => data.views.flatMap((one) => one.nodes).find((n) => n.id === "t" + id);
  for (const id of recipe.inputs.filter(known)) {
    const fact = known(id), label = element("label", fact.label + " = "), field = element("input");
    field.value = fact.value_text.replace(/[[\]]/g, "");
    field.dataset.tensor = id;
    field.disabled = Boolean(fixed);
    field.setAttribute("inputmode", "text");
    label.append(field);
    place.append(label);
    field.addEventListener("change", () => {
      try {
        change({ ...(edited ? edited.inputs : {}), [id]: rounded(evaluate(field.value, new Map())) });
        answer("input-said", "The player shows the recorded run; to play goes back to it.");
      } catch (error) { answer("input-said", field.value + ": " + error.message); }
    });
  }
  const said = element("p", fixed ? "They cannot be changed here: " + fixed + "." : "");
  said.id = "input-said";
  said.setAttribute("role", "status");
  const back = element("button", "As recorded");
  back.type = "button";
  back.addEventListener("click", restore);
  if (!fixed) place.append(back);
  place.append(said);
}
function answer(place, text) { $(place).textContent = text; }

// ---- derivations

function numbersByName() {
  const found = new Map();
  for (const n of data.views.flatMap((one) => one.nodes)) {
    const value = n.kind === "tensor" ? numeric(n.value) : null;
    if (value !== null) found.set(n.label, value);
  }
  return found;
}
function gradientOf(id) {
  const n = data.views.flatMap((one) => one.nodes).find((one) => one.id === "t" + id);
  return n ? numeric(n.grad !== undefined ? n.grad : n.flowed) : null;
}
function roots() { return recipe.roots.map((id) => "t" + id); }
function derivation(text) {
  const found = /^\s*d\s*(.+?)\s*\/\s*d\s*(.+?)\s*=(.*)$/su.exec(text);
  if (!found) throw new Error("write it as dy/dx = ...");
  const [, upper, lower, right] = found, by = ids.get(lower);
  if (by === undefined) throw new Error("no tensor is called " + lower);
  const names = numbersByName(), root = roots(), top = ids.get(upper);
  if (top === undefined && root.length !== 1) throw new Error("no tensor is called " + upper);
  const own = top === undefined || root.includes("t" + top);
  if (!own && fixed) throw new Error("this page knows the derivatives of the root alone: " + fixed);
  const yours = evaluate(right, names);
  const known = own && fixed ? gradientOf(by) : slope(edited ? edited.values : forward({}), own ? recipe.root : top, by);
  if (known === null) throw new Error("no number is recorded as the gradient of " + lower);
  const wrong = off(yours, known);
  if (wrong) return "Yours is " + digits(yours) + ", " + wrong + ".";
  return "Right: " + digits(known) + (fixed ? "." : elsewhere(right, own ? recipe.root : top, by));
}
function slope(values, root, by) { return backward(values, root, 1)[by] || 0; }
// A derivation that is right by chance is wrong for other inputs.
function elsewhere(right, root, by) {
  let tried = 0;
  for (const step of [0.31, -0.17, 0.73]) {
    const inputs = Object.fromEntries(recipe.inputs.map((id, i) => [id, Number((edited ? edited.values : recipe.values)[id]) + step * (1 + i / 3)]));
    const values = forward(inputs), names = new Map([...ids].map(([label, id]) => [label, Number(values[id])]));
    const known = slope(values, root, by), yours = evaluate(right, names);
    if (!Number.isFinite(known)) continue;
    tried++;
    if (off(yours, known)) {
      return " here, but not for other inputs: at " + recipe.inputs.map((id) => labelOf(id) + " = " + digits(inputs[id], 4)).join(", ")
        + " it is " + digits(known, 4) + ", and yours " + digits(yours, 4) + ".";
    }
  }
  return tried ? ", and for " + tried + " other inputs too." : ".";
}

// ---- guesses

const guessed = new Map();  // by node: whether the guess was right
const tried = new Set();  // nodes with one wrong guess: a second one is free
const left = () => view.nodes.filter(wantsGuess).length;
// Whether a gradient may be what is to be guessed: that of a factor is the value of the other one.
const tells = () => data.predict === "values" && left() > 0;
function task() {
  if (!data.predict || !left()) return null;
  const how = data.predict === "gradients" ? "from the values and the operations" : "from the inputs and the operations";
  return ["Your task", "Work out the " + data.predict + " that are not shown, " + how + ": choose a box, type a number or a "
    + "formula, and check it. You have two tries for each. " + left() + " to go."];
}
function hides(kind, key) {
  return data.predict === kind && !guessed.has(key);
}
function wantsGuess(fact) {
  if (!data.predict || guessed.has(fact.id) || fact.kind === "operation" || fact.kind === "scope") return false;
  if (data.predict === "gradients") return fact.grad_text !== undefined || fact.kind === "group";
  return fact.value_text !== undefined && !["leaf", "data", "constant"].includes(fact.role) || fact.kind === "group";
}
function elements(value) {
  const flat = Array.isArray(value) ? value.flat(Infinity).map(numeric) : [numeric(value)];
  return flat.length && flat.every((one) => one !== null) ? flat : null;
}
function ask(place, fact) {
  if (!wantsGuess(fact)) return;
  const kind = data.predict.slice(0, -1), known = elements(kind === "value" ? fact.value : fact.grad !== undefined ? fact.grad : fact.flowed);
  const form = element("form"), label = element("label", "Your guess: its " + kind + " is "), field = element("input");
  form.id = "guess";
  const finish = (text, right) => {
    if (right !== undefined) { guessed.set(fact.id, right); unhide(); describe(fact.id); }
    let said = $("guess-said");
    if (!said) { said = element("p"); said.id = "guess-said"; said.setAttribute("role", "status"); $("details").querySelector("h2").after(said); }
    said.textContent = text + (right === undefined ? "" : " " + score());
  };
  const look = element("button", "Show it");
  look.type = "button";
  look.addEventListener("click", () => finish("Shown without a guess.", false));
  if (known) {
    field.id = "guess-field";
    field.autocomplete = "off";
    label.append(field);
    const check = element("button", "Check");
    form.append(label, check);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      try {
        const parts = field.value.replace(/[[\]]/g, "").split(","), given = parts.map((part) => evaluate(part, new Map()));
        if (given.length !== known.length) throw new Error("it has " + known.length + " elements, not " + given.length);
        const wrong = given.map((one, i) => off(one, known[i]));
        const told = wrong.map((text, i) => text && (known.length > 1 ? "element " + i + ": " : "") + text).filter(Boolean);
        const right = !told.length;
        if (!right && !tried.has(fact.id)) {
          tried.add(fact.id);
          finish("Your guess " + field.value.trim() + " is " + told.join("; ") + ". Try once more.");
          return;
        }
        guessed.set(fact.id, right);
        finish((right ? "Right: " : "Your guess " + field.value.trim() + " is ") + (right ? field.value.trim() : told.join("; ")) + ".", right);
      } catch (error) { finish(error.message); }
    });
  }
  form.append(look);
  place.append(form);
}
function score() {
  const all = [...guessed.values()];
  return all.filter(Boolean).length + " of " + all.length + " right.";
}
function unhide() {
  svg.classList.toggle("guess-" + data.predict, left() > 0);
  for (const n of view.nodes) {
    const node = svg.getElementById(n.id);
    if (!node) continue;
    node.classList.toggle("hides", wantsGuess(n));
    if (data.predict) for (const link of node.querySelectorAll("a")) link.removeAttribute("xlink:title");
    describeAloud(n, node);
  }
}

// ---- the forms

function teach() {
  inputs();
  const leaves = data.views.flatMap((one) => one.nodes).filter((n) => n.kind === "tensor" && n.is_leaf);
  const some = leaves.some((n) => numeric(n.grad) !== null);
  $("derivation").hidden = !some;
  $("teach").hidden = !recipe.inputs.length && !some;
  $("derivation").addEventListener("submit", (event) => {
    event.preventDefault();
    try { answer("derived", derivation($("typed").value)); } catch (error) { answer("derived", error.message); }
  });
}
