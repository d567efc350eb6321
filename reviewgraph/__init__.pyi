import planner.planning
from lsc.calibration import calibrate as calibrate
from lsc.calibrator import Calibrator as Calibrator
from lsc.comparing import compare as compare
from lsc.posteriors import posterior as posterior
from planner.assigning import assign as assign

from ._base.errors import CertificateError as CertificateError
from ._base.errors import ColumnWarning as ColumnWarning
from ._base.errors import DuplicateReview as DuplicateReview
from ._base.errors import ImpossibleDesign as ImpossibleDesign
from ._base.errors import InputError as InputError
from ._base.errors import LabelWarning as LabelWarning
from ._base.errors import ReviewGraphError as ReviewGraphError
from ._version import __version__ as __version__
from .graph.check import Report as Report
from .graph.check import check as check
from .graph.components import Components as Components
from .graph.components import Recoverability as Recoverability
from .graph.components import connected_components as connected_components
from .graph.components import doubly_connected_components as doubly_connected_components
from .graph.components import recoverability as recoverability
from .graph.connection import Connection as Connection
from .graph.designs import doubly_connected_assignment as doubly_connected_assignment
from .graph.designs import random_assignment as random_assignment
from .graph.fragility import Fragile as Fragile
from .graph.fragility import Keeps as Keeps
from .graph.fragility import fragile as fragile
from .graph.fragility import keeps as keeps
from .graph.precision import Assumptions as Assumptions
from .graph.precision import expected_errors as expected_errors
from .io.exchange import review_multigraph as review_multigraph
from .io.exchange import to_biadjacency as to_biadjacency
from .io.exchange import to_igraph as to_igraph
from .io.exchange import to_networkx as to_networkx
from .io.reading import read_reviews as read_reviews
from .io.rules import Rules as Rules
from .parts.cluster import cluster_reviews as cluster_reviews
from .parts.disk import stream_reviews as stream_reviews
from .parts.table import PartedReviews as PartedReviews
from .table.reviews import Reviews as Reviews
from .verify.graphs import verify_merges as verify_merges

plan = planner.planning.plan_extra_reviews
