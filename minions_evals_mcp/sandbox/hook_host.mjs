// Runs a config's extension hooks in one process, whose modules keep what they hold between calls.
//
// Each line of standard input is {file, name, arguments, at}; each line of the answer {value, context} or {error}, where
// `context` is the argument at that place as the function left it.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

for (const level of ['log', 'info', 'debug']) console[level] = console.error;

async function called({ file, name, arguments: given, at }) {
  const module = await import(pathToFileURL(file));
  const whole = module.default?.default ?? module.default ?? module;
  const held = (name && (whole[name] ?? module[name])) || whole;
  if (typeof held !== 'function') throw new Error(`it exports no function ${name || 'as its default'}`);
  const value = await held(...given);
  return { value: value ?? null, context: given[at] };
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = JSON.stringify(await called(JSON.parse(line)));
  } catch (error) {
    said = JSON.stringify({ error: String(error?.message ?? error) });
  }
  for (let rest = Buffer.from(`${said}\n`); rest.length; ) rest = rest.subarray(writeSync(1, rest));
}
