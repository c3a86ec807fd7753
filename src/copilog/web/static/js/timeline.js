// The waterfall of a conversation, drawn from JSON. Names come from transcripts: they are only ever set as text.

const { d3 } = globalThis;
const ROW = 16;
const BAR = 11;
const TOP = 22;
const NAMES = 110;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5];
const SHORTEST = 2; // pixels, so that what took no time can be seen and reached

const figure = document.getElementById("waterfall");
if (figure && d3) {
  const answer = await fetch(figure.dataset.source, { headers: { Accept: "application/json" } });
  if (answer.ok) draw(figure, await answer.json());
}

function draw(figure, data) {
  const lanes = layOut(data);
  const height = TOP + lanes.height + 8;
  const picture = figure.querySelector(".picture");
  const svg = d3.select(picture).append("svg").attr("height", height).attr("role", "list");
  const clip = svg.append("clipPath").attr("id", "waterfall-clip").append("rect").attr("x", NAMES).attr("height", height);
  const axis = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${TOP - 4})`);
  const canvas = svg.append("g").attr("clip-path", "url(#waterfall-clip)");
  const breaks = mark(canvas, "break", data.breaks, (gap) => `${words(gap.gap_ms)} later`);
  const switches = mark(canvas, "switch", data.switches, (change) => `${change.kind}: ${change.after}`);
  const bars = canvas.selectAll("a.bar").data(lanes.spans).join("a")
    .attr("class", (span) => classesOf(span))
    .attr("role", "listitem")
    .attr("href", (span) => linkTo(figure.dataset.id, span))
    .attr("aria-label", (span) => told(span, data));
  bars.append("rect").attr("y", (span) => TOP + span.row * ROW + 2)
    .attr("height", (span) => (span.kind === "turn" ? span.rows * ROW : BAR));
  bars.append("title").text((span) => told(span, data));
  svg.append("g").selectAll("text").data(lanes.names).join("text")
    .attr("class", "lane-name").attr("x", 6).attr("y", (lane) => TOP + lane.row * ROW + BAR)
    .text((lane) => shortened(lane.name, 16)).append("title").text((lane) => lane.name);

  const scale = d3.scaleLinear().domain([0, data.length_ms || 1]);
  let shown = scale;
  const zoom = d3.zoom().scaleExtent([1, 2000]).on("zoom", (event) => {
    shown = event.transform.rescaleX(scale);
    place();
  });
  svg.call(zoom).on("dblclick.zoom", null);
  // A wheel scrolls the page; with Ctrl it zooms.
  svg.call(zoom.filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button)));

  function place() {
    bars.select("rect").attr("x", (span) => shown(span.start_ms))
      .attr("width", (span) => Math.max(shown(span.end_ms) - shown(span.start_ms), SHORTEST));
    for (const [marks, at] of [[breaks, "at_ms"], [switches, "at_ms"]]) {
      marks.attr("transform", (item) => `translate(${shown(item[at])},0)`);
    }
    axis.call(d3.axisTop(shown).tickValues(ticks(shown)).tickFormat(words));
  }

  function resize() {
    const width = picture.clientWidth;
    svg.attr("viewBox", `0 0 ${width} ${height}`);
    scale.range([NAMES, Math.max(width - 12, NAMES + 50)]);
    clip.attr("width", Math.max(width - NAMES, 0));
    zoom.extent([[NAMES, 0], [width, height]]).translateExtent([[NAMES, 0], [width, height]]);
    shown = d3.zoomTransform(svg.node()).rescaleX(scale);
    place();
  }

  new ResizeObserver(resize).observe(picture);
  for (const button of figure.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const wanted = button.dataset.zoom;
      if (wanted === "all") svg.call(zoom.transform, d3.zoomIdentity);
      else svg.call(zoom.scaleBy, wanted === "in" ? 2 : 0.5);
    });
  }

  function mark(parent, name, items, text) {
    const marks = parent.selectAll(`g.${name}`).data(items).join("g").attr("class", name);
    marks.append("line").attr("y1", TOP - 2).attr("y2", height);
    marks.append("text").attr("x", 3).attr("y", height - (name === "break" ? 3 : 14)).text(text);
    return marks;
  }
}

// Rows: turns as bands behind everything on their track; calls that overlap get rows of their own.
function layOut(data) {
  const names = [];
  const spans = [];
  let row = 0;
  data.tracks.forEach((name, track) => {
    const first = row;
    const ends = [];
    for (const span of data.spans.filter((item) => item.track === track && item.kind !== "turn")
      .sort((one, other) => one.start_ms - other.start_ms || other.end_ms - one.end_ms)) {
      let place = ends.findIndex((end) => end <= span.start_ms + 0.001);
      if (place < 0) place = ends.length;
      ends[place] = Math.max(span.end_ms, span.start_ms + 1);
      spans.push({ ...span, row: first + place });
    }
    const rows = Math.max(ends.length, 1);
    for (const turn of data.spans.filter((item) => item.kind === "turn" && item.track === track)) {
      spans.unshift({ ...turn, row: first, rows });
    }
    names.push({ name, row: first });
    row += rows + 0.5;
  });
  return { names, spans, height: row * ROW };
}

// Round amounts of time, about one every 140 pixels.
function ticks(scale) {
  const [from, to] = scale.domain();
  const wanted = (to - from) / Math.max((scale.range()[1] - scale.range()[0]) / 140, 1);
  const step = STEPS.find((size) => size >= wanted) ?? STEPS.at(-1);
  return d3.range(Math.ceil(from / step) * step, to, step);
}

function classesOf(span) {
  const isBad = ["failed", "denied"].includes(span.status);
  const classes = ["bar", span.kind, isBad ? "bad" : "", span.exit_code ? "command-error" : "", span.is_guessed ? "guessed" : ""];
  return classes.filter(Boolean).join(" ");
}

function linkTo(id, span) {
  const query = new URLSearchParams({ id });
  if (span.message !== null && span.message !== undefined) {
    query.set("message", span.message);
    return `/conversation?${query}#m-${span.message}`;
  }
  query.set("turn", span.turn);
  return `/conversation?${query}#t-${span.turn}`;
}

function told(span, data) {
  const length = span.is_guessed && span.kind === "tool" ? "time not recorded" : words(span.end_ms - span.start_ms);
  const who = span.track > 0 && span.kind !== "subagent" ? `, in ${data.tracks[span.track]}` : "";
  const state = (span.status ? `, ${span.status}` : "") + (span.exit_code ? `, exit code ${span.exit_code}` : "");
  const kind = span.kind === "turn" ? `turn ${span.turn + 1}: ` : "";
  return `${kind}${span.name}, ${length}${state}${who}`;
}

function words(ms) {
  if (ms === 0) return "0";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${rounded(ms / 1000)} s`;
  if (ms < 3600000) return `${rounded(ms / 60000)} min`;
  if (ms < 172800000) return `${rounded(ms / 3600000)} h`;
  return `${Math.round(ms / 86400000)} days`;
}

function rounded(number) {
  return Number(number.toFixed(number < 10 ? 1 : 0));
}

function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
