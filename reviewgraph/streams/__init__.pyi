from .connection import ROWS as ROWS
from .connection import pieces_of as pieces_of
from .files import Labels as Labels
from .files import Spill as Spill
from .files import ranges as ranges
from .table import Chunk as Chunk
from .table import Stream as Stream
