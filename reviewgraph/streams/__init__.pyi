from .coding import Labels as Labels
from .coding import Spill as Spill
from .coding import ranges as ranges
from .connection import ROWS as ROWS
from .connection import pieces_of as pieces_of
from .table import Chunk as Chunk
from .table import Stream as Stream
