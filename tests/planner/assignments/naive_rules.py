"""Rules on who reviews a paper together, read from attributes by label, and random ones of every kind."""

from __future__ import annotations

from planner import AtLeast, AtMost, Reward


def values_of(reviewer, attribute, attributes):
    """Values that a reviewer has; a yes is True, a no is none."""
    value = attributes.get(reviewer, {}).get(attribute)
    several = value if isinstance(value, list) else [value]
    return {one for one in several if one == one and one not in (None, "", False)}


def counts(panel, attribute, attributes):
    """Reviewers of a panel by value."""
    found = {}
    for reviewer in panel:
        for value in values_of(reviewer, attribute, attributes):
            found[value] = found.get(value, 0) + 1
    return found


def is_flag(attribute, attributes):
    """Whether an attribute is a matter of yes or no."""
    values = [known[attribute] for known in attributes.values() if known.get(attribute) not in (None, "")]
    return bool(values) and all(isinstance(value, bool) for value in values)


def broken(panel, attributes, rules):
    """Rules that a panel breaks."""
    wrong = []
    for rule in rules:
        count = counts(panel, rule.attribute, attributes)
        if isinstance(rule, AtMost):
            holds = max(count.values(), default=0) <= rule.number
        elif isinstance(rule, Reward):
            holds = True
        elif rule.value is not None:
            holds = count.get(rule.value, 0) >= rule.number
        elif is_flag(rule.attribute, attributes):
            holds = count.get(True, 0) >= rule.number
        else:
            holds = len(count) >= rule.number
        if not holds:
            wrong.append(rule)
    return wrong


def rewards(panel, attributes, rules):
    """What the different values on a panel are worth."""
    return sum(
        rule.amount * len(counts(panel, rule.attribute, attributes)) for rule in rules if isinstance(rule, Reward)
    )


def random_attributes(rng, reviewers):
    """A region (one or none), topics (none to three) and a yes or no for each reviewer; the first one has all."""
    found = {}
    for number, reviewer in enumerate(reviewers):
        topics = [f"t{k}" for k in range(3) if rng.random() < 0.4 or not number]
        region = f"u{rng.integers(3)}" if rng.random() < 0.8 or not number else ""
        found[reviewer] = {"region": region, "topic": topics, "senior": bool(rng.random() < 0.5 or not number)}
    return found


def random_rules(rng, attributes, most=3):
    """One to three rules, of any kind on any attribute that it can be about."""
    regions = sorted({known["region"] for known in attributes.values() if known["region"]})
    kinds = [
        AtMost("region", 1), AtMost("region", 2), AtMost("topic", 1), AtMost("topic", 2), AtMost("senior", 1),
        AtLeast("region", 2), AtLeast("topic", 2), AtLeast("senior", 1), AtLeast("senior", 2),
        AtLeast("region", 1, regions[0]), AtLeast("topic", 1, "t1"),
        Reward("region", 0.25), Reward("topic", 0.5), Reward("senior", 0.3),
    ]  # fmt: skip
    return [kinds[k] for k in sorted(rng.choice(len(kinds), int(rng.integers(1, most + 1)), replace=False).tolist())]
