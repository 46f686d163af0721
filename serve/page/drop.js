// onDrop calls add with the files that are dropped anywhere on the page.
export function onDrop(add) {
  const shade = document.getElementById("drop");
  const files = e => e.dataTransfer && [...e.dataTransfer.types].includes("Files");
  document.addEventListener("dragover", e => {
    if (!files(e)) return;
    e.preventDefault();
    shade.hidden = false;
  });
  document.addEventListener("dragleave", e => { shade.hidden ||= !e.relatedTarget; }); // the window is left
  document.addEventListener("drop", e => {
    if (!files(e)) return;
    e.preventDefault();
    shade.hidden = true;
    add(e.dataTransfer.files);
  });
}
