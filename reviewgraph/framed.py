"""Reviews, or a data frame that stands for them: what every function that takes reviews begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reviewgraph.arrays import IntArray
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


def review_of_rows(given: ReviewsLike | Any, reviews: Reviews) -> IntArray:
    """Return which review each row of what was passed is: arrays beside it are in the order of its rows.

    Parameters
    ----------
    given
        Reviews, or a data frame.
    reviews
        What :func:`as_reviews` made of it.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"reviewer": ["bob", "ann"], "paper": [1, 1]})
    >>> review_of_rows(frame, as_reviews(frame)).tolist()
    [1, 0]
    """
    if given is reviews:
        return np.arange(reviews.n_reviews)
    from reviewgraph.formats.frames import from_frame
    from reviewgraph.formats.spellings import joined

    rows = joined(from_frame(given), reviews.spellings(), "reviews", lambda message: None)  # it was told before
    reviewer = np.array([reviews.reviewer_code[label] for label in rows.reviewers], np.int64)[rows.reviewer]
    item = np.array([reviews.item_code[label] for label in rows.items], np.int64)[rows.item]
    key = reviews.reviewer * reviews.n_items + reviews.item
    return np.searchsorted(key, reviewer * reviews.n_items + item)
