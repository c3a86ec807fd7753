// The library: search while one types, filters in the address, keys, selection, and what changes meanwhile.
// Everything works without this too, one whole page at a time.

import { say } from "./app.js";
import { shortcut } from "./keyboard.js";

const TYPING_PAUSE_MS = 150;
const NEAR = "1200px"; // how far ahead of the reader more rows are asked for
const KEPT_FACETS = "copilog-facets";
const KEPT_PLACE = "copilog-library-place";

const library = document.getElementById("library");
const form = document.getElementById("find");
const field = document.getElementById("q");
const fresh = document.getElementById("fresh");
const told = document.getElementById("told");

function remember(storage, key, value) {
  try {
    storage.setItem(key, JSON.stringify(value));
  } catch {
    // then nothing is remembered
  }
}

function remembered(storage, key) {
  try {
    return JSON.parse(storage.getItem(key));
  } catch {
    return null;
  }
}

// --- views and addresses --------------------------------------------------------------------------------------------

/** The address that the form asks for, without what it leaves open. */
function addressOfForm() {
  const wanted = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value.trim()) wanted.append(name, value.trim());
  }
  const usual = wanted.has("q") ? "best" : "newest";
  const before = form.dataset.searched === "yes" ? "best" : "newest";
  // Who begins to search wants the best first, who ends it the newest, unless another order was chosen.
  if (wanted.get("sort") === usual || wanted.get("sort") === before) wanted.delete("sort");
  const query = wanted.toString();
  return query ? "/?" + query : "/";
}

let asking = new AbortController();

/** Show another view. `how` is what becomes of the history: push, replace, or nothing. The last one asked for wins. */
async function show(address, how) {
  if (how === "push") history.pushState({ library: "chosen" }, "", address);
  if (how === "replace") history.replaceState({ library: "typed" }, "", address);
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  library.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal });
    const text = await answer.text();
    if (answer.ok) put(text);
    else say(new DOMParser().parseFromString(text, "text/html").body.textContent.trim(), true);
  } catch {
    if (signal.aborted) return;
    say("The viewer does not respond; is `copilog serve` still running?", true);
  }
  library.removeAttribute("aria-busy");
}

let shown = location.pathname + location.search;

function showTyped() {
  const address = addressOfForm();
  if (address === shown) return;
  // The first letter begins a new entry of the history, the others change it: back leads to before the search.
  const isGoingOn = history.state?.library === "typed";
  if (!isGoingOn) history.pushState({ library: "typed" }, "", address);
  shown = address;
  toTop();
  show(address, isGoingOn ? "replace" : "");
}

function showChosen(address) {
  shown = address;
  toTop();
  show(address, "push");
}

function toTop() {
  scrollTo({ top: 0, behavior: "instant" });
}

let pause = 0;
form.addEventListener("input", (event) => {
  if (event.target !== field) return;
  clearTimeout(pause);
  pause = setTimeout(showTyped, TYPING_PAUSE_MS);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(pause);
  showTyped();
});
document.addEventListener("change", (event) => {
  if (event.target.name === "sort") showChosen(addressWithSort(event.target.value));
  if (event.target.name === "id") countSelected();
});

function addressWithSort(sort) {
  const wanted = new URLSearchParams(location.search);
  wanted.delete("from");
  wanted.set("sort", sort);
  return "/?" + wanted;
}

library.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-view]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  showChosen(link.getAttribute("href"));
  field.value = new URLSearchParams(location.search).get("q") ?? "";
});

addEventListener("popstate", () => {
  shown = location.pathname + location.search;
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  show(shown, "");
});

// --- what stays when the list is another ----------------------------------------------------------------------------

/** Put another list in place of the one that is there; selection and cursor stay with their conversations. */
function put(text) {
  const selected = new Set(checkedBoxes().map((box) => box.value));
  const current = currentRow()?.dataset.id;
  library.innerHTML = text;
  ready();
  globalThis.htmx?.process(library);
  known();
  for (const box of library.querySelectorAll("input[name='id']")) box.checked = selected.has(box.value);
  countSelected();
  if (current) rowOf(current)?.querySelector(".title").focus({ preventScroll: true });
  told.textContent = document.getElementById("matching")?.textContent ?? "";
  hideFresh();
}

/** What is done to each list that comes. */
function ready() {
  form.dataset.searched = new URLSearchParams(location.search).has("q") ? "yes" : "no";
  const kept = remembered(localStorage, KEPT_FACETS) ?? {};
  for (const facet of library.querySelectorAll("details[data-facet]")) {
    const isOpen = kept[facet.dataset.facet];
    if (isOpen !== undefined && !facet.querySelector(".chosen")) facet.open = isOpen;
  }
  const panel = library.querySelector(".panel");
  if (panel && matchMedia("(max-width: 56rem)").matches) panel.open = form.dataset.panel === "open";
}

/** What is done as soon as htmx knows what has come. */
function known() {
  if (!globalThis.htmx) return; // links lead to whole pages then
  watchForMore();
  // What is open from the beginning is not opened by anybody.
  for (const later of library.querySelectorAll("details[open] > .later")) htmx.trigger(later, "asked");
}

document.addEventListener("htmx:load", () => {
  joinRepeated();
  known();
});

