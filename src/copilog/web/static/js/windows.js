// The messages of a conversation, in windows: loaded as one reads on, around a message one goes to, and at the end while
// the conversation grows.

import { say } from "./app.js";

export const stream = document.getElementById("stream");
const afterLoading = [];
let jump = new AbortController(); // going elsewhere ends what is being loaded for the place one leaves

/** Have something done whenever there is more to read. */
export function whenLoaded(action) {
  afterLoading.push(action);
}

/** See to what was loaded just now. */
export function prepare() {
  settle();
  for (const more of stream.querySelectorAll("p.more[data-load]")) watcher.observe(more);
  for (const action of afterLoading) action();
}

// --- loading --------------------------------------------------------------------------------------------------------

export async function load(address, signal) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal });
  if (!answer.ok) throw new Error(answer.status === 403 ? "the server wants its token again" : `answer ${answer.status}`);
  return answer.text();
}

export function elementsFrom(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  remember(template.content);
  return template.content;
}

/** The last window may be loaded again: what each of its pieces was like at first tells whether it has changed. */
export function remember(root) {
  for (const last of root.querySelectorAll(".window:not([data-next])")) {
    for (const piece of last.children) piece.source = piece.outerHTML;
  }
}

function messagesAddress(values) {
  return `${stream.dataset.url}&${new URLSearchParams(values)}`;
}

export function windows() {
  return [...stream.querySelectorAll(":scope > .window")];
}

/** A line at either end of what is loaded; when it comes near the screen, more is loaded. */
const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) loadMore(entry.target);
  },
  { rootMargin: "1200px 0px" },
);

function edge(side, value) {
  const line = document.createElement("p");
  line.className = "loading";
  line.dataset.side = side;
  line.dataset.at = value;
  line.textContent = side === "before" ? "Earlier messages …" : "More messages …";
  watcher.observe(line);
  return line;
}

export function placeEdges() {
  for (const line of stream.querySelectorAll(":scope > .loading")) line.remove();
  const all = windows();
  if (!all.length) return;
  const first = all[0].dataset.previous;
  const last = all.at(-1).dataset.next;
  if (first !== undefined) all[0].before(edge("before", first));
  if (last !== undefined) all.at(-1).after(edge("after", last));
}

export async function loadMore(line) {
  if (line.dataset.load) return loadInPlace(line);
  if (line.dataset.isLoading) return undefined;
  line.dataset.isLoading = "yes";
  const isBefore = line.dataset.side === "before";
  const signal = jump.signal;
  try {
    const html = await load(messagesAddress({ [isBefore ? "before" : "from"]: line.dataset.at }), signal);
    if (signal.aborted || !line.isConnected) return undefined;
    const made = elementsFrom(html);
    if (isBefore) keepPlace(windows()[0], () => line.after(made));
    else line.before(made);
    prepare();
    placeEdges();
  } catch (error) {
    if (error.name !== "AbortError") line.textContent = `These messages could not be loaded: ${error.message}`;
  }
  return undefined;
}

/** Messages of a sub-agent that were left out at first. */
async function loadInPlace(line) {
  const address = line.dataset.load;
  delete line.dataset.load;
  try {
    line.replaceWith(elementsFrom(await load(address)));
    prepare();
  } catch (error) {
    line.textContent = `These messages could not be loaded: ${error.message}`;
  }
}

/** Change the page so that an element stays where it is on the screen. */
export function keepPlace(element, change) {
  const before = element?.getBoundingClientRect().top;
  change();
  if (element?.isConnected) {
    const moved = element.getBoundingClientRect().top - before;
    if (Math.abs(moved) > 1) scrollBy({ top: moved, behavior: "instant" });
  }
}

/** Once they were laid out, messages far from the screen need not be: the browser remembers their heights. */
function settle() {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      for (const each of stream.querySelectorAll(".window.fresh")) each.classList.remove("fresh");
    }),
  );
}

// --- where one is, and going elsewhere ------------------------------------------------------------------------------

