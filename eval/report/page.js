// The replay: after Play, words appear when their time has come. Until then, and without
// this script, they are all there.
"use strict";
for (const root of document.querySelectorAll(".replay")) {
  const button = root.querySelector("button"), select = root.querySelector("select");
  const panes = [...root.querySelectorAll(".pane")].map((pane) => ({
    total: +pane.dataset.total,
    clock: pane.querySelector("time"),
    track: pane.querySelector(".track i"),
    box: pane.querySelector(".text"),
    passes: pane.querySelector(".passes"),
    all: +pane.dataset.passes,
    words: [...pane.querySelectorAll(".text span")].map((el) => ({ el, at: +el.dataset.t, pass: +el.dataset.p })),
    shown: 0,
  }));
  for (const p of panes) {
    p.line = parseFloat(getComputedStyle(p.box).lineHeight);
    for (const w of p.words) w.el.classList.add("on");
    p.shown = p.words.length;
  }
  const end = Math.max(...panes.map((p) => p.total));
  const digits = end < 0.1 ? 4 : end < 1 ? 3 : end < 10 ? 2 : 1;
  // Pace such that the slower pane takes some ten seconds, in steps of 1, 2, 5.
  let pace = end / 10, step = 10 ** Math.floor(Math.log10(pace));
  pace = step * (pace / step < 1.5 ? 1 : pace / step < 3.5 ? 2 : pace / step < 7.5 ? 5 : 10);
  for (const [factor, word] of [[0.5, "half"], [1, ""], [2, "double"], [1 / pace, "as measured"]]) {
    const v = pace * factor;
    const speed = Math.abs(v - 1) < 1e-6 ? "as measured" : v < 1 ? `${+(1 / v).toPrecision(3)}× slower` : `${+v.toPrecision(3)}× faster`;
    if (word !== "as measured" || Math.abs(pace - 1) > 1e-6) select.add(new Option(speed, v, factor === 1, factor === 1));
  }
  let now = end, last = 0, playing = false;

  const draw = () => {
    for (const p of panes) {
      const t = Math.min(now, p.total);
      p.clock.textContent = t.toFixed(digits) + " s";
      p.track.style.transform = `scaleX(${p.total ? t / p.total : 1})`;
      const before = p.shown;
      while (p.shown < p.words.length && p.words[p.shown].at <= now) p.words[p.shown++].el.classList.add("on");
      while (p.shown > 0 && p.words[p.shown - 1].at > now) p.words[--p.shown].el.classList.remove("on");
      const done = now >= p.total ? p.all : p.shown ? p.words[p.shown - 1].pass : 0;
      p.passes.textContent = done.toLocaleString("en") + (done === 1 ? " pass" : " passes") + " of the model";
      if (p.shown !== before) {
        const el = p.words[Math.max(0, p.shown - 1)].el;
        const line = Math.floor((el.offsetTop - p.box.offsetTop) / p.line), fit = Math.floor(p.box.clientHeight / p.line);
        p.box.scrollTop = Math.max(0, line + 2 - fit) * p.line; // one line ahead, the first one whole
      }
    }
    button.textContent = playing ? "Pause" : now >= end ? "Play" : now > 0 ? "Resume" : "Play";
  };
  const frame = (stamp) => {
    if (!playing) return;
    now = Math.min(end, now + (Math.min(100, stamp - last) / 1000) * +select.value);
    last = stamp;
    if (now >= end) playing = false;
    draw();
    if (playing) requestAnimationFrame(frame);
  };
  const play = () => {
    if (now >= end) now = 0;
    playing = true;
    last = performance.now();
    draw();
    requestAnimationFrame(frame);
  };
  button.addEventListener("click", () => {
    if (!playing) return play();
    playing = false;
    draw();
  });
  root.querySelector(".controls").hidden = false;
  root.classList.add("live");
  draw();
}
