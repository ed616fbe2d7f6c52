"use strict";
// Pointing at a passage marks it on both sides; a click goes to its twin.
// Without this script the numbers are links and do the same.
const parts = new Map();
for (const part of document.querySelectorAll("[data-p]")) {
  const all = parts.get(part.dataset.p) ?? [];
  all.push(part);
  parts.set(part.dataset.p, all);
}
let marked = [];
const mark = (number) => {
  for (const part of marked) part.classList.remove("on");
  marked = parts.get(number) ?? [];
  for (const part of marked) part.classList.add("on");
};
const passage = (event) => event.target.closest?.("[data-p]");
document.addEventListener("pointerover", (event) => {
  const part = passage(event);
  if (part) mark(part.dataset.p);
});
document.addEventListener("click", (event) => {
  const part = passage(event);
  if (!part || event.target.closest("a") || String(getSelection())) return;
  mark(part.dataset.p);
  const other = part.closest("#b") ? "a" : "b";
  document.getElementById(other + part.dataset.p)?.scrollIntoView({ block: "center", behavior: "smooth" });
});
