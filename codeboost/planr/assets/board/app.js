// Puts the views together: state in the address, search and filters, keyboard, theme, live changes.

const PAGE_ROWS = 60;
const LONGEST_QUERY = 500;
const EMPTY_FILTER = { q: "", status: "", track: "", goal: "", owner: "", task: "", run: "" };
const LISTING = ["q", "status", "track", "goal", "owner"];

let model = null;
let filter = { ...EMPTY_FILTER };
let rowsShown = PAGE_ROWS;
let listed = [];
let returnTo = null;

const isFiltered = () => LISTING.some((name) => filter[name]);
const listFor = (name) => ({ task: model.ids, track: model.tracks, goal: model.goalNames, owner: model.owners })[name];
const write = (name, value) => listFor(name) ? asReference(listFor(name), value) : value;
const read = (name, value) => listFor(name) ? fromReference(listFor(name), value) : value;

/** The address of the present state with some of it changed. */
function hashFor(change) {
  const next = { ...filter, ...change };
  if (change.task) next.run = "";
  if (change.run) next.task = "";
  const parameters = new URLSearchParams();
  for (const name of Object.keys(EMPTY_FILTER)) if (next[name]) parameters.set(name, write(name, next[name]));
  return "#" + parameters.toString();
}

function readHash() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const found = { ...EMPTY_FILTER };
  for (const name of Object.keys(EMPTY_FILTER)) found[name] = read(name, parameters.get(name) ?? "");
  found.q = found.q.slice(0, LONGEST_QUERY);
  return found;
}

/** A step that "back" undoes. Not by `location.hash`: an empty one would scroll to the top. */
function go(hash) {
  history.pushState(null, "", hash);
  followHash();
}

function onClick(event) {
  const link = event.target.closest?.("a[href^='#']");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
}

function setHash(change) {
  history.replaceState(null, "", hashFor(change));
  followHash();
}

function followHash() {
  const before = filter;
  filter = readHash();
  if (LISTING.some((name) => before[name] !== filter[name])) {
    rowsShown = PAGE_ROWS;
    if (isFiltered() && before.goal !== filter.goal) scrollTo(0, 0);
    drawLists();
    if (document.activeElement !== byId("search")) byId("search").value = filter.q;
  }
  if (before.task !== filter.task || before.run !== filter.run) drawPanel(true);
}

// Lists

const FACETS = [
  ["pick-status", "status", "Any status", () => [...STATUSES.slice(0, 4), "ready", ...STATUSES.slice(4)],
    (status) => status === "ready" ? "Ready to start" : labelOf(status)],
  ["pick-track", "track", "Any track", () => model.tracks, (track) => visible(track, 60)],
  ["pick-goal", "goal", "Any goal", () => model.goalNames, (name) => visible(model.goalByName.get(name).title || name, 60)],
  ["pick-owner", "owner", "Any owner", () => model.owners, (owner) => visible(owner, 60)],
];
const MOST_OPTIONS = 3000;

function drawFacets() {
  for (const [id, name, all, values, label] of FACETS) {
    const options = values().slice(0, MOST_OPTIONS);
    byId(id).replaceChildren(el("option", { value: "" }, all),
      ...options.map((value, index) => el("option", { value: String(index) }, label(value))));
    byId(id).onchange = (event) => setHash({ [name]: event.target.value === "" ? "" : options[Number(event.target.value)] });
  }
}

function showFacets() {
  for (const [id, name, , values] of FACETS) {
    const index = filter[name] ? values().indexOf(filter[name]) : -1;
    byId(id).value = index < 0 ? "" : String(index);
    byId(id).classList.toggle("set", Boolean(filter[name]));
  }
  byId("clear").hidden = !isFiltered();
}

