// Runs what a JavaScript module of the user's exports: a JSON request on standard input, a JSON answer on standard output.
//
// {file, name, arguments}: what the export gives for the arguments, or the export itself where it is no function.
// {file, name, options, call}: `call` are the arguments of callApi of a provider that is made with the options.
import { readFileSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const asked = JSON.parse(readFileSync(0, 'utf8'));
for (const level of ['log', 'info', 'debug']) console[level] = console.error;

async function answer({ file, name, arguments: given, options, call }) {
  const module = await import(pathToFileURL(file));
  const whole = module.default?.default ?? module.default ?? module;
  const held = name ? (whole[name] ?? module[name]) : whole;
  if (held === undefined || (held === module && !name)) throw new Error(`it exports no ${name || 'default'}`);
  if (!call) return typeof held === 'function' ? held(...given) : held;
  const provider = new held(options);
  if (typeof provider.callApi !== 'function') throw new Error('its default export is no class with callApi');
  return provider.callApi(...call);
}

let said;
try {
  said = JSON.stringify({ value: (await answer(asked)) ?? null });
} catch (error) {
  said = JSON.stringify({ error: String(error?.message ?? error) });
}
for (let rest = Buffer.from(said); rest.length; ) rest = rest.subarray(writeSync(1, rest));
process.exit(0);
