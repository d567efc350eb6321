"""The methods that benchmarks compare, the runs of each on one table, and tables in Markdown."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from lsc.estimate import Estimate
from lsc.methods import METHODS as BY_NAME
from reviewgraph import Reviews

Record = dict[str, Any]
#: Estimates qualities: ``(reviews, number to select, seed) -> Estimate``.
Method: TypeAlias = Callable[[Reviews, int, int], Estimate]

#: The method whose claims are tested.
OURS = "posterior"


def _named(name: str, **options: Any) -> Method:
    return lambda reviews, n, seed: BY_NAME[name](reviews, **options)


METHODS: dict[str, Method] = {
    "average": _named("average"),
    "additive": _named("additive"),
    "z-score": _named("z-score"),
    "QP": _named("qp", bounded=True),
    "Bayesian": lambda reviews, n, seed: BY_NAME["bayesian"](reviews, n_selected=n, seed=seed),
    "LSC linear": _named("lsc", hypothesis="linear"),
    "LSC monotone": _named("lsc", hypothesis="monotone"),
    OURS: _named("posterior"),
}


def attempt(run: Record, measure: Callable[[], Record]) -> Record:
    """Return the record of a run with its measures, or with the error that ended it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run | measure()
    except Exception as error:
        return run | {"failed": f"{type(error).__name__}: {error}"}


def in_processes(work: Callable[..., list[Record]], tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterable[Record]:
    """Yield the records of all tasks as they come, from several processes."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    for records in parallel(delayed(work)(*task) for task in tasks):
        yield from records


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
