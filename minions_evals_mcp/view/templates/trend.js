"use strict";
(() => {
  const UNIT = 1e-6;
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const minute = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const signed = (value) => `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(3)}`;
  const told = (one) => [
    minute.format(one.at),
    `score ${one.score.toFixed(3)}${one.interval ? ` (95 %: ${one.interval.map((end) => end.toFixed(3)).join("–")})` : ""}`,
    `${one.passed.toLocaleString("en-US")} of ${one.total.toLocaleString("en-US")} passed`,
    ...(one.version ? [one.version] : []),
    ...(one.instead ? [one.instead] : []),
    ...(one.dropped ? [one.dropped] : []),
    ...(one.moved === null ? [] : [`level ${signed(one.moved)}`]),
    ...(one.newSeries ? ["new series: measured in another way than the run before"] : []),
  ].join("\n");

  const charted = (figure) => {
    const { points, threshold } = JSON.parse(figure.dataset.trend);
    const color = (name) => getComputedStyle(figure).getPropertyValue(`--${name}`).trim();
    const host = document.createElement("div");
    host.className = "trend-live";
    const tip = document.createElement("div");
    tip.className = "trend-tip";
    tip.setAttribute("role", "status");
    figure.prepend(host);

    // What uPlot draws: a row for each run, and a row without figures where a series breaks.
    const rows = [];
    points.forEach((one, at) => {
      if (one.newSeries && at) rows.push({ place: (points[at - 1].place + one.place) / 2 });
      rows.push(one);
    });
    const column = (of) => rows.map((row) => (row.score === undefined ? null : of(row)));
    const data = [
      rows.map((row) => row.place),
      column((row) => row.interval?.[1] ?? null),
      column((row) => row.interval?.[0] ?? null),
      column((row) => row.score),
    ];
    const [first, last] = [points[0].place, points.at(-1).place];
    const margin = (last - first || 1) * 0.03;
    const ends = points.flatMap((one) => [one.score, ...(one.interval ?? []), ...(threshold ? [threshold] : [])]);
    const room = Math.max(0.02, (Math.max(...ends) - Math.min(...ends)) * 0.12);
    const fitted = [Math.max(0, Math.min(...ends) - room), Math.min(1, Math.max(...ends) + room)];
    let fits = new URL(location.href).searchParams.get("scale") === "fit";
    let shown = -1; // the run that is pointed at

    const stretches = (same) => {
      const found = [];
      points.forEach((one, at) => {
        if (at && same(points[at - 1], one)) found.at(-1)[1] = at; else found.push([at, at]);
      });
      return found;
    };
    const versions = stretches((before, one) => before.version === one.version);
    const levels = stretches((before, one) => before.level === one.level && one.moved === null && !one.newSeries);
    const edge = (at) => (at === 0 ? first - margin : at === points.length ? last + margin : (points[at - 1].place + points[at].place) / 2);
    const px = () => devicePixelRatio;
    const font = (size, weight = 400) => `${weight} ${size * px()}px Inter, system-ui, sans-serif`;
    const x = (u, place) => u.valToPos(place, "x", true);
    const y = (u, value) => u.valToPos(value, "y", true);

    // Versions: every second stretch is shaded, with its name where it has room.
    const shaded = (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
      ctx.clip();
      versions.forEach(([from, to], at) => {
        const [left, right] = [x(u, edge(from)), x(u, edge(to + 1))];
        if (at % 2) { ctx.fillStyle = color("sunk"); ctx.fillRect(left, 0, right - left, bbox.top + bbox.height); }
        ctx.font = font(11, 600);
        ctx.fillStyle = color("ink");
        ctx.textAlign = "left";
        ctx.textBaseline = "top";
        const [begins, ends_] = [Math.max(left, bbox.left), Math.min(right, bbox.left + bbox.width)];
        const name = points[from].version ?? "";
        if (name && ctx.measureText(name).width + 8 * px() < ends_ - begins) ctx.fillText(name, begins + 4 * px(), 4 * px());
      });
      ctx.restore();
    };

    // Levels, runs and their labels; a label that would cover another finds a place below, else it is left to the pointer.
    const marked = (u) => {
      const { ctx, bbox } = u;
      const taken = [];
      const free = (box) => taken.every((one) => box.left >= one.right || box.right <= one.left || box.top >= one.bottom || box.bottom <= one.top);
      const label = (text, centre, tops, ink) => {
        ctx.font = font(12, 600);
        const width = ctx.measureText(text).width;
        const left = Math.min(bbox.left + bbox.width - width - 2 * px(), Math.max(bbox.left + 2 * px(), centre - width / 2));
        for (const top of tops) {
          const box = { left, right: left + width, top, bottom: top + 15 * px() };
          if (box.top < bbox.top || box.bottom > bbox.top + bbox.height || !free(box)) continue;
          taken.push(box);
          ctx.textAlign = "left";
          ctx.textBaseline = "top";
          ctx.lineWidth = 4 * px();
          ctx.strokeStyle = color("raised");
          ctx.lineJoin = "round";
          ctx.strokeText(text, left, top);
          ctx.fillStyle = ink;
          ctx.fillText(text, left, top);
          return true;
        }
        return false;
      };
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left - 8 * px(), bbox.top - 8 * px(), bbox.width + 16 * px(), bbox.height + 16 * px());
      ctx.clip();
      const line = (from, to, value, dash, ink, width) => {
        ctx.beginPath();
        ctx.setLineDash(dash.map((one) => one * px()));
        ctx.lineWidth = width * px();
        ctx.strokeStyle = ink;
        ctx.moveTo(from, y(u, value));
        ctx.lineTo(to, y(u, value));
        ctx.stroke();
        ctx.setLineDash([]);
      };
      if (threshold) line(bbox.left, bbox.left + bbox.width, threshold, [5, 4], color("strong-line"), 1.2);
      for (const [from, to] of levels) {
        if (points[from].level === null || levels.length < 2) continue;
        line(x(u, from ? edge(from) : first - margin / 2), x(u, to + 1 < points.length ? edge(to + 1) : last + margin / 2), points[from].level, [], color("strong-line"), 2);
      }
      for (const one of points) {
        if (!one.interval) continue;
        ctx.globalAlpha = 0.35;
        ctx.beginPath();
        ctx.lineWidth = 2 * px();
        ctx.strokeStyle = color("accent");
        ctx.moveTo(x(u, one.place), y(u, one.interval[0]));
        ctx.lineTo(x(u, one.place), y(u, one.interval[1]));
        ctx.stroke();
        ctx.globalAlpha = 1;
      }
      points.forEach((one, at) => {
        const [left, top, radius] = [x(u, one.place), y(u, one.score), (one.isRegression ? 6 : 4) * px()];
        ctx.beginPath();
        ctx.arc(left, top, at === shown ? radius + 2 * px() : radius, 0, 2 * Math.PI);
        ctx.fillStyle = color(one.isRegression ? "bad-fill" : "accent");
        ctx.fill();
        ctx.lineWidth = 1.5 * px();
        ctx.strokeStyle = color("raised");
        ctx.stroke();
        taken.push({ left: left - radius, right: left + radius, top: top - radius, bottom: top + radius });
      });
      ctx.restore();
      const written = [];
      for (const one of points) {
        const words = one.isRegression ? "▼ regression" : one.moved !== null ? `level ${signed(one.moved)}` : one.newSeries ? "new series" : "";
        const centre = x(u, one.place);
        if (!words || centre < bbox.left || centre > bbox.left + bbox.width) continue;
        const [low, high] = one.interval ?? [one.score, one.score];
        const tops = [y(u, low) + 6 * px(), y(u, high) - 21 * px(), y(u, low) + 24 * px(), y(u, high) - 39 * px()];
        if (label(words, centre, tops, color(one.isRegression || one.moved < 0 ? "bad" : "ink"))) written.push(words);
      }
      host.dataset.labels = JSON.stringify(written);
      host.dataset.boxes = JSON.stringify(taken.slice(points.length));
    };

    // The moments under the axis are those of runs, as many as have room.
    const moments = (u) => {
      const [from, to] = [u.scales.x.min, u.scales.x.max];
      const inside = points.filter((one) => one.place >= from && one.place <= to);
      const wide = 92;
      const found = [];
      for (const one of inside) {
        const left = u.valToPos(one.place, "x");
        if (!found.length || left - u.valToPos(found.at(-1).place, "x") >= wide) found.push(one);
      }
      return found;
    };
    const named = (u, splits) => {
      const under = splits.map((place) => points.find((one) => Math.abs(one.place - place) < UNIT));
      const span = under.length > 1 ? under.at(-1).at - under[0].at : 0;
      const days = new Set(under.map((one) => day.format(one.at)));
      if (days.size === under.length) return under.map((one) => day.format(one.at));
      return under.map((one) => (span > 0 && span < 3600e3 ? clock : minute).format(one.at));
    };
    const axis = { stroke: () => color("muted"), font: "400 12px Inter, system-ui, sans-serif", ticks: { stroke: () => color("line"), size: 5 } };
    const tall = () => (figure.clientWidth < 600 ? 240 : 300);
    const tools = document.createElement("div");
    tools.className = "trend-tools";
    const whole = (u) => u.setScale("x", { min: first - margin, max: last + margin });
    const chart = new uPlot({
      width: figure.clientWidth,
      height: tall(),
      padding: [24, 30, 0, 4],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
      scales: {
        x: { time: false, range: (u, min, max) => (min === null || (min <= first && max >= last) ? [first - margin, last + margin] : [min, max]) },
        y: { range: () => (fits ? fitted : [0, 1]) },
      },
      axes: [
        { ...axis, size: 32, grid: { show: false }, splits: (u) => moments(u).map((one) => one.place), values: named },
        { ...axis, size: 48, grid: { stroke: () => color("line"), width: 1 }, values: (u, splits) => splits.map((one) => String(Number(one.toFixed(3)))) },
      ],
      series: [
        {},
        { stroke: "transparent", points: { show: false } },
        { stroke: "transparent", points: { show: false } },
        { stroke: () => color("accent"), width: 2, points: { show: false } },
      ],
      bands: [{ series: [1, 2], fill: () => color("accent-soft") }],
      hooks: {
        drawClear: [shaded],
        draw: [marked],
        setCursor: [(u) => point(nearest(u, u.cursor.left))],
        setScale: [(u, key) => { if (key === "x") tools.querySelector("[data-whole]")?.toggleAttribute("hidden", u.scales.x.min <= first && u.scales.x.max >= last); }],
      },
    }, data, host);
    const nearest = (u, left) => {
      if (left === undefined || left < 0) return -1;
      let best = -1;
      points.forEach((one, at) => {
        const away = Math.abs(u.valToPos(one.place, "x") - left);
        if (away < 40 && (best < 0 || away < Math.abs(u.valToPos(points[best].place, "x") - left))) best = at;
      });
      return best;
    };
    const point = (at) => {
      if (at === shown) return;
      shown = at;
      tip.textContent = at < 0 ? "" : told(points[at]);
      if (at >= 0) {
        const left = chart.over.offsetLeft + chart.valToPos(points[at].place, "x");
        const beside = left + 14 + tip.offsetWidth > host.clientWidth ? Math.max(0, left - 14 - tip.offsetWidth) : left + 14;
        tip.style.transform = `translate(${beside}px, 30px)`;
      }
      chart.redraw(false, false);
    };
    host.append(tip);
    const opened = () => { if (shown >= 0) location.assign(points[shown].href); };
    let pressed = 0;
    chart.over.addEventListener("mousedown", (event) => { pressed = event.clientX; });
    chart.over.addEventListener("click", (event) => { if (Math.abs(event.clientX - pressed) < 4) opened(); });

    // By key, while the chart has the focus: from run to run, open, closer, back to all.
    const zoomed = (by) => {
      const { min, max } = chart.scales.x;
      const centre = shown >= 0 ? points[shown].place : (min + max) / 2;
      chart.setScale("x", { min: Math.max(first - margin, centre - (centre - min) * by), max: Math.min(last + margin, centre + (max - centre) * by) });
    };
    const acts = {
      ArrowRight: () => point(Math.min(points.length - 1, shown + 1)),
      ArrowLeft: () => point(shown < 0 ? points.length - 1 : Math.max(0, shown - 1)),
      Enter: opened,
      "+": () => zoomed(0.5),
      "-": () => zoomed(2),
      0: () => whole(chart),
    };
    figure.addEventListener("keydown", (event) => {
      if (event.target !== figure || event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      acts[event.key]();
    });
    figure.addEventListener("blur", () => point(-1));

    const button = (text, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.addEventListener("click", () => act(made));
      tools.append(made);
      return made;
    };
    const scaled = (asked) => {
      fits = asked;
      const address = new URL(location.href);
      if (fits) address.searchParams.set("scale", "fit"); else address.searchParams.delete("scale");
      history.replaceState(history.state, "", address);
      for (const [one, is] of [[full, !fits], [fit, fits]]) one.setAttribute("aria-pressed", is);
      chart.redraw(true, true);
      chart.setScale("y", { min: fits ? fitted[0] : 0, max: fits ? fitted[1] : 1 });
    };
    const hint = document.createElement("span");
    hint.textContent = "drag to zoom";
    tools.append(hint);
    const all = button("show all", () => whole(chart));
    all.dataset.whole = "";
    all.hidden = true;
    const full = button("0–1", () => scaled(false));
    const fit = button("fit", () => scaled(true));
    for (const [one, is] of [[full, !fits], [fit, fits]]) one.setAttribute("aria-pressed", is);
    figure.parentElement.querySelector("header")?.append(tools);

    const redrawn = () => chart.redraw(false, true);
    new ResizeObserver(() => { if (figure.clientWidth && figure.clientWidth !== chart.width) chart.setSize({ width: figure.clientWidth, height: tall() }); }).observe(figure);
    new MutationObserver(redrawn).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawn);
    document.fonts.ready.then(redrawn);
    host.chart = chart;
  };
  for (const figure of document.querySelectorAll("[data-trend]")) charted(figure);
})();
