// Draws one chart of the dashboard into an element, with D3 and Observable Plot (classic scripts, loaded before).
//
// A chart says its kind, unit, series and points; every point has its words and may have a link. All names are text of
// strangers: they reach the page as text nodes and attributes only. Colours are custom properties, so that a picture
// follows the theme without being drawn again.

/* global d3, Plot */

const ROW = 26; // pixels for a bar and the room around it
const NARROW = 420; // pixels, below which names stand above their bars
const NARROW_ROW = 46;
const WIDEST = 64; // pixels of a column
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LEVELS = 4; // of the calendar
const STEPS = [1, 10, 100, 1e3, 1e4, 6e4, 6e5, 36e5, 36e6, 864e5, 864e6]; // milliseconds, as people count time

const tone = (name) => `var(--${name})`;

const HATCHED = "hatched-";

/** What fills a shape: a colour, or its hatching, which stands for what is not recorded. */
const fillOf = (name) => (name.startsWith(HATCHED) ? `url(#${name})` : tone(name));

/** The same as the background of a key of a legend. */
function backgroundOf(name) {
  if (!name.startsWith(HATCHED)) return tone(name);
  const colour = tone(name.slice(HATCHED.length));
  return `repeating-linear-gradient(45deg, ${colour} 0 2px, transparent 2px 4px)`;
}

