// Tells the page what changes in the archive: a CustomEvent "copilog:changed" on document, with {ids, new, count}.
// A tab that nobody sees does not listen, as browsers allow a server only a few connections; when it is seen again, it
// is told at once what it missed.

let source = null;
let mark = "";
const sign = document.getElementById("live");

function show(words, isLost) {
  if (!sign) return;
  sign.hidden = false;
  sign.textContent = words;
  sign.classList.toggle("lost", isLost);
  sign.classList.toggle("still", "words" in sign.dataset);
}

function listen() {
  if (source || document.hidden) return;
  source = new EventSource("/events" + (mark ? "?since=" + encodeURIComponent(mark) : ""));
  source.addEventListener("open", () => show(sign?.dataset.words ?? "live", false));
  source.addEventListener("ready", take);
  source.addEventListener("changed", (event) => {
    const detail = take(event);
    document.dispatchEvent(new CustomEvent("copilog:changed", { detail }));
  });
  source.addEventListener("error", () => {
    show("not connected", true);
    if (source?.readyState === EventSource.CLOSED) stop(); // refused: the server is another one by now
  });
}

function take(event) {
  const detail = JSON.parse(event.data);
  mark = detail.mark || mark;
  return detail;
}

function stop() {
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? stop() : listen()));
addEventListener("pagehide", stop);
addEventListener("pageshow", listen);
listen();
