from .._base.errors import CertificateError as CertificateError
from .._base.errors import ColumnWarning as ColumnWarning
from .._base.errors import DuplicateReview as DuplicateReview
from .._base.errors import ImpossibleDesign as ImpossibleDesign
from .._base.errors import LabelWarning as LabelWarning
from .._base.errors import ReviewGraphError as ReviewGraphError
from .._verify.graphs import verify_merges as verify_merges
from ..io.exchange import review_multigraph as review_multigraph
from ..io.exchange import to_biadjacency as to_biadjacency
from ..io.exchange import to_igraph as to_igraph
from ..io.exchange import to_networkx as to_networkx
from ..parts.parts import PartedReviews as PartedReviews
from .check import Report as Report
from .check import unreviewed as unreviewed
from .components import Components as Components
from .components import Recoverability as Recoverability
from .components import connected_components as connected_components
from .components import doubly_connected_components as doubly_connected_components
from .components import recoverability as recoverability
from .components import structure_of as structure_of
from .connection import Connection as Connection
from .connection import pieces_of as pieces_of
from .designs import doubly_connected_assignment as doubly_connected_assignment
from .designs import random_assignment as random_assignment
from .fragility import Fragile as Fragile
from .fragility import Keeps as Keeps
from .fragility import fragile as fragile
from .fragility import keeps as keeps
from .fragility import missing_without_units as missing_without_units
from .kernels.blocks import Blocks as Blocks
from .kernels.blocks import Units as Units
from .kernels.pebbles import Game as Game
from .kernels.pebbles import play as play
from .levels import ALL_NAMES as ALL_NAMES
from .levels import LARGEST_SHARE as LARGEST_SHARE
from .levels import Level as Level
from .levels import level_named as level_named
from .precision import Assumptions as Assumptions
from .precision import Learned as Learned
from .precision import error_variances as error_variances
from .precision import expected_errors as expected_errors
from .precision import expected_share as expected_share
from .precision import learned_from as learned_from
from .precision import outlook_of as outlook_of
from .precision import projections as projections

# What users import; the other names are for the packages above.
__all__ = [
    "Assumptions",
    "CertificateError",
    "ColumnWarning",
    "Components",
    "Connection",
    "DuplicateReview",
    "Fragile",
    "ImpossibleDesign",
    "Keeps",
    "LabelWarning",
    "PartedReviews",
    "Recoverability",
    "Report",
    "ReviewGraphError",
    "connected_components",
    "doubly_connected_assignment",
    "doubly_connected_components",
    "expected_errors",
    "fragile",
    "keeps",
    "random_assignment",
    "recoverability",
    "review_multigraph",
    "to_biadjacency",
    "to_igraph",
    "to_networkx",
    "verify_merges",
]
