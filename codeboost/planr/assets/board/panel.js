// What opens beside the lists: one task, one run, or all runs.

const LONG_TEXT = 2000;

function longText(text, tag, properties) {
  const node = el(tag, { dir: "auto", ...properties }, visible(text, LONG_TEXT));
  if (text.length <= LONG_TEXT) return [node];
  const button = el("button", { type: "button", class: "quiet" }, `Show all ${number.format(text.length)} characters`);
  button.addEventListener("click", () => { node.textContent = visible(text, Infinity); button.remove(); });
  return [node, button];
}

function field(name, ...values) {
  const shown = values.flat().filter(Boolean);
  return shown.length ? [el("dt", null, name), el("dd", { dir: "auto" }, shown)] : [];
}

function reference(text) {
  // Only a plain https address becomes a link; everything else stays text.
  return /^https:\/\/[\x21-\x7e]{1,500}$/.test(text)
    ? el("a", { href: text, rel: "noopener noreferrer", target: "_blank" }, text)
    : el("span", null, visible(text, 300));
}

const inLines = (nodes) => nodes.map((node) => el("span", { class: "line" }, node));

function relatives(title, ids, list, empty) {
  const known = ids.map((id) => model.byId.get(id) ?? id);
  return el("section", null, heading(`${list}-title`, title, ids.length || null, "h3"),
    ids.length
      ? el("ul", { class: "rows" }, known.slice(0, 200).map((one) => typeof one === "string"
        ? el("li", { class: "missing" }, visible(one, 60), " (no such task)") : taskRow(one, list, isSatisfied(one) ? "satisfied" : "")))
      : el("p", { class: "empty" }, empty),
    known.length > 200 ? el("p", { class: "empty" }, `and ${number.format(known.length - 200)} more`) : null);
}

function historyOf(task) {
  const entries = [...task.history].reverse();
  return el("section", null, el("h3", null, "History"),
    entries.length
      ? el("ol", { class: "history" }, entries.slice(0, 200).map((entry) => {
        const run = model.runs[entry.run];
        return el("li", null, glyph(entry.to, { named: false }),
          el("span", { class: "step" }, entry.from === null ? `Added as ${labelOf(entry.to).toLowerCase()}` : `${labelOf(entry.from)} to ${labelOf(entry.to).toLowerCase()}`),
          run ? el("a", { class: "source", href: hashFor({ run: String(entry.run), task: "" }) },
            el("span", { class: "when" }, run.commit === null ? "not committed" : formatDate(run.date)), " ",
            el("span", { dir: "auto" }, visible(run.subject, 100))) : null);
      }))
      : el("p", { class: "empty" }, "Its status has not changed since the first commit."));
}

function taskPanel(task) {
  const goals = model.goals.filter((goal) => task.goal.includes(goal.name));
  const near = model.around(task);
  return [
    el("p", { class: `eyebrow ${statusClass(task.status)}` }, glyph(task.status, { named: false }), labelOf(task.status),
      task.ready ? el("span", { class: "tag" }, "ready") : null, el("span", { class: "id" }, visible(task.id, 80))),
    longText(task.title, "h2", { id: "panel-title" }),
    el("dl", null,
      field("Track", visible(task.track, 200)),
      field("Owner", task.owner && visible(task.owner, 200)),
      field("Stream", task.stream && task.stream !== task.owner && visible(task.stream, 200)),
      field("Goals", inLines(goals.map((goal) => el("a", { href: hashFor({ goal: goal.name, task: "", q: "", status: "", track: "", owner: "" }) }, visible(goal.title || goal.name, 200))))),
      field("Unlocks", task.unlocks > 0 && count(task.unlocks, "task")),
      field("Refs", inLines(refsOf(task).slice(0, 50).map(reference))),
      field("File", visible(task.file, 300))),
    relatives("Waits on", task.depends, "waits", "Nothing."),
    relatives("Waited for by", task.waitingOn, "waited", "Nothing."),
    near.length > 1 ? el("section", null, el("h3", null, "Around it"),
      drawPicture(near, { name: `Dependencies around ${visible(task.id, 60)}`, focus: task, room: 560, width: 148 })) : null,
    historyOf(task),
  ];
}

function runPanel(index) {
  const run = model.runs[index];
  return [
    el("p", { class: "eyebrow" }, run.commit === null ? "Not committed yet" : `Run ${number.format(index + 1)} of ${number.format(model.runs.length)}`,
      run.commit ? el("span", { class: "id" }, visible(run.commit, 16)) : null),
    longText(run.subject || (run.commit === null ? "Changes in the working tree" : "No subject"), "h2", { id: "panel-title" }),
    el("p", { class: "empty" }, formatDate(run.date, MOMENT)),
    shareBar(STACK.map((status) => [status, countIn(run, status)]), 0, describeRun(run)),
    el("h3", null, run.initial ? `${count(run.total, "task")} to begin with` : count(run.changes.length, "change")),
    el("ul", { class: "rows" }, run.changes.slice(0, 500).map((change) => {
      const task = model.byId.get(change.id);
      const step = change.from === null ? `added as ${labelOf(change.to).toLowerCase()}` : `${labelOf(change.from).toLowerCase()} to ${labelOf(change.to).toLowerCase()}`;
      const inner = [glyph(change.to), el("span", { class: "id" }, visible(change.id, 60)),
        el("span", { class: "title", dir: "auto" }, task ? visible(task.title, 200) : "no longer there"), el("span", { class: "aside" }, step)];
      return el("li", null, task
        ? el("a", { class: "row", href: hashFor({ task: task.id, run: "" }), "data-key": "change:" + visible(change.id) }, inner) : el("span", { class: "row" }, inner));
    })),
    run.changes.length > 500 ? el("p", { class: "empty" }, `and ${number.format(run.changes.length - 500)} more`) : null,
    el("p", { class: "pager" },
      index > 0 ? el("a", { href: hashFor({ run: String(index - 1) }) }, "Earlier run") : null,
      index < model.runs.length - 1 ? el("a", { href: hashFor({ run: String(index + 1) }) }, "Later run") : null,
      el("a", { href: hashFor({ run: "all" }) }, "All runs")),
  ];
}

function runsPanel() {
  return [
    el("p", { class: "eyebrow" }, "History"),
    el("h2", { id: "panel-title" }, count(model.runs.length, "run")),
    el("ul", { class: "rows" }, model.runs.map((_, index) => runRow(index)).reverse()),
  ];
}

function panelContent() {
  if (filter.task) {
    const task = model.byId.get(filter.task);
    return task ? taskPanel(task) : [el("h2", { id: "panel-title" }, visible(filter.task, 80)), el("p", { class: "empty" }, "There is no task with this id.")];
  }
  if (filter.run === "all") return runsPanel();
  return /^\d+$/.test(filter.run) && Number(filter.run) < model.runs.length ? runPanel(Number(filter.run))
    : [el("h2", { id: "panel-title" }, "No such run"), el("p", { class: "empty" }, "The history does not reach it.")];
}
