// The caret in the text that is edited.
import {paragraphs, positions} from "./text.js";
import {$, make} from "./ui.js";

const root = $("text");

// paragraphOf returns the element of the paragraph that a node is in.
export const paragraphOf = node => [...root.children].find(p => p.contains(node));

function before(p, node, offset) {
  const r = document.createRange();
  r.selectNodeContents(p);
  r.setEnd(node, offset);
  return r.toString();
}

// atEdge reports whether the caret is at the beginning, or with end at the end, of an element.
export function atEdge(p, end) {
  const {anchorNode, anchorOffset} = getSelection(), text = before(p, anchorNode, anchorOffset);
  return end ? text.length === p.textContent.length : !text;
}

// selected returns the places {paragraph, at} between which text is selected, once the recording is what the pane shows.
export function selected() {
  const r = getSelection().getRangeAt(0), places = positions(), all = paragraphs();
  return [[r.startContainer, r.startOffset], [r.endContainer, r.endOffset]].map(([node, offset]) => {
    const p = paragraphOf(node), raw = before(p, node, offset).length, i = Math.max(0, places.findLastIndex(x => x.p === p && x.base <= raw || x.p.compareDocumentPosition(p) & 4));
    return {paragraph: i, at: places[i].p === p ? Math.min(raw - places[i].base, all[i].text.length) : all[i].text.length};
  });
}

// begin adds an empty paragraph before paragraph i, with the caret.
export function begin(i) {
  const p = make("p", {}, make("br"));
  root.insertBefore(p, positions()[i]?.p || null);
  root.focus({preventScroll: true});
  getSelection().collapse(p, 0);
}
