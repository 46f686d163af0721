// Small parts of the page: messages, icons, menus.

export const $ = id => document.getElementById(id);

// make makes an element.
export function make(name, members, ...children) {
  const element = Object.assign(document.createElement(name), members);
  element.append(...children);
  return element;
}

const toasts = {}; // what is on the screen by kind, one of each, with the recording that it is about

// announce shows a message for some seconds, below those of other kinds: "undo" has a button with that function, and goes when another
// recording than job is opened; "offer" has a button for an act, [label, function]; what is "bad" stays longer than "news", with what went wrong
// before. A quiet one is only spoken, by screen readers: what it says is seen elsewhere.
export function announce(message, {bad, undo, act, job, quiet} = {}) {
  const kind = bad ? "bad" : undo ? "undo" : act ? "offer" : "news", [label, run] = act || ["Undo", undo], gone = () => hide(kind);
  const before = bad && toasts.bad ? toasts.bad.toast.firstChild.textContent.split("\n") : [], lines = [...before.filter(line => !message.includes(line)), message];
  if (!quiet) gone();
  $("status").textContent = message;
  if (quiet) return;
  const button = (members, ...children) => make("button", {type: "button", ...members}, ...children);
  const toast = make("div", {className: "toast " + kind}, make("p", {textContent: lines.join("\n")}), ...run ? [button({id: kind, textContent: label, onclick: () => { gone(); run(); }})] : [], button({className: "icon", title: "Close", ariaLabel: "Close", onclick: gone}, icon("close")));
  const end = ms => setTimeout(() => { if (toast.isConnected) toast.matches(":hover, :focus-within") ? end(2000) : gone(); }, ms);
  toasts[kind] = {toast, job, message};
  const place = document.querySelector("dialog[open]")?.firstElementChild || document.body; // what lies behind a dialog cannot be pressed
  if ($("toasts").parentElement !== place) place.append($("toasts"));
  $("toasts").append(toast);
  $("toasts").style.setProperty("--below", Math.max(...[".tools", "#find"].map(n => document.querySelector(n)?.getBoundingClientRect().bottom || 0)) + "px");
  if (place !== document.body) document.activeElement.scrollIntoView({block: "nearest"}); // which the message may have moved
  end(Math.max(bad ? 20000 : run ? 10000 : 6000, 70 * toast.textContent.length)); // long enough to be read
}

// hide takes the message of a kind away, and hideOther an Undo of another recording.
export function hide(kind) {
  if ($("status").textContent === toasts[kind]?.message) $("status").textContent = "";
  toasts[kind]?.toast.remove();
  delete toasts[kind];
}

export const hideOther = job => { if (toasts.undo?.job && toasts.undo.job !== job) hide("undo"); };

export function icon(name) {
  const svg = $("openHelp").firstElementChild.cloneNode(true);
  svg.firstElementChild.setAttribute("href", "#i-" + name);
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

// A menu ends above the player, and scrolls.
document.addEventListener("toggle", ({target: menu}) => {
  const list = menu.matches("details.menu[open]") && menu.lastElementChild, below = $("bar").hidden ? innerHeight : $("bar").getBoundingClientRect().top;
  if (list) list.style.maxHeight = `max(8rem, ${Math.round(below - list.getBoundingClientRect().top - 6)}px)`;
}, true);

document.addEventListener("click", e => { if (!e.target.closest("details.menu") || e.target.closest("details.menu div button")) closeMenus(); });

export const size = bytes => bytes < 1e6 ? Math.ceil(bytes / 1e3) + " kB" : bytes < 1e9 ? (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0) + " MB" : (bytes / 1e9).toFixed(1) + " GB";
