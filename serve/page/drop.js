// Files may be dropped anywhere on the page.

// onDrop calls add with the files that are dropped.
export function onDrop(add) {
  const shade = document.getElementById("drop");
  let over = 0;
  const files = e => e.dataTransfer && [...e.dataTransfer.types].includes("Files");
  document.addEventListener("dragenter", e => { if (files(e) && ++over) shade.hidden = false; });
  document.addEventListener("dragleave", e => { if (files(e) && --over <= 0) { over = 0; shade.hidden = true; } });
  document.addEventListener("dragover", e => { if (files(e)) e.preventDefault(); });
  document.addEventListener("drop", e => {
    if (!files(e)) return;
    e.preventDefault();
    over = 0;
    shade.hidden = true;
    add(e.dataTransfer.files);
  });
}
