"use strict";
// Draws the report from the JSON in the page. Names are shown as texts only, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const COLORS = 6;
const color = (n) => `var(--c${n % COLORS})`;
// A resource has the same colour everywhere; other curves have that of their place.
const resources = Object.keys(data.utilization);
const colorOf = (name, n) => color(resources.includes(name) ? resources.indexOf(name) : n);

function el(parent, name, attributes = {}, text = null) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}

function shape(parent, name, attributes, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}

function time(seconds) {
  if (seconds === 0) return "0s";
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 60) return `${+seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  const parts = [["d", Math.floor(whole / 86400)], ["h", Math.floor(whole % 86400 / 3600)],
    ["m", Math.floor(whole % 3600 / 60)], ["s", whole % 60]];
  return parts.filter((one) => one[1]).slice(0, 2).map((one) => one[1] + one[0]).join("");
}
const count = (value) => value.toLocaleString("en");
const percent = (value) => `${(value * 100).toFixed(1)} %`;

// A round step for about five lines of a grid; there are no half pods.
function step(top, least) {
  const raw = top / 5, power = 10 ** Math.floor(Math.log10(raw));
  return Math.max(least, [1, 2, 5, 10].find((one) => one * power >= raw * 0.9999) * power);
}
function timeStep(end, lines) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
    43200, 86400, 172800, 604800, 2592000];
  return steps.find((one) => end / one <= lines) || end / lines;
}

function section(parent, title) {
  const made = el(parent, "section");
  el(made, "h2", {}, title);
  return made;
}

// Redraws what depends on the width, whenever that changes.
function drawn(box, draw) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(box.clientWidth);
    if (width > 0 && width !== last) { last = width; draw(width); }
  }).observe(box);
}

// Lines of a grid with their values.
function axes(svg, size, top, format) {
  const gap = step(top, format === count ? 1 : 0);
  for (let value = 0; value <= top * 1.0001; value += gap) {
    const y = size.y(value);
    shape(svg, "line", { x1: size.left, x2: size.right, y1: y, y2: y, class: "grid" });
    shape(svg, "text", { x: size.left - 6, y: y + 4, "text-anchor": "end" }, format(value));
  }
}

// Values over time, each until the next one; pointing at a time shows all values at it.
function plot(parent, title, curves, format, fixedTop = 0) {
  if (!curves.length) return;
  const box = section(parent, title);
  const key = el(box, "div", { class: "key" });
  const shown = curves.map(([name], n) => {
    const one = el(key, "span");
    el(one, "i", { style: `background:${colorOf(name, n)}` });
    one.append(`${name} `);
    return el(one, "b");
  });
  const when = el(key, "span", { class: "soft" });
  const area = el(box, "div");
  const times = data.times, end = Math.max(data.end, 1e-9);
  const most = Math.max(fixedTop, ...curves.flatMap((one) => one[1]));
  const top = Math.max(most, format === count ? 1 : 0.01);
  const say = (place) => {
    curves.forEach((one, n) => { shown[n].textContent = place < 0 ? "" : format(one[1][place]); });
    when.textContent = place < 0 ? "" : `at ${time(times[place])}`;
  };
  drawn(area, (width) => {
    const height = 200, size = { left: 52, right: width - 12 };
    size.y = (value) => 176 - 164 * value / top;
    const x = (value) => size.left + (size.right - size.left) * value / end;
    area.replaceChildren();
    const svg = shape(area, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
    shape(svg, "title", {}, title);
    axes(svg, size, top, format === percent ? (value) => `${Math.round(value * 100)} %` : format);
    const gap = timeStep(end, width < 500 ? 4 : 8);
    for (let at = 0; at <= end * 1.0001; at += gap) {
      const anchor = at === 0 ? "start" : x(at) > size.right - 16 ? "end" : "middle";
      shape(svg, "text", { x: x(at), y: 194, "text-anchor": anchor }, time(at));
    }
    curves.forEach(([name, values], n) => {
      let path = "";
      values.forEach((value, place) => {
        path += place ? `H${x(times[place]).toFixed(1)}V${size.y(value).toFixed(1)}`
          : `M${x(times[0]).toFixed(1)} ${size.y(value).toFixed(1)}`;
      });
      const style = `fill:none;stroke:${colorOf(name, n)};stroke-width:1.6`;
      shape(svg, "path", { d: path, style });
    });
    const hair = shape(svg, "line", { y1: 8, y2: 176, class: "hair", visibility: "hidden" });
    svg.addEventListener("pointermove", (event) => {
      const rect = svg.getBoundingClientRect();
      const at = ((event.clientX - rect.left) - size.left) / (size.right - size.left) * end;
      let place = 0;
      while (place + 1 < times.length && times[place + 1] <= at) place += 1;
      hair.setAttribute("x1", x(times[place]));
      hair.setAttribute("x2", x(times[place]));
      hair.setAttribute("visibility", "visible");
      say(place);
    });
    svg.addEventListener("pointerleave", () => {
      hair.setAttribute("visibility", "hidden");
      say(-1);
    });
  });
}

function bars(parent, title, rows) {
  const box = section(parent, title);
  const about = el(box, "div", { class: "key soft" });
  const waiting = data.waiting;
  const summary = `p50 ${time(waiting.p50)}, p90 ${time(waiting.p90)}, p99 ${time(waiting.p99)}, `
    + `max ${time(waiting.max)}`;
  about.textContent = summary;
  const area = el(box, "div");
  const top = Math.max(1, ...rows.map((one) => one[2]));
  drawn(area, (width) => {
    const height = 200, size = { left: 52, right: width - 12 };
    size.y = (value) => 176 - 164 * value / top;
    area.replaceChildren();
    const svg = shape(area, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
    shape(svg, "title", {}, title);
    axes(svg, size, top, count);
    const each = Math.min((size.right - size.left) / Math.max(rows.length, 1), 90);
    const every = Math.ceil(44 / each);
    rows.forEach(([from, to, number], n) => {
      const x = size.left + n * each;
      const y = size.y(number);
      const height = number ? Math.max(176 - y, 1) : 0;
      shape(svg, "rect", { x: x + 1, y: 176 - height, width: Math.max(each - 2, 1), height,
        style: `fill:${color(0)}` });
      if ((rows.length - 1 - n) % every === 0) {
        shape(svg, "text", { x: x + each / 2, y: 194, "text-anchor": "middle" }, `≤${time(to)}`);
      }
      const over = shape(svg, "rect", { x, y: 8, width: each, height: 168,
        style: "fill:transparent" });
      over.addEventListener("pointerenter", () => {
        about.textContent = `${count(number)} pods waited ${time(from)} to ${time(to)}`;
      });
      over.addEventListener("pointerleave", () => { about.textContent = summary; });
    });
  });
}

function timeline(parent) {
  const fill = data.fill;
  if (!fill.nodes.length || !fill.times.length) return;
  const box = section(parent, "Nodes, filled by what pods request");
  const key = el(box, "div", { class: "key" });
  fill.resources.forEach((name, n) => {
    const one = el(key, "span");
    el(one, "i", { style: `background:${colorOf(name, n)}` });
    one.append(name);
  });
  if (fill.allNodes > fill.nodes.length) {
    const text = `${count(fill.nodes.length)} of ${count(fill.allNodes)} nodes, evenly chosen`;
    el(key, "span", { class: "soft" }, text);
  }
  const row = el(box, "div", { class: "slider" });
  const slider = el(row, "input", { type: "range", min: 0, max: fill.times.length - 1, value: 0,
    "aria-label": "virtual time" });
  const clock = el(row, "output");
  const about = el(box, "div", { class: "soft" });
  const many = fill.nodes.length;
  const size = many > 150 ? 22 : many > 40 ? 34 : 56;
  const boxes = el(box, "div", { class: "boxes", style: `--box:${size}px` });
  let chosen = -1;
  const made = fill.nodes.map((_, n) => {
    const one = el(boxes, "div", { class: "box" });
    one.addEventListener("pointerenter", () => { chosen = n; show(); });
    return { box: one, fills: fill.resources.map((name, r) => {
      return el(one, "i", { style: `background:${colorOf(name, r)}` });
    }) };
  });
  function show() {
    const frame = Number(slider.value), now = fill.times[frame];
    clock.textContent = time(now);
    made.forEach((one, n) => {
      const failed = fill.nodes[n][3];
      const absent = fill.resources.length > 0 && fill.percent[0][frame][n] < 0;
      one.box.className = "box" + (absent ? " absent" : "") + (n === chosen ? " chosen" : "")
        + (failed !== null && failed <= now ? " failed" : "");
      one.fills.forEach((bar, r) => {
        bar.style.height = `${Math.min(Math.max(fill.percent[r][frame][n], 0), 100)}%`;
      });
    });
    if (chosen < 0) {
      about.textContent = "Point at a node to see how full it is; move the slider through time.";
      return;
    }
    const [name, group, zone, failed] = fill.nodes[chosen];
    const shares = fill.resources.map((one, r) => [one, fill.percent[r][frame][chosen]]);
    const words = [name, group && `group ${group}`, zone && `zone ${zone}`];
    if (shares.some((one) => one[1] < 0)) words.push("not there at this time");
    else words.push(...shares.map((one) => `${one[0]} ${one[1]} %`));
    if (failed !== null && failed <= now) words.push(`failed at ${time(failed)}`);
    about.textContent = words.filter(Boolean).join(" · ");
  }
  slider.addEventListener("input", show);
  slider.value = Math.floor((fill.times.length - 1) / 2);
  show();
}

// A table; columns whose heading ends with # hold numbers.
function list(parent, title, columns, rows, note = "") {
  if (!rows.length) return;
  const box = section(parent, title);
  const table = el(el(box, "div", { class: "scroll" }), "table");
  const head = el(el(table, "thead"), "tr");
  const number = columns.map((one) => one.endsWith("#"));
  columns.forEach((one, n) => {
    el(head, "th", number[n] ? { class: "n" } : {}, one.replace("#", ""));
  });
  const body = el(table, "tbody");
  for (const row of rows) {
    const line = el(body, "tr");
    row.forEach((one, n) => el(line, "td", number[n] ? { class: "n" } : {}, one));
  }
  if (note) el(box, "div", { class: "soft" }, note);
}

document.title = `${data.scenario}: moor simulate`;
el(page, "h1", {}, data.scenario);
el(page, "div", { class: "soft" }, `scheduler ${data.configuration}, seed ${data.seed}, `
  + `${time(data.end)} of virtual time`
  + (data.interrupted ? "; interrupted, this is what came of it until then" : ""));
const cards = el(page, "div", { class: "cards" });
for (const [name, value] of data.numbers) {
  const bad = value > 0 && name === "pending at the end";
  const card = el(cards, "div", { class: bad ? "card bad" : "card" });
  el(card, "b", {}, count(value));
  el(card, "span", { class: "soft" }, name);
}
if (data.cost !== null) {
  const card = el(cards, "div", { class: "card" });
  el(card, "b", {}, data.cost.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }));
  el(card, "span", { class: "soft" }, "cost");
}
const plots = el(page, "div", { class: "plots" });
if (data.times.length) {
  plot(plots, "Pods", [["running", data.running], ["pending", data.pending]], count);
  plot(plots, "Requested share of resources", Object.entries(data.utilization), percent, 1);
  plot(plots, "Nodes", [["nodes", data.nodes]], count);
  const unusable = Object.entries(data.fragmentation);
  plot(plots, "Free, but unusable for typical pods", unusable, percent, 1);
}
bars(plots, "Time from creation to binding", data.waitingBars);
timeline(page);
list(page, "Why pods are pending", ["pods#", "reason", "for example"],
  data.reasons.map((one) => [count(one[0]), one[1], one[2]]));
list(page, "Workloads", ["workload", "pods#", "placed#", "pending#", "mean waiting#", "longest#"],
  data.workloads.map((one) => [one[0] || "-", count(one[1]), count(one[2]), count(one[3]),
    time(one[4]), time(one[5])]));
list(page, "Node groups", ["group", "most nodes#", "node hours#", "cost#"],
  data.groups.map((one) => [one[0] || "-", count(one[1]), one[2].toFixed(1), one[3].toFixed(2)]));
list(page, "Pods on nodes at the end, by zone", ["zone", "pods#"],
  data.zones.map((one) => [one[0] || "no zone", count(one[1])]));
list(page, "Events", ["time#", "event", "what happened"],
  data.events.map((one) => [time(one[0]), one[1], one[2]]),
  data.allEvents > data.events.length ? `the first of ${count(data.allEvents)} events` : "");
list(page, "Pods that waited longest", ["pod", "waited#", "node", "why it is pending"],
  data.longest.map((one) => [one[0], time(one[1]), one[2] || "-", one[3]]));
