// Shortcuts of all pages. They never act while somebody types into a field, nor with Ctrl, Alt or Meta held.

const shortcuts = new Map();

/** Let a key do something: `shortcut("j", "Next conversation", () => ...)`. The key is as KeyboardEvent.key has it. */
export function shortcut(key, description, action) {
  shortcuts.set(key, { description, action });
}

/** Whether keys belong to the element: a field, or text that can be edited. */
export function isTyping(target) {
  if (!(target instanceof Element)) return false;
  if (target.closest("textarea, select, [contenteditable=''], [contenteditable='true']")) return true;
  const field = target.closest("input");
  return field !== null && !["checkbox", "radio", "button", "submit", "reset", "range", "file"].includes(field.type);
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.key === "Escape") {
    leave(event);
    return;
  }
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  // Enter and space press what is focused.
  if ((event.key === "Enter" || event.key === " ") && event.target.closest?.("a, button, summary, input")) return;
  const found = shortcuts.get(event.key);
  if (found && found.action(event) !== false) event.preventDefault();
}

/** Escape leaves a field first; then the page may have a meaning for it. A dialog closes by itself. */
function leave(event) {
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    event.preventDefault(); // browsers would empty a search field, and the list would still show what was looked for
    event.target.blur();
    return;
  }
  const found = shortcuts.get("Escape");
  if (found && found.action(event) !== false) event.preventDefault();
}

const NAMES = { Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "Space" };

/** Open the dialog that lists all shortcuts of this page. */
export function showShortcuts() {
  const dialog = document.getElementById("shortcuts");
  if (!dialog || dialog.open) return;
  const list = dialog.querySelector("dl");
  list.replaceChildren();
  for (const [key, { description }] of shortcuts) {
    const name = document.createElement("dt");
    const label = document.createElement("kbd");
    label.textContent = NAMES[key] ?? key;
    name.append(label);
    const meaning = document.createElement("dd");
    meaning.textContent = description;
    list.append(name, meaning);
  }
  dialog.showModal();
}

shortcut("?", "Show these shortcuts", showShortcuts);
shortcut("/", "Search", () => {
  const field = document.querySelector("input[type='search']");
  if (!field) return false;
  field.focus();
  field.select();
  return true;
});
document.addEventListener("keydown", onKey);
