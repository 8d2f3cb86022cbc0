// How modules of the user's are found: as bundlers do, a relative import may leave out its ending, name a folder, or
// name the `.js` that a file of TypeScript would become.
import * as module from 'node:module';

const ENDINGS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json', '/index.ts', '/index.js'];
const COMPILED = { '.js': '.ts', '.mjs': '.mts', '.cjs': '.cts' };

function others(specifier) {
  const ending = /\.[mc]?js$/.exec(specifier)?.[0];
  const typed = ending ? [specifier.slice(0, -ending.length) + COMPILED[ending]] : [];
  return [...typed, ...ENDINGS.map((added) => specifier.replace(/\/$/, '') + added)];
}

module.registerHooks?.({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      if (!/^(\.|\/|file:)/.test(specifier)) throw error;
      for (const other of others(specifier)) {
        try {
          return next(other, context);
        } catch {
          // Not this one either.
        }
      }
      throw error;
    }
  },
});
