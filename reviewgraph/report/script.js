// Tables that sort, filter and search. Cells become text nodes, never markup.
"use strict";
(() => {
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const whole = (value) => value.toLocaleString("en");

  function enliven(table) {
    const { noun, shown, printed, links, columns, cells } = JSON.parse(table.querySelector("script").textContent);
    const count = cells[0].length;
    const [controls, pager] = [table.querySelector(".controls"), table.querySelector(".pager")];
    const [status, body] = [table.querySelector(".count"), table.querySelector("tbody")];
    const all = Int32Array.from({ length: count }, (_, row) => row);
    const state = { rows: all, page: 0, size: shown, column: -1, down: false };

    const written = (column, value) => {
      if (value === null || value === "") return "-";
      const { kind, digits } = columns[column];
      if (kind !== "number") return value;
      return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    };
    // What a search looks through: the text of a row in one string, made when first asked for.
    let texts = null;
    const textOf = (row) => {
      texts ??= Array.from(all, (each) => {
        const words = columns.map((column, place) => (column.kind === "number" ? "" : cells[place][each] ?? ""));
        return words.join("\n").toLowerCase();
      });
      return texts[row];
    };

    function draw() {
      const { rows, page, size } = state;
      const first = page * size;
      const part = Array.from(rows.slice(first, first + size), (row) =>
        make("tr", {}, ...columns.map(({ kind }, column) => {
          const cell = column ? make("td", { class: kind }) : make("th", { scope: "row", class: kind });
          const words = written(column, cells[column][row]);
          if (column === 0 && links.length) cell.append(make("a", { href: `#${links[row]}` }, words));
          else cell.textContent = words;
          return cell;
        })));
      body.replaceChildren(...part);
      const pages = Math.max(1, Math.ceil(rows.length / size));
      const of = rows.length < count ? ` (of ${whole(count)})` : "";
      status.textContent = rows.length
        ? `${whole(first + 1)} to ${whole(first + part.length)} of ${whole(rows.length)} ${noun}${of}`
        : `None of ${whole(count)} ${noun}`;
      previous.disabled = page === 0;
      next.disabled = page >= pages - 1;
      place.textContent = `Page ${whole(page + 1)} of ${whole(pages)}`;
      pager.hidden = count <= shown;
    }

    function choose() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const picked = choices.filter(([select]) => select.value !== "");
      const rows = all.filter((row) =>
        words.every((word) => textOf(row).includes(word)) &&
        picked.every(([select, column]) => cells[column][row] === select.value));
      if (state.column >= 0) {
        const [values, sign] = [cells[state.column], state.down ? -1 : 1];
        const compare = columns[state.column].kind === "number" ? (a, b) => a - b : order;
        // What is not there stands last, whichever way; equals keep the order in which they came.
        rows.sort((a, b) => {
          const [one, other] = [values[a], values[b]];
          if (one === null || other === null) return (one === null) - (other === null) || a - b;
          return sign * compare(one, other) || a - b;
        });
      }
      state.rows = rows;
      state.page = 0;
      draw();
    }

    const labelled = (words, control) => make("label", {}, words, control);
    const option = (value, words = value) => make("option", { value }, words);
    const search = make("input", { type: "search", autocomplete: "off" });
    controls.append(labelled("Search", search));
    search.addEventListener("input", choose);

    const choices = columns.flatMap(({ name, kind }, column) => {
      if (kind !== "choice") return [];
      const values = [...new Set(cells[column])].filter((value) => value !== null).sort(order);
      const select = make("select", {}, option("", "all"), ...values.map((value) => option(value)));
      select.addEventListener("change", choose);
      controls.append(labelled(name[0].toUpperCase() + name.slice(1), select));
      return [[select, column]];
    });

    const heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        // Numbers first from the largest, words from A.
        const again = state.column === column;
        state.down = again ? !state.down : columns[column].kind === "number";
        state.column = column;
        for (const each of heads) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        choose();
      });
    });

    const turn = (by) => () => { state.page += by; draw(); };
    const previous = make("button", { type: "button" }, "Previous");
    const next = make("button", { type: "button" }, "Next");
    const place = make("span");
    const sizes = make("select", {}, ...[shown, 100, 500].map((size) => option(String(size))));
    previous.addEventListener("click", turn(-1));
    next.addEventListener("click", turn(1));
    sizes.addEventListener("change", () => { state.size = Number(sizes.value); state.page = 0; draw(); });
    pager.append(previous, place, next, labelled("Rows on a page", sizes));
    // On paper stand all rows that are chosen, in their order, as far as there is room for them.
    addEventListener("beforeprint", () => {
      const { page, size } = state;
      Object.assign(state, { page: 0, size: printed });
      draw();
      if (state.rows.length > printed) status.textContent += "; the rest is in the file that was printed";
      addEventListener("afterprint", () => { Object.assign(state, { page, size }); draw(); }, { once: true });
    });
    controls.hidden = false;
    draw();
  }

  document.querySelectorAll(".table.live").forEach(enliven);
  // What is folded on the screen is open on paper, but for many folds, of which those stand there that are open.
  addEventListener("beforeprint", () => document.querySelectorAll("details:not(.folded, .folded *)").forEach((each) => {
    each.open = true;
  }));
  // Not every browser opens what a link leads to.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
    if (target.closest(".folded")) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
