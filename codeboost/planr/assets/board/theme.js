// Runs before anything is painted, so that a chosen theme never flashes.
try {
  const chosen = localStorage.getItem("planr-board-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* A browser may refuse storage to a page opened as a file. */ }
