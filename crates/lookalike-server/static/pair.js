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
// The texts scroll together: what is a third down on one side has its twin there on the
// other. The side that is pointed at, touched or focused leads.
const texts = ["a", "b"].map((side) => document.querySelector(`#${side} .text`));
const toggle = document.querySelector(".toggle");
if (toggle && texts[0] && texts[1]) {
  const label = document.createElement("label");
  const together = document.createElement("input");
  together.type = "checkbox";
  together.id = "together";
  together.checked = true;
  label.append(together, " scroll together");
  toggle.append(label);
  // Where each passage begins and ends on a side, from the top of its text.
  const places = (text, side) => {
    const from = text.getBoundingClientRect().top - text.scrollTop;
    const all = new Map();
    for (const number of parts.keys()) {
      const first = document.getElementById(side + number);
      if (!first) continue;
      const marks = text.querySelectorAll(`mark[data-p="${number}"]`);
      const last = marks[marks.length - 1] ?? first;
      const top = first.getBoundingClientRect().top - from;
      all.set(number, { top, end: Math.max(top, last.getBoundingClientRect().bottom - from) });
    }
    return all;
  };
  let known = null;
  const forget = () => { known = null; };
  addEventListener("resize", forget);
  const follow = (leader) => {
    known ??= texts.map((text, side) => places(text, "ab"[side]));
    const [own, other] = [known[leader], known[1 - leader]];
    const line = texts[leader].scrollTop + texts[leader].clientHeight / 3;
    let best = null;
    for (const [number, place] of own) {
      if (place.top <= line && (!best || place.top >= own.get(best).top)) best = number;
    }
    best ??= own.keys().next().value;
    const [here, there] = [own.get(best), other.get(best)];
    if (!here || !there) return;
    const into = line - here.top;
    const share = Math.min(1, Math.max(0, into / Math.max(1, here.end - here.top)));
    const beyond = into < 0 ? into : Math.max(0, line - here.end);
    const target = there.top + share * (there.end - there.top) + beyond;
    texts[1 - leader].scrollTop = target - texts[1 - leader].clientHeight / 3;
  };
  let leader = 0;
  texts.forEach((text, side) => {
    for (const event of ["pointerenter", "pointerdown", "touchstart", "wheel", "focusin"]) {
      text.addEventListener(event, () => { leader = side; }, { passive: true });
    }
    text.addEventListener("scroll", () => {
      if (together.checked && leader === side) requestAnimationFrame(() => follow(side));
    }, { passive: true });
  });
}
