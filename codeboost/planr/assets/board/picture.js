// The dependency picture: tasks in layers, what comes first on the left.

const PICTURE_LIMIT = 120;

/**
 * Places tasks in layers so that every edge runs from left to right.
 * Returns `{ nodes: [{ task, x, y }], edges: [{ from, to, points }], width, height }` in pixels.
 */
function layOut(tasks, size) {
  const inside = new Map(tasks.map((task) => [task.id, task]));
  const before = new Map(tasks.map((task) => [task.id, [...new Set(task.depends)].filter((id) => inside.has(id) && id !== task.id)]));
  const after = new Map(tasks.map((task) => [task.id, []]));
  for (const [id, earlier] of before) for (const one of earlier) after.get(one).push(id);
  const isLinked = (task) => before.get(task.id).length || after.get(task.id).length;
  const linked = tasks.filter(isLinked);
  const layerOf = rankByLongestPath(linked, before, after);
  const { layers, links } = insertBends(linked, before, layerOf);
  orderLayers(layers, links);
  placeRows(layers, links, size.height + size.rowGap);
  return collect(layers, links, tasks.filter((task) => !isLinked(task)), inside, size);
}

function rankByLongestPath(tasks, before, after) {
  const ranks = new Map();
  const visiting = new Set();
  // A stack of our own: a chain of tasks may be longer than the engine's.
  for (const { id: start } of tasks) {
    const stack = [start];
    while (stack.length) {
      const id = stack[stack.length - 1];
      if (ranks.has(id)) { stack.pop(); continue; }
      visiting.add(id);
      // Tasks still being visited close a cycle; the edge is drawn, but does not push anything further.
      const missing = before.get(id).filter((one) => !ranks.has(one) && !visiting.has(one));
      if (missing.length) { stack.push(...missing); continue; }
      ranks.set(id, Math.max(-1, ...before.get(id).map((one) => ranks.get(one) ?? -1)) + 1);
      visiting.delete(id);
      stack.pop();
    }
  }
  // What waits for nothing stands right before the first that needs it, not far off at the left.
  for (const { id } of tasks) {
    if (!before.get(id).length) ranks.set(id, Math.max(0, Math.min(...after.get(id).map((one) => ranks.get(one))) - 1));
  }
  return ranks;
}

function insertBends(tasks, before, ranks) {
  const layers = [];
  const place = (node) => { (layers[node.layer] ??= []).push(node); return node; };
  const nodes = new Map(tasks.map((task) => [task.id, place({ task, layer: ranks.get(task.id), y: 0, near: [] })]));
  const links = [];
  for (const task of tasks) {
    for (const id of before.get(task.id)) {
      const [from, to] = [nodes.get(id), nodes.get(task.id)];
      const chain = [from];
      for (let layer = from.layer + 1; layer < to.layer; layer += 1) chain.push(place({ task: null, layer, y: 0, near: [] }));
      chain.push(to);
      links.push({ from, to, chain });
      for (let step = 1; step < chain.length; step += 1) {
        chain[step].near.push(chain[step - 1]);
        chain[step - 1].near.push(chain[step]);
      }
    }
  }
  return { layers: Array.from(layers, (layer) => layer ?? []), links };
}

function orderLayers(layers) {
  for (const layer of layers) layer.forEach((node, index) => { node.y = index; });
  for (let sweep = 0; sweep < 8; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const layer of forward ? layers : [...layers].reverse()) {
      for (const node of layer) {
        const side = node.near.filter((other) => forward ? other.layer < node.layer : other.layer > node.layer);
        node.wish = side.length ? side.reduce((sum, other) => sum + other.y, 0) / side.length : node.y;
      }
      layer.sort((one, other) => one.wish - other.wish);
      layer.forEach((node, index) => { node.y = index; });
    }
  }
}

function placeRows(layers, links, step) {
  for (const layer of layers) layer.forEach((node, index) => { node.y = (index - (layer.length - 1) / 2) * step; });
  for (let sweep = 0; sweep < 6; sweep += 1) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wishes = layer.map((node) =>
        node.near.length ? node.near.reduce((sum, other) => sum + other.y, 0) / node.near.length : node.y);
      spread(wishes, step).forEach((y, index) => { layer[index].y = y; });
    }
  }
}

/** Positions as near as possible (least squares) to `wishes`, in their order and at least `step` apart. */
function spread(wishes, step) {
  const blocks = [];
  wishes.forEach((wish, index) => {
    let block = { sum: wish - index * step, size: 1 };
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].size >= block.sum / block.size) {
      const last = blocks.pop();
      block = { sum: last.sum + block.sum, size: last.size + block.size };
    }
    blocks.push(block);
  });
  return blocks.flatMap((block) => Array(block.size).fill(block.sum / block.size)).map((y, index) => y + index * step);
}

