"""Reviews, or a data frame that stands for them: what every function that takes reviews begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from reviewgraph.errors import ColumnWarning, InputError, warn
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

#: What functions take for reviews: the table, or a data frame of pandas, polars, pyarrow or the like.
ReviewsLike: TypeAlias = "Reviews | IntoDataFrame"


def as_reviews(given: ReviewsLike | Any, name: str = "reviews") -> Reviews:
    """Return reviews as they are, and a data frame as :meth:`Reviews.from_frame` reads it.

    Parameters
    ----------
    given
        Reviews, or a data frame with columns named as in files.
    name
        The argument, for messages.

    Raises
    ------
    InputError
        If it is neither, or the data frame does not tell which columns are meant.

    Warns
    -----
    ColumnWarning
        If the data frame has several columns for the reviewer or the item, of which the best known was taken.

    Examples
    --------
    >>> import pandas
    >>> as_reviews(pandas.DataFrame({"reviewer": ["ann", "bob"], "paper": [1, 1], "score": [3, 4]}))
    <Reviews: 2 reviewers, 1 item, 2 reviews>
    """
    if isinstance(given, Reviews):
        return given
    if hasattr(type(given), "columns"):  # of the type, since a frame that is lazy would have to find its columns
        chosen: list[str] = []
        reviews = Reviews.from_frame(given, note=chosen.append)
        for message in chosen:
            warn(message, ColumnWarning)
        return reviews
    message = (
        f"{name}: expected Reviews or a data frame (pandas, polars, pyarrow ...), found {type(given).__name__}; "
        "Reviews.from_pairs takes rows (reviewer, item, score), read_reviews takes files"
    )
    raise InputError(message)
