// What every page does: the theme, short messages, copy buttons, stars and labels, and errors of parts of pages.

import { shortcut, showShortcuts } from "./keyboard.js";

// --- theme ----------------------------------------------------------------------------------------------------------

const root = document.documentElement;

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("copilog-theme", root.dataset.theme);
  } catch {
    // then it lasts as long as the page
  }
  // Pictures that were drawn with the colours of the other theme listen to this.
  document.dispatchEvent(new CustomEvent("copilog:theme", { detail: { theme: root.dataset.theme } }));
}

document.getElementById("theme")?.addEventListener("click", switchTheme);
document.getElementById("show-shortcuts")?.addEventListener("click", showShortcuts);
shortcut("T", "Switch between light and dark", switchTheme);

// --- short messages -------------------------------------------------------------------------------------------------

/** Say something for a few seconds at the edge of the page. */
export function say(text, isBad = false) {
  const toasts = document.getElementById("toasts");
  if (!toasts) return;
  const toast = document.createElement("p");
  toast.className = isBad ? "toast bad" : "toast";
  toast.textContent = text;
  toasts.append(toast);
  setTimeout(() => toast.remove(), Math.max(isBad ? 8000 : 3000, 60 * text.length));
}

document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  const words = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html").body.textContent;
  say(status === 403 ? "The token is no longer valid: open the address that `copilog serve` printed." : words.trim(), true);
});
document.addEventListener("htmx:sendError", () => say("The viewer does not respond; is `copilog serve` still running?", true));

// --- copying --------------------------------------------------------------------------------------------------------

/** Put text on the clipboard; true when it is there. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyTheOldWay(text);
  }
}

/** Where the page is not on this machine, browsers have no clipboard for it. */
function copyTheOldWay(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  document.body.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } finally {
    field.remove();
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const text = button.dataset.copy ?? button.closest(".code")?.querySelector("pre")?.textContent;
  if (text === undefined) return;
  const words = button.textContent;
  button.textContent = (await copy(text)) ? "Copied" : "Not copied";
  setTimeout(() => {
    button.textContent = words;
  }, 1500);
});

// --- stars, labels, notes -------------------------------------------------------------------------------------------

/** Change what a person added to a conversation: star, add_label, remove_label, note. Resolves to how it is now. */
export async function annotate(id, changes) {
  const answer = await fetch("/annotate", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ id, ...changes }),
  });
  if (!answer.ok) {
    say("This could not be saved: " + ((await answer.json().catch(() => null))?.error ?? answer.statusText), true);
    return null;
  }
  return answer.json();
}

// <button class="star" data-id="..." aria-pressed="false"> works on any page.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.star[data-id]");
  if (!button) return;
  event.preventDefault();
  const now = await annotate(button.dataset.id, { star: button.getAttribute("aria-pressed") !== "true" });
  if (now) button.setAttribute("aria-pressed", String(now.is_starred));
});

// --- exports --------------------------------------------------------------------------------------------------------

// The browser saves the file; meanwhile ask what it cannot contain.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.getAttribute("action") !== "/export") return;
  const answer = await fetch(`/export/left-out?${new URLSearchParams(new FormData(form))}`);
  if (!answer.ok) return;
  const { left_out: lines } = await answer.json();
  if (lines.length) say(`Not in the file: ${lines.join("; ")}`);
});
