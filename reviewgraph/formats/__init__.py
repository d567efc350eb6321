"""File formats and the exports of conference systems."""
