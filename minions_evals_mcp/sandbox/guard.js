// An expression, read by both JavaScript runners: (variables, guards) => missed. Each guarded object gives what is in it,
// nothing for the names that are known to stand for nothing, and any other name that code looks for is kept: missed()
// says the first. So is going through all of an object: a copy of it would keep nothing. A provider's id is a function,
// as in promptfoo.
(variables, guards) => {
  const Keeper = Proxy, look = Reflect.get, has = Reflect.has, own = Reflect.getOwnPropertyDescriptor, keys = Reflect.ownKeys;
  let first = "";
  const guarded = (held, path, absent) => {
    const known = Object.create(null);
    for (const name of [...absent, "toJSON", "then"]) known[name] = true;
    const seek = (name) => {
      if (!first && typeof name === "string" && !known[name] && !has(held, name)) first = path + "." + name + ", which is not there";
    };
    return new Keeper(held, {
      get: (kept, name) => (seek(name), look(kept, name)),
      has: (kept, name) => (seek(name), has(kept, name)),
      getOwnPropertyDescriptor: (kept, name) => (seek(name), own(kept, name)),
      ownKeys: (kept) => (first ||= `all of ${path}, of which not everything is known here`, keys(kept)),
    });
  };
  const provider = variables.context && variables.context.provider;
  if (provider && typeof provider.id === "string") {
    const id = provider.id;
    provider.id = () => id;
  }
  for (const [path, absent] of [...guards].reverse()) {
    const steps = path.split("."), last = steps.pop();
    const holder = steps.reduce((held, step) => held && held[step], variables);
    const held = holder && holder[last];
    if (held && typeof held === "object" && !Array.isArray(held)) holder[last] = guarded(held, path, absent);
  }
  return () => first;
}
