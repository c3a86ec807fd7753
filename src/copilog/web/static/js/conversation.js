// The page of a conversation: its turns, folding, links to messages, raw JSON in a dialog, and keys.
// windows.js loads messages, finding.js finds words in them, annotations.js keeps labels and notes.

import "./annotations.js";
import { copy, say } from "./app.js";
import { goHit } from "./finding.js";
import { shortcut } from "./keyboard.js";
import {
  atTop,
  bring,
  elementsFrom,
  goToMessage,
  grow,
  isUnfolded,
  keepPlace,
  load,
  loadMore,
  placeEdges,
  prepare,
  remember,
  show,
  stream,
  topOfText,
  whenLoaded,
  windows,
} from "./windows.js";

// --- turns ----------------------------------------------------------------------------------------------------------

async function goToTurn(turn) {
  try {
    const head = await bring(`t-${turn}`, { turn });
    if (head) show(head);
    markTurn(turn);
  } catch (error) {
    if (error.name !== "AbortError") say(`This turn could not be loaded: ${error.message}`, true);
  }
}

function turnHere() {
  const top = topOfText() + 16;
  const isAbove = (each) => each.getBoundingClientRect().top <= top;
  // Windows first: of thousands of heads only a few are measured at each step. A turn may begin in a window before.
  const all = windows();
  const above = all.slice(0, all.findLastIndex(isAbove) + 1);
  for (const each of above.reverse()) {
    const head = [...each.querySelectorAll("[data-turn]")].findLast((one) => isUnfolded(one) && isAbove(one));
    if (head) return Number(head.dataset.turn);
  }
  const first = stream.querySelector("[data-turn]");
  return first ? Number(first.dataset.turn) : null;
}

function goTurns(step) {
  const links = [...document.querySelectorAll("#outline a[data-turn]")];
  const here = links.findIndex((link) => Number(link.dataset.turn) === turnHere());
  let at = here + step;
  while (links[at]?.dataset.superseded !== undefined) at += step; // turns that no longer count are passed over
  const next = links[Math.max(0, Math.min(links.length - 1, at))];
  if (next) goToTurn(Number(next.dataset.turn));
}

// --- the outline ----------------------------------------------------------------------------------------------------

function markTurn(turn) {
  const outline = document.getElementById("outline");
  const marked = outline.querySelector("a[aria-current]");
  const link = outline.querySelector(`a[data-turn="${turn}"]`);
  if (marked === link) return;
  marked?.removeAttribute("aria-current");
  link?.setAttribute("aria-current", "true");
  const box = document.getElementById("outline-box");
  if (link && box.scrollHeight > box.clientHeight) {
    const [inner, outer] = [link.getBoundingClientRect(), box.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      box.scrollTop += inner.top - outer.top - box.clientHeight / 3;
    }
  }
}

let isMarking = false;
addEventListener(
  "scroll",
  () => {
    if (isMarking) return;
    isMarking = true;
    requestAnimationFrame(() => {
      isMarking = false;
      const turn = turnHere();
      if (turn !== null) markTurn(turn);
    });
  },
  { passive: true },
);

async function refreshOutline() {
  const outline = document.getElementById("outline");
  outline.innerHTML = await load(outline.dataset.load);
  const facts = outline.querySelector("template");
  document.getElementById("conv-facts").replaceChildren(facts.content);
  facts.remove();
  document.querySelector("#outline-box .fact").textContent = outline.querySelectorAll("a[data-turn]:not([data-superseded])").length;
  const turn = turnHere();
  if (turn !== null) markTurn(turn);
}

document.addEventListener("copilog:changed", (event) => {
  const { ids = [], count = ids.length } = event.detail ?? {};
  if (ids.includes(stream.dataset.id) || count > ids.length) grow(refreshOutline);
});

// --- folding --------------------------------------------------------------------------------------------------------

const unfolded = { thinking: false, calls: false };

// What was loaded just now follows what was chosen before.
whenLoaded(() => {
  if (unfolded.thinking) for (const each of stream.querySelectorAll("details.thought")) each.open = true;
  if (unfolded.calls) for (const each of stream.querySelectorAll("details.call")) each.open = true;
});

