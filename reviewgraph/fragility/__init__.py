"""What a table of reviews loses with a reviewer or a review: which losses lower a level, and how likely that is."""
