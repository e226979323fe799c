// How the counts moved: one stacked column a run, read with the pointer or as a slider.

const STACK = ["done", "review", "in-progress", "open", "decision", "blocked", "dropped"];

const WIDEST_COLUMN = 32;
const FEW_RUNS = 10;

const countIn = (run, status) => Object.hasOwn(run.counts, status) ? run.counts[status] : 0;

function describeRun(run) {
  const parts = [...STACK].filter((status) => countIn(run, status)).map((status) => `${countIn(run, status)} ${labelOf(status).toLowerCase()}`);
  return `${formatDate(run.date)}, ${visible(run.subject, 120) || "no subject"}: ${parts.join(", ") || "no tasks"}`;
}

function drawTrend(runs) {
  const peak = Math.max(1, ...runs.map((run) => run.total));
  const gap = runs.length <= 90 ? 0.14 : 0;
  const chart = svg("svg", { class: "trend-chart", viewBox: `0 0 ${runs.length} ${peak}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const floors = runs.map(() => 0);
  for (const status of STACK) {
    let path = "";
    runs.forEach((run, index) => {
      const amount = countIn(run, status);
      if (!amount) return;
      floors[index] += amount;
      path += `M${index} ${peak - floors[index]}h${1 - gap}v${amount}h${gap - 1}z`;
    });
    if (path) chart.append(svg("path", { d: path, class: statusClass(status) }));
  }
  const marker = el("div", { class: "trend-marker", hidden: true });
  const reading = el("p", { class: "trend-reading" });
  const last = runs.length - 1;
  const slider = el("input", { type: "range", class: "trend-slider", min: 0, max: last, step: 1, "aria-label": "Run" });
  const show = (index, marked = true) => {
    const run = runs[index];
    slider.value = String(index);
    slider.setAttribute("aria-valuetext", describeRun(run));
    marker.hidden = !marked;
    marker.style.left = `${(index + (1 - gap) / 2) / runs.length * 100}%`;
    reading.replaceChildren(
      el("span", { class: "when" }, formatDate(run.date, DAY)), " ",
      el("span", { class: "what", dir: "auto" }, visible(run.subject, 120) || "No subject"));
  };
  const rest = () => show(last, false);
  const indexAt = (event) => {
    const box = slider.getBoundingClientRect();
    return Math.min(last, Math.max(0, Math.floor((event.clientX - box.left) / box.width * runs.length)));
  };
  slider.addEventListener("input", () => show(Number(slider.value)));
  slider.addEventListener("pointermove", (event) => show(indexAt(event)));
  slider.addEventListener("pointerleave", rest);
  slider.addEventListener("focus", () => { if (slider.matches(":focus-visible")) show(Number(slider.value)); });
  slider.addEventListener("blur", rest);
  slider.addEventListener("click", (event) => { go(hashFor({ run: String(indexAt(event)) })); });
  slider.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(hashFor({ run: slider.value }));
  });
  rest();
  const area = el("div", { class: "trend-area" }, chart, marker, slider);
  // A few runs make a few columns, not a few walls.
  area.style.maxWidth = `${runs.length * WIDEST_COLUMN}px`;
  return el("div", { class: "trend" },
    area,
    runs.length < FEW_RUNS ? null : el("div", { class: "trend-axis", "aria-hidden": "true" },
      el("span", null, formatDate(runs[0].date, DAY)), el("span", null, `up to ${count(peak, "task")}`), el("span", null, formatDate(runs[last].date, DAY))),
    reading);
}
