"""The tables that stand beside the reviews: items, reviewers, affinities, conflicts, capacities, costs and the like.

Every reader takes a file of any format that is known, or the export of a conference system, finds columns by name under
the synonyms of :mod:`reviewgraph.formats.headers` or the names in ``columns=``, reports malformed rows as
:func:`reviewgraph.read_reviews` does, and returns plain dictionaries keyed by label. Pairs are (reviewer, item), in the
order of the rows; as there may be millions they stay codes, as :class:`~reviewgraph.columns.Columns`.
"""

from reviewgraph.formats.side.pairs import Bids as Bids
from reviewgraph.formats.side.pairs import read_affinity as read_affinity
from reviewgraph.formats.side.pairs import read_assigned as read_assigned
from reviewgraph.formats.side.pairs import read_authors as read_authors
from reviewgraph.formats.side.pairs import read_bids as read_bids
from reviewgraph.formats.side.pairs import read_conflicts as read_conflicts
from reviewgraph.formats.side.pairs import read_cost as read_cost
from reviewgraph.formats.side.pairs import read_gone as read_gone
from reviewgraph.formats.side.pairs import read_probabilities as read_probabilities
from reviewgraph.formats.side.pairs import read_weights as read_weights
from reviewgraph.formats.side.papers import Item as Item
from reviewgraph.formats.side.papers import Listing as Listing
from reviewgraph.formats.side.papers import read_items as read_items
from reviewgraph.formats.side.papers import read_listing as read_listing
from reviewgraph.formats.side.papers import read_merges as read_merges
from reviewgraph.formats.side.papers import read_references as read_references
from reviewgraph.formats.side.papers import read_truth as read_truth
from reviewgraph.formats.side.reviewers import Reviewer as Reviewer
from reviewgraph.formats.side.reviewers import Roster as Roster
from reviewgraph.formats.side.reviewers import read_attributes as read_attributes
from reviewgraph.formats.side.reviewers import read_capacity as read_capacity
from reviewgraph.formats.side.reviewers import read_chosen as read_chosen
from reviewgraph.formats.side.reviewers import read_hypotheses as read_hypotheses
from reviewgraph.formats.side.reviewers import read_institutions as read_institutions
from reviewgraph.formats.side.reviewers import read_missing as read_missing
from reviewgraph.formats.side.reviewers import read_reviewers as read_reviewers
from reviewgraph.formats.side.reviewers import read_roster as read_roster
