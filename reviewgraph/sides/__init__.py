"""What stands beside the reviews, from files and from Python alike: one form, and labels matched in one way."""
