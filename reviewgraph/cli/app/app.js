// Sliders, limits, and progress; without it the page works as well.
(() => {
  const base = document.body.dataset.base;
  // A slider moves the number beside it, which is what the form sends.
  for (const slider of document.querySelectorAll("input[type=range][data-for]")) {
    const field = document.getElementById(slider.dataset.for);
    const unit = slider.dataset.unit;
    const read = () => {
      const number = parseFloat(field.value);
      if (!Number.isNaN(number) && field.value.trim().endsWith(unit)) slider.value = number;
      slider.setAttribute("aria-valuetext", field.value || "not set");
    };
    slider.hidden = false;
    slider.addEventListener("input", () => { field.value = slider.value + unit; read(); });
    field.addEventListener("input", read);
    if (!field.value) slider.value = unit ? 20 : 0.1;
    read();
  }
  const drop = document.querySelector("form.drop");
  if (drop) {
    const [input, error] = [drop.querySelector("input"), drop.querySelector(".error")];
    const fits = () => {
      const bytes = [...input.files].reduce((sum, file) => sum + file.size, 0);
      const { most, files } = drop.dataset;
      error.textContent = bytes > Number(most) || input.files.length > Number(files)
        ? `Too much: there is room for ${files} more files and ${Math.floor(Number(most) / 1e6)} MB.` : "";
      error.hidden = error.textContent === "";
      return error.hidden;
    };
    input.addEventListener("change", fits);
    drop.addEventListener("submit", (event) => { if (!fits()) event.preventDefault(); });
    for (const name of ["dragover", "dragleave", "drop"]) {
      drop.addEventListener(name, (event) => {
        drop.classList.toggle("over", name === "dragover");
        if (event.target === input || name === "dragleave") return;
        event.preventDefault();
        if (name === "drop") { input.files = event.dataTransfer.files; fits(); }
      });
    }
  }
  const running = document.body.dataset.running;
  if (!running) return;
  const lines = document.querySelector(".progress .lines");
  const ask = async () => {
    try {
      const found = await (await fetch(`${base}/progress`)).json();
      const text = found.lines.join("\n");
      if (text && text !== lines.textContent) lines.textContent = text;
      if (found.running) setTimeout(ask, 700);
      else location.replace(`${base}/${running}?ended#result`);
    } catch {
      lines.textContent = "The page has ended: start reviewgraph app again in the terminal.";
    }
  };
  setTimeout(ask, 400);
})();
