"use strict";
(() => {
  const make = (name, words) => {
    const element = document.createElement(name);
    if (words) element.textContent = words;
    return element;
  };
  document.querySelectorAll(".with-script").forEach((element) => { element.hidden = false; });

  // Buttons that copy a text; where the clipboard is closed, the text is selected instead.
  document.querySelectorAll("button[data-copy]").forEach((button) => {
    const text = document.getElementById(button.dataset.copy);
    const label = button.textContent;
    const say = (words) => { button.textContent = words; setTimeout(() => { button.textContent = label; }, 2500); };
    const select = () => { getSelection().selectAllChildren(text); say("Selected: copy it with the keyboard"); };
    button.addEventListener("click", () => {
      if (!navigator.clipboard) { select(); return; }
      navigator.clipboard.writeText(text.textContent).then(() => say("Copied"), select);
    });
  });

  // Light and dark: the reader's system decides until the button is pressed.
  const root = document.documentElement;
  const head = document.querySelector(".page-head");
  if (head) {
    const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const button = make("button");
    const say = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`); };
    button.type = "button";
    button.className = "theme";
    button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; say(); });
    say();
    head.append(button);
  }

  // The verdict is the first screen; everything else folds, and opens by its title, by a link to it, or all at once.
  const main = document.querySelector("main");
  const folded = main && document.querySelector("#verdict .summary") ? [...main.querySelectorAll(":scope > section[id]:not(#verdict)")] : [];
  const openers = folded.map((section) => {
    const title = section.querySelector("h2");
    const button = make("button", title.textContent);
    button.type = "button";
    title.replaceChildren(button);
    const set = (open) => { section.classList.toggle("folded", !open); button.setAttribute("aria-expanded", String(open)); };
    button.addEventListener("click", () => set(section.classList.contains("folded")));
    set(false);
    return set;
  });
  if (folded.length) {
    const all = make("button", "Open everything");
    all.type = "button";
    all.className = "open-all";
    all.addEventListener("click", () => {
      const open = folded.some((section) => section.classList.contains("folded"));
      openers.forEach((set) => set(open));
      all.textContent = open ? "Fold everything" : "Open everything";
    });
    document.getElementById("verdict").append(all);
    const follow = () => {
      const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
      const place = target ? folded.findIndex((section) => section.contains(target)) : -1;
      if (place < 0) return;
      openers[place](true);
      target.scrollIntoView();
    };
    addEventListener("hashchange", follow);
    document.querySelectorAll(".contents a").forEach((link) => link.addEventListener("click", () => setTimeout(follow)));
    follow();
  }

  // Of many rows the best of each kind come first, and the others on demand.
  document.querySelectorAll("table.data").forEach((table) => {
    const further = table.querySelectorAll("tr.further").length;
    if (!further) return;
    const button = make("button");
    const set = (short) => {
      table.classList.toggle("short", short);
      button.textContent = short ? `Show ${further} more rows: further attempts of the same kinds` : "Show the best of each kind only";
    };
    button.type = "button";
    button.className = "more-rows";
    button.addEventListener("click", () => set(!table.classList.contains("short")));
    set(true);
    table.parentElement.after(button);
  });

  // On a small screen cells stand below each other, each with the heading of its column.
  document.querySelectorAll("table.data").forEach((table) => {
    const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, column) => { cell.dataset.label = headings[column]; });
    table.classList.add("labelled");
  });

  // Tables: a click on a heading sorts, again the other way round; a text filters.
  const key = (cell) => (cell.dataset.order !== undefined ? Number(cell.dataset.order) : cell.textContent.trim());
  const compare = (a, b) => {
    const numbers = typeof a === "number" && typeof b === "number" && !Number.isNaN(a) && !Number.isNaN(b);
    return numbers ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  };
  document.querySelectorAll("table.data").forEach((table) => {
    const body = table.tBodies[0];
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = make("button", heading.textContent);
      button.type = "button";
      heading.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") === "descending" || (heading.getAttribute("aria-sort") === null && !heading.classList.contains("num"));
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const empty = (row) => row.cells[column].textContent.trim() === "";
        const rows = [...body.rows].sort((a, b) => (empty(a) - empty(b)) || (up ? 1 : -1) * compare(key(a.cells[column]), key(b.cells[column])));
        body.append(...rows);
      });
    });
    if (!table.dataset.filter) return;
    const box = make("div");
    box.className = "filter";
    const label = make("label", `${table.dataset.filter} `);
    const input = make("input");
    input.type = "search";
    const count = make("span");
    count.setAttribute("aria-live", "polite");
    label.append(input);
    box.append(label, count);
    table.parentElement.before(box);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      table.classList.toggle("filtered", words.length > 0);
      let shown = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = words.length ? `${shown} of ${body.rows.length} shown` : "";
    });
  });

  // Figures: the values of all curves of a panel at the place of the pointer, or step by step with the arrow keys.
  const data = document.getElementById("readoff");
  if (!data) return;
  const figures = JSON.parse(data.textContent);
  const drawing = "http://www.w3.org/2000/svg";
  document.querySelectorAll("[data-readoff]").forEach((plot) => {
    const panels = figures[plot.dataset.readoff];
    const svg = plot.querySelector("svg");
    if (!panels || !svg) return;
    const out = plot.querySelector(".readout");
    out.hidden = false;
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    const marks = document.createElementNS(drawing, "g");
    marks.setAttribute("pointer-events", "none");
    svg.append(marks);
    let panel = 0;
    let step = -1;
    const element = (name, attributes) => {
      const made = document.createElementNS(drawing, name);
      for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
      marks.append(made);
    };
    const clear = () => { marks.replaceChildren(); out.replaceChildren(); };
    const nearest = (values, at) => {
      let best = 0;
      for (let i = 1; i < values.length; i += 1) if (Math.abs(values[i] - at) < Math.abs(values[best] - at)) best = i;
      return best;
    };
    const index = (line, at) => {
      if (!line.step) return nearest(line.px, at);
      let last = 0;
      for (let i = 0; i < line.px.length; i += 1) if (line.px[i] <= at + 0.05) last = i;
      return last;
    };
    const show = (at) => {
      clear();
      const { box, lines, x: name, y: measure } = panels[panel];
      const reach = (line) => at >= Math.min(...line.px) - 2 && (line.step || at <= Math.max(...line.px) + 2);
      element("line", { x1: at, x2: at, y1: box[1], y2: box[3], stroke: "#666", "stroke-width": 0.8, "stroke-dasharray": "2 2" });
      let where = null;
      lines.filter(reach).forEach((line) => {
        const i = index(line, at);
        element("circle", { cx: line.step ? at : line.px[i], cy: line.py[i], r: 2.6, fill: line.colour, stroke: "#fff", "stroke-width": 0.8 });
        if (where === null) {
          where = line.x[i];
          out.append(`${name}: `, make("b", String(where)), measure ? ` · ${measure}: ` : " · ");
        } else {
          out.append(" · ");
        }
        out.append(line.name ? `${line.name} ` : "", make("b", String(line.y[i])), !line.step && line.x[i] !== where ? ` at ${line.x[i]}` : "");
      });
    };
    const stops = () => {
      const { px } = panels[panel].lines.reduce((a, b) => (b.px.length > a.px.length ? b : a));
      return [...new Set(px)].sort((a, b) => a - b);
    };
    plot.addEventListener("pointermove", (event) => {
      const matrix = svg.getScreenCTM();
      if (!matrix) return;
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      const found = panels.findIndex(({ box }) => point.x >= box[0] && point.x <= box[2] && point.y >= box[1] && point.y <= box[3]);
      if (found < 0) return clear();
      panel = found;
      step = nearest(stops(), point.x);
      return show(point.x);
    });
    plot.addEventListener("pointerleave", clear);
    plot.addEventListener("blur", clear);
    plot.addEventListener("keydown", (event) => {
      const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity, Escape: 0 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      if (event.key === "Escape") { clear(); return; }
      const places = stops();
      step = Math.min(places.length - 1, Math.max(0, step + moves[event.key]));
      show(places[step]);
    });
  });
})();
