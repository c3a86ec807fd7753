// The dashboard: fetches what the pictures show, draws them when there is room and again when that changes, and lets
// keyboards walk through them. Without this the page has its tables.

import { draw } from "./charts.js";

let drawn = null; // the charts on the page, by their keys
let widths = new WeakMap(); // of elements, when they were drawn last
let asked = 0;

async function load() {
  const board = document.getElementById("dashboard");
  const places = board ? [...board.querySelectorAll("[data-chart]")] : [];
  const turn = ++asked;
  resizes.disconnect();
  if (!places.length || !globalThis.Plot) return; // without the libraries, the tables say the same
  const charts = board.dataset.charts ? JSON.parse(board.dataset.charts) : await fetched(board.dataset.source);
  if (!charts || turn !== asked) return; // somebody has asked for something else in the meantime
  drawn = new Map(charts.map((chart) => [chart.key, chart]));
  widths = new WeakMap();
  for (const place of places) {
    show(place);
    resizes.observe(place);
  }
  board.dataset.drawn = "yes";
}

async function fetched(source) {
  const answer = await fetch(source, { headers: { Accept: "application/json" } });
  return answer.ok ? (await answer.json()).charts : null;
}

function show(place) {
  const chart = drawn?.get(place.dataset.chart);
  const width = place.clientWidth;
  if (!chart || !width || widths.get(place) === width) return;
  widths.set(place, width);
  const focused = [...place.querySelectorAll("a")].indexOf(document.activeElement);
  draw(place, chart);
  reachable(place);
  if (focused >= 0) place.querySelectorAll("a")[focused]?.focus();
}

const resizes = new ResizeObserver((entries) => {
  requestAnimationFrame(() => entries.forEach(({ target }) => show(target)));
});

// --- keyboard: Tab goes to a picture, arrows walk through it -----------------------------------------------------------

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function reachable(place) {
  place.querySelectorAll("a").forEach((link, at) => link.setAttribute("tabindex", at ? "-1" : "0"));
}

document.addEventListener("keydown", (event) => {
  const link = event.target.closest?.(".picture a");
  if (!link || event.ctrlKey || event.altKey || event.metaKey) return;
  const links = [...link.closest(".picture").querySelectorAll("a")];
  const at = links.indexOf(link);
  const wanted = { Home: 0, End: links.length - 1 }[event.key] ?? (STEPS[event.key] ? at + STEPS[event.key] : null);
  if (wanted === null || !links[wanted]) return;
  event.preventDefault();
  links.forEach((one, place) => one.setAttribute("tabindex", place === wanted ? "0" : "-1"));
  links[wanted].focus();
});

// --- words beside what one points at ------------------------------------------------------------------------------------

const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true"); // the links say the same
document.body.append(tip);

function point(shape, x, y) {
  tip.textContent = shape.dataset.words;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, x - width / 2), innerWidth - width - 8);
  const top = y - height - 14 > 0 ? y - height - 14 : y + 18;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

document.addEventListener("pointermove", (event) => {
  const shape = event.target.closest?.(".picture [data-words]");
  if (shape) point(shape, event.clientX, event.clientY);
  else tip.hidden = true;
});
document.addEventListener("focusin", (event) => {
  const shape = event.target.closest?.(".picture a")?.querySelector("[data-words]");
  if (!shape || !event.target.matches(":focus-visible")) {
    tip.hidden = true;
    return;
  }
  const { left, top, width } = shape.getBoundingClientRect();
  point(shape, left + width / 2, top);
});
document.addEventListener("focusout", () => {
  tip.hidden = true;
});
document.addEventListener("scroll", () => {
  tip.hidden = true;
}, { passive: true, capture: true });

// --- when ---------------------------------------------------------------------------------------------------------------

// Addresses say only what was asked for.
document.addEventListener("htmx:configRequest", (event) => {
  if (!event.target.closest?.("#dashboard")) return;
  const { parameters } = event.detail;
  for (const [name, value] of [...parameters.entries()]) if (value === "") parameters.delete(name);
});
document.addEventListener("htmx:afterSwap", load);
// Whoever reads is not interrupted: the page offers to measure again.
document.addEventListener("copilog:changed", () => {
  const fresh = document.getElementById("fresh");
  if (fresh) fresh.hidden = false;
});
load();
