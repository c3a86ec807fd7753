// Before anything is drawn: the theme that was chosen, so that the page does not flash. A classic script for that reason.
try {
  const chosen = localStorage.getItem("copilog-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // without storage the system's theme is as good
}
