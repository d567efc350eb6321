"""A round of a process in words: what is held back, what each round is expected to save, and how fair that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph._base import counted, listed, noun, ranging, text_table

if TYPE_CHECKING:
    from planner._plans.plan import Plan
    from planner._plans.process import Asked, Rounds, Terms

#: One sentence for authors.
TO_AUTHORS = (
    "To authors: papers get further reviews where the reviews so far leave it open whether they are selected; all "
    "papers are compared by the same calibrated scores, whatever their number of reviews."
)
#: The same if papers of a group are treated alike.
TO_AUTHORS_ALIKE = (
    "To authors: papers of one group get the same number of further reviews, where the reviews so far leave open which "
    "are selected; all papers are compared by the same calibrated scores."
)
#: Schedules in words.
SCHEDULES = {"equal": "equal rounds", "first": "more reviews in the first rounds", "last": "more in the last rounds"}


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
        *discussed(plan, rounds),
        "",
        "Acceptance of papers by true rank, in the rollouts, by the number of new reviews that they get (in "
        "brackets: the share of these papers):",
        *_fairness(rounds),
        FAIR,
        "",
        to_authors(rounds),
    ]


#: The table of acceptance, explained.
FAIR = (
    "evenly: with the same number of reviews spread over all papers. Papers without new reviews are those whose "
    "reviews so far place them clearly, rightly or wrongly."
)


def to_authors(rounds: Rounds) -> str:
    return TO_AUTHORS_ALIKE if rounds.terms.alike else TO_AUTHORS


def where_it_stands(rounds: Rounds) -> list[str]:
    """Return what this round spends and what is held back, and what came of earlier rounds."""
    terms, number = rounds.terms, rounds.number
    place = "the last one" if rounds.left == 1 else f"{rounds.left} left with this one"
    kept = "not spent" if rounds.left == 1 or rounds.stop else "held back for later rounds"
    spent = f"{rounds.now} of {counted(rounds.budget, 'review')} now, {rounds.held_back} {kept}"
    lines = [f"Round {number} ({rounds.name} in uploads), {place}: {spent}."]
    if rounds.required and terms.rules.get("min_reviews"):
        least = terms.rules["min_reviews"]
        lines.append(f"The first {rounds.required} of them bring papers to {counted(int(least or 0), 'review')}.")
    for those, words in (
        (terms.outstanding, "of earlier rounds without a score yet, counted as still to come"),
        (terms.lost, "of earlier rounds will not come; the budget has them back"),
    ):
        if those:
            lines.append(f"{counted(len(those), 'review')} {words}: {_named(those)}.")
    if terms.absent:
        lines.append(absent_words(terms))
    if terms.missing:
        lines.append(f"Each review to come is counted with probability {1.0 - terms.missing:g}.")
    unplaced = min(rounds.share, rounds.capacity) - (rounds.now - rounds.required)
    if unplaced > 0 and not rounds.stop and not terms.worth and not rounds.talks:
        words = "loads, conflicts or rules, or no gain, left"
        lines.append(f"{words[:1].upper()}{words[1:]} {counted(unplaced, 'review')} of this round unused.")
    if rounds.capacity < rounds.budget:
        lines.append(
            f"Loads and limits allow {counted(rounds.capacity, 'review')} in all; what is expected below is with these."
        )
    return lines


def absent_words(terms: Terms) -> str:
    """Return what it may mean that outstanding reviews are in none of the files."""
    those = counted(len(terms.absent), "planned review is", "planned reviews are")
    return (
        f"{those} in none of the files: not uploaded, or declined? Add the file of the assignments (HotCRP: "
        "pcassignments.csv), upload what is missing, and list in --gone what was declined."
    )


def _named(those: tuple[Asked, ...]) -> str:
    return listed([f"{one.item} by {one.reviewer}" for one in those])


def _table(rounds: Rounds) -> list[str]:
    first = rounds.number
    rows = [("now", "", f"{rounds.before:.2f}", "")]
    rows += [
        (
            f"round {first + one.rounds - 1} ({rounds.name_after(one.rounds - 1)})",
            f"{one.reviews:.0f}",
            f"{one.wrong:.2f}",
            f"{one.error:.2f}",
        )
        for one in rounds.after
    ]
    return text_table(["after", "reviews in all", f"wrong of {rounds.terms.select}", "+-"], rows, [0])


def expectations(rounds: Rounds) -> list[str]:
    """Return what other numbers of rounds would reach, and the schedule."""
    reach = [f"{one.wrong:.2f} in {counted(one.rounds, 'round')}" for one in rounds.reach]
    total = f"{rounds.reach[-1].reviews:.0f}"
    lines = [
        f"Expected wrong selections after all {total} reviews: {', '.join(reach)} of equal size; "
        f"{rounds.even.wrong:.2f} with these reviews spread evenly over all papers."
    ]
    best = rounds.schedule
    if best.gain > 0:
        words = f"{best.gain:.2f} +- {best.error:.2f} fewer wrong selections than equal rounds"
        lines.append(f"Schedule: {SCHEDULES[best.name]} ({', '.join(map(str, best.reviews))}), {words}.")
    lines.append(
        f"These are means of {rounds.rollouts} simulated continuations, with standard errors (+-), in which loads and "
        "conflicts do not bind and future scores are as noisy as the existing ones."
    )
    return lines


def discussed(plan: Plan, rounds: Rounds) -> list[str]:
    """Return the papers to discuss instead of a review."""
    terms = rounds.terms
    if terms.discussion is None:
        return []
    if terms.discussion.price > rounds.share:
        price, room = f"{terms.discussion.price:g}", counted(rounds.share, "review")
        return [
            f"No discussion is possible: it costs {price} reviews, and the choice by gain has {room} in this round."
        ]
    if not rounds.talks:
        return ["No discussion is worth its price in this round."]
    items = [str(plan.constraints.reviews.items[talk.item]) for talk in rounds.talks]
    gain = sum(talk.gain for talk in rounds.talks)
    price = f"{terms.discussion.price:g} {noun(2 if terms.discussion.price != 1 else 1, 'review')}"
    return [
        f"Discuss {counted(len(items), 'paper')} at the price of {price} each: {', '.join(items)}. "
        f"After the reviews of this round that is expected to avoid {gain:.2f} wrong selections more."
    ]


def _fairness(rounds: Rounds) -> list[str]:
    numbers = range(len(rounds.fairness[0].by_reviews)) if rounds.fairness else range(0)
    heads = ["true rank", "evenly", "in rounds", *(f"{n}{'+' if n == numbers[-1] else ''} new" for n in numbers)]
    rows = [
        (
            ranging(band.first, band.last),
            f"{100 * band.flat:.0f} %",
            f"{100 * band.rounds:.0f} %",
            *("-" if yes is None else f"{100 * yes:.0f} % ({100 * share:.0f} %)" for share, yes in band.by_reviews),
        )
        for band in rounds.fairness
    ]
    return text_table(heads, rows, [0])
