"""Reports as web pages, and their pictures."""