function toggle(what, selector, button) {
  unfolded[what] = !unfolded[what];
  document.getElementById(button).setAttribute("aria-pressed", String(unfolded[what]));
  keepPlace(atTop(), () => {
    for (const each of stream.querySelectorAll(selector)) each.open = unfolded[what];
  });
}

function toggleDiffs() {
  const isSplit = stream.dataset.diffs !== "split";
  keepPlace(atTop(), () => {
    stream.dataset.diffs = isSplit ? "split" : "unified";
  });
  document.getElementById("toggle-diffs").setAttribute("aria-pressed", String(isSplit));
  try {
    localStorage.setItem("copilog-diffs", stream.dataset.diffs);
  } catch {
    // then it lasts as long as the page
  }
}

// --- links, raw JSON, what is loaded when it is opened --------------------------------------------------------------

document.addEventListener("click", async (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a");
  if (!link) return;
  if (link.matches("a.anchor")) {
    event.preventDefault();
    history.replaceState(null, "", link.href);
    say((await copy(link.href)) ? "Copied the link to this message." : link.href);
  } else if (link.matches("a.raw")) {
    event.preventDefault();
    showRaw(link.href);
  } else if (link.dataset.turn !== undefined) {
    event.preventDefault();
    goToTurn(Number(link.dataset.turn));
  } else if (link.closest("p.more")) {
    event.preventDefault();
    loadMore(link.closest("p.more"));
  }
});

async function showRaw(address) {
  const dialog = document.getElementById("raw-dialog");
  const body = dialog.querySelector(".raw-body");
  body.textContent = "Loading …";
  if (!dialog.open) dialog.showModal();
  try {
    body.innerHTML = await load(address);
  } catch (error) {
    body.textContent = `Loading failed: ${error.message}`;
  }
}

document.getElementById("raw-dialog").addEventListener("click", (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close(); // beside it
});

const panel = document.getElementById("panel");
panel.addEventListener("toggle", async () => {
  if (!panel.open || panel.dataset.isLoaded) return;
  panel.dataset.isLoaded = "yes";
  panel.querySelector("p.note").textContent = "Loading …";
  try {
    panel.querySelector("p.note").replaceWith(elementsFrom(await load(panel.dataset.load)));
  } catch (error) {
    delete panel.dataset.isLoaded;
    panel.querySelector("p.note").textContent = `Loading failed: ${error.message}`;
  }
});

// --- keys and the beginning -----------------------------------------------------------------------------------------

const toggleThinking = () => toggle("thinking", "details.thought", "toggle-thinking");
const toggleCalls = () => toggle("calls", "details.call", "toggle-calls");
document.getElementById("toggle-thinking").addEventListener("click", toggleThinking);
document.getElementById("toggle-calls").addEventListener("click", toggleCalls);
document.getElementById("toggle-diffs").addEventListener("click", toggleDiffs);
shortcut("j", "Next turn", () => goTurns(1));
shortcut("k", "Previous turn", () => goTurns(-1));
shortcut("n", "Next hit", () => goHit(1));
shortcut("p", "Previous hit", () => goHit(-1));
shortcut("t", "Fold or unfold thinking", toggleThinking);
shortcut("e", "Fold or unfold all tool calls", toggleCalls);
shortcut("d", "Diffs side by side or in one column", toggleDiffs);
shortcut("u", "Back to the library", () => document.getElementById("back").click());

if (matchMedia("(max-width: 62rem)").matches) document.getElementById("outline-box").open = false;
try {
  if (localStorage.getItem("copilog-diffs") === "split") toggleDiffs();
} catch {
  // then as usual
}
remember(stream);
placeEdges();
prepare();
if (document.querySelector("#outline[data-is-late]")) refreshOutline().catch(() => {});
const wanted = stream.dataset.wanted;
const named = location.hash.match(/^#([mt])-(\d+)$/);
if (named?.[1] === "m") goToMessage(Number(named[2]));
else if (named) goToTurn(Number(named[2]));
else if (wanted !== undefined) goToMessage(Number(wanted));
addEventListener("hashchange", () => {
  const [, kind, number] = location.hash.match(/^#([mt])-(\d+)$/) ?? [];
  if (kind === "m") goToMessage(Number(number));
  else if (kind === "t") goToTurn(Number(number));
});
