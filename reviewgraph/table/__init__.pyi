from .forms import pairs_in as pairs_in
from .reviews import Reviews as Reviews
from .reviews import ReviewsLike as ReviewsLike
from .reviews import as_reviews as as_reviews
