// The mouse, fingers and keys in the text.
import * as text from "./text.js";

const root = document.getElementById("text");
const doubleClick = 220; // ms in which a click may become a double one

// wordAt returns the word under a point of the screen.
function wordAt(x, y) {
  const {offsetNode: node, offset} = document.caretPositionFromPoint(x, y) || {};
  const p = node && node.nodeType === 3 && root.contains(node) && node.parentElement.id !== "tentative" && node.parentElement.closest("p");
  if (!p) return null;
  const word = text.paragraphs()[p.index].words.find(w => w.at <= offset && offset <= w.at + w.length);
  const inside = word && [...text.rangeOf(p.index, word.at, word.length).getClientRects()].some(r => x >= r.left - 2 && x <= r.right + 2 && y >= r.top && y <= r.bottom);
  return inside ? {paragraph: p.index, word} : null;
}

// connect adds the handlers. on has seek(seconds), play(seconds), edit(place) and speaker(button, paragraph).
export function connect(on) {
  let timer = 0;
  root.addEventListener("click", e => {
    const button = e.target.closest(".time, .speaker, .who"), paragraph = button && text.paragraphs()[button.closest(".row").lastChild.index];
    if (paragraph) return button.classList.contains("time") ? on.play(paragraph.words[0].start) : on.speaker(button, paragraph);
    if (text.editing() || e.target.closest("form")) return;
    const found = wordAt(e.clientX, e.clientY);
    clearTimeout(timer);
    if (found && e.detail === 2) return on.edit({paragraph: found.paragraph, ...found.word});
    if (!found || !getSelection().isCollapsed) return;
    on.seek(found.word.start);
    timer = setTimeout(() => on.play(found.word.start), doubleClick);
  });
  root.addEventListener("pointermove", e => {
    const shown = text.shownJob(), found = e.pointerType === "mouse" && !text.editing() && shown && shown.sound && wordAt(e.clientX, e.clientY);
    text.highlight("hover", found ? [text.fixed(found.paragraph, found.word)] : []);
    root.classList.toggle("over", !!found);
  });
  root.addEventListener("pointerleave", () => text.highlight("hover", []));
  root.addEventListener("keydown", e => { // arrows go from button to button
    const all = [...root.querySelectorAll(".time, .speaker:not([hidden])")].filter(b => b.checkVisibility()), i = all.indexOf(e.target);
    const next = i >= 0 && !e.shiftKey && all[{ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: all.length - 1}[e.key]];
    if (!next) return;
    e.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    e.preventDefault();
  });
  for (const kind of ["wheel", "touchmove"]) document.getElementById("pane").addEventListener(kind, text.leave, {passive: true});
  addEventListener("keydown", e => { if (["PageUp", "PageDown", "Home", "End", "ArrowUp", "ArrowDown"].includes(e.key) && !e.shiftKey && !text.editing()) text.leave(); });
  document.getElementById("follow").onclick = () => text.follow();
}
