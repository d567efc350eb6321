// Sliders, limits, updates, and progress; without it the page works as well.
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
  // Once there is a result, a slider that comes to rest runs the command again; a later move ends that run.
  const form = document.querySelector("form[data-updates]");
  if (form) {
    const [status, stop] = [form.querySelector(".updating [role=status]"), form.querySelector(".updating button")];
    const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
    const call = (place, body) => fetch(`${base}/${place}`, body ? { method: "POST", body } : {});
    let [turn, timer, busy] = [0, 0, Promise.resolve()];
    const update = async (mine) => {
      await call("stop", new URLSearchParams());
      if (mine !== turn) return;
      [status.textContent, stop.hidden] = ["Updating the result", false];
      await call(form.dataset.updates, new URLSearchParams(new FormData(form)));
      for (;;) {
        const found = await (await call("progress")).json();
        if (mine !== turn) return;
        if (!found.running) break;
        const line = (found.lines.at(-1) ?? "").trim();
        if (/^[\d.]+ s /.test(line)) status.textContent = `Updating the result: ${line}`;
        await pause(300);
      }
      const page = new DOMParser().parseFromString(await (await call(form.dataset.updates)).text(), "text/html");
      if (mine !== turn) return;
      for (const name of ["problem", "outcome"]) {
        document.getElementById(name).replaceWith(document.adoptNode(page.getElementById(name)));
      }
      const tables = document.createElement("script");
      tables.src = `${base}/tables.js`;
      document.head.append(tables);
      const verdict = document.querySelector("#outcome .report :is(h1, h2), #problem .error");
      [status.textContent, stop.hidden] = [`Updated: ${verdict ? verdict.textContent.trim() : "there is no result"}`, true];
    };
    const begin = (mine) => {
      busy = busy.then(() => mine === turn && update(mine)).catch(() => {
        [status.textContent, stop.hidden] = ["The page has ended: start reviewgraph app again in the terminal.", true];
      });
    };
    for (const slider of form.querySelectorAll("input[type=range]")) {
      slider.addEventListener("change", () => {
        clearTimeout(timer);
        turn += 1;
        timer = setTimeout(begin, 500, turn);
      });
    }
    stop.addEventListener("click", async () => {
      clearTimeout(timer);
      turn += 1;
      [status.textContent, stop.hidden] = ["The update was stopped: the result is that of earlier values.", true];
      form.querySelector(".main").focus();
      await call("stop", new URLSearchParams());
    });
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
