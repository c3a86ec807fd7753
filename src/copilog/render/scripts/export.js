// The find box of an exported page, and the mark of the turn in view. The page can be read without it.
// It reads texts and opens folds; it never turns a text into markup, and fetches nothing.
(() => {
  "use strict";
  const MOST_HITS = 2000;
  const box = document.querySelector(".find-box");
  if (!box) return;
  const input = box.querySelector("input");
  const count = box.querySelector("output");
  const canMark = typeof Highlight === "function" && CSS.highlights;
  let hits = [];
  let current = -1;
  let pending = 0;

  // The texts of one message (or heading), with the place of each text node in them.
  function textsOf(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const nodes = [];
    let text = "";
    while (walker.nextNode()) {
      nodes.push([text.length, walker.currentNode]);
      text += walker.currentNode.data;
    }
    const folded = text.toLowerCase();
    return { nodes, text: folded.length === text.length ? folded : text };
  }

  function place(nodes, at) {
    let low = 0;
    let high = nodes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (nodes[middle][0] <= at) low = middle;
      else high = middle - 1;
    }
    return [nodes[low][1], at - nodes[low][0]];
  }

  function find(wanted) {
    const found = [];
    for (const element of document.querySelectorAll(".conv-head h1, .turn-head, .msg, .turn-foot")) {
      if (element.parentElement.closest(".msg")) continue;
      const { nodes, text } = textsOf(element);
      let at = text.indexOf(wanted);
      while (at >= 0 && found.length < MOST_HITS) {
        const range = new Range();
        range.setStart(...place(nodes, at));
        const [last, offset] = place(nodes, at + wanted.length - 1);
        range.setEnd(last, offset + 1);
        found.push(range);
        at = text.indexOf(wanted, at + wanted.length);
      }
      if (found.length >= MOST_HITS) break;
    }
    return found;
  }

  function mark() {
    if (!canMark) return;
    CSS.highlights.set("hits", new Highlight(...hits));
    if (current >= 0) CSS.highlights.set("hit", new Highlight(hits[current]));
    else CSS.highlights.delete("hit");
  }

  function show(index) {
    current = hits.length ? (index + hits.length) % hits.length : -1;
    mark();
    const more = hits.length >= MOST_HITS ? "+" : "";
    count.textContent = input.value.trim() ? (current < 0 ? "no hit" : `${current + 1} of ${hits.length}${more}`) : "";
    if (current < 0) return;
    const element = hits[current].startContainer.parentElement;
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    element.scrollIntoView({ block: "center" });
  }

  function search() {
    pending = 0;
    const wanted = input.value.trim().toLowerCase();
    hits = wanted ? find(wanted) : [];
    show(0);
  }

  input.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(search, 150);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (pending) {
        clearTimeout(pending);
        search();
      } else show(current + (event.shiftKey ? -1 : 1));
    } else if (event.key === "Escape") {
      input.value = "";
      search();
      input.blur();
    }
  });
  box.querySelector(".find-before").addEventListener("click", () => show(current - 1));
  box.querySelector(".find-after").addEventListener("click", () => show(current + 1));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === input) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  box.hidden = false;

  const links = new Map();
  for (const link of document.querySelectorAll(".outline a")) links.set(link.hash.slice(1), link);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of document.querySelectorAll('.outline a[aria-current]')) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "0px 0px -70% 0px" });
  for (const id of links.keys()) {
    const head = document.getElementById(id);
    if (head) seen.observe(head);
  }
})();