/** The message or head at the top of the screen. */
export function atTop() {
  return [...stream.querySelectorAll(".turn-head, :is(.window, .branch, .superseded) > .msg")].find(
    (each) => isUnfolded(each) && each.getBoundingClientRect().bottom > topOfText(),
  );
}

/** Whether an element is in no block of turns that is folded. */
export function isUnfolded(element) {
  return !element.closest("details.superseded:not([open])");
}

/** Where the text begins, below the bars. */
export function topOfText() {
  return matchMedia("(max-width: 44rem)").matches ? 56 : 108;
}

/** Load what is around a message in place of all that is there, unless the message is there already. */
export async function bring(id, values) {
  const there = document.getElementById(id);
  if (there) return there;
  jump.abort();
  jump = new AbortController();
  const signal = jump.signal;
  const html = await load(messagesAddress(values), signal);
  if (signal.aborted) return null;
  stream.replaceChildren(elementsFrom(html));
  prepare();
  placeEdges();
  return document.getElementById(id);
}

export function unfoldAround(element) {
  for (let at = element?.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
}

export function show(element) {
  unfoldAround(element);
  element.scrollIntoView({ behavior: "instant", block: "start" });
  // What is above was not laid out before it came near, and may have another height now.
  requestAnimationFrame(() => element.scrollIntoView({ behavior: "instant", block: "start" }));
}

export async function goToMessage(number) {
  try {
    const element = await bring(`m-${number}`, { around: number });
    if (!element) return null;
    if (element.tagName === "DETAILS") element.open = true;
    for (const each of stream.querySelectorAll(".is-target")) each.classList.remove("is-target");
    element.classList.add("is-target");
    show(element);
    return element;
  } catch (error) {
    if (error.name !== "AbortError") say(`This message could not be loaded: ${error.message}`, true);
    return null;
  }
}

// --- growth ---------------------------------------------------------------------------------------------------------

const MOST_WINDOWS_AT_ONCE = 5;
let isGrowing = false;
let mustGrowAgain = false;

/**
 * Show what was added at the end. Who reads further up is not disturbed; who is at the end stays there. Then do
 * something else, too.
 */
export async function grow(also) {
  if (isGrowing) {
    mustGrowAgain = true;
    return;
  }
  isGrowing = true;
  try {
    do {
      mustGrowAgain = false;
      const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
      const last = windows().at(-1);
      if (last && last.dataset.next === undefined) await refresh(last);
      if (isAtEnd) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
      await also();
    } while (mustGrowAgain);
  } catch (error) {
    if (error.name !== "AbortError") say(`New messages could not be loaded: ${error.message}`, true);
  } finally {
    isGrowing = false;
  }
}

/** The last window once more, and those that came after it. What is the same is not touched, so nothing moves. */
async function refresh(last) {
  const signal = jump.signal;
  const made = elementsFrom(await load(messagesAddress({ from: last.dataset.first }), signal));
  const fresh = made.querySelector(".window");
  if (signal.aborted || !last.isConnected || !fresh) return;
  let same = 0;
  while (last.children[same] && last.children[same].source === fresh.children[same]?.outerHTML) same += 1;
  copyFolds(last, fresh);
  while (last.children[same]) last.children[same].remove();
  last.append(...[...fresh.children].slice(same));
  last.classList.add("fresh");
  if (fresh.dataset.next !== undefined) last.dataset.next = fresh.dataset.next;
  prepare();
  placeEdges();
  for (let count = 0; count < MOST_WINDOWS_AT_ONCE; count += 1) {
    const line = stream.querySelector(":scope > .loading[data-side='after']");
    if (!line || signal.aborted) return;
    await loadMore(line);
  }
}

/** What is open stays open: details are the same when they are the n-th of the same message. */
function copyFolds(old, made) {
  for (const message of old.querySelectorAll("[id^='m-'], [id^='t-']")) {
    const twin = made.querySelector(`#${CSS.escape(message.id)}`);
    if (!twin) continue;
    const twins = twin.querySelectorAll("details");
    message.querySelectorAll("details").forEach((each, index) => {
      if (twins[index]) twins[index].open = each.open;
    });
  }
}
