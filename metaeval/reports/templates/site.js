"use strict";
// Search, filter and sort the tables of the first page; without a script they are whole, in the order of the studies.
const tables = [...document.querySelectorAll("table.board")];
const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
const search = document.getElementById("search");
const most = 20; // rows of a table, until all are wanted or one is looked for
const all = document.getElementById("all");
const selects = [...document.querySelectorAll("select[data-of]")];
document.documentElement.classList.add("js");

function value(row, column) {
  const cell = row.cells[column];
  const text = "value" in cell.dataset ? cell.dataset.value : cell.textContent.trim();
  const number = text === "" ? NaN : Number(text);
  return Number.isNaN(number) && ("value" in cell.dataset || text === "") ? null : Number.isNaN(number) ? text : number;
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = words.length || all.getAttribute("aria-pressed") === "true" ? Infinity : most;
  let [shown, left] = [0, 0];
  for (const table of tables) {
    const fitting = [...table.tBodies[0].rows].filter((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = true;
      return words.every((word) => text.includes(word))
        && selects.every((select) => !select.value || row.dataset[select.dataset.of] === select.value);
    });
    fitting.forEach((row, i) => { row.hidden = i >= whole; });
    shown += Math.min(fitting.length, whole);
    left += Math.max(0, fitting.length - whole);
    table.closest("section").hidden = !fitting.length;
  }
  document.getElementById("count").textContent = `${shown} of ${rows.length} evaluators`;
  all.hidden = !left && whole !== Infinity;
}

function sort(table, head, column) {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const order = new Map([...body.rows].map((row) => [row, value(row, column)]));
  const sorted = [...body.rows].sort((a, b) => {
    const [x, y] = [order.get(a), order.get(b)];
    if (x === null || y === null) return (x === null) - (y === null); // what is missing comes last
    const by = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return down ? -by : by;
  });
  body.append(...sorted);
  filter();
}

for (const table of tables) [...table.tHead.rows[0].cells].forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  button.addEventListener("click", () => sort(table, head, column));
  head.replaceChildren(button);
});
search.form.addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", filter);
all.addEventListener("click", () => {
  all.setAttribute("aria-pressed", all.getAttribute("aria-pressed") !== "true");
  filter();
});
for (const select of selects) select.addEventListener("change", filter);
filter();
