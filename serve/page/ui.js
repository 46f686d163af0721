// Small parts of the page: messages, icons, menus.

export const $ = id => document.getElementById(id);

// make makes an element.
export function make(name, members, ...children) {
  const element = Object.assign(document.createElement(name), members);
  element.append(...children);
  return element;
}

let timer = 0, undone = null, of = null; // of: the recording whose change can be undone

// announce shows a message for some seconds. An error stays longer. With undo, a function, the message has a button, and
// goes when another recording than job is opened. A quiet one is only spoken, by screen readers: what it says is seen elsewhere.
export function announce(message, {bad, undo, job, quiet} = {}) {
  if (undone && !undo && !bad) return;
  clearTimeout(timer);
  timer = message ? setTimeout(hide, bad ? 20000 : undo ? 10000 : 6000) : 0;
  if (undo || !bad) [undone, of] = [undo || null, job || null];
  $("status").textContent = message;
  $("toast").classList.toggle("bad", !!bad);
  $("toast").classList.toggle("shown", !!message && !quiet);
  $("undo").hidden = !undone;
}

// hide takes the message away.
export function hide() {
  undone = null;
  announce("");
}

// hideOther hides a message that is about another recording.
export const hideOther = job => { if (of && of !== job) hide(); };

$("closeToast").onclick = hide;
$("undo").onclick = () => {
  const undo = undone;
  hide();
  undo();
};

export const failed = () => $("toast").classList.contains("bad");

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", "#i-" + name);
  svg.append(use);
  return svg;
}

// closeMenus closes open menus, and returns whether there was one.
export function closeMenus() {
  const open = [...document.querySelectorAll("details.menu[open]")];
  for (const m of open) {
    m.open = false;
    if (m.contains(document.activeElement)) m.querySelector("summary").focus();
  }
  return open.length > 0;
}

document.addEventListener("click", e => { if (!e.target.closest("details.menu") || e.target.closest("details.menu div button")) closeMenus(); });

export const size = bytes => bytes < 1e6 ? Math.ceil(bytes / 1e3) + " kB" : bytes < 1e9 ? (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0) + " MB" : (bytes / 1e9).toFixed(1) + " GB";
