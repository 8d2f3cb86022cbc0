// The process that runs one trusted JavaScript snippet: a JSON request on standard input, a JSON answer on standard output.
"use strict";

const { readFileSync, writeSync } = require("node:fs");

// What the engine writes before the body of a function that is made of text.
const HEADER_LINES = 2;

// The snippet as a function: an expression, a body that returns, or statements whose last one counts.
function snippetOf(code, names) {
  const expression = `return (${code.trimEnd().replace(/;+$/, "")}\n)`;
  try {
    return [new Function(...names, expression), HEADER_LINES];
  } catch {
    const body = new Function(...names, code);
    if (/\breturn\b/.test(code)) return [body, HEADER_LINES];
    return [new Function(...names, `return eval(${JSON.stringify(code)})`), 0];
  }
}

function told(error, header) {
  const at = error instanceof Error && /<anonymous>:(\d+)/.exec(error.stack);
  const line = at ? Number(at[1]) - header : 0;
  return line > 0 ? `line ${line}: ${error}` : String(error);
}

// What keeps watch over objects among the variables: see guard.js.
const guard = eval(readFileSync(`${__dirname}/guard.js`, "utf8"));

async function answer({ code, variables, guards }) {
  let snippet, header;
  const missed = guard(variables, guards);
  const unread = () => ({ kind: "unsupported", error: `the code reads ${missed()}`, name: "" });
  try {
    [snippet, header] = snippetOf(code, Object.keys(variables));
  } catch (error) {
    return { kind: "syntax", error: String(error), name: "SyntaxError" };
  }
  try {
    const value = await snippet(...Object.values(variables));
    if (Number.isNaN(value)) return { kind: "raised", error: "the result is NaN", name: "" };
    if (missed()) return unread();
    let text;
    try {
      text = JSON.stringify(value === undefined ? null : value); // what is guarded is read here, too
    } catch (error) {
      return { kind: "raised", error: `the result is no JSON: ${error}`, name: "TypeError" };
    }
    return missed() ? unread() : { value: JSON.parse(text === undefined ? "null" : text) };
  } catch (error) {
    if (missed()) return unread();
    return { kind: "raised", error: told(error, header), name: String((error && error.name) || "") };
  }
}

const asked = JSON.parse(readFileSync(0, "utf8"));
console.log = console.info = console.warn = console.error = () => {};
answer(asked).then((said) => {
  let text;
  try {
    text = JSON.stringify(said);
  } catch (error) {
    text = JSON.stringify({ kind: "raised", error: `the result is no JSON: ${error}`, name: "TypeError" });
  }
  for (let rest = Buffer.from(text); rest.length; ) rest = rest.subarray(writeSync(1, rest));
  process.exit(0);
});
