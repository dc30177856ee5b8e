// A key below a chart picks its curve out of the others; pressed again, or Escape, it lets go.
for (const figure of document.querySelectorAll("figure.chart")) {
  const keys = [...figure.querySelectorAll(".keys button")];
  const series = [...figure.querySelectorAll(".series")];
  const pick = (key) => {
    const picked = key && key.getAttribute("aria-pressed") !== "true" ? key : null;
    for (const one of keys) one.setAttribute("aria-pressed", one === picked);
    figure.classList.toggle("asked", picked !== null);
    for (const one of series) one.classList.toggle("picked", picked !== null && one.dataset.name === picked.dataset.name);
  };
  for (const key of keys) key.addEventListener("click", () => pick(key));
  figure.addEventListener("keydown", (event) => event.key === "Escape" && pick(null));
}
