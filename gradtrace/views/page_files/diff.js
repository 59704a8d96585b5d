"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const sides = ["a", "b"].map((key) => document.getElementById(key));
const rows = [...document.querySelectorAll("tr[data-row]")];

function lineOf(side, place) {
  if (!place) return null;
  return [...sides[side].querySelectorAll(".line")].find(
    (one) => one.dataset.file === place[0] && Number(one.dataset.line) === place[1]) || null;
}

function same(one, other) {
  return Boolean(one && other) && one[0] === other[0] && one[1] === other[1];
}

function show(element) {
  if (element) element.scrollIntoView({ block: "center" });
}

// Mark rows and the lines of both programs that they are on; scroll to the first of each, but for what was clicked.
function choose(numbers, clicked) {
  for (const one of document.querySelectorAll(".chosen")) one.classList.remove("chosen");
  const found = numbers.map((n) => rows[n]);
  for (const side of [0, 1]) {
    const places = numbers.map((n) => data.lines[side][n]).filter(Boolean);
    found.push(...places.slice(0, 200).map((place) => lineOf(side, place)).filter(Boolean));
  }
  for (const one of found) one.classList.add("chosen");
  for (const part of [...sides, document.querySelector("table")]) {
    if (!part.contains(clicked)) show(part.querySelector(".chosen"));
  }
}

rows.forEach((row, n) => row.addEventListener("click", () => choose([n], row)));
sides.forEach((part, side) => part.addEventListener("click", (event) => {
  const line = event.target.closest(".line");
  if (!line) return;
  const place = [line.dataset.file, Number(line.dataset.line)];
  choose(rows.map((_, n) => n).filter((n) => same(data.lines[side][n], place)), line);
}));

data.first.forEach((place, side) => {
  const line = lineOf(side, place);
  if (line) line.classList.add("first");
  show(line);
});
if (data.row !== null) {
  rows[data.row].classList.add("first");
  show(rows[data.row]);
}
