"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const by = (selector) => document.querySelector(selector);

  // Times stand in UTC; they are shown in the reader's zone.
  const zoned = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const dated = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
  const narrow = {  // heads of narrow columns
    clock: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }),
    day: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }),
  };
  const localised = (root) => {
    for (const one of all("time[datetime]", root)) {
      const at = new Date(one.dateTime);
      if (one.title || Number.isNaN(at.getTime())) continue;
      if (one.dataset.as) {
        one.textContent = narrow[one.dataset.as].format(at).replace(" ", "\n");
        continue;
      }
      one.title = one.textContent;
      one.textContent = (at.getFullYear() === new Date().getFullYear() ? zoned : dated).format(at);
    }
    for (const body of all("tbody", root)) apart(body);
  };
  // Rows of one minute are told apart by their seconds.
  const apart = (body) => {
    const same = new Map();
    for (const one of all("tr > td time[datetime]", body)) {
      const key = `${one.closest("td").cellIndex} ${one.textContent}`;
      same.set(key, [...(same.get(key) ?? []), one]);
    }
    for (const times of same.values()) {
      if (new Set(times.map((one) => one.dateTime)).size < 2) continue;
      for (const one of times) one.textContent += new Date(one.dateTime).toISOString().slice(16, 19);
    }
  };
  localised(document);

  // A narrow screen begins at the newest run.
  for (const region of all(".scroll:has(> .case-map)")) region.scrollLeft = region.scrollWidth;

  // The title shows a run's progress, for a tab among many.
  const titled = document.title;
  const progressed = () => {
    const shown = by("[data-progress]");
    document.title = shown ? `${shown.dataset.progress}\u202f% · ${titled}` : titled;
  };
  progressed();

  // The theme: as the system, light, dark.
  const THEMES = ["", "light", "dark"];
  const NAMED = { "": "system", light: "light", dark: "dark" };
  const SIGNS = { "": "◐", light: "☀", dark: "☾" };
  const switched = by("[data-theme-switch]");
  const themed = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
    if (!switched) return;
    switched.setAttribute("aria-label", `theme: ${NAMED[theme]}`);
    switched.title = `theme: ${NAMED[theme]}`;
    switched.firstElementChild.textContent = SIGNS[theme];
  };
  themed(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "");
  switched?.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length];
    if (next) localStorage.setItem("theme", next); else localStorage.removeItem("theme");
    themed(next);
  });

  // Live parts are htmx's: the templates say what is asked, when, and where it goes. Here stands what its attributes cannot say.
  const polls = (elt) => elt.matches('[hx-trigger^="every"]');
  const asked = new WeakMap(); // a part: what the reader asked of it last
  const seen = new WeakMap(); // a part: the ETag of what it shows
  const live = new WeakSet(); // parts whose run went on when they were last exchanged
  const held = (part) => document.hidden || part.contains(document.activeElement) || (asked.has(part) && asked.get(part).readyState < 4);
  const on = (name, act) => document.addEventListener(`htmx:${name}`, (event) => { if (act(event.detail, event) === false) event.preventDefault(); });
  on("configRequest", ({ elt, target, headers, formData }) => {
    if (polls(elt)) { if (seen.get(target)) headers["If-None-Match"] = seen.get(target); return; }
    for (const [name, value] of [...formData]) if (!value) formData.delete(name); // the address tells what was asked for only
    if (formData.getAll("columns").join(" ") === elt.querySelector("[data-usual]")?.dataset.usual) formData.delete("columns");
  });
  on("beforeRequest", ({ elt, target, xhr }) => {
    if (polls(elt)) return !held(target);
    asked.set(target, xhr);
    target.setAttribute("aria-busy", "true");
  });
  on("beforeSwap", ({ requestConfig: { elt }, target, xhr, shouldSwap }) => {
    if (!shouldSwap) return;
    if (polls(elt) ? !elt.isConnected || held(target) : asked.get(target) !== xhr) return false; // the reader's last wish is shown
    seen.set(target, xhr.getResponseHeader("ETag") ?? "");
    if (target.querySelector("[data-live]")) live.add(target);
  });
  on("afterSettle", ({ target }, event) => {
    if (event.target !== target) return;
    target.removeAttribute("aria-busy");
    localised(target);
    progressed();
    viewed();
    if (live.delete(target) && !target.querySelector("[data-live]")) location.reload(); // the run has ended
  });
  on("afterRequest", ({ target, pathInfo, xhr }) => { if (asked.get(target) === xhr && xhr.status !== 200) location.assign(pathInfo.finalRequestPath); });
  document.addEventListener("click", (event) => { if (event.shiftKey && event.target.closest("[hx-boost] a")) event.stopPropagation(); }, true);

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys]")) { by("#keys").showModal(); return; }
    const copied = event.target.closest("[data-copy]");
    if (copied && navigator.clipboard && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
      event.preventDefault();
      fetch(copied.href, { credentials: "same-origin" }).then((answer) => answer.text())
        .then((text) => navigator.clipboard.writeText(text))
        .then(() => { copied.textContent = "✓ copied"; }, () => location.assign(copied.href));
    }
  });

  // A list is looked through while one types; the address keeps what was looked for.
  for (const field of all("input[data-among]")) {
    const sift = () => {
      const asked = field.value.trim().toLowerCase();
      for (const one of all(field.dataset.among)) one.hidden = !one.textContent.toLowerCase().includes(asked);
      const address = new URL(location.href);
      if (asked) address.searchParams.set("q", field.value); else address.searchParams.delete("q");
      history.replaceState(history.state, "", address);
    };
    field.value = new URL(location.href).searchParams.get("q") ?? "";
    field.closest("[hidden]")?.removeAttribute("hidden");
    if (field.value) sift();
    field.addEventListener("input", sift);
  }

  // Views of the list of runs: an address under a name, kept by this browser.
  const VIEWS = "runs:views";
  const views = () => { try { return JSON.parse(localStorage.getItem(VIEWS)) ?? {}; } catch { return {}; } };
  const made = (tag, text, about = {}) => Object.assign(document.createElement(tag), { textContent: text }, about);
  const viewed = () => {
    const place = by("[data-views]");
    if (!place) return;
    const address = new URL(location.href);
    address.searchParams.delete("page");
    const kept = views();
    const parts = [];
    for (const [name, query] of Object.entries(kept)) {
      const link = made("a", name, { href: `/runs${query}`, className: "view" });
      if (query === address.search) link.setAttribute("aria-current", "true");
      const gone = made("button", "×", { type: "button", className: "gone" });
      gone.setAttribute("aria-label", `remove the view ${name}`);
      gone.dataset.gone = name;
      parts.push(link, gone);
    }
    if (address.search && !Object.values(kept).includes(address.search)) {
      const field = made("input", "", { type: "text", maxLength: 40, placeholder: "name of this view" });
      field.setAttribute("aria-label", "name of this view");
      const form = made("form", "", { className: "save-view" });
      form.append(field, made("button", "Save view"));
      parts.push(form);
    }
    place.replaceChildren(...parts);
    place.hidden = !parts.length;
  };
  viewed();
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".save-view")) return;
    event.preventDefault();
    const address = new URL(location.href);
    address.searchParams.delete("page");
    const name = event.target.querySelector("input").value.trim();
    if (!name) { event.target.querySelector("input").focus(); return; }
    localStorage.setItem(VIEWS, JSON.stringify({ ...views(), [name]: address.search }));
    viewed();
  });
  document.addEventListener("click", (event) => {
    const name = event.target.closest("[data-gone]")?.dataset.gone;
    if (name === undefined) return;
    const { [name]: _gone, ...rest } = views();
    localStorage.setItem(VIEWS, JSON.stringify(rest));
    viewed();
  });

  // Keys. What is typed into a field stays there.
  const writing = (at) => at.matches("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
  const rows = () => all("main tbody tr a[href], main ol.list > li a[href], main ul.list > li a[href], main .attention a.go")
    .filter((one, at, list) => one.checkVisibility() && one.closest("tr, li") !== list[at - 1]?.closest("tr, li"));
  const moved = (by_) => {
    const list = rows();
    const at = list.findIndex((one) => one.closest("tr, li") === document.activeElement.closest?.("tr, li"));
    const next = list[at < 0 ? (by_ > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by_))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const followed = (selector) => { const link = by(selector); if (link) location.assign(link.href); return Boolean(link); };
  // The trajectory: its steps have addresses, so going to one is going to an address.
  const calls = () => all("[data-navigator] .call").filter((one) => one.checkVisibility() || location.hash === one.hash);
  const chosen = () => {
    const list = calls();
    const found = list.findIndex((one) => one.hash === location.hash);
    return { list, at: found >= 0 ? found : list.findIndex((one) => one.hash === `#${by(".step-view .default")?.id}`) };
  };
  const went = (call) => { if (call) { location.hash = call.hash; call.scrollIntoView({ block: "nearest" }); } return Boolean(call); };
  const inside = () => /^#step-\d+$/.test(location.hash) || Boolean(document.activeElement.closest?.("[data-navigator]"));
  const stepped = (by_) => { const { list, at } = chosen(); return went(list[Math.min(list.length - 1, Math.max(0, at + by_))]); };
  const marked = (selector) => {
    const { list, at } = chosen();
    const fitting = list.filter((one) => one.matches(selector));
    return went(fitting.find((one) => list.indexOf(one) > at) ?? fitting[0]);
  };
  const sent = (hash) => document.getElementById(hash.slice(1))?.closest(".step-view article");
  const callOf = (hash) => by(`[data-navigator] .call[data-step="${CSS.escape(hash.replace(/^#?step-/, ""))}"]`);
  const shownStep = () => {
    // Not by `:target`: while the page is being loaded nothing is the target yet.
    const now = callOf((sent(location.hash) ?? by(".step-view .default"))?.id ?? "");
    for (const one of all("[data-navigator] .call.now")) { one.classList.remove("now"); one.removeAttribute("aria-current"); }
    if (!now) return;
    now.classList.add("now");
    now.setAttribute("aria-current", "step");
    const held = now.closest("details");
    if (held) held.open = true;
  };
  // Of a long trajectory a window of steps is sent; a step outside of it brings its own window.
  const broughtStep = async () => {
    const call = sent(location.hash) ? null : callOf(location.hash);
    if (!call) { shownStep(); return; }
    const address = new URL(location.href);
    address.searchParams.set("step", call.dataset.step);
    const answer = await fetch(address, { credentials: "same-origin" });
    if (call.hash !== location.hash) return; // another step was asked for meanwhile
    if (!answer.ok) { location.assign(address); return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    by(".step-view").replaceChildren(...page.querySelector(".step-view").children);
    shownStep();
  };
  document.addEventListener("click", (event) => {
    const call = event.target.closest("[data-navigator] .call[href^='?']");
    if (!call || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    location.hash = call.hash;
  });
  if (by("[data-navigator]")) { addEventListener("hashchange", broughtStep); broughtStep(); }

  // The palette: what is called so, wherever one is.
  const finder = by("#find");
  const [typed, found] = [by("#find input"), by("#find .found")];
  const sought = async () => {
    const text = typed.value;
    const answer = await fetch(`/find?${new URLSearchParams({ q: text })}`, { credentials: "same-origin" });
    if (!answer.ok || text !== typed.value) return; // something else was typed meanwhile
    found.innerHTML = await answer.text();
    localised(found);
  };
  const opened = () => { if (!finder.open) { finder.showModal(); typed.select(); sought(); } };
  by("[data-find]")?.addEventListener("click", opened);
  typed.addEventListener("input", sought);
  finder.addEventListener("click", (event) => { if (event.target === finder) finder.close(); });
  finder.addEventListener("keydown", (event) => {
    const links = all("a", found);
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") (links[at + 1] ?? links[0])?.focus();
    else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : typed).focus();
    else if (event.key === "Enter" && at < 0) links[0]?.click();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    opened();
  });

  // The drawer: a cell of the matrix beside its neighbours, without leaving the matrix.
  const drawer = by("#drawer");
  let cell = null;
  const drawn = async (link) => {
    cell = link;
    by("[data-whole-case]").href = link.href;
    const answer = await fetch(link.href, { credentials: "same-origin" });
    if (!answer.ok) { location.assign(link.href); return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (cell !== link) return; // another cell was asked for meanwhile
    const heading = page.querySelector("h1");
    const title = Object.assign(document.createElement("h2"), { textContent: `${heading.textContent} · ${link.closest("table").tHead.rows[0].cells[link.closest("td").cellIndex].dataset.column}` });
    const parts = [".glance", "[aria-labelledby=h-checks]", "#output", "#notes", "[aria-labelledby=h-cause]"].map((one) => page.querySelector(one)).filter(Boolean);
    for (const one of parts) { one.querySelectorAll(".beside").forEach((nav) => nav.remove()); for (const name of ["hx-boost", "hx-target", "hx-select", "hx-swap"]) one.removeAttribute(name); }
    const back = parts.map((one) => one.querySelector("[name=back]")).find(Boolean);
    if (back) back.value = location.search; // a note is written here, and leads back here
    by(".drawn-case").replaceChildren(title, ...parts);
    localised(by(".drawn-case"));
    if (!drawer.open) drawer.showModal();
    for (const step of [-1, 1]) by(`[data-beside-cell="${step}"]`).disabled = !besideCell(step);
  };
  const besideCell = (step) => {
    const cells = all("a.cell", cell.closest("tr"));
    return cells[cells.indexOf(cell) + step];
  };
  if (drawer) {
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a.cell");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      drawn(link);
    });
    drawer.addEventListener("click", (event) => {
      const step = Number(event.target.closest("[data-beside-cell]")?.dataset.besideCell ?? 0);
      if (step && besideCell(step)) drawn(besideCell(step));
      if (event.target === drawer) drawer.close();
    });
    drawer.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || writing(event.target) || event.target.matches("[type=radio]") || !besideCell(step)) return;
      event.preventDefault();
      drawn(besideCell(step));
    });
    drawer.addEventListener("close", () => cell?.focus());
  }

  const KEYS = {
    "?": () => by("#keys").showModal(),
    "/": () => by("main input[type=search]")?.focus(),
    j: () => (by("[data-navigator]") && inside() ? stepped(1) : followed('[data-key="j"]') || moved(1)),
    k: () => (by("[data-navigator]") && inside() ? stepped(-1) : followed('[data-key="k"]') || moved(-1)),
    e: () => marked("[data-error]"),
    f: () => marked("[data-fault]") || marked("[data-error]"),
    "[": () => followed('[data-key="["]'),
    "]": () => followed('[data-key="]"]'),
    u: () => followed("[data-up]"),
    g: () => location.assign("/"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (by("dialog[open]") || writing(event.target)) return;
    const key = KEYS[event.key];
    if (!key) return;
    event.preventDefault();
    key();
  });

  // What a person has begun to write stays in this tab until it is handed in.
  const form = by("[data-draft]");
  if (!form) return;
  const name = `draft:${form.dataset.draft}`;
  const undo = form.querySelector("[data-undo]");
  const fields = all("input:not([type=hidden], [type=password], [hidden]), textarea", form); // a token is kept nowhere
  const value = (field) => (field.type === "radio" ? field.checked : field.value);
  const written = () => JSON.stringify(fields.map(value));
  const fill = (text) => JSON.parse(text).forEach((one, at) => {
    if (fields[at]?.type === "radio") fields[at].checked = one === true;
    else if (fields[at]) fields[at].value = one;
  });
  const before = [];
  const kept = sessionStorage.getItem(name);
  let last = written();
  if (kept) fill(kept);
  if (kept && kept !== last) before.push(last);
  last = written();
  const offer = () => { if (undo) undo.disabled = !before.length; };
  offer();
  const noted = () => {
    if (written() === last) return;
    before.push(last);
    last = written();
    offer();
    sessionStorage.setItem(name, last);
  };
  const undone = () => {
    if (!before.length) return;
    last = before.pop();
    fill(last);
    sessionStorage.setItem(name, last);
    offer();
  };
  form.addEventListener("change", noted);
  form.addEventListener("input", () => sessionStorage.setItem(name, written()));
  undo?.addEventListener("click", undone);
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault(); // else a browser hands it in once more, in a new tab
    form.requestSubmit();
  });

  // Scores by key: the criterion in which one stands, else the first that has no score yet.
  const criteria = all("fieldset[data-criterion]", form);
  const standing = () => criteria.find((one) => one.contains(document.activeElement))
    ?? criteria.find((one) => one.querySelector("[type=radio]") && !one.querySelector(":checked")) ?? criteria[0];
  const entered = (one) => (one?.querySelector(":checked, [type=radio], input") ?? form).focus();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || writing(event.target) || by("#keys").open) return;
    const at = criteria.indexOf(standing());
    if (event.key === "ArrowDown") entered(criteria[Math.min(criteria.length - 1, at + 1)]);
    else if (event.key === "ArrowUp") entered(criteria[Math.max(0, at - 1)]);
    else if (event.key === "ArrowRight") followed("[data-skip]");
    else if (event.key === "z") undone();
    else if (/^[0-9]$/.test(event.key)) {
      const radio = criteria[at]?.querySelector(`[type=radio][value="${event.key}"]`);
      if (!radio) return;
      radio.checked = true;
      noted();
      (criteria[at].querySelector("textarea") ?? radio).focus();
    } else return;
    event.preventDefault();
  });
})();
