"""Who reviews what, and whether these reviews put every item on one scale.

Names are loaded when first used, so that importing the package costs nothing. Nothing but the version is imported here:
the command answers Ctrl-C only after this module.
"""

from __future__ import annotations

from reviewgraph._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reviewgraph.assumptions import Assumptions as Assumptions
    from reviewgraph.checking import Report as Report
    from reviewgraph.checking import check as check
    from reviewgraph.components import Components as Components
    from reviewgraph.components import connected_components as connected_components
    from reviewgraph.components import doubly_connected_components as doubly_connected_components
    from reviewgraph.components import is_recovery_resilient as is_recovery_resilient
    from reviewgraph.designs import doubly_connected_assignment as doubly_connected_assignment
    from reviewgraph.designs import random_assignment as random_assignment
    from reviewgraph.errors import CertificateError as CertificateError
    from reviewgraph.errors import ColumnWarning as ColumnWarning
    from reviewgraph.errors import DuplicateReview as DuplicateReview
    from reviewgraph.errors import ImpossibleDesign as ImpossibleDesign
    from reviewgraph.errors import InputError as InputError
    from reviewgraph.errors import LabelWarning as LabelWarning
    from reviewgraph.errors import ReviewGraphError as ReviewGraphError
    from reviewgraph.exchange.multigraph import from_review_multigraph as from_review_multigraph
    from reviewgraph.exchange.multigraph import overlap as overlap
    from reviewgraph.exchange.multigraph import review_multigraph as review_multigraph
    from reviewgraph.exchange.multigraph import review_multigraph_igraph as review_multigraph_igraph
    from reviewgraph.exchange.to_graphs import to_igraph as to_igraph
    from reviewgraph.exchange.to_graphs import to_networkx as to_networkx
    from reviewgraph.exchange.to_matrices import to_biadjacency as to_biadjacency
    from reviewgraph.fragility.fragile import Fragile as Fragile
    from reviewgraph.fragility.fragile import fragile as fragile
    from reviewgraph.fragility.keeping import Keeps as Keeps
    from reviewgraph.fragility.keeping import keeps as keeps
    from reviewgraph.precision.expected import expected_errors as expected_errors
    from reviewgraph.reading import read_reviews as read_reviews
    from reviewgraph.recoverable import Recoverability as Recoverability
    from reviewgraph.recoverable import degrees_of_freedom as degrees_of_freedom
    from reviewgraph.recoverable import recoverability as recoverability
    from reviewgraph.reviews import Reviews as Reviews
    from reviewgraph.rules import Rules as Rules
    from reviewgraph.streams.connection import Connection as Connection
    from reviewgraph.streams.connection import check_stream as check_stream
    from reviewgraph.streams.table import Stream as Stream
    from reviewgraph.streams.table import stream_reviews as stream_reviews
    from reviewgraph.verify.graphs import verify_merges as verify_merges

_HOME = {
    "Assumptions": "assumptions",
    "CertificateError": "errors",
    "ColumnWarning": "errors",
    "Components": "components",
    "Connection": "streams.connection",
    "DuplicateReview": "errors",
    "Fragile": "fragility.fragile",
    "ImpossibleDesign": "errors",
    "InputError": "errors",
    "Keeps": "fragility.keeping",
    "LabelWarning": "errors",
    "Recoverability": "recoverable",
    "Report": "checking",
    "ReviewGraphError": "errors",
    "Reviews": "reviews",
    "Rules": "rules",
    "Stream": "streams.table",
    "check": "checking",
    "check_stream": "streams.connection",
    "connected_components": "components",
    "degrees_of_freedom": "recoverable",
    "doubly_connected_assignment": "designs",
    "doubly_connected_components": "components",
    "expected_errors": "precision.expected",
    "fragile": "fragility.fragile",
    "from_review_multigraph": "exchange.multigraph",
    "is_recovery_resilient": "components",
    "keeps": "fragility.keeping",
    "overlap": "exchange.multigraph",
    "random_assignment": "designs",
    "read_reviews": "reading",
    "recoverability": "recoverable",
    "review_multigraph": "exchange.multigraph",
    "review_multigraph_igraph": "exchange.multigraph",
    "stream_reviews": "streams.table",
    "to_biadjacency": "exchange.to_matrices",
    "to_igraph": "exchange.to_graphs",
    "to_networkx": "exchange.to_graphs",
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
