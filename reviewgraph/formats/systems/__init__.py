"""One module per conference system."""
