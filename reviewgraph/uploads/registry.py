"""All ways to write reviews, by name."""

from __future__ import annotations

from reviewgraph.formats.writing import csv_text
from reviewgraph.uploads.cmt import CMT
from reviewgraph.uploads.hotcrp import HOTCRP, tags
from reviewgraph.uploads.mail import MAIL
from reviewgraph.uploads.openreview import OPENREVIEW
from reviewgraph.uploads.start import START
from reviewgraph.uploads.upload import Upload

#: A table with all that is known of each review, where the input came from no system that takes uploads.
CSV = Upload("csv", "a table with all columns", ".csv", lambda outgoing: csv_text(outgoing.columns))

#: What writes qualities and lists, by the system that takes them: columns to the text of a file.
RESULTS = {HOTCRP.name: tags}

UPLOADS = {upload.name: upload for upload in (HOTCRP, OPENREVIEW, CMT, START, CSV, MAIL)}
