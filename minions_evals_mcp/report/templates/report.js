"use strict";
(() => {
  const PAGE = 50;
  const by = (id) => document.getElementById(id);
  const labels = JSON.parse(by("labels").textContent);
  const cases = by("lines").textContent.split("\n").filter(Boolean).map((line) => {
    const tab = line.indexOf("\t");
    return { brief: JSON.parse(line.slice(0, tab)), line, tab };
  });
  const controls = { status: by("status"), kind: by("kind"), cause: by("cause") };
  const q = by("q");
  let at = 0;

  // Text only ever becomes a text node: nothing that was under test is parsed as markup.
  const node = (name, text, className) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const whole = (one) => JSON.parse(one.line.slice(one.tab + 1));
  const sought = (text) => JSON.stringify(text).slice(1, -1).replace(/&/g, "\\u0026").replace(/</g, "\\u003c").replace(/>/g, "\\u003e").toLowerCase();
  const found = () => {
    const words = sought(q.value.trim());
    return cases.filter((one) =>
      Object.entries(controls).every(([name, control]) => !control || !control.value || one.brief[name] === control.value)
      && (!words || (one.lower ??= one.line.toLowerCase()).includes(words)));
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

  const pieces = (diff, other) => {
    const made = node("pre");
    for (const [op, part] of diff) {
      if (op === "equal") made.append(part);
      else if (op !== other) made.append(node(op === "delete" ? "del" : "ins", part));
    }
    return made;
  };

  const side = (told, title, diff, other) => {
    const made = node("div");
    made.append(node("h3", title));
    if (!told) {
      made.append(node("p", "not in this run", "quiet"));
      return made;
    }
    if (told.outcome !== "scored") made.append(node("p", `${told.outcome}${told.reason ? `: ${told.reason}` : ""}`));
    if (told.output !== null) made.append(diff ? pieces(diff, other) : node("pre", told.output));
    if (told.figures) made.append(node("p", told.figures, "quiet"));
    for (const one of told.judgments) {
      made.append(node("h3", `${one.title}: ${one.score}`), node("pre", one.rationale), node("p", one.by, "quiet"));
    }
    if (told.cause) {
      made.append(node("h3", `Cause: ${told.cause.type}, ${told.cause.severity}`), node("pre", told.cause.description));
      if (told.cause.root) made.append(node("pre", told.cause.root));
    }
    told.tools.forEach((call, index) => text(made, `Tool call ${index + 1}`, call));
    return made;
  };

  const inside = (one) => {
    const told = whole(one);
    const made = node("div", "", "inside");
    made.append(node("p", `${one.brief.id}${told.change ? ` · ${told.change}` : ""}`, "quiet"));
    if (told.edited) made.append(node("p", "The case was changed after this run: input and expected are as they are now."));
    for (const [name, value] of told.inputs) text(made, `Input: ${name}`, value);
    for (const [name, value] of told.expected) text(made, `Expected: ${name}`, value);
    const sides = node("div", "", "sides");
    told.sides.forEach((tried, index) => sides.append(side(tried, labels.sides[index], told.diff, index ? "delete" : "insert")));
    made.append(sides);
    return made;
  };

  const row = (one) => {
    const brief = one.brief;
    const details = node("details");
    const summary = node("summary");
    summary.append(
      node("span", brief.kind && brief.kind !== "same" ? `${labels.statuses[brief.status]}, ${labels.kinds[brief.kind]}` : labels.statuses[brief.status], brief.status),
      node("span", brief.trial > 1 ? `${brief.title} (trial ${brief.trial})` : brief.title, "title"),
      cell("score", [points(brief), brief.score ?? 0.5]),
      ...labels.columns.map((name, index) => cell(name, brief.cells[index])));
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
  by("heads").append(node("span", "result"), node("span", "case"), node("span", "score"), ...labels.columns.map((name) => node("span", name)));
  let waiting = 0;
  q.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(changed, 120); });
  for (const control of Object.values(controls)) control?.addEventListener("change", changed);
  by("back").addEventListener("click", () => turned(-1));
  by("on").addEventListener("click", () => turned(1));
  addEventListener("hashchange", read);
  read();
})();
