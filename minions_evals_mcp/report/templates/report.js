(() => {
  const PAGE = 50;
  const by = (id) => document.getElementById(id);
  const labels = JSON.parse(by("labels").textContent);
  const BRIEF = ["id", "title", "trial", "status", "score", "before", "cause", "kind", "change"];
  const TRIED = ["run", "outcome", "reason", "points", "possible", "output", "tools", "latency", "cost", "regressions", "flipped", "failure", "judgments", "metrics", "cautions"];
  const JUDGED = ["criterion", "score", "least", "most", "rationale", "by", "kind", "confidence"];
  const TEXT_KEYS = ["output", "text", "content", "response"];
  // The same characters as HIDDEN in plain.py.
  const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\ufffe\uffff]/gu;
  const code = (one) => one.codePointAt(0).toString(16).padStart(4, "0");
  const named = (names, values) => Object.fromEntries(names.map((name, index) => [name, values[index]]));
  const cases = by("lines").textContent.split("\n").filter(Boolean).map((line) =>
    ({ brief: named(BRIEF, JSON.parse(line.slice(0, line.indexOf("\t")))), line }));
  const controls = { status: by("status"), kind: by("kind"), cause: by("cause") };
  const q = by("q");
  let at = 0;

  // Text only ever becomes a text node: nothing that was under test is parsed as markup.
  const revealed = (told) => told.replaceAll("\r\n", "\n").replace(HIDDEN, (one) => `⟨U+${code(one).toUpperCase()}⟩`);
  const node = (name, text, className) => {
    const made = document.createElement(name);
    if (text) made.textContent = revealed(text);
    if (className) made.className = className;
    return made;
  };

  const whole = (one) => {
    const [asked, ...sides] = one.line.split("\t").slice(1).map((part) => JSON.parse(part));
    return { asked: named(["inputs", "expected", "edited"], asked), sides: sides.map((side) => side && named(TRIED, side)) };
  };
  const sought = (text) => JSON.stringify(text).slice(1, -1).replace(HIDDEN, (one) => `\\u${code(one)}`)
    .replace(/&/g, "\\u0026").replace(/</g, "\\u003c").replace(/>/g, "\\u003e").toLowerCase();
  const found = () => {
    const words = sought(q.value.trim());
    return cases.filter((one) =>
      Object.entries(controls).every(([name, control]) => !control || !control.value || one.brief[name] === control.value)
      && (!words || (one.lower ??= one.line.toLowerCase()).includes(words)));
  };

  const short = (value, digits = 3) => String(Number(value.toPrecision(digits)));
  const fraction = (one) => (one.score - one.least) / (one.most - one.least);
  const cellOf = (tried, column) => {
    const one = tried.judgments.map((values) => named(JUDGED, values)).find((judged) => judged.criterion === column);
    if (one) return [one.most === 1 ? short(one.score) : `${short(one.score)} of ${one.most}`, fraction(one)];
    return Object.hasOwn(tried.metrics, column) ? [tried.metrics[column].toFixed(2), tried.metrics[column]] : null;
  };
  const cell = (name, score) => {
    const made = node("span", "", "cell");
    if (score) {
      made.append(node("span", `${name}: `, "name"), score[0]);
      made.classList.add(`s${Math.max(0, Math.min(4, Math.floor(score[1] * 5)))}`);
    }
    return made;
  };

  const points = (brief) => {
    const now = brief.score === null ? "–" : brief.score.toFixed(2);
    return brief.before === null ? now : `${brief.before.toFixed(2)} → ${now}`;
  };

  const text = (into, title, value) => {
    if (!value) return;
    into.append(node("h3", title), node("pre", value));
  };

  const told = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 1);
  const outputText = (output) => {
    for (const key of TEXT_KEYS) if (Object.hasOwn(output, key)) return told(output[key]);
    const texts = Object.values(output).filter((value) => typeof value === "string");
    return texts.length === 1 ? texts[0] : told(output);
  };

  const pieces = (diff, other) => {
    const made = node("pre");
    for (const [op, part] of diff) {
      if (op === "equal") made.append(revealed(part));
      else if (op !== other) made.append(node(op === "delete" ? "del" : "ins", part));
    }
    return made;
  };

  const figures = (tried) => [
    tried.points === null || tried.possible === null ? "" : `${short(tried.points)} of ${short(tried.possible)} points`,
    tried.latency === null ? "" : `${tried.latency.toFixed(0)} ms`,
    tried.cost === null ? "" : `$${tried.cost.toFixed(4)}`,
    tried.regressions.length ? `regression: ${tried.regressions.join(", ")}` : "",
    tried.flipped ? "passed last time" : "",
  ].filter(Boolean).join(" · ");

  const judgment = (values) => {
    const one = named(JUDGED, values);
    const title = labels.titles[one.criterion] ?? (one.criterion.startsWith("implicit:") ? "the case's own checks" : one.criterion);
    const by_ = `${one.by} (${one.kind}, confidence ${one.confidence === null ? "unknown" : short(one.confidence, 2)})`;
    return [node("h3", `${title}: ${short(one.score)} of ${one.most}`), node("pre", one.rationale), node("p", by_, "quiet")];
  };

  const side = (tried, title, diff, other) => {
    const made = node("div");
    made.append(node("h3", title));
    if (!tried) {
      made.append(node("p", "not in this run", "quiet"));
      return made;
    }
    if (tried.outcome !== "scored") made.append(node("p", `${tried.outcome}${tried.reason ? `: ${tried.reason}` : ""}`));
    if (tried.output) made.append(diff ? pieces(diff, other) : node("pre", outputText(tried.output)));
    const known = figures(tried);
    if (known) made.append(node("p", known, "quiet"));
    tried.cautions?.forEach((caution) => made.append(node("p", `Caution: ${caution}`)));
    made.append(...tried.judgments.flatMap(judgment));
    if (tried.failure) {
      const [type, severity, description, root, model] = tried.failure;
      made.append(node("h3", `Cause: ${type}, ${severity}`), node("pre", description));
      if (root) made.append(node("pre", root));
      if (model) made.append(node("p", `Beside that, ${model.by} ${modelSaid(model)}`, "quiet"));
    }
    tried.tools.forEach((call, index) => text(made, `Tool call ${index + 1}`, told(call)));
    return made;
  };

  const modelSaid = (model) => model.refused
    ? `was asked; its answer was discarded: ${model.refused}`
    : `says ${model.failureType}: ${model.rootCause || model.description || ""} (${model.step
      ? `step ${model.step}: “${model.quote}”` : "it says that the log shows no cause"})`;

  const inside = (one) => {
    const { asked, sides: [tried, before] } = whole(one);
    const sides = labels.sides.length > 1 ? [before, tried] : [tried];
    const outputs = sides.map((each) => each?.output ? outputText(each.output) : null);
    const changed = outputs.length > 1 && outputs.every((output) => output !== null) && outputs[0] !== outputs[1];
    const diff = changed ? wordDiff(...outputs) : null;
    const made = node("div", "", "inside");
    made.append(node("p", `${one.brief.id}${one.brief.change ? ` · ${one.brief.change}` : ""}`, "quiet"));
    if (asked.edited) made.append(node("p", "The case was changed after this run: input and expected are as they are now."));
    for (const [name, value] of Object.entries(asked.inputs ?? {})) text(made, `Input: ${name}`, told(value));
    for (const [name, value] of Object.entries(asked.expected ?? {})) text(made, `Expected: ${name}`, told(value));
    const beside = node("div", "", "sides");
    sides.forEach((each, index) => beside.append(side(each, labels.sides[index], diff, index ? "delete" : "insert")));
    made.append(beside);
    return made;
  };

  const row = (one) => {
    const brief = one.brief;
    const { sides: [tried, before] } = whole(one);
    const details = node("details");
    const summary = node("summary");
    summary.append(
      node("span", brief.kind && brief.kind !== "same" ? `${labels.statuses[brief.status]}, ${labels.kinds[brief.kind]}` : labels.statuses[brief.status], brief.status),
      node("span", brief.trial > 1 ? `${brief.title} (trial ${brief.trial})` : brief.title, "title"),
      cell("score", [points(brief), brief.score ?? 0.5]),
      ...labels.columns.map((column) => cell(labels.titles[column], cellOf(tried ?? before, column))));
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (!details.open || details.childElementCount > 1) return;
      details.append(inside(one));
      for (const pre of details.querySelectorAll("pre")) if (pre.scrollHeight > pre.clientHeight) pre.tabIndex = 0;
    });
    const item = node("li");
    item.append(details);
    return item;
  };

  const show = () => {
    const listed = found();
    const pages = Math.max(1, Math.ceil(listed.length / PAGE));
    at = Math.min(at, pages - 1);
    by("cases").replaceChildren(...listed.slice(at * PAGE, (at + 1) * PAGE).map(row));
    by("count").textContent = `${listed.length} of ${cases.length} shown`;
    by("page").textContent = `page ${at + 1} of ${pages}`;
    by("back").disabled = at === 0;
    by("on").disabled = at === pages - 1;
  };

  const options = (control, names, told) => {
    for (const name of names) {
      const option = node("option", told[name] ?? name);
      option.value = name;
      control.append(option);
    }
  };

  // The address keeps the filter, so that a view can be sent to somebody: #q=refund&status=failed&open
  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    q.value = asked.get("q") ?? "";
    for (const [name, control] of Object.entries(controls)) if (control) control.value = asked.get(name) ?? "";
    at = Math.max(0, Number.parseInt(asked.get("page") ?? "1", 10) - 1 || 0);
    show();
    if (asked.has("open")) for (const details of by("cases").querySelectorAll("details")) details.open = true;
  };
  const write = () => {
    const kept = new URLSearchParams();
    if (q.value) kept.set("q", q.value);
    for (const [name, control] of Object.entries(controls)) if (control && control.value) kept.set(name, control.value);
    if (at) kept.set("page", String(at + 1));
    history.replaceState(null, "", `#${kept}`);
  };
  const changed = () => { at = 0; show(); write(); };
  const turned = (by_) => { at += by_; show(); write(); by("h-cases").scrollIntoView(); };

  const present = (name) => [...new Set(cases.map((one) => one.brief[name]))].filter(Boolean);
  options(controls.status, present("status"), labels.statuses);
  if (controls.kind) options(controls.kind, present("kind"), labels.kinds);
  options(controls.cause, present("cause").sort(), {});
  by("heads").append(node("span", "result"), node("span", "case"), node("span", "score"), ...labels.columns.map((column) => node("span", labels.titles[column])));
  let waiting = 0;
  q.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(changed, 120); });
  for (const control of Object.values(controls)) control?.addEventListener("change", changed);
  by("back").addEventListener("click", () => turned(-1));
  by("on").addEventListener("click", () => turned(1));
  addEventListener("hashchange", read);
  read();
})();
