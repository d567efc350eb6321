"""Who reviews what, and whether these reviews put every item on one scale.

Names are loaded when first used, so that importing the package costs nothing. Nothing but the version is imported here:
the command answers Ctrl-C only after this module.
"""

from __future__ import annotations

from reviewgraph._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reviewgraph._base.errors import CertificateError as CertificateError
    from reviewgraph._base.errors import ColumnWarning as ColumnWarning
    from reviewgraph._base.errors import DuplicateReview as DuplicateReview
    from reviewgraph._base.errors import ImpossibleDesign as ImpossibleDesign
    from reviewgraph._base.errors import InputError as InputError
    from reviewgraph._base.errors import LabelWarning as LabelWarning
    from reviewgraph._base.errors import ReviewGraphError as ReviewGraphError
    from reviewgraph.graph.check import Report as Report
    from reviewgraph.graph.check import check as check
    from reviewgraph.graph.components import Components as Components
    from reviewgraph.graph.components import Recoverability as Recoverability
    from reviewgraph.graph.components import connected_components as connected_components
    from reviewgraph.graph.components import degrees_of_freedom as degrees_of_freedom
    from reviewgraph.graph.components import doubly_connected_components as doubly_connected_components
    from reviewgraph.graph.components import is_recovery_resilient as is_recovery_resilient
    from reviewgraph.graph.components import recoverability as recoverability
    from reviewgraph.graph.designs import doubly_connected_assignment as doubly_connected_assignment
    from reviewgraph.graph.designs import random_assignment as random_assignment
    from reviewgraph.graph.fragility import Fragile as Fragile
    from reviewgraph.graph.fragility import Keeps as Keeps
    from reviewgraph.graph.fragility import fragile as fragile
    from reviewgraph.graph.fragility import keeps as keeps
    from reviewgraph.graph.precision import Assumptions as Assumptions
    from reviewgraph.graph.precision import expected_errors as expected_errors
    from reviewgraph.io.exchange import from_review_multigraph as from_review_multigraph
    from reviewgraph.io.exchange import overlap as overlap
    from reviewgraph.io.exchange import review_multigraph as review_multigraph
    from reviewgraph.io.exchange import review_multigraph_igraph as review_multigraph_igraph
    from reviewgraph.io.exchange import to_biadjacency as to_biadjacency
    from reviewgraph.io.exchange import to_igraph as to_igraph
    from reviewgraph.io.exchange import to_networkx as to_networkx
    from reviewgraph.io.reading import read_reviews as read_reviews
    from reviewgraph.io.rules import Rules as Rules
    from reviewgraph.streams.connection import Connection as Connection
    from reviewgraph.streams.connection import check_stream as check_stream
    from reviewgraph.streams.table import Stream as Stream
    from reviewgraph.streams.table import stream_reviews as stream_reviews
    from reviewgraph.table.reviews import Reviews as Reviews
    from reviewgraph.verify.graphs import verify_merges as verify_merges

_HOME = {
    "Assumptions": "graph.precision",
    "CertificateError": "_base.errors",
    "ColumnWarning": "_base.errors",
    "Components": "graph.components",
    "Connection": "streams.connection",
    "DuplicateReview": "_base.errors",
    "Fragile": "graph.fragility",
    "ImpossibleDesign": "_base.errors",
    "InputError": "_base.errors",
    "Keeps": "graph.fragility",
    "LabelWarning": "_base.errors",
    "Recoverability": "graph.components",
    "Report": "graph.check",
    "ReviewGraphError": "_base.errors",
    "Reviews": "table.reviews",
    "Rules": "io.rules",
    "Stream": "streams.table",
    "check": "graph.check",
    "check_stream": "streams.connection",
    "connected_components": "graph.components",
    "degrees_of_freedom": "graph.components",
    "doubly_connected_assignment": "graph.designs",
    "doubly_connected_components": "graph.components",
    "expected_errors": "graph.precision",
    "fragile": "graph.fragility",
    "from_review_multigraph": "io.exchange",
    "is_recovery_resilient": "graph.components",
    "keeps": "graph.fragility",
    "overlap": "io.exchange",
    "random_assignment": "graph.designs",
    "read_reviews": "io.reading",
    "recoverability": "graph.components",
    "review_multigraph": "io.exchange",
    "review_multigraph_igraph": "io.exchange",
    "stream_reviews": "streams.table",
    "to_biadjacency": "io.exchange",
    "to_igraph": "io.exchange",
    "to_networkx": "io.exchange",
    "verify_merges": "verify.graphs",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
