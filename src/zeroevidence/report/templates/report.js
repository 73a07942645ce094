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
})();
