// Opens reports in Chromium at the widths of a desktop and a phone: they load without an error,
// nothing is wider than the window, and axe-core finds nothing. Takes pictures. Exits with 1 if something is wrong.
//
//   node report.mjs CHROMIUM PROGRAM DIGITS PICTURES
import {spawnSync} from "node:child_process";
import {copyFileSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {chromium} from "playwright-core";

const [browserPath, program, digits, pictures] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let wrong = 0;

function check(what, ok, got) {
  console.log(ok ? "ok   " : "WRONG", what, ok ? "" : JSON.stringify(got));
  if (!ok) wrong++;
}

function verity(status, ...args) {
  const r = spawnSync(program, args, {cwd: pictures, encoding: "utf8"});
  if (r.status !== status) throw new Error(`verity ${args.join(" ")}: status ${r.status}, want ${status}: ${r.stderr}`);
}

const sound = `${pictures}/digits.wav`, model = ["--model", `${digits}/target`, "--assistant", `${digits}/assistant`];
copyFileSync(`${digits}/digits.wav`, sound);
rmSync(`${pictures}/records`, {recursive: true, force: true}); // those of another build would be refused
verity(0, "compare", sound, ...model, "--repeats", "5", "--out", "records", "--html", "identical.html");
verity(0, "compare", sound, ...model, "--precision", "f16,int8,int8+assistant", "--html", "arms.html");
verity(0, "report", "--html", "single.html", "records/baseline.jsonl");
copyFileSync(`${pictures}/records/baseline.jsonl`, `${pictures}/records-1-of-2.jsonl`);
verity(1, "report", "--html", "partial.html", "records-1-of-2.jsonl");
const record = JSON.parse(readFileSync(`${pictures}/records/assisted.jsonl`, "utf8"));
record.hypothesis = "seven " + record.hypothesis;
record.segments[0].tokens[0] = 1;
writeFileSync(`${pictures}/changed.jsonl`, JSON.stringify(record) + "\n");
verity(3, "report", "--html", "different.html", "records/baseline.jsonl", "changed.jsonl");

const browser = await chromium.launch({executablePath: browserPath, args: ["--no-sandbox"]});
try {
  for (const name of ["identical", "arms", "different", "single", "partial"]) for (const width of [1280, 390]) {
    const page = await (await browser.newContext({viewport: {width, height: 900}})).newPage();
    const errors = [];
    page.on("pageerror", e => errors.push(String(e)));
    page.on("console", m => errors.push(m.text()));
    await page.goto(`file://${pictures}/${name}.html`);
    const at = `${name}, ${width} px`;
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(`nothing overflows, ${at}`, wide <= 0, wide);
    check(`no errors, ${at}`, errors.length === 0, errors);
    for (const colorScheme of ["light", "dark"]) { // axe-core and pictures try styles that the page's policy forbids
      await page.emulateMedia({colorScheme});
      await page.screenshot({path: `${pictures}/${name}-${width}-${colorScheme}.png`, fullPage: true});
      await page.evaluate(() => document.querySelectorAll("details").forEach(d => { d.open = true; }));
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" | "))));
      check(`axe-core, ${at}, ${colorScheme}`, found.length === 0, found);
    }
  }
} finally {
  await browser.close();
}
console.log(wrong ? `${wrong} wrong` : "all as it should be", "- pictures in", pictures);
process.exit(wrong ? 1 : 0);
