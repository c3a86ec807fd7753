// Words in a conversation: the server finds the messages, loaded or not; here the places in them are shown.

import { say } from "./app.js";
import { atTop, goToMessage, load, topOfText, unfoldAround, whenLoaded, windows } from "./windows.js";

const find = { words: "", messages: [], at: -1, ranges: [], range: -1 };
const counter = document.getElementById("find-count");

async function findWords(words) {
  Object.assign(find, { words, messages: [], at: -1, ranges: [], range: -1 });
  if (words.trim()) {
    const form = document.getElementById("find");
    const found = JSON.parse(await load(`${form.dataset.url}&${new URLSearchParams({ q: words })}`));
    if (find.words !== words) return;
    find.messages = found.messages;
  }
  markHits();
  tellCount();
}

function tellCount() {
  if (!find.words.trim()) counter.textContent = "";
  else if (!find.messages.length) counter.textContent = "nothing";
  else counter.textContent = `${find.at < 0 ? "" : `${find.at + 1} of `}${find.messages.length}`;
}

/** Where the words stand in the text of an element; text that is folded counts too. */
function rangesIn(element, words) {
  const ranges = [];
  const wanted = words.trim().toLowerCase();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let text = "";
  const nodes = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest(".raw, .anchor, .unseen, .split-view")) continue;
    nodes.push([text.length, node]);
    const lower = node.data.toLowerCase();
    text += lower.length === node.data.length ? lower : node.data;
  }
  let index = 0;
  const place = (offset) => {
    while (index + 1 < nodes.length && nodes[index + 1][0] <= offset) index += 1;
    return [nodes[index][1], Math.min(offset - nodes[index][0], nodes[index][1].data.length)];
  };
  for (let at = text.indexOf(wanted); at >= 0 && ranges.length < 500; at = text.indexOf(wanted, at + wanted.length)) {
    const range = new Range();
    range.setStart(...place(at));
    range.setEnd(...place(at + wanted.length - 1));
    range.setEnd(range.endContainer, Math.min(range.endOffset + 1, range.endContainer.data.length));
    ranges.push(range);
  }
  return ranges;
}

/** Highlight all hits that are loaded, without touching the page. */
function markHits() {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.delete("hits");
  if (!find.words.trim()) {
    CSS.highlights.delete("hit");
    return;
  }
  const ranges = windows().flatMap((each) => rangesIn(each, find.words)).slice(0, 5000);
  if (ranges.length) CSS.highlights.set("hits", new Highlight(...ranges));
}

/** To the next place in this message, else to the next message that holds the words. */
export async function goHit(step) {
  if (!find.messages.length) return;
  const next = find.range + step;
  if (find.at >= 0 && next >= 0 && next < find.ranges.length) {
    find.range = next;
    showHit();
    return;
  }
  const count = find.messages.length;
  find.at = find.at < 0 ? nearestHit(step) : (find.at + step + count) % count;
  tellCount();
  const element = await goToMessage(find.messages[find.at]);
  find.ranges = element ? rangesIn(element, find.words).filter((range) => isOwn(range, element)) : [];
  find.range = step > 0 ? 0 : find.ranges.length - 1;
  if (find.ranges.length) showHit();
}

/** Whether a place belongs to this message and not to one that is shown in it. */
function isOwn(range, element) {
  return range.startContainer.parentElement.closest("[id^='m-']") === element;
}

function nearestHit(step) {
  const here = Number(atTop()?.id.replace(/^m-/, ""));
  if (Number.isNaN(here)) return step > 0 ? 0 : find.messages.length - 1;
  const after = find.messages.findIndex((message) => message >= here);
  if (step > 0) return after < 0 ? 0 : after;
  return after <= 0 ? find.messages.length - 1 : after - 1;
}

function showHit() {
  const range = find.ranges[find.range];
  unfoldAround(range.startContainer);
  if (globalThis.CSS?.highlights) CSS.highlights.set("hit", new Highlight(range));
  const box = range.getBoundingClientRect();
  const isSeen = box.top > topOfText() && box.bottom < innerHeight - 20;
  if (!isSeen) scrollBy({ top: box.top - innerHeight / 3, behavior: "instant" });
}

let typing = 0;
let looking = Promise.resolve(); // Enter waits for what is being looked for
const lookFor = (words) => (looking = findWords(words));
const field = document.getElementById("find-words");
field.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => lookFor(field.value).catch(() => {}), 200);
});
document.getElementById("find").addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(typing);
  try {
    if (find.words !== field.value) lookFor(field.value);
    await looking;
    await goHit(1);
  } catch (error) {
    say(`The search failed: ${error.message}`, true);
  }
});
document.getElementById("find-next").addEventListener("click", () => goHit(1));
document.getElementById("find-previous").addEventListener("click", () => goHit(-1));
whenLoaded(markHits);
if (field.value) lookFor(field.value).then(() => goHit(1), () => {});
