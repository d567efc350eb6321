"""Answers checked again by plain code of its own: nothing here computes as the commands that made them do."""