/** Put the hatchings of a chart into its picture. */
function addHatchings(chart, picture) {
  const names = new Set(chart.series.map((series) => series.tone).filter((name) => name.startsWith(HATCHED)));
  if (!names.size) return;
  const defs = document.createElementNS("http://www.w3.org/2000/svg", "defs");
  for (const name of names) {
    const pattern = document.createElementNS("http://www.w3.org/2000/svg", "pattern");
    const attributes = { id: name, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    for (const [key, value] of Object.entries(attributes)) pattern.setAttribute(key, value);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    line.setAttribute("width", 2.4);
    line.setAttribute("height", 5);
    line.style.fill = tone(name.slice(HATCHED.length));
    pattern.append(line);
    defs.append(pattern);
  }
  (picture.matches("svg") ? picture : picture.querySelector("svg")).prepend(defs);
}

/** Draw the chart as wide as the element is. */
export function draw(element, chart) {
  const pictures = KINDS[chart.kind](chart, Math.max(240, element.clientWidth));
  const frames = pictures.map((picture) => frame(picture, chart));
  element.replaceChildren(...legend(chart), ...frames);
  for (const one of frames) one.scrollLeft = one.scrollWidth; // the last days are the ones to see
}

/** A picture in a frame in which it can be scrolled; it is a group of links, or an image where it has none. */
function frame(picture, chart) {
  const box = document.createElement("div");
  box.className = "frame";
  addHatchings(chart, picture);
  const hasLinks = picture.querySelector("a") !== null;
  picture.setAttribute("role", hasLinks ? "group" : "img");
  picture.setAttribute("aria-label", picture.dataset.title ?? chart.title);
  for (const group of picture.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label"); // a shape has no name
  // The links say what axes and labels do, and so does the table.
  for (const group of picture.children) if (!group.matches(".hits")) group.setAttribute("aria-hidden", "true");
  box.append(picture);
  return box;
}

// --- words ----------------------------------------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en");

/** `950`, `12.4 k`, `3.1 M`, as the tables write it. */
function short(value) {
  for (const [scale, letter] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= scale * 0.9995) return `${Number((value / scale).toFixed(1))} ${letter}`;
  }
  return whole.format(value);
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`;
  if (ms < 3_600_000) return `${Number((ms / 60_000).toFixed(1))} min`;
  return `${Number((ms / 3_600_000).toFixed(1))} h`;
}

function dollars(amount) {
  if (Number.isInteger(amount)) return `$${whole.format(amount)}`;
  return amount < 0.01 ? `$${amount.toPrecision(1)}` : `$${amount.toFixed(2)}`;
}

const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const amount = (value) => decimal.format(value);
const share = (value) => `${Number((value * 100).toFixed(1))} %`;
const WORDS = { count: (value) => whole.format(value), tokens: short, amount, dollars, ms: duration, share };

const ruler = document.createElement("canvas").getContext("2d");

/** How wide a text is, in pixels. */
function widthOf(text) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** A label as long as there is room for. */
function fitted(label, pixels) {
  if (widthOf(label) <= pixels) return label;
  const letters = [...label];
  while (letters.length > 1 && widthOf(`${letters.join("")}…`) > pixels) letters.length -= Math.ceil(letters.length / 20);
  return `${letters.join("")}…`;
}

/** What colours mean, where there are several of them. */
function legend(chart) {
  if (chart.kind === "calendar") return [heatLegend()];
  const used = chart.series.filter((_, at) => chart.points.some((point) => point.values[at]));
  if (used.length < 2) return [];
  return [keys(used.map(({ name, tone: colour }) => ({ colour, name })))];
}

function heatLegend() {
  const words = ["none", "few", "some", "many", "most"];
  return keys(words.map((name, level) => ({ colour: `heat-${level}`, name })));
}

function keys(entries) {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const { colour, name } of entries) {
    const item = document.createElement("li");
    const key = document.createElement("span");
    key.className = "key";
    key.style.background = backgroundOf(colour);
    item.append(key, name);
    list.append(item);
  }
  return list;
}

// --- what can be pointed at -----------------------------------------------------------------------------------------

/** Give the shapes of a mark their words, and those that lead somewhere a link around them. */
function pointable(points, groupClass) {
  return (index, scales, values, dimensions, context, next) => {
    const group = next(index, scales, values, dimensions, context);
    group.classList.add("hits", groupClass);
    for (const shape of [...group.querySelectorAll("rect")]) {
      const point = points[shape.__data__];
      shape.dataset.words = point.words;
      if (!point.link) continue;
      const link = document.createElementNS("http://www.w3.org/2000/svg", "a");
      link.setAttribute("href", point.link);
      link.setAttribute("aria-label", point.words);
      shape.replaceWith(link);
      link.append(shape);
    }
    return group;
  };
}

// --- columns --------------------------------------------------------------------------------------------------------

/** One row for each part of each column, as Plot stacks them. */
function parts(chart) {
  return chart.points.flatMap((point, at) =>
    chart.series.map((series, place) => ({ at, value: point.values[place] ?? 0, fill: fillOf(point.tone ?? series.tone) })),
  );
}

function columns(chart, width) {
  const { points } = chart;
  const ranges = points.map((point, at) => ({ at, range: point.range })).filter(({ range }) => range);
  const highest = d3.max(ranges, ({ range }) => range[1]) ?? 0;
  const most = Math.max(d3.max(points, (point) => d3.sum(point.values)) || 1, chart.mark ?? 0, highest);
  const top = d3.ticks(0, most, 4).at(-1) < most ? most * 1.04 : most;
  const longest = d3.max(points, (point) => widthOf(point.label)) + 12;
  const step = Math.ceil(points.length / Math.max(2, Math.floor((width - 64) / longest)));
  const onAxis = { tickFormat: (at) => points[at].label, tickSize: 0, label: chart.across, labelArrow: "none" };
  return [
    Plot.plot({
      width,
      height: width < NARROW ? 200 : 230,
      marginLeft: 56,
      marginRight: 8,
      marginTop: 30,
      marginBottom: 42,
      x: { type: "band", domain: d3.range(points.length), padding: Math.max(0.2, 1 - (points.length * WIDEST) / (width - 64)) },
      y: { label: chart.up, labelArrow: "none", domain: [0, top], ...scaleOf(chart, top, 4) },
      marks: [
        Plot.axisX(d3.range(0, points.length, step), { ...onAxis, labelAnchor: "right", labelOffset: 38 }),
        Plot.barY(parts(chart), Plot.stackY({ x: "at", y: "value", fill: "fill", order: null })),
        ...(ranges.length ? [rangeMarks(ranges)] : []),
        Plot.ruleY([0], { stroke: tone("line") }),
        ...(chart.mark ? [Plot.ruleY([chart.mark], { stroke: tone("ink"), strokeDasharray: "6 4", title: () => chart.mark_name })] : []),
        Plot.barY(points, {
          x: (_, at) => at,
          y1: 0,
          y2: top,
          fill: "transparent",
          inset: -1,
          render: pointable(points, "hits-columns"),
        }),
      ],
    }),
  ];
}

/** A vertical line for each column of which a part is estimated, from its least to its most. */
function rangeMarks(ranges) {
  const ends = { x: "at", y1: ({ range }) => range[0], y2: ({ range }) => range[1] };
  return Plot.ruleX(ranges, { ...ends, stroke: tone("ink"), strokeWidth: 2, className: "range" });
}

/** Round numbers up to the most there is, with lines; counts have no halves. */
function scaleOf(chart, most, wanted) {
  const all = d3.ticks(0, most, wanted);
  const ticks = chart.unit === "count" ? all.filter(Number.isInteger) : all;
  return { grid: true, ticks, tickFormat: WORDS[chart.unit], tickSize: 0 };
}

// --- bars -----------------------------------------------------------------------------------------------------------

function sideWords(chart, point) {
  return point.aside ?? WORDS[chart.unit](d3.sum(point.values));
}

/** Where names stand: beside the bars where there is room, else above them. The words at the end need room as well. */
function layout(chart, width) {
  const isNarrow = width < NARROW;
  const name = d3.max(chart.points, (point) => widthOf(point.label)) + 14;
  const side = d3.max(chart.points, (point) => widthOf(sideWords(chart, point))) + 14;
  return {
    isNarrow,
    width,
    height: chart.points.length * (isNarrow ? NARROW_ROW : ROW) + 48,
    marginLeft: isNarrow ? 20 : Math.min(name, width * 0.36),
    marginRight: isNarrow ? 20 : Math.min(side, width * 0.36),
    marginTop: isNarrow ? 10 : 4,
    marginBottom: 42,
    y: { type: "band", domain: d3.range(chart.points.length), padding: isNarrow ? 0.64 : 0.3, axis: null },
  };
}

const SHIFT = 8; // of bars below their names

function names(chart, { isNarrow, width, marginLeft, marginRight }) {
  const { points } = chart;
  const common = { y: (_, at) => at, fill: tone("ink") };
  if (!isNarrow) {
    const text = (point) => fitted(point.label, marginLeft - 12);
    return [Plot.text(points, { ...common, text, frameAnchor: "left", textAnchor: "end", dx: -8 })];
  }
  const side = (point) => sideWords(chart, point);
  const text = (point) => fitted(point.label, width - marginLeft - marginRight - widthOf(side(point)) - 12);
  return [
    Plot.text(points, { ...common, text, frameAnchor: "left", textAnchor: "start", dy: -11 }),
    Plot.text(points, { ...common, text: side, frameAnchor: "right", textAnchor: "end", dy: -11, fill: tone("muted") }),
  ];
}

/** What stands at the end of bars, where it does not stand above them. */
function sides(chart, end, { isNarrow, width, marginRight }) {
  if (isNarrow) return [];
  const text = (point) => fitted(sideWords(chart, point), Math.max(marginRight, width * 0.2) - 8);
  return [Plot.text(chart.points, { y: (_, at) => at, x: end, text, textAnchor: "start", dx: 7, fill: tone("muted") })];
}

/** The whole row is what one points at, its name included. */
function hits(chart, [first, last], { isNarrow, marginLeft, marginRight }) {
  return Plot.barX(chart.points, {
    y: (_, at) => at,
    x1: first,
    x2: last,
    fill: "transparent",
    insetLeft: 1 - marginLeft,
    insetRight: 1 - marginRight,
    insetTop: isNarrow ? -12 : -4,
    insetBottom: isNarrow ? -12 : -4,
    render: pointable(chart.points, "hits-rows"),
  });
}

function bars(chart, width) {
  const { isNarrow, ...place } = layout(chart, width);
  const at = { isNarrow, ...place };
  const sum = (point) => d3.sum(point.values);
  const most = d3.max(chart.points, sum) || 1;
  const wanted = Math.max(2, Math.min(5, Math.floor(width / 130)));
  const x = { domain: [0, most], ...scaleOf(chart, most, wanted) };
  return [
    Plot.plot({
      ...place,
      x: { ...x, label: chart.across, labelArrow: "none", labelOffset: 38 },
      marks: [
        Plot.barX(parts(chart), Plot.stackX({ y: "at", x: "value", fill: "fill", order: null, dy: isNarrow ? SHIFT : 0 })),
        ...sides(chart, sum, at),
        ...names(chart, at),
        hits(chart, [0, most], at),
      ],
    }),
  ];
}

// --- ranges ---------------------------------------------------------------------------------------------------------

function ranges(chart, width) {
  const { isNarrow, ...place } = layout(chart, width);
  const at = { isNarrow, ...place };
  const { points } = chart;
  const domain = stepsAround(points.flatMap((point) => point.values).filter((value) => value > 0));
  const from = (point) => Math.min(domain[1], Math.max(domain[0], point.values[0] ?? domain[0]));
  const to = (point) => Math.min(domain[1], Math.max(from(point), point.values[1] ?? 0));
  const [dot, line] = chart.series.map((series) => tone(series.tone));
  const common = { y: (_, number) => number, dy: isNarrow ? SHIFT : 0 };
  const steps = STEPS.filter((step) => step >= domain[0] && step <= domain[1]);
  return [
    Plot.plot({
      ...place,
      x: { type: "log", domain, grid: true, ticks: steps, insetLeft: isNarrow ? 0 : 8 },
      marks: [
        // With a text of its own: the scale would name powers of ten alone.
        Plot.axisX(steps, { text: duration, tickSize: 0, label: chart.across, labelArrow: "none", labelOffset: 38 }),
        Plot.link(points, { ...common, x1: from, x2: to, y1: common.y, y2: common.y, stroke: line, strokeWidth: 3 }),
        Plot.dot(points, { ...common, x: to, r: 3, fill: line }),
        Plot.dot(points, { ...common, x: from, r: 4.5, fill: dot }),
        ...sides(chart, to, at),
        ...names(chart, at),
        hits(chart, domain, at),
      ],
    }),
  ];
}

/** From a step of the clock to another, with all values in between. */
function stepsAround(values) {
  const low = STEPS.findLast((step) => step <= (d3.min(values) ?? 1)) ?? STEPS[0];
  const high = STEPS.find((step) => step > low && step >= (d3.max(values) ?? 10)) ?? d3.max(values);
  return [low, high];
}

// --- calendar -------------------------------------------------------------------------------------------------------

/** A year below the other, the last one first. */
function calendar(chart, width) {
  const years = d3.groups(chart.points, (point) => point.name.slice(0, 4)).reverse();
  const most = d3.max(chart.points, (point) => point.values[0]) || 1;
  const level = ({ values: [turns] }) => (turns ? Math.max(1, Math.ceil(LEVELS * Math.sqrt(turns / most))) : 0);
  return years.map(([year, points]) => yearOf(chart.title, year, points, level, years.length > 1, width));
}

function yearOf(title, year, points, level, isOneOfMany, width) {
  const cell = Math.max(14, Math.min(20, Math.floor((width - 60) / 53)));
  const [first, last] = stretch(year, points, isOneOfMany, Math.floor((width - 60) / cell));
  const known = new Map(points.map((point) => [point.name, point]));
  const days = d3.utcDays(first, d3.utcDay.offset(last, 1)).map((date) => {
    const name = date.toISOString().slice(0, 10);
    return known.get(name) ?? { name, values: [0], words: `${name}: nothing`, link: null };
  });
  const week = (point) => d3.utcMonday.count(first, asDate(point.name));
  const weeks = week(days.at(-1)) + 1;
  const picture = Plot.plot({
    width: weeks * cell + 50,
    height: 7 * cell + 32,
    marginLeft: 40,
    marginRight: 10,
    marginTop: 26,
    marginBottom: 6,
    x: { type: "band", domain: d3.range(weeks), padding: 0.16, axis: null },
    y: { type: "band", domain: d3.range(7), padding: 0.16, label: null, tickFormat: (day) => (day % 2 ? "" : WEEKDAYS[day]), tickSize: 0 },
    marks: [
      Plot.text(monthsOf(days, week, cell), {
        x: week,
        frameAnchor: "top",
        textAnchor: "start",
        dx: -cell / 2 + 1,
        dy: -12,
        text: (point) => monthName(point.name),
        fill: tone("muted"),
      }),
      Plot.cell(days, {
        x: week,
        y: (point) => weekday(point.name),
        rx: 2,
        fill: (point) => tone(`heat-${level(point)}`),
        render: pointable(days, "hits-days"),
      }),
    ],
  });
  picture.dataset.title = `${title}, ${year}`;
  return picture;
}

/** The days on which months begin, and the first day of all, as far as their names have room. */
function monthsOf(days, week, cell) {
  const begins = days.filter((point, at) => at === 0 || point.name.endsWith("-01"));
  return begins.filter((point, at) => {
    const next = begins[at + 1];
    return !next || (week(next) - week(point)) * cell >= widthOf(monthName(point.name)) + 6;
  });
}

const asDate = (name) => new Date(`${name}T00:00:00Z`);
const weekday = (name) => (asDate(name).getUTCDay() + 6) % 7;

function monthName(name) {
  const month = asDate(name).toLocaleString("en", { month: "short", timeZone: "UTC" });
  return name.slice(5, 7) === "01" ? `${month} ${name.slice(0, 4)}` : month;
}

/** Whole years where there are several; else the days with something, and as many weeks as there is room for. */
function stretch(year, points, isWhole, room) {
  if (isWhole) return [asDate(`${year}-01-01`), asDate(`${year}-12-31`)];
  const last = asDate(points.at(-1).name);
  const wanted = d3.utcMonday.offset(d3.utcMonday.floor(last), 1 - Math.max(8, Math.min(53, room)));
  return [d3.min([d3.utcMonday.floor(asDate(points[0].name)), wanted]), last];
}

const KINDS = { columns, bars, ranges, calendar };