function drawAll() {
  const filtered = isFiltered();
  const rows = listed.slice(0, rowsShown);
  const remarks = (task) => [task.track, task.owner ?? task.stream].filter(Boolean).map((text) => visible(text, 30)).join(" · ");
  byId("all").replaceChildren(
    heading("all-title", filtered ? (filter.goal ? "Its tasks" : "Found") : "Everything", listed.length),
    rows.length
      ? el("ul", { class: "rows wide", id: "all-rows" }, rows.map((task) => taskRow(task, "all", remarks(task))))
      : el("p", { class: "empty" }, model.tasks.length ? "No task matches." : "There are no tasks yet."),
    listed.length > rows.length
      ? el("p", { class: "more" }, el("button", { type: "button", class: "quiet", id: "more", onclick: showMore },
        `Show ${number.format(Math.min(PAGE_ROWS, listed.length - rows.length))} more of ${number.format(listed.length - rows.length)}`)) : "");
}

function showMore() {
  const first = rowsShown;
  rowsShown += PAGE_ROWS;
  drawAll();
  byId("all-rows").children[first]?.querySelector("a")?.focus();
}

function drawGoal() {
  const section = byId("goal");
  const goal = model.goalByName.get(filter.goal);
  section.hidden = !goal;
  if (!goal) { section.replaceChildren(); return; }
  const scope = goal.scope.map((id) => model.byId.get(id)).filter(Boolean);
  const inScope = new Set(goal.scope);
  const outer = new Set();
  for (const task of scope) for (const id of task.openDeps) if (!inScope.has(id) && model.byId.has(id)) outer.add(model.byId.get(id));
  const tasks = [...scope, ...outer];
  section.replaceChildren(
    el("p", { class: "eyebrow" }, "Goal", el("span", { class: "tag" }, visible(goal.state, 20)), el("span", { class: "id" }, visible(goal.name, 80))),
    ...longText(goal.title || goal.name, "h2", { id: "goal-title" }),
    el("p", { class: "facts" }, [goal.stream && `stream ${visible(goal.stream, 60)}`, goal.budget && `budget ${visible(goal.budget, 60)}`,
      goal.thread && `thread ${visible(goal.thread, 60)}`, visible(goal.file, 200)].filter(Boolean).join(" · ")),
    el("div", { class: "goal-bar" }, goalBar(goal), el("span", null, `${number.format(goal.done)} of ${number.format(goal.total)} done`,
      goal.ready.length ? `, ${number.format(goal.ready.length)} ready` : "", goal.waiting.length ? `, ${number.format(goal.waiting.length)} waiting` : "")),
    ...(tasks.length ? [drawPicture(tasks, { name: `Dependencies of ${visible(goal.title || goal.name, 80)}`, outside: (task) => outer.has(task), room: section.clientWidth || 1000 })]
      : [el("p", { class: "empty" }, "This goal has no task in its scope.")]));
}

function drawLists() {
  listed = model.select(filter);
  byId("overview").hidden = isFiltered();
  drawTotals();
  showFacets();
  drawGoal();
  drawAll();
  byId("announce").textContent = isFiltered() ? `${count(listed.length, "task")} found` : "";
}

// The panel

const narrow = matchMedia("(max-width: 760px)");

function drawPanel(opened) {
  const panel = byId("panel");
  const isOpen = Boolean(filter.task || filter.run);
  const wasOpen = !panel.hidden;
  if (isOpen && !wasOpen) returnTo = document.activeElement?.dataset?.key ?? null;
  panel.hidden = !isOpen;
  byId("page").inert = isOpen && narrow.matches;
  document.documentElement.classList.toggle("with-panel", isOpen);
  document.title = (filter.task && isOpen ? visible(filter.task, 60) + " · " : "") + visible(model.data.project, 80) + " · board";
  for (const row of document.querySelectorAll("a.row[aria-current]")) row.removeAttribute("aria-current");
  if (!isOpen) {
    panel.replaceChildren();
    if (wasOpen && opened) focusKey(returnTo);
    return;
  }
  const close = el("button", { type: "button", class: "quiet close", "aria-label": "Close", "aria-keyshortcuts": "Escape", onclick: closePanel }, "Close");
  const keep = opened ? 0 : panel.scrollTop;
  panel.replaceChildren(close, el("div", { class: "panel-body" }, panelContent().flat().filter(Boolean)));
  panel.scrollTop = keep;
  if (opened && !document.activeElement?.closest("#all, #needs, #ready")) panel.focus({ preventScroll: true });
  if (opened && !wasOpen) panel.focus({ preventScroll: true });
  for (const row of document.querySelectorAll("#page a.row")) if (row.hash === hashFor({ task: filter.task }) && filter.task) row.setAttribute("aria-current", "true");
}

