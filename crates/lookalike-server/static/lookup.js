"use strict";
// A file that is dropped onto the text becomes the chosen file. Without this script the
// file field takes it.
const text = document.getElementById("text");
const file = document.querySelector("input[type=file]");
text.addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  text.classList.add("over");
});
text.addEventListener("dragleave", () => text.classList.remove("over"));
text.addEventListener("drop", (event) => {
  text.classList.remove("over");
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  file.files = event.dataTransfer.files;
  file.focus();
});
