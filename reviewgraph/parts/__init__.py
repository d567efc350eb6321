"""Tables in parts: in memory, on disk, on a cluster."""

from reviewgraph._base.lazy import attach

__getattr__, __dir__ = attach(__name__)
