"""Who reviews what."""
