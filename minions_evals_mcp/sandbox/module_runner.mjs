// Runs what a JavaScript module of the user's exports: a JSON request on standard input, a JSON answer on standard output.
//
// {file, name, arguments}: what the export gives for the arguments, or the export itself where it is no function.
// {…, absent}: the arguments at those places are undefined; the answer is a list of what was given, empty of undefined.
// {…, withheld}: that stands behind the arguments, and reading anything of it fails.
// {…, functions}: functions among the assertions that it gives are written as lines that begin with that mark.
// {file, name, options, call}: `call` are the arguments of callApi of a provider that is made with the options.
// {…, options, describe}: {id, label, config} of that provider.
import { readFileSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const asked = JSON.parse(readFileSync(0, 'utf8'));
for (const level of ['log', 'info', 'debug']) console[level] = console.error;

async function answer({ file, name, arguments: given, absent, withheld, options, call, describe }) {
  const module = await import(pathToFileURL(file));
  const whole = module.default?.default ?? module.default ?? module;
  const held = name ? (whole[name] ?? module[name]) : whole;
  if (held === undefined || (held === module && !name)) throw new Error(`it exports no ${name || 'default'}`);
  if (absent) {
    const told = await held(...given.map((value, place) => (absent.includes(place) ? undefined : value)));
    return told === undefined ? [] : [told];
  }
  if (!call && !describe) return typeof held === 'function' ? held(...given, ...(withheld ? [unread(withheld)] : [])) : held;
  const provider = new held(options);
  if (describe) return { id: provider.id(), label: provider.label || null, config: provider.config };
  if (typeof provider.callApi !== 'function') throw new Error('its default export is no class with callApi');
  return provider.callApi(...call);
}

function unread(what) {
  const refuse = () => {
    throw new Error(`${what} is not told where this is called`);
  };
  return new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse });
}

const CODE = new Set(['value', 'transform', 'postprocess', 'contextTransform']);
const RAW = ['{% raw %}', '{% endraw %}'];

// A function as the lines that call it, which begin with the mark: what stands around it in its module is lost.
function asLines(mark, key, held) {
  const source = String(held);
  const alone = /^(async\s+)?(function\b|\(|[\w$]+\s*=>)/.test(source) ? source : `{ ${source} }[${JSON.stringify(key)}]`;
  const [before, after] = /\{[{%#]/.test(source) ? RAW : ['', ''];
  return `${mark}\n${before}return (${alone})(output, context);${after}`;
}

function written({ functions }) {
  return (key, held) => (functions && typeof held === 'function' && CODE.has(key) ? asLines(functions, key, held) : held);
}

let said;
try {
  said = JSON.stringify({ value: (await answer(asked)) ?? null }, written(asked));
} catch (error) {
  said = JSON.stringify({ error: String(error?.message ?? error) });
}
for (let rest = Buffer.from(said); rest.length; ) rest = rest.subarray(writeSync(1, rest));
process.exit(0);
