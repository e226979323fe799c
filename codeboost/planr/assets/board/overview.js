// The first look, in the order in which people ask: what needs me, what can start, where do the goals stand, what moved.

const NEEDS = [
  ["decision", "someone has to choose"],
  ["blocked", "cannot go on by itself"],
  ["review", "built and tested, wants a look"],
];
const NEED_ROWS = 6;
const READY_ROWS = 9;
const GOAL_ROWS = 12;
const RUN_ROWS = 5;

const remark = (amount, word) => amount ? `${word} ${number.format(amount)}` : "";

function moreLink(rest, change, words) {
  return rest > 0 ? el("p", { class: "more" }, el("a", { href: hashFor(change) }, words)) : null;
}

function drawTotals() {
  const parts = STATUSES.map((status) => [status, model.counts.get(status) ?? 0]).filter((part) => part[1]);
  const link = (status, name, amount, mark) => el("a", {
    href: hashFor({ status: filter.status === status ? "" : status, task: "", run: "" }),
    "aria-current": filter.status === status ? "true" : null,
  }, mark, el("b", null, number.format(amount)), " ", name);
  const bar = [...parts].sort((one, other) => STACK.indexOf(one[0]) - STACK.indexOf(other[0]));
  byId("totals").replaceChildren(
    shareBar(bar, 0, parts.map(([status, amount]) => `${amount} ${labelOf(status).toLowerCase()}`).join(", ") || "No tasks yet"),
    el("ul", null,
      parts.map(([status, amount]) => el("li", null, link(status, labelOf(status), amount, glyph(status, { named: false })))),
      model.ready.length ? el("li", { class: "set-apart" }, link("ready", "ready to start", model.ready.length, null)) : null));
}

function drawNeeds() {
  const groups = NEEDS.map(([status, why]) => [status, why, model.withStatus(status)]).filter((group) => group[2].length);
  const total = groups.reduce((sum, group) => sum + group[2].length, 0);
  byId("needs").replaceChildren(
    heading("needs-title", "Needs a person", total),
    ...(groups.length ? groups.flatMap(([status, why, tasks]) => [
      el("h3", { class: statusClass(status) }, labelOf(status), el("span", { class: "why" }, why)),
      el("ul", { class: "rows" }, tasks.slice(0, NEED_ROWS).map((task) => taskRow(task, "needs", isSatisfied(task) ? "" : remark(task.waitingOn.length, "holds up")))),
      moreLink(tasks.length - NEED_ROWS, { status }, `All ${number.format(tasks.length)} in ${labelOf(status).toLowerCase()}`),
    ].filter(Boolean)) : [el("p", { class: "empty" }, "Nothing waits for a person.")]));
}

function drawReady() {
  const tasks = model.readyByUnlocks();
  byId("ready").replaceChildren(
    heading("ready-title", "Ready to start", tasks.length),
    tasks.length
      ? el("ul", { class: "rows" }, tasks.slice(0, READY_ROWS).map((task) => taskRow(task, "ready", remark(task.unlocks, "unlocks"))))
      : el("p", { class: "empty" }, "No open task is free of dependencies."),
    moreLink(tasks.length - READY_ROWS, { status: "ready" }, `All ${number.format(tasks.length)} that can start`) ?? "");
}

function goalShares(goal) {
  const shares = new Map();
  for (const id of goal.scope) {
    const status = model.byId.get(id)?.status;
    if (status) shares.set(status, (shares.get(status) ?? 0) + 1);
  }
  return ["done", "review", "in-progress", "decision", "blocked"].map((status) => [status, shares.get(status) ?? 0]);
}

function goalBar(goal) {
  return shareBar(goalShares(goal), goal.total, `${goal.done} of ${goal.total} done`);
}

function goalFacts(goal) {
  return [
    visible(goal.state, 20), goal.stream && visible(goal.stream, 40),
    goal.ready.length && `${number.format(goal.ready.length)} ready`, goal.waiting.length && `${number.format(goal.waiting.length)} waiting`,
  ].filter(Boolean).join(" · ");
}

function goalRow(goal) {
  return el("li", null, el("a", { class: "row goal", href: hashFor({ goal: goal.name }), "data-key": "goal:" + visible(goal.name) },
    el("span", { class: "title", dir: "auto" }, visible(goal.title || goal.name, 200)),
    el("span", { class: "aside" }, goal.total ? `${number.format(goal.done)} of ${number.format(goal.total)}` : "no scope"),
    goal.total ? goalBar(goal) : null,
    el("span", { class: "facts" }, goalFacts(goal))));
}

function drawGoals() {
  const active = model.goals.filter((goal) => ACTIVE_GOALS.has(goal.state));
  const closed = model.goals.filter((goal) => !ACTIVE_GOALS.has(goal.state));
  const rest = (goals, words) => goals.length ? el("details", { class: "fold" },
    el("summary", null, `${words} (${number.format(goals.length)})`), lazyRows(goals, goalRow)) : "";
  byId("goals").replaceChildren(
    heading("goals-title", "Goals", active.length),
    active.length ? el("ul", { class: "rows" }, active.slice(0, GOAL_ROWS).map(goalRow)) : el("p", { class: "empty" }, "No goal is under way."),
    rest(active.slice(GOAL_ROWS), "More goals"), rest(closed, "Done"));
}

/** A list that is built only when its fold is opened. */
function lazyRows(items, build) {
  const list = el("ul", { class: "rows" });
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting) || list.childElementCount) return;
    list.append(...items.slice(0, 500).map(build));
    observer.disconnect();
  });
  observer.observe(list);
  return list;
}

function changeList(run, limit) {
  const shown = run.changes.slice(0, limit);
  const rest = run.changes.length - shown.length;
  return el("span", { class: "changes" },
    shown.map((change) => el("span", { class: "change" }, glyph(change.to), visible(change.id, 40))),
    rest > 0 ? el("span", { class: "change" }, `and ${number.format(rest)} more`) : null);
}

function runRow(index) {
  const run = model.runs[index];
  return el("li", null, el("a", { class: "row run", href: hashFor({ run: String(index) }), "data-key": "run:" + index },
    el("span", { class: "when" }, run.commit === null ? "now" : formatDate(run.date, DAY)),
    el("span", { class: "title", dir: "auto" }, visible(run.subject, 160) || (run.commit === null ? "Not committed yet" : "No subject")),
    run.initial ? el("span", { class: "changes" }, `${count(run.total, "task")} to begin with`) : changeList(run, 5)));
}

function drawRuns() {
  const runs = model.runs;
  const latest = runs.map((_, index) => index).slice(-RUN_ROWS).reverse();
  byId("runs").replaceChildren(
    heading("runs-title", "Lately", null),
    ...(runs.length
      ? [drawTrend(runs), el("ul", { class: "rows" }, latest.map(runRow)),
        moreLink(runs.length - RUN_ROWS, { run: "all" }, `All ${count(runs.length, "run")}`) ?? ""]
      : [el("p", { class: "empty" }, "No commit has changed a task yet.")]));
}
