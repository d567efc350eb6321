"""Reviews from files, labels and tables in addition to them, rules, and exchange with other graph libraries."""

from reviewgraph._base.lazy import attach

__getattr__, __dir__ = attach(__name__)
