"""From files and tables to reviews, and back."""
