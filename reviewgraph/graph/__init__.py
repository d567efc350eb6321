"""Connection: components, levels, fragility, precision."""

from reviewgraph._base.lazy import attach

__getattr__, __dir__ = attach(__name__)
