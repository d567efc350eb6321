from .connection import ROWS as ROWS
from .connection import pieces_of as pieces_of
from .engine import sort_numbers as sort_numbers
from .files import Labels as Labels
from .spill import Spill as Spill
from .spill import ranges as ranges
from .table import Chunk as Chunk
from .table import Stream as Stream
