// The data of the board, looked at from all the sides that the views need. Nothing here touches the page.

const STATUSES = ["decision", "blocked", "review", "in-progress", "open", "done", "dropped"];
const STATUS_LABELS = {
  "decision": "Decision", "blocked": "Blocked", "review": "Review", "in-progress": "In progress",
  "open": "Open", "done": "Done", "dropped": "Dropped", "removed": "Removed",
};
// The order of every list of tasks; within a status comes first what more tasks wait on (planr-contract.md, "CLI").
const LIST_ORDER = ["blocked", "decision", "in-progress", "review", "open", "done", "dropped"];
const ACTIVE_GOALS = new Set(["running", "approved", "draft", "review", "legacy"]);

const labelOf = (status) => Object.hasOwn(STATUS_LABELS, status) ? STATUS_LABELS[status] : visible(status, 40);
const isSatisfied = (task) => task.status === "review" || task.status === "done";
const isClosed = (task) => task.status === "done" || task.status === "dropped";

// Control characters, bidirectional overrides and the like, shown by their numbers (the same set as visible.py).
const HIDDEN = new RegExp(
  "(?! )[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}\\p{Zs}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180d"
  + "\\u180f\\u2800\\u3164\\uffa0\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]", "gu");
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function nameHidden(char) {
  if (Object.hasOwn(SHORT, char)) return SHORT[char];
  const code = char.codePointAt(0);
  const hex = code.toString(16);
  return code < 0x100 ? "\\x" + hex.padStart(2, "0") : "\\u{" + hex.padStart(4, "0") + "}";
}

/** `text` as it may be shown: nothing invisible, and no longer than `limit` characters. */
function visible(text, limit = 400) {
  let shown = String(text ?? "");
  const long = shown.length > limit;
  if (long) shown = shown.slice(0, limit - 1);
  if (!/^[\x20-\x7e]*$/.test(shown)) shown = shown.replace(HIDDEN, nameHidden);
  return long ? shown + "…" : shown;
}

/** Lower case without accents, so that `muller` finds `Müller`. */
function fold(text) {
  const lower = text.toLowerCase();
  return /^[\x00-\x7f]*$/.test(lower) ? lower : lower.normalize("NFKD").replace(/\p{M}/gu, "");
}

// A value goes into the address as it is, unless it is too long for one or would not survive it.
const asReference = (list, value) =>
  value.length > 200 || value.startsWith("@") || /\p{Cs}/u.test(value) ? "@" + list.indexOf(value) : value;
const fromReference = (list, reference) => reference.startsWith("@") ? list[Number(reference.slice(1))] ?? "" : reference;

class Model {
  constructor(data) {
    this.data = data;
    const rank = (task) => LIST_ORDER.indexOf(task.status);
    this.tasks = [...data.tasks].sort((one, other) => rank(one) - rank(other) || other.waitingOn.length - one.waitingOn.length);
    this.goals = data.goals;
    this.runs = data.runs;
    this.ids = this.tasks.map((task) => task.id);
    this.byId = new Map(this.tasks.map((task) => [task.id, task]));
    this.goalByName = new Map(this.goals.map((goal) => [goal.name, goal]));
    this.goalNames = this.goals.map((goal) => goal.name);
    this.tracks = distinct(this.tasks, "track");
    this.owners = distinct(this.tasks, "stream");
    this.counts = new Map();
    for (const task of this.tasks) this.counts.set(task.status, (this.counts.get(task.status) ?? 0) + 1);
    this.ready = this.tasks.filter((task) => task.ready);
    this.texts = null;
  }

  withStatus(status) {
    return this.tasks.filter((task) => task.status === status);
  }

  readyByUnlocks() {
    return [...this.ready].sort((one, other) => other.unlocks - one.unlocks);
  }

  // Lower-casing ten thousand tasks is not needed before the first search.
  get searchTexts() {
    this.texts ??= this.tasks.map((task) => fold(
      [task.id, task.title, task.track, task.owner ?? "", task.stream ?? "", ...refsOf(task), ...task.goal].join("\n")));
    return this.texts;
  }

  /** The tasks that a filter lets through; a task whose id is meant comes first. */
  select(filter) {
    const words = fold(filter.q).split(/\s+/).filter(Boolean);
    const scope = filter.goal ? new Set(this.goalByName.get(filter.goal)?.scope ?? []) : null;
    const texts = words.length ? this.searchTexts : null;
    const found = this.tasks.filter((task, index) =>
      (!filter.status || (filter.status === "ready" ? task.ready : task.status === filter.status))
      && (!filter.track || task.track === filter.track)
      && (!filter.owner || task.stream === filter.owner)
      && (!scope || scope.has(task.id))
      && words.every((word) => texts[index].includes(word)));
    if (!words.length) return found;
    const wanted = fold(filter.q.trim());
    const rank = (task) => { const id = fold(task.id); return id === wanted ? 0 : id.startsWith(wanted) ? 1 : 2; };
    return found.map((task) => [rank(task), task]).sort((one, other) => one[0] - other[0]).map((pair) => pair[1]);
  }

  /** What stands around a task, `reach` steps each way, at most `limit` tasks. */
  around(task, reach = 2, limit = 36) {
    const near = new Set([task.id]);
    for (const next of [(one) => one.depends, (one) => one.waitingOn]) {
      let edge = [task];
      for (let step = 0; step < reach; step += 1) {
        const found = [];
        for (const one of edge) {
          for (const id of next(one)) {
            const other = this.byId.get(id);
            if (other && !near.has(id) && near.size < limit) { near.add(id); found.push(other); }
          }
        }
        edge = found;
      }
    }
    return [...near].map((id) => this.byId.get(id));
  }
}

/** What the file says under `refs`, whatever that is, as a list of texts. */
function refsOf(task) {
  const { refs } = task;
  return (Array.isArray(refs) ? refs : refs ? [refs] : []).map((one) => typeof one === "string" ? one : JSON.stringify(one));
}

function distinct(tasks, key) {
  const values = new Set();
  for (const task of tasks) if (task[key]) values.add(task[key]);
  return [...values].sort(new Intl.Collator("en", { numeric: true }).compare);
}