function collect(layers, links, loose, inside, size) {
  const all = layers.flat();
  const top = Math.min(0, ...all.map((node) => node.y));
  for (const node of all) {
    node.x = node.layer * (size.width + size.columnGap);
    node.y -= top;
  }
  const nodes = all.filter((node) => node.task).map(({ task, x, y }) => ({ task, x, y }));
  let height = all.length ? Math.max(...all.map((node) => node.y)) + size.height : 0;
  let width = layers.length ? layers.length * (size.width + size.columnGap) - size.columnGap : 0;
  // Tasks without any edge stand in rows of their own below.
  const columns = Math.max(layers.length, Math.floor((size.room + size.columnGap) / (size.width + size.columnGap)), 1);
  const below = height ? height + size.rowGap * 2 : 0;
  loose.forEach((task, index) => {
    const x = (index % columns) * (size.width + size.columnGap);
    const y = below + Math.floor(index / columns) * (size.height + size.rowGap);
    nodes.push({ task, x, y });
    width = Math.max(width, x + size.width);
    height = Math.max(height, y + size.height);
  });
  const edges = links.map(({ from, to, chain }) => ({
    from: from.task, to: to.task,
    points: chain.map((node) => ({ x: node.x, y: node.y + size.height / 2, bend: !node.task })),
  }));
  return { nodes, edges, width, height };
}

function edgePath(points, size) {
  const parts = [];
  let x = points[0].x + size.width;
  let y = points[0].y;
  parts.push(`M${x.toFixed(1)} ${y.toFixed(1)}`);
  for (const point of points.slice(1)) {
    const middle = (x + point.x) / 2;
    parts.push(`C${middle.toFixed(1)} ${y.toFixed(1)} ${middle.toFixed(1)} ${point.y.toFixed(1)} ${point.x.toFixed(1)} ${point.y.toFixed(1)}`);
    x = point.x;
    y = point.y;
    if (point.bend) { x += size.width; parts.push(`H${x.toFixed(1)}`); }
  }
  return parts.join("");
}

/** A figure with the picture of `tasks`; `focus` is the task it is about, `outside` says who is dashed. */
function drawPicture(tasks, { name, focus = null, outside = () => false, room = 900, width = 168 } = {}) {
  const size = { width, height: 46, columnGap: 36, rowGap: 12, room };
  const shown = tasks.slice(0, PICTURE_LIMIT);
  const layout = layOut(shown, size);
  const pad = 4;
  const letters = Math.floor((width - 20) / 5.9);
  const drawing = svg("svg", {
    class: "picture", role: "group", "aria-label": name,
    viewBox: `${-pad} ${-pad} ${layout.width + 2 * pad} ${layout.height + 2 * pad}`,
    width: layout.width + 2 * pad, height: layout.height + 2 * pad,
  });
  for (const edge of layout.edges) {
    const open = !isSatisfied(edge.from);
    const near = focus && (edge.from === focus || edge.to === focus);
    drawing.append(svg("path", { class: `edge${open ? " open" : ""}${near ? " near" : ""}`, d: edgePath(edge.points, size) }));
  }
  for (const { task, x, y } of layout.nodes) {
    const label = `${visible(task.id, 60)}, ${labelOf(task.status)}: ${visible(task.title, 160)}`;
    // The name is what stands in the box; the whole title is the rectangle's tooltip.
    drawing.append(svg("a", {
      href: hashFor({ task: task.id }), "aria-current": task === focus ? "true" : null,
      class: `node ${statusClass(task.status)}${task === focus ? " focus" : ""}${outside(task) ? " outside" : ""}`,
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
    },
      svg("rect", { width, height: size.height, rx: 6 }, svg("title", null, label)),
      glyph(task.status, { size: 12, x: 10, y: 9 }),
      svg("text", { class: "node-id", x: 27, y: 19 }, visible(task.id, Math.floor(letters * 0.8))),
      svg("text", { class: "node-title", x: 10, y: 36 }, visible(task.title, letters))));
  }
  const scroller = el("div", { class: "picture-scroll", tabindex: "0", role: "region", "aria-label": name + ", scrolls sideways" }, drawing);
  const caption = tasks.length > shown.length
    ? `The first ${PICTURE_LIMIT} of ${count(tasks.length, "task")}. Left comes before right.`
    : "Left comes before right. Bold lines still hold something up.";
  if (focus) {
    const node = layout.nodes.find((one) => one.task === focus);
    requestAnimationFrame(() => { scroller.scrollLeft = node.x + width / 2 - scroller.clientWidth / 2; });
  }
  return el("figure", { class: "picture-frame" }, scroller, el("figcaption", null, caption));
}