const closePanel = () => go(hashFor({ task: "", run: "" }));

const findKey = (key) => [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);

function focusKey(key) {
  const row = key && findKey(key);
  (row || byId("main")).focus({ preventScroll: !row });
}

// Keyboard

function moveFocus(step) {
  const active = document.activeElement;
  const inside = active?.closest("#panel") ?? byId("page");
  const rows = [...inside.querySelectorAll("a.row")].filter((row) => row.checkVisibility());
  const at = rows.indexOf(active);
  if (at < 0) { rows[step > 0 ? 0 : rows.length - 1]?.focus(); return; }
  if (at + step < 0) { byId("search").focus(); return; }
  if (at + step >= rows.length) { if (byId("more") && inside === byId("page")) showMore(); return; }
  rows[at + step].focus();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const searching = event.target === byId("search");
  const steered = event.target.matches?.("select, .trend-slider");
  if (event.key === "/" && !searching) {
    event.preventDefault();
    if (narrow.matches && !byId("panel").hidden) closePanel();
    byId("search").focus();
    byId("search").select();
  } else if (event.key === "Escape") {
    event.preventDefault();
    if (!byId("panel").hidden) closePanel();
    else if (isFiltered()) { byId("search").value = ""; setHash({ ...EMPTY_FILTER }); }
    else document.activeElement?.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !event.shiftKey && !steered) {
    if (event.target.closest?.(".picture-scroll")) return;
    event.preventDefault();
    if (searching) { if (event.key === "ArrowDown") moveFocus(1); return; }
    moveFocus(event.key === "ArrowDown" ? 1 : -1);
  }
}

// Theme

const THEMES = ["auto", "light", "dark"];

function showTheme() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  byId("theme").textContent = "Theme: " + chosen;
}

function nextTheme() {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % THEMES.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try { localStorage.setItem("planr-board-theme", next); } catch { /* kept for this page only */ }
  showTheme();
}

// Masthead

function drawMasthead() {
  const { data } = model;
  byId("project").textContent = visible(data.project, 200) || "Board";
  const [hash, date] = String(data.commit ?? "").split(" · ");
  byId("stamp").replaceChildren(...[
    hash && el("span", { class: "id" }, visible(hash, 40)),
    date && el("span", null, formatDate(date, MOMENT)),
    data.dirty && el("span", { class: "dirty" }, "with changes not committed"),
  ].filter(Boolean));
  byId("rendered").textContent = "Rendered " + formatDate(data.generatedAt, MOMENT);
  const warnings = byId("warnings");
  warnings.hidden = !data.warnings.length;
  warnings.replaceChildren(
    el("summary", null, count(data.warnings.length, "warning")),
    el("ul", null, data.warnings.slice(0, 200).map((text) => el("li", { dir: "auto" }, visible(text, 600)))),
    data.warnings.length > 200 ? el("p", null, `and ${number.format(data.warnings.length - 200)} more`) : "");
}

