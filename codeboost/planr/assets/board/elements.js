// Small builders of page elements. Text enters the page only through text nodes: nothing that comes from
// a task, a goal or a commit is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const el = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
const svg = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

const number = new Intl.NumberFormat("en");
const count = (amount, one, many = one + "s") => `${number.format(amount)} ${amount === 1 ? one : many}`;

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const MOMENT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

function formatDate(text, format = DAY_YEAR) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? visible(text, 40) : format.format(date);
}

// One shape a status, so that no one has to tell them apart by colour.
const GLYPHS = {
  "decision": ["M8 1.6 14.4 8 8 14.4 1.6 8Z"],
  "blocked": ["M2.5 2.5h11v11h-11Z", "M5 8h6"],
  "review": ["M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Z", "M8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z"],
  "in-progress": ["M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Z", "M8 4.4a3.6 3.6 0 0 1 0 7.2Z"],
  "open": ["M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Z"],
  "done": ["M8 1.4a6.6 6.6 0 1 0 0 13.2A6.6 6.6 0 0 0 8 1.4Z", "M5 8.2 7.2 10.4 11.2 6"],
  "dropped": ["M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Z", "M5 8h6"],
};

const statusClass = (status) => "s-" + (Object.hasOwn(GLYPHS, status) ? status : "dropped");

function glyph(status, { named = true, size = 14, x = null, y = null } = {}) {
  const shapes = Object.hasOwn(GLYPHS, status) ? GLYPHS[status] : GLYPHS.dropped;
  const naming = named ? { "role": "img", "aria-label": labelOf(status) } : { "aria-hidden": "true" };
  return svg("svg", { class: `glyph ${statusClass(status)}`, viewBox: "0 0 16 16", width: size, height: size, x, y, ...naming },
    shapes.map((shape, index) => svg("path", { d: shape, class: index ? "mark" : "form" })));
}

/** One task as a line of a list. `aside` is the short remark at its end. */
function taskRow(task, list, aside = "") {
  return el("li", null,
    el("a", { class: "row", href: hashFor({ task: task.id }), "data-key": list + ":" + visible(task.id) },
      glyph(task.status),
      el("span", { class: "id" }, visible(task.id, 60)),
      el("span", { class: "title", dir: "auto" }, visible(task.title, 240)),
      aside === "" ? null : el("span", { class: "aside" }, aside)));
}

/** A bar cut into shares: `[status, amount]` each. */
function shareBar(shares, total, label) {
  const bar = el("span", { class: "bar", role: "img", "aria-label": label });
  for (const [status, amount] of shares) {
    if (!amount) continue;
    const part = el("span", { class: statusClass(status) });
    part.style.flexGrow = String(amount);
    bar.append(part);
  }
  const rest = total - shares.reduce((sum, share) => sum + share[1], 0);
  if (rest > 0) {
    const part = el("span", { class: "rest" });
    part.style.flexGrow = String(rest);
    bar.append(part);
  }
  return bar;
}

function heading(id, text, amount, level = "h2") {
  return el(level, { id }, text, amount === null ? null : el("span", { class: "amount" }, number.format(amount)));
}
