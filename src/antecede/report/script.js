"use strict";
// Everything can be read without this script: it hides and lights up protocols and sorts tables.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  for (const button of all("[data-switch]")) {
    const parts = all(`[data-series="${button.dataset.switch}"]`);
    const light = (on) => {
      document.body.classList.toggle("quiet", on);
      parts.forEach((part) => part.classList.toggle("lit", on));
    };
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      parts.forEach((part) => part.classList.toggle("off", !shown));
      light(false);
    });
    if (matchMedia("(hover: hover)").matches) {
      button.addEventListener("pointerenter", () => light(true));
      button.addEventListener("pointerleave", () => light(false));
    }
  }

  // A link to a section that is folded opens it.
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let part = target?.querySelector(":scope > details.folded") ?? target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    target?.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  matchMedia("print").addEventListener("change", ({ matches }) => {
    if (matches) all(".folded").forEach((section) => { section.open = true; });
  });

  const value = (row, column) => {
    const text = row.cells[column].dataset.sort ?? "";
    return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
  };
  const compare = (one, other) => {
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), "en", { numeric: true });
  };
  for (const heading of all(".sortable thead th")) {
    heading.firstElementChild.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      all("th", heading.parentElement).forEach((each) => each.setAttribute("aria-sort", "none"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = heading.closest("table").tBodies[0];
      const column = heading.cellIndex;
      const empty = (row) => row.cells[column].dataset.sort === undefined;
      const rows = [...body.rows].sort((one, other) =>
        empty(one) - empty(other) || (up ? 1 : -1) * compare(value(one, column), value(other, column)));
      body.append(...rows);
    });
  }
})();
