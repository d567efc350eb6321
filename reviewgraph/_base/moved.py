"""Old names, and what they are called now: the one table of what warns for a release."""

from __future__ import annotations

#: New place by old name. Where the words differ from the place, both stand there: "words = place".
MOVED: dict[str, str] = {
    **{
        f"reviewgraph.{name}": f"reviewgraph.graph.{name}"
        for name in (
            "Assumptions",
            "CertificateError",
            "ColumnWarning",
            "Components",
            "Connection",
            "DuplicateReview",
            "Fragile",
            "ImpossibleDesign",
            "Keeps",
            "LabelWarning",
            "PartedReviews",
            "Recoverability",
            "Report",
            "ReviewGraphError",
            "connected_components",
            "doubly_connected_assignment",
            "doubly_connected_components",
            "expected_errors",
            "fragile",
            "keeps",
            "random_assignment",
            "recoverability",
            "review_multigraph",
            "to_biadjacency",
            "to_igraph",
            "to_networkx",
            "verify_merges",
        )
    },
    "reviewgraph.posterior": "reviewgraph.calibrate = lsc.posterior",
    "planner.plan_extra_reviews": "planner.plan = planner.planning.plan_extra_reviews",
    "planner.InvalidPlan": "reviewgraph.InputError",
    "planner.verify_plan": "reviewgraph.verify = planner.verifying.verify_plan",
}

#: Class methods of Reviews that its constructor replaces, and what they called their first argument.
CONSTRUCTORS = {"from_pairs": "pairs", "from_frame": "frame", "from_networkx": "graph", "from_igraph": "graph"}
