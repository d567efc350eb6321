// Files that are dropped, choices that are made and lines that are dragged act at once; without it buttons do the same.
(() => {
  const base = document.body.dataset.base;
  const ENDED = "The page has ended: start reviewgraph app again in the terminal.";
  const EDGE = 40; // pixels
  const SEEN = 4000; // milliseconds
  let turn = 0; // of the newest request, which alone is shown

  const say = (words) => {
    const status = document.querySelector(".progress .lines, .updating");
    if (status && status.textContent !== words) status.textContent = words;
  };
  const ask = (place, options) => fetch(place, options).catch(() => say(ENDED));

  // Show an answer of the server in place of what there is; what has the focus keeps it, and what was opened stays open.
  function show(text) {
    const focus = document.activeElement?.id;
    const top = document.activeElement?.getBoundingClientRect().top;
    const page = document.adoptNode(new DOMParser().parseFromString(text, "text/html").getElementById("page"));
    if ("running" in page.dataset && document.getElementById("line")) {
      // The papers stay below the line until there are new lists.
      follow();
      return;
    }
    document.getElementById("page").replaceWith(page);
    import(`${base}/tables.js?${turn}`);
    begin();
    const held = focus && document.getElementById(focus);
    if (held) {
      held.focus({ preventScroll: true });
      scrollBy({ top: held.getBoundingClientRect().top - top, behavior: "instant" });
    }
    // Who does not see the verdict is told of it.
    const verdict = page.querySelector(".error, .verdict h2");
    const said = document.getElementById("said");
    said.textContent = verdict?.textContent ?? "";
    said.classList.toggle("hidden", !verdict || verdict.getBoundingClientRect().bottom > 0);
    setTimeout(() => said.classList.add("hidden"), SEEN);
  }

  async function load(place, body) {
    turn += 1;
    const mine = turn;
    const answer = await ask(place, body ? { method: "POST", body } : {});
    const text = await answer?.text();
    if (answer && mine === turn) show(text);
  }

  // While a command runs, its progress is shown; then its result.
  async function follow() {
    const mine = turn;
    for (;;) {
      await new Promise((resolve) => { setTimeout(resolve, 250); });
      const answer = mine === turn && await ask(`${base}/progress`);
      const state = answer && await answer.json();
      if (!state || mine !== turn) return;
      if (!state.running) break;
      if (state.lines.length) say(state.lines.join("\n"));
    }
    await load(location.href);
  }

  // The line across the ranked papers: the papers above it are selected; at rest, the command makes the lists anew.
  function draggable(line) {
    const rows = [...line.parentElement.querySelectorAll("li")];
    const field = document.getElementById("select");
    let value = Number(line.getAttribute("aria-valuenow"));
    let timer = 0;
    const draw = () => {
      const last = rows[value - 1];
      line.style.top = last ? `${last.offsetTop + last.offsetHeight}px` : "0";
      rows.forEach((row, place) => row.classList.toggle("above", place < value));
      line.setAttribute("aria-valuenow", value);
      line.setAttribute("aria-valuetext", `${value || "none"} selected`);
    };
    const move = (to) => {
      const next = Math.min(Math.max(to, 0), rows.length);
      if (next === value) return;
      value = next;
      turn += 1; // what an earlier place of the line gave does not push it back
      line.parentElement.classList.add("stale");
      draw();
      say(`${value} selected`);
    };
    const rest = () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        say("Making the lists");
        field.value = value || "";
        turn += 1;
        await ask(`${base}/stop`, { method: "POST" });
        await load(field.form.action, new FormData(field.form));
      }, 350);
    };
    line.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };
      const to = { Home: 0, End: rows.length }[event.key] ?? value + (steps[event.key] ?? NaN);
      if (Number.isNaN(to)) return;
      event.preventDefault();
      move(to);
      line.scrollIntoView({ block: "nearest" });
      rest();
    });
    line.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      line.focus({ preventScroll: true });
      line.setPointerCapture(event.pointerId);
      clearTimeout(timer);
    });
    line.addEventListener("pointermove", (event) => {
      if (!line.hasPointerCapture(event.pointerId)) return;
      // At the edge of the window the papers move along.
      const above = event.clientY < EDGE;
      const below = event.clientY > innerHeight - EDGE;
      if (above || below) scrollBy({ top: above ? -EDGE / 2 : EDGE / 2, behavior: "instant" });
      const height = event.clientY - line.parentElement.getBoundingClientRect().top;
      move(rows.filter((row) => row.offsetTop + row.offsetHeight / 2 < height).length);
    });
    line.addEventListener("lostpointercapture", rest);
    addEventListener("resize", draw);
    draw();
  }

  function begin() {
    const line = document.getElementById("line");
    if (line) draggable(line);
    if ("running" in document.getElementById("page").dataset) follow();
  }

  addEventListener("submit", (event) => {
    const form = event.target;
    if (!("live" in form.dataset)) return;
    event.preventDefault();
    form.classList.add("busy");
    load(form.action, new FormData(form, event.submitter));
  });
  addEventListener("change", ({ target }) => {
    if (!("send" in target.dataset)) return;
    // A role that a column gets is no other column's any more.
    for (const other of target.form.querySelectorAll("th select")) {
      if (other !== target && target.closest("th") && other.value === target.value) other.value = "";
    }
    target.form.requestSubmit();
  });
  // A click anywhere in the head of a column opens its menu.
  addEventListener("click", ({ target }) => {
    const menu = target.closest?.(".preview th")?.querySelector("select");
    if (menu && target !== menu) menu.showPicker();
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    addEventListener(name, async (event) => {
      event.preventDefault();
      document.body.classList.toggle("over", name === "dragover");
      if (name !== "drop" || !event.dataTransfer.files.length) return;
      const form = document.querySelector("form.drop");
      form?.classList.add("busy");
      const data = new FormData();
      for (const file of event.dataTransfer.files) data.append("files", file);
      await load(`${base}/files`, data);
      if (!form) location.assign(`${base}/`);
    });
  }
  begin();
})();
