"""A round of a process in words: what is held back, and what each round is expected to save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph._base import counted, listed, text_table

if TYPE_CHECKING:
    from planner._plans.plan import Plan
    from planner._plans.process import Asked, Rounds, Terms

#: One sentence for authors.
TO_AUTHORS = (
    "To authors: papers get further reviews where the reviews so far leave it open whether they are selected; all "
    "papers are compared by the same calibrated scores, whatever their number of reviews."
)


def round_lines(plan: Plan) -> list[str]:
    """Return the paragraphs on a round; nothing for other plans."""
    rounds = plan.rounds
    if rounds is None:
        return []
    if rounds.stop is not None:
        return ["", *where_it_stands(rounds), f"The process ends here: {rounds.stop}."]
    return [
        "",
        *where_it_stands(rounds),
        "",
        *_table(rounds),
        "",
        *expectations(rounds),
        "",
        TO_AUTHORS,
    ]


def where_it_stands(rounds: Rounds) -> list[str]:
    """Return what this round spends and what is held back, and what came of earlier rounds."""
    terms = rounds.terms
    number = rounds.number
    place = f"Round {number} of {number + rounds.left - 1} ({rounds.name} in uploads)"
    kept = f", {rounds.held_back} held back for later rounds"
    if rounds.stop or rounds.left == 1:
        kept = f", {rounds.unspent} not spent" if rounds.unspent else ""
    elif not rounds.held_back:
        kept = "; nothing is held back, so this round is the last"
    lines = [f"{place}: {rounds.now} of {counted(rounds.budget, 'review')} now{kept}."]
    if rounds.capacity < rounds.budget:
        lines.append(
            f"Loads, limits and conflicts allow {rounds.capacity} of the {rounds.budget} at most: the other "
            f"{rounds.budget - rounds.capacity} cannot be asked for, and what is expected below is without them."
        )
    if rounds.required and terms.rules.get("min_reviews"):
        least = terms.rules["min_reviews"]
        lines.append(f"The first {rounds.required} of them bring papers to {counted(int(least or 0), 'review')}.")
    for reviews, words in (
        (terms.outstanding, "of earlier rounds without a score yet, counted as still to come"),
        (terms.lost, "of earlier rounds will not come; the budget has them back"),
    ):
        if reviews:
            lines.append(f"{counted(len(reviews), 'review')} {words}: {_named(reviews)}")
    if terms.absent:
        lines.append(absent_words(terms))
    unplaced = min(rounds.share, rounds.capacity) - (rounds.now - rounds.required)
    if unplaced > 0 and not rounds.stop and not terms.worth:
        words = "loads, conflicts or rules, or no gain, left"
        lines.append(f"{words[:1].upper()}{words[1:]} {counted(unplaced, 'review')} of this round unused.")
    return lines


def absent_words(terms: Terms) -> str:
    """Return what it may mean that outstanding reviews are in none of the files."""
    planned = counted(len(terms.absent), "planned review is", "planned reviews are")
    return (
        f"{planned} in none of the files: not uploaded, or declined? Add the file of the assignments (HotCRP: "
        "pcassignments.csv), upload what is missing, and list in --gone what was declined."
    )


def _named(reviews: tuple[Asked, ...]) -> str:
    return listed([f"{review.item} by {review.reviewer}" for review in reviews], end=".")


def _table(rounds: Rounds) -> list[str]:
    first = rounds.number
    rows = [("now", "", f"{rounds.before:.2f}", "")]
    rows += [
        (
            f"round {first + expected.rounds - 1} ({rounds.name_after(expected.rounds - 1)})",
            f"{expected.reviews:.0f}",
            f"{expected.wrong:.2f}",
            f"{expected.error:.2f}",
        )
        for expected in rounds.after
    ]
    return text_table(["after", "reviews in all", f"wrong of {rounds.terms.select}", "+-"], rows, [0])


def expectations(rounds: Rounds) -> list[str]:
    """Return what other numbers of rounds would reach."""
    first, *more = rounds.reach
    reach = f"{first.wrong:.2f}"
    if more:
        later = ", ".join(f"{expected.wrong:.2f} in {expected.rounds}" for expected in more)
        reach += f" in 1 round, {later} equal rounds"
    lines = [
        f"Expected wrong selections after all {rounds.reach[-1].reviews:.0f} reviews: {reach}; {rounds.even.wrong:.2f} "
        "with these reviews spread evenly over all papers."
    ]
    lines.append(
        f"These are means of {rounds.rollouts} simulated continuations, with standard errors (+-), in which loads and "
        "conflicts do not bind and future scores are as noisy as the existing ones."
    )
    return lines