function showErrors(errors) {
  const box = byId("errors");
  box.hidden = !errors.length;
  box.replaceChildren(...(errors.length ? [
    el("p", null, el("b", null, count(errors.length, "error")), " in the planning files. This is the last state that was sound."),
    el("ul", null, errors.slice(0, 50).map((text) => el("li", { dir: "auto" }, visible(text, 600)))),
    errors.length > 50 ? el("p", null, `and ${number.format(errors.length - 50)} more`) : "",
  ] : []));
}

// Drawing and live changes

function draw(data) {
  model = new Model(data);
  filter = readHash();
  // One width for the ids of every list, so that the titles stand on one line below each other.
  const longest = model.ids.reduce((most, id) => Math.max(most, id.length), 4);
  document.documentElement.style.setProperty("--ids", `${Math.min(longest, 14) * 0.655 + 0.3}em`);
  drawMasthead();
  drawNeeds();
  drawReady();
  drawGoals();
  drawRuns();
  drawFacets();
  drawLists();
  drawPanel(false);
  // The first keystroke in search should not pay for the index; nor should the first paint.
  const drawn = model;
  setTimeout(() => drawn.searchTexts, 300);
}

/** Takes new data in place: the reader keeps her place, her filters and what she has open. */
function take(data) {
  const key = document.activeElement?.dataset?.key;
  const inPanel = Boolean(document.activeElement?.closest("#panel"));
  const place = scrollY;
  const top = byId("search").getBoundingClientRect().bottom;
  const anchor = [...document.querySelectorAll("#page [data-key]")].find((row) => row.getBoundingClientRect().top > top);
  const offset = anchor?.getBoundingClientRect().top;
  const folds = [...document.querySelectorAll("details")].map((fold) => fold.open);
  draw(data);
  document.querySelectorAll("details").forEach((fold, index) => { fold.open = folds[index] ?? false; });
  scrollTo(0, place);
  // Rows above may have come, gone or grown: what she was looking at stays where it was.
  const same = place > 0 && anchor && findKey(anchor.dataset.key);
  if (same) scrollBy(0, same.getBoundingClientRect().top - offset);
  if (key) focusKey(key);
  else if (inPanel && !byId("panel").hidden) byId("panel").focus({ preventScroll: true });
}

async function load() {
  try {
    const answer = await fetch("data.json", { cache: "no-store" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function listen(version) {
  const live = byId("live");
  const say = (text, state) => { live.hidden = false; live.textContent = text; live.dataset.state = state; };
  let latest = version;
  const receive = async (event) => {
    const state = JSON.parse(event.data);
    showErrors(state.errors);
    say("live", "on");
    if (state.version === latest) return;
    latest = state.version;
    const data = await load();
    // Answers may overtake each other: a late one must not undo a newer one.
    if (latest !== state.version) return;
    if (data) return take(data);
    // It was lost on the way: ask again, from the beginning.
    latest = null;
    setTimeout(() => { events?.close(); events = null; follow(); }, 1000);
  };
  // A browser opens six connections to one server: a page that nobody sees must not keep one from the others.
  let events = null;
  const follow = () => {
    if (document.hidden) {
      events?.close();
      events = null;
    } else if (events === null) {
      events = new EventSource("events");
      events.addEventListener("state", receive);
      events.addEventListener("error", () => say("not connected", "off"));
    }
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

draw(JSON.parse(byId("data").textContent));
byId("data").remove();
byId("search").value = filter.q;
byId("search").addEventListener("input", (event) => setHash({ q: event.target.value.slice(0, LONGEST_QUERY) }));
byId("clear").addEventListener("click", () => { byId("search").value = ""; setHash({ ...EMPTY_FILTER }); byId("search").focus(); });
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
byId("theme").addEventListener("click", nextTheme);
addEventListener("click", onClick);
addEventListener("hashchange", followHash);
addEventListener("keydown", onKey);
narrow.addEventListener("change", () => { byId("page").inert = !byId("panel").hidden && narrow.matches; });
showTheme();
if (document.documentElement.dataset.live) listen(document.documentElement.dataset.live);
