"""``python -m reviewgraph`` is the command."""

from reviewgraph.cli import main

if __name__ == "__main__":
    main(prog_name="reviewgraph")
