"""Rules on who reviews a paper together, read from attributes by label, and random ones of every kind."""

from planner import AtLeast, AtMost


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


def counted(panel, rule, attributes, paper=None):
    """Reviewers of a panel by value, of the values that a rule is on; ``paper`` are the attributes of the paper."""
    count = counts(panel, rule.attribute, attributes)
    if rule.value is None:
        return count
    own = {rule.value}
    if rule.value in ("same", "other") and paper is not None:
        own = values_of("paper", rule.attribute, {"paper": paper})
    return {value: number for value, number in count.items() if (value in own) == (rule.value != "other")}


def number_of(rule, paper=None):
    """The number of a rule for a paper, None where it has none."""
    return paper.get(rule.number) if isinstance(rule.number, str) else rule.number


def broken(panel, attributes, rules, paper=None):
    """Rules that a panel breaks."""
    wrong = []
    for rule in rules:
        count = counted(panel, rule, attributes, paper)
        number = number_of(rule, paper)
        if number is None:
            holds = True
        elif isinstance(rule, AtMost):
            holds = max(count.values(), default=0) <= number
        elif rule.value == "same":
            own = values_of("paper", rule.attribute, {"paper": paper})
            holds = not own or sum(bool(own & values_of(r, rule.attribute, attributes)) for r in panel) >= number
        else:
            holds = count.get(True if rule.value is None else rule.value, 0) >= number
        if not holds:
            wrong.append(rule)
    return wrong


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
        AtLeast("region", 1, regions[-1]), AtLeast("topic", 2, "t0"), AtLeast("senior", 1), AtLeast("senior", 2),
        AtLeast("region", 1, regions[0]), AtLeast("topic", 1, "t1"),
    ]  # fmt: skip
    return [kinds[k] for k in sorted(rng.choice(len(kinds), int(rng.integers(1, most + 1)), replace=False).tolist())]


def random_papers(rng, items):
    """Regions and topics (none to two) of each paper, a number, or none."""
    return {
        item: {
            "region": [f"u{k}" for k in range(4) if rng.random() < 0.35],
            "topic": [f"t{k}" for k in range(3) if rng.random() < 0.4],
            "needed": [None, 0, 1, 2][rng.integers(4)],
        }
        for item in items
    }


def random_rules_of_papers(rng, most=2):
    """Rules that differ among papers: by values that they share, or by numbers."""
    kinds = [
        AtMost("region", 0, "same"), AtMost("region", 1, "same"), AtMost("topic", 0, "same"),
        AtMost("region", 1, "other"), AtMost("topic", 1, "other"), AtMost("region", "needed"),
        AtMost("senior", "needed"), AtMost("topic", 1, "t1"), AtLeast("region", 1, "same"),
        AtLeast("topic", 1, "same"), AtLeast("topic", 2, "same"),
        AtLeast("topic", "needed", "same"), AtLeast("topic", "needed", "t0"), AtLeast("senior", "needed"),
    ]  # fmt: skip
    return [kinds[k] for k in sorted(rng.choice(len(kinds), int(rng.integers(1, most + 1)), replace=False).tolist())]