// Clicks, and not toggles: a page that opens facets by itself is not what somebody wants to be remembered.
library.addEventListener("click", (event) => {
  const details = event.target.closest("summary")?.parentElement;
  if (!details) return;
  if (details.classList.contains("panel")) form.dataset.panel = details.open ? "closed" : "open";
  if (!details.dataset.facet) return;
  const kept = remembered(localStorage, KEPT_FACETS) ?? {};
  kept[details.dataset.facet] = !details.open;
  remember(localStorage, KEPT_FACETS, kept);
});

// --- more rows ------------------------------------------------------------------------------------------------------

const seer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seer.unobserve(entry.target);
      htmx.trigger(entry.target, "near");
    }
  },
  { rootMargin: NEAR },
);

function watchForMore() {
  const link = library.querySelector(".more a");
  if (link) seer.observe(link);
}

/** A conversation may have more hits on the next page, or have moved there: it stays one row. */
function joinRepeated() {
  const seen = new Map();
  for (const row of library.querySelectorAll(".conversation")) {
    const first = seen.get(row.dataset.id);
    if (!first) {
      seen.set(row.dataset.id, row);
      continue;
    }
    const hits = row.querySelectorAll(".found > li");
    first.querySelector(".found")?.append(...hits);
    row.remove();
  }
}

// Who comes back from a conversation finds the list as it was, as far down as it was.
addEventListener("pagehide", () => {
  const rows = library.querySelectorAll(".conversation").length;
  const row = document.activeElement?.closest?.(".conversation");
  remember(sessionStorage, KEPT_PLACE, { address: location.search, rows, id: row?.dataset.id, top: scrollY });
});

async function comeBack() {
  const [entry] = performance.getEntriesByType("navigation");
  const place = remembered(sessionStorage, KEPT_PLACE);
  if (entry?.type !== "back_forward" || !place || place.address !== location.search) return;
  const link = library.querySelector(".more a");
  const there = library.querySelectorAll(".conversation").length;
  if (link && globalThis.htmx && place.rows > there && !new URLSearchParams(location.search).has("q")) {
    const address = link.getAttribute("hx-get") + "&rows=" + (place.rows - there);
    seer.unobserve(link);
    await htmx.ajax("GET", address, { source: link, target: link.closest("li"), swap: "outerHTML" });
  }
  if (place.id) rowOf(place.id)?.querySelector(".title").focus({ preventScroll: true });
  scrollTo({ top: place.top, behavior: "instant" });
}

// --- keys -----------------------------------------------------------------------------------------------------------

const rows = () => [...library.querySelectorAll(".conversation")];
const rowOf = (id) => rows().find((row) => row.dataset.id === id);
const currentRow = () => document.activeElement?.closest?.(".conversation") ?? null;
let last = null; // where the cursor was, when it is nowhere

/** Move the cursor, which is the focus: browsers open what it is on, and readers of screens say it. */
function move(step) {
  const all = rows();
  if (!all.length) return false;
  const from = all.indexOf(currentRow() ?? (last && rowOf(last)));
  const next = all[from < 0 ? 0 : Math.min(Math.max(from + (currentRow() ? step : 0), 0), all.length - 1)];
  next.querySelector(".title").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}

library.addEventListener("focusin", (event) => {
  const row = event.target.closest(".conversation");
  if (row) last = row.dataset.id;
});

function onCurrent(action) {
  return () => {
    const row = currentRow();
    if (!row) return false;
    action(row);
    return true;
  };
}

shortcut("j", "Next conversation", () => move(1));
shortcut("k", "Conversation before", () => move(-1));
shortcut("Enter", "Open the conversation", onCurrent((row) => row.querySelector(".title").click()));
shortcut("s", "Add or remove its star", onCurrent((row) => row.querySelector(".star").click()));
shortcut("x", "Select it for export", onCurrent((row) => row.querySelector("input[name='id']").click()));
shortcut("Escape", "Leave the search field; leave the list", () => {
  if (!currentRow()) return false;
  document.activeElement.blur();
  return true;
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" || event.isComposing) return;
  event.preventDefault();
  last = null;
  move(0);
});

// --- selection ------------------------------------------------------------------------------------------------------

const checkedBoxes = () => [...library.querySelectorAll("input[name='id']:checked")];

function countSelected() {
  const number = checkedBoxes().length;
  const words = document.getElementById("selected");
  if (words) words.textContent = number === 1 ? "1 conversation selected" : `${number} conversations selected`;
}

library.addEventListener("click", (event) => {
  if (event.target.id !== "unselect") return;
  for (const box of checkedBoxes()) box.checked = false;
  countSelected();
});

// --- what changes meanwhile -----------------------------------------------------------------------------------------

let changed = new Set();

function hideFresh() {
  changed = new Set();
  fresh.hidden = true;
}

function refresh() {
  show(location.pathname + location.search, "");
}

document.addEventListener("copilog:changed", (event) => {
  for (const id of event.detail.ids ?? []) changed.add(id);
  const isReading = scrollY > 100 || currentRow() || checkedBoxes().length || location.search.includes("from=");
  if (!isReading) {
    refresh();
    return;
  }
  const number = Math.max(changed.size, event.detail.count ?? 0);
  fresh.textContent = `${number} new or changed: show`;
  fresh.hidden = false;
});
fresh.addEventListener("click", () => {
  toTop();
  refresh();
});

ready();
countSelected();
comeBack();
