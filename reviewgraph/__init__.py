"""Who reviews what, and whether these reviews put every item on one scale.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reviewgraph._version import __version__

if TYPE_CHECKING:
    from reviewgraph.components import Components as Components
    from reviewgraph.components import connected_components as connected_components
    from reviewgraph.components import doubly_connected_components as doubly_connected_components
    from reviewgraph.components import is_recovery_resilient as is_recovery_resilient
    from reviewgraph.components import verify_merges as verify_merges
    from reviewgraph.errors import CertificateError as CertificateError
    from reviewgraph.errors import DuplicateReview as DuplicateReview
    from reviewgraph.errors import ImpossibleDesign as ImpossibleDesign
    from reviewgraph.errors import InputError as InputError
    from reviewgraph.errors import ReviewGraphError as ReviewGraphError
    from reviewgraph.reading import read_reviews as read_reviews
    from reviewgraph.reviews import Reviews as Reviews

_HOME = {
    "CertificateError": "errors",
    "Components": "components",
    "DuplicateReview": "errors",
    "ImpossibleDesign": "errors",
    "InputError": "errors",
    "ReviewGraphError": "errors",
    "Reviews": "reviews",
    "connected_components": "components",
    "doubly_connected_components": "components",
    "is_recovery_resilient": "components",
    "read_reviews": "reading",
    "verify_merges": "components",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
