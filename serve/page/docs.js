// The page /docs: openapi.json as tables.
import {make} from "./ui.js";

const code = textContent => make("code", {textContent}), codes = list => (list || []).map(code);
const sentences = o => [o.summary && o.summary + ".", o.description].filter(s => s).join(" ");

const api = await (await fetch("openapi.json")).json();
// whole returns what a reference within openapi.json stands for.
const whole = o => o && o.$ref ? o.$ref.split("/").slice(1).reduce((at, name) => at[name], api) : o || {};

// rows returns the rows of a table: parameters, fields of the form, answers.
function* rows(o) {
  for (const p of o.parameters || []) yield [code("?" + p.name), p.description, ...codes(p.schema.enum)];
  for (const {schema} of Object.values(o.requestBody ? o.requestBody.content : {})) {
    for (const [name, field] of Object.entries(whole(schema).properties || {})) {
      yield [code(name), field.description, ...codes(field.enum), ...codes(field.items && field.items.enum)];
    }
  }
  for (const [status, answer] of Object.entries(o.responses)) yield [status, whole(answer).description, ...codes(Object.keys(answer.content || {}))];
}

document.getElementById("about").prepend(api.info.description + " ");
document.querySelector("main").append(...Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).flatMap(([method, o]) => [
  make("h2", {}, code(method.toUpperCase() + " " + path)), make("p", {}, sentences(o)),
  make("table", {}, ...[...rows(o)].map(([name, text, ...more]) => make("tr", {}, make("td", {}, name), make("td", {}, text ? text + " " : "", ...more)))),
])));
