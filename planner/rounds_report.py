"""Pages, pictures and reports of simulated rounds: the design before any score, the first phase, and the replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewgraph._base import counted, listed, percent, text_table
from reviewgraph.report import (
    Column,
    Curve,
    Document,
    Fact,
    Picture,
    Prose,
    Section,
    Shift,
    Table,
    curves,
    pictures_among,
    shifts,
)

if TYPE_CHECKING:
    from planner.simulating import FirstPhase, RoundsDesign, RoundsReplay, Split

#: Marks of the curves, by the place of the number of rounds.
KINDS = ("hollow", "dot", "diamond", "apart", "up", "down")


# The design.


def design_page(design: RoundsDesign) -> str:
    """Return the lines of a design for the terminal."""
    flat = design.flat
    lines = [
        f"{counted(design.n_items, 'paper')}, {counted(design.n_reviews, 'review')}, {design.n_selected:,} to be "
        f"selected. All reviews at once: {flat.wrong:.2f} +- {flat.error:.2f} of the selected are expected not to be "
        f"among the truly best {design.n_selected:,}."
    ]
    lines += [_best(design, rounds) for rounds in design.rounds]
    if not design.rounds:
        lines.append("With one review per paper there is nothing to hold back.")
    else:
        lines += ["", *text_table(*_rows(design), text=[])]
    if any(not split.connects for split in design.splits):
        lines += [
            "",
            f"*: the best; ~: {LOOSE} in one piece, so no choice for the best.",
        ]
    return "\n".join([*lines, "", _assumed(design)])


#: Why a split is no choice for the best.
LOOSE = "too few reviews first to put all papers"


def _assumed(design: RoundsDesign) -> str:
    of = design.assumptions
    lost = f", {percent(design.missing)} of reviews lost" if design.missing else ""
    return (
        f"Assumed: noise {of.noise:.2g}, severity {of.severity:.2g}, stretch {of.stretch:.2g} of the spread of "
        f"qualities, {design.load:.3g} reviews per reviewer{lost}; {design.draws} simulated conferences. +-: standard "
        "error; differences are between the same conferences."
    )


def _best(design: RoundsDesign, rounds: int) -> str:
    best = design.best(rounds)
    return (
        f"{counted(rounds, 'round').capitalize()} after the first phase: ask for {_each(best.first)} first, hold back "
        f"{percent(best.held_back / design.n_reviews)} ({best.held_back:,}). Then {best.wrong:.2f} are expected to be "
        f"wrong, {_more(-best.saved, best.saved_error)} than at once{_beside(design, rounds)}."
    )


def _more(difference: float, error: float) -> str:
    """Return a difference in words.

    >>> _more(0.25, 0.1), _more(-0.25, 0.1)
    ('0.25 +- 0.10 more', '0.25 +- 0.10 fewer')
    """
    return f"{abs(difference):.2f} +- {error:.2f} {'more' if difference >= 0 else 'fewer'}"


def _each(first: float) -> str:
    return f"{first:.3g} {'review' if first == 1 else 'reviews'} per paper"


def _beside(design: RoundsDesign, rounds: int) -> str:
    """Describe what it costs to miss the best split by one step."""
    beside = [
        f"with {split.first:.3g} first {_more(split.worse, split.worse_error)} than that"
        f"{'' if split.connects else f' ({LOOSE} in one piece)'}"
        for split in design.neighbours(rounds)
    ]
    return f"; {', '.join(beside)}" if beside else ""


def _rows(design: RoundsDesign) -> tuple[list[str], list[list[str]]]:
    """Return expected wrong selections by first phase, one column per number of rounds."""
    header = ["first", "held back", "share", *(counted(rounds, "round") for rounds in design.rounds)]
    rows = []
    for place, split in enumerate(design.of(design.rounds[0])):
        cells = [_cell(design.of(rounds)[place], design.best(rounds)) for rounds in design.rounds]
        share = percent(split.held_back / design.n_reviews)
        rows.append([f"{split.first:.3g}", f"{split.held_back:,}", share, *cells])
    flat = f"{design.flat.wrong:.2f} +- {design.flat.error:.2f} "
    return header, [*rows, [f"{design.flat.first:.3g}", "0", "0 %", *[flat] * len(design.rounds)]]


def _cell(split: Split, best: Split) -> str:
    mark = "*" if split is best else " " if split.connects else "~"
    return f"{split.wrong:.2f} +- {split.error:.2f}{mark}"


def design_pictures(design: RoundsDesign) -> list[Picture]:
    """Return the picture of a design."""
    return pictures_among([_designed(design)])


def _designed(design: RoundsDesign) -> Section:
    if not design.rounds:
        return Section("split", "How much to hold back", [])
    rows = []
    for rounds, kind in zip(design.rounds, KINDS, strict=False):
        # The curve ends with nothing held back.
        splits = [*design.of(rounds), design.flat]
        share = [100 * split.held_back / design.n_reviews for split in splits]
        values = [split.wrong for split in splits]
        errors = [split.error for split in splits]
        loose = [place for place, split in enumerate(splits) if not split.connects]
        rows.append(Curve(counted(rounds, "round"), kind, share, values, errors, loose))
    best = design.best(design.rounds[-1])
    words = (
        f"Expected wrong selections among {design.n_selected:,} of {counted(design.n_items, 'paper')} against the "
        f"share of {counted(design.n_reviews, 'review')} that is held back, with bars of two standard errors; at 0 % "
        f"all reviews are asked for at once. Fewest for {counted(best.rounds, 'round')}: {best.wrong:.1f} at "
        f"{percent(best.held_back / design.n_reviews)}, {_each(best.first)} first."
    )
    if any(row.loose for row in rows):
        words += f" Crosses and dotted lines: {LOOSE} in one piece."
    picture = Picture(
        "held-back",
        "Wrong selections against the share held back",
        words,
        lambda width: curves(
            rows, width, "held back, % of all reviews", "expected wrong selections", loose="cannot connect all papers"
        ),
    )
    return Section("split", "How much to hold back", [picture])


def design_document(
    design: RoundsDesign | None, phase: FirstPhase | None, subject: str, closing: Sequence[str] = ()
) -> Document:
    """Return the report of a design, of a first phase, or of both."""
    page = [*(design_page(design).splitlines() if design else []), *([""] if design and phase else [])]
    page += phase_page(phase).splitlines() if phase else []
    facts = []
    sections = []
    if design:
        best = design.best(design.rounds[-1]) if design.rounds else design.flat
        facts = [
            Fact("Papers", f"{design.n_items:,}"),
            Fact("Reviews", f"{design.n_reviews:,}", f"{best.held_back:,} held back"),
            Fact("Reviews per paper first", f"{best.first:.3g}"),
            Fact("Expected wrong", f"{best.wrong:.1f}", f"of {design.n_selected:,}; {design.flat.wrong:.1f} at once"),
        ]
        sections = [_designed(design), Section("table", "All splits", [Prose([COLUMNS]), _table(design)])]
    remarks = [*(_best(design, rounds) for rounds in design.rounds), _assumed(design)] if design else []
    if phase and not design:
        remarks = phase_lines(phase)[1:-1]
    elif phase:
        sections.append(Section("phase", "The first phase", [Prose(phase_lines(phase))]))
    headline = design.headline() if design else phase_headline(phase) if phase else ""
    verdict = _lead(design) if design else phase_lines(phase)[0] if phase else ""
    good = phase.enough if phase else None
    return Document("Reviews in rounds", subject, good, headline, verdict, remarks, closing, facts, sections, page)


def _lead(design: RoundsDesign) -> str:
    """Return what to do, and what it saves, in two sentences."""
    flat = design.flat
    of = f"of the {design.n_selected:,} selected papers"
    if not design.rounds:
        return f"All reviews are needed at once: {flat.wrong:.2f} {of} are expected to be wrong."
    best = design.best(design.rounds[-1])
    rounds = f"in {counted(best.rounds, 'round')}, where the scores so far leave the selection open"
    return (
        f"Ask for {_each(best.first)} first, and for the other {best.held_back:,} {rounds}. {best.wrong:.2f} {of} are "
        f"then expected to be wrong, instead of {flat.wrong:.2f} with all {design.n_reviews:,} reviews at once."
    )


#: The columns of the table of splits.
COLUMNS = (
    "rounds: after the first phase, 0 for all reviews at once; first: reviews per paper in the first phase; connects: "
    "whether these are enough to put all papers in one piece; wrong: expected wrong selections; above best: by how "
    "much that exceeds the best split for the same number of rounds; saved: by how much it is below all reviews at "
    "once; +-: the standard error of the number before it."
)


def _table(design: RoundsDesign) -> Table:
    splits = design.splits
    columns = [
        Column("rounds", [split.rounds for split in splits], "number"),
        Column("first", [split.first for split in splits], "number", 2),
        Column("held back", [split.held_back for split in splits], "number"),
        Column("connects", ["yes" if split.connects else "no" for split in splits], "choice"),
        Column("wrong", [split.wrong for split in splits], "number", 2),
        Column("+-", [split.error for split in splits], "number", 2),
        Column("above best", [split.worse for split in splits], "number", 2),
        Column("+- above", [split.worse_error for split in splits], "number", 2),
        Column("saved", [split.saved for split in splits], "number", 2),
        Column("+- saved", [split.saved_error for split in splits], "number", 2),
    ]
    return Table("splits", "Expected wrong selections by split", columns, "splits")


# The first phase.


def phase_headline(phase: FirstPhase) -> str:
    """Return whether a second phase can learn from a first one."""
    return "Connected enough for a second phase" if phase.enough else "Not connected enough for a second phase"


def phase_page(phase: FirstPhase) -> str:
    """Return the lines on a first phase for the terminal."""
    return "\n".join(phase_lines(phase))


def phase_lines(phase: FirstPhase) -> list[str]:
    """Return the sentences on a first phase."""
    from planner.simulating import MOST_RATIO

    level = f"level {phase.level}" if phase.level else "not connected"
    lines = [
        f"First phase: {counted(phase.n_reviews, 'review')} of {counted(phase.n_items, 'paper')}, {level}.",
        f"Median expected error of a paper {phase.error:.3f}, with known severities {phase.error_if_known:.3f}: ratio "
        f"{phase.ratio:.2f}, at most {MOST_RATIO:.2f} wanted.",
    ]
    if phase.unreviewed:
        lines.append(
            f"{counted(len(phase.unreviewed), 'paper has', 'papers have')} no review: "
            f"{listed([str(label) for label in phase.unreviewed], end='.')}"
        )
    if phase.pieces > 1:
        lines.append(f"The papers fall into {phase.pieces:,} pieces that share no reviewer.")
    return [*lines, f"{phase_headline(phase)}."]


# The replay.


def replay_page(replay: RoundsReplay) -> str:
    """Return the lines of a replay for the terminal."""
    decided = replay.flat.refused is not None
    header = ["scores shown", "not in the full table's", "fewer than flat", *(["refused then"] if decided else [])]
    rows = []
    for way in replay.ways:
        cells = [way.name, f"{way.wrong:.2f} +- {way.error:.2f}"]
        cells.append("" if way is replay.flat else f"{way.saved:.2f} +- {way.saved_error:.2f}")
        if way.refused is not None and way.refused_error is not None:
            cells.append(f"{way.refused:.2f} +- {way.refused_error:.2f}")
        rows.append(cells)
    each = replay.n_scores / replay.n_items
    lines = [
        f"{counted(replay.n_items, 'paper')} with {replay.n_scores:,} scores ({each:.3g} per paper), "
        f"{replay.n_selected:,} selected. Shown: {replay.first} per paper first, {replay.total:,} in all "
        f"({replay.total / replay.n_items:.3g} per paper); {replay.draws} draws.",
        f"Of the {replay.n_selected:,} selected, how many are not among those that all scores select:",
        "",
        *text_table(header, rows, text=[0]),
        "",
        "flat: evenly, at once; random: at random after the first; borderline: two each, those nearest the cut by "
        "average first; rounds: where plan --for decision asks, in equal rounds. +-: standard error over draws of this "
        "table.",
    ]
    return "\n".join(lines)


def replay_pictures(replay: RoundsReplay) -> list[Picture]:
    """Return the picture of a replay."""
    return pictures_among([_replayed(replay)])


def _replayed(replay: RoundsReplay) -> Section:
    flat = replay.flat.wrong
    rows = [
        Shift(
            way.name,
            flat,
            way.wrong,
            way.wrong - 2 * way.saved_error,
            way.wrong + 2 * way.saved_error,
        )
        for way in replay.ways[1:]
    ]
    last = replay.in_rounds[-1]
    words = (
        f"Selected papers, of {replay.n_selected:,}, that are not in the selection of all {replay.n_scores:,} scores, "
        f"with {replay.total:,} scores shown: spread evenly at once (hollow) and as named (filled, with bars of two "
        f"standard errors of the difference). Evenly {flat:.2f}, in {counted(last.rounds, 'round')} {last.wrong:.2f}."
    )
    picture = Picture(
        "agreement",
        "Differences from the selection of the full table",
        words,
        lambda width: shifts(rows, (0.0, flat), width, "selected papers that differ", "evenly, at once", "as named"),
    )
    return Section("agreement-section", "Agreement with the full table", [picture])


def replay_document(replay: RoundsReplay, subject: str, closing: Sequence[str] = ()) -> Document:
    """Return the report of a replay."""
    last = replay.in_rounds[-1]
    ways = replay.ways
    columns = [
        Column("scores shown", [way.name for way in ways]),
        Column("differ", [way.wrong for way in ways], "number", 2),
        Column("+-", [way.error for way in ways], "number", 2),
        Column("fewer than flat", [way.saved for way in ways], "number", 2),
        Column("+- of that", [way.saved_error for way in ways], "number", 2),
        Column("most scores of a paper", [way.most for way in ways], "number", 1),
    ]
    if replay.flat.refused is not None:
        columns.append(Column("refused then", [way.refused for way in ways], "number", 2))
    facts = [
        Fact("Papers", f"{replay.n_items:,}", f"{replay.n_selected:,} selected"),
        Fact("Scores shown", f"{replay.total:,}", f"of {replay.n_scores:,}"),
        Fact("Differ, evenly at once", f"{replay.flat.wrong:.2f}"),
        Fact(f"Differ, in {counted(last.rounds, 'round')}", f"{last.wrong:.2f}", f"+- {last.error:.2f}"),
    ]
    sections = [_replayed(replay), Section("ways", "All ways", [Table("ways", "At equal numbers of scores", columns)])]
    page = replay_page(replay).splitlines()
    best = min(replay.in_rounds, key=lambda way: way.wrong)
    lead = (
        f"With {replay.total:,} of the {replay.n_scores:,} scores, shown where plan --for decision would ask in "
        f"{counted(best.rounds, 'round')}, {best.wrong:.2f} of the {replay.n_selected:,} selected papers differ from "
        f"those that all scores select; with as many scores spread evenly at once, {replay.flat.wrong:.2f}."
    )
    return Document("A year in rounds", subject, None, replay.headline(), lead, (), closing, facts, sections, page)
