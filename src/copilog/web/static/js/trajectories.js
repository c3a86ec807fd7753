// Files that are dropped on the page, or chosen: their bytes go to the server of this machine, and nowhere else.

const place = document.getElementById("drop");
const state = document.getElementById("drop-state");
const chooser = document.getElementById("file");

chooser.addEventListener("change", () => send(chooser.files[0]));
for (const kind of ["dragenter", "dragover"]) {
  place.addEventListener(kind, (event) => {
    event.preventDefault();
    place.classList.add("over");
  });
}
place.addEventListener("dragleave", () => place.classList.remove("over"));
place.addEventListener("drop", (event) => {
  event.preventDefault();
  place.classList.remove("over");
  send(event.dataTransfer.files[0]);
});

async function send(file) {
  if (!file) return;
  state.textContent = `Opening ${file.name} …`;
  const address = `/trajectories?${new URLSearchParams({ name: file.name })}`;
  try {
    const answer = await fetch(address, { method: "POST", body: file });
    if (!answer.ok) throw new Error(answer.status === 413 ? "it is too large; copilog serve FILE opens it" : `the server said ${answer.status}`);
    location.assign((await answer.json()).address);
  } catch (error) {
    state.textContent = `${file.name} could not be opened: ${error.message}`;
  }
}
