"use strict";
(() => {
  const EVERY_MS = 2000;

  // What is in progress is made anew by the server, which escapes every text; a part in which somebody stands is left alone.
  const renew = async (part) => {
    if (!document.hidden && !part.contains(document.activeElement)) {
      try {
        const answer = await fetch(part.dataset.renew, { credentials: "same-origin" });
        if (answer.ok) {
          const made = new DOMParser().parseFromString(await answer.text(), "text/html");
          const ended = part.querySelector("[data-live]") && !made.querySelector("[data-live]");
          part.replaceChildren(...made.body.childNodes);
          if (ended) return;
        }
      } catch { /* the server has gone, or will be back: the next look tells */ }
    }
    setTimeout(renew, EVERY_MS, part);
  };
  for (const part of document.querySelectorAll("[data-renew]")) setTimeout(renew, EVERY_MS, part);

  // What a person has begun to write stays in this tab until it is handed in.
  const form = document.querySelector("[data-draft]");
  if (!form) return;
  const name = `draft:${form.dataset.draft}`;
  const undo = form.querySelector("[data-undo]");
  const fields = [...form.querySelectorAll("input:not([type=hidden]), textarea")];
  const written = () => JSON.stringify(fields.map((field) => field.value));
  const fill = (text) => JSON.parse(text).forEach((value, at) => { if (fields[at]) fields[at].value = value; });
  const before = [];
  const kept = sessionStorage.getItem(name);
  let last = written();
  if (kept) fill(kept);
  if (kept && kept !== last) before.push(last);
  last = written();
  undo.disabled = !before.length;
  form.addEventListener("change", () => {
    before.push(last);
    last = written();
    undo.disabled = false;
  });
  form.addEventListener("input", () => sessionStorage.setItem(name, written()));
  undo.addEventListener("click", () => {
    last = before.pop();
    fill(last);
    sessionStorage.setItem(name, last);
    undo.disabled = !before.length;
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault(); // else a browser hands it in once more, in a new tab
    form.requestSubmit();
  });
})();
