// How the search of this site ranks: pages for readers before the reference of parts, titles with the words searched for first.
var Scorer = {
  score: (result) => {
    const [page, title, anchor, , score, , kind] = result;
    const query = (new URLSearchParams(window.location.search).get("q") || "").trim();
    const words = query.toLowerCase().split(/\s+/).filter((word) => word.length > 2);
    const heading = title.toLowerCase();
    const named = words.filter((word) => heading.includes(word)).length;
    const places = [
      [/^(install|cite)$/, 8],
      [/^(how-to|gallery|tutorial|audiences)\//, 8],
      [/^reference\/files$/, 9],
      [/^reference\/(command|glossary|planner$|lsc$|reviewgraph$)/, 5],
      [/^explanation\/(architecture|reliability|theory)/, -8],
      [/^reference\/(generated|lsc|planner|reviewgraph)\//, -8],
    ];
    const place = places.find(([pattern]) => pattern.test(page));
    // Names of objects come first only if the query looks like code.
    const code = /[._]|[a-z][A-Z]|^[A-Z][a-z]+[A-Z]/.test(query);
    const object = kind === "object" && !code ? -15 : 0;
    const section = anchor && kind !== "object" ? -4 : 0;
    return score + (place ? place[1] : 0) + (words.length ? (12 * named) / words.length : 0) + object + section;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
