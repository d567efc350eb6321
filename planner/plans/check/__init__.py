"""Plans and their bounds computed again, with code of their own."""
