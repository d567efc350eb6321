"""Dates and times as exports and people write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

#: What a message says is expected.
EXPECTED = (
    "a date such as 2026-03-01, a time such as 2026-03-01T17:00+01:00 (UTC where there is no zone), or seconds "
    "since 1970"
)
#: Digits of seconds since 1970, and of milliseconds.
_SECONDS, _MILLISECONDS = (9, 10), (12, 13)
_BEFORE_ZONE = re.compile(r"\s+(?=[+-]\d{2}:?\d{2}$|Z$)")


def parse_moment(text: str) -> datetime | None:
    """Return what a date or a time says, a date at its beginning; None where it is neither.

    ISO 8601, or seconds or milliseconds since 1970; UTC where there is no zone.

    >>> parse_moment("2026-03-01 17:00:00 +0100").isoformat()
    '2026-03-01T16:00:00+00:00'
    >>> parse_moment("01/03/2026") is None
    True
    """
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) in (*_SECONDS, *_MILLISECONDS):
        seconds = int(plain) / (1000 if len(plain) in _MILLISECONDS else 1)
        return datetime.fromtimestamp(seconds, UTC)
    try:
        found = datetime.fromisoformat(_BEFORE_ZONE.sub("", plain))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_end(text: str) -> datetime | None:
    """Return the end of a date, or the time that is said; None where it is neither.

    >>> parse_end("2026-03-01").isoformat(), parse_end("2026-03-01T17:00").isoformat()
    ('2026-03-02T00:00:00+00:00', '2026-03-01T17:00:00+00:00')
    """
    try:
        day = date.fromisoformat(text.strip())
        return datetime.combine(day, time(), UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        return parse_moment(text)
