"""How sure qualities will be, before any score: the conditioning of the graph, and expected errors."""
