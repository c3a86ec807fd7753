// What a person adds to a conversation on its page: labels and a note. The star works on every page.

import { annotate, say } from "./app.js";

const labels = document.querySelector(".labels");

function showLabels(names) {
  const form = labels.lastElementChild;
  const items = names.map((name) => {
    const item = document.createElement("li");
    item.className = "chip";
    const link = document.createElement("a");
    link.href = `/?${new URLSearchParams({ label: name })}`;
    link.textContent = name;
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "quiet";
    remove.dataset.remove = name;
    remove.setAttribute("aria-label", `Remove the label ${name}`);
    remove.textContent = "×";
    item.append(link, " ", remove);
    return item;
  });
  labels.replaceChildren(...items, form);
}

labels.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-remove]");
  if (!button) return;
  const now = await annotate(labels.dataset.id, { remove_label: button.dataset.remove });
  if (now) showLabels(now.labels);
});
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.id === "add-label") {
    event.preventDefault();
    const name = form.elements.label.value.trim();
    const now = name ? await annotate(labels.dataset.id, { add_label: name }) : null;
    if (now) {
      form.elements.label.value = "";
      showLabels(now.labels);
      form.elements.label.focus();
    }
  } else if (form.id === "note-form") {
    event.preventDefault();
    const now = await annotate(form.dataset.id, { note: form.elements.note.value });
    if (now) say(now.note ? "The note was saved." : "The note was removed.");
  }
});
