"""Who reviews what."""

from reviewgraph._base.lazy import attach

__getattr__, __dir__ = attach(__name__)
