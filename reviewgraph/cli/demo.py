"""``reviewgraph demo``: check, plan, then calibrate, on a small table in the package."""

from __future__ import annotations

from importlib.resources import files

import click

from reviewgraph._base.storing import write_whole
from reviewgraph._base.text import counted
from reviewgraph.cli.options import examples
from reviewgraph.cli.output import Refusal, refusing, say, show

NAME = "reviewgraph-demo.csv"

COMMANDS = (("check", NAME), ("plan", NAME), ("calibrate", NAME, "--select", "10%"))


@click.command(epilog=examples(("See what the commands do:", "demo")))
@click.pass_context
@refusing
def demo(ctx: click.Context) -> None:
    """Copy a small example table into this folder (existing files are kept); check it, plan, and calibrate."""
    from pathlib import Path

    text = (files("reviewgraph") / "cli" / NAME).read_text(encoding="utf-8")
    place = Path(NAME)
    if not place.exists():
        write_whole(place, text)
        say(f"Wrote {NAME} ({counted(len(text.splitlines()) - 1, 'review')}).")
    elif place.is_dir() or place.read_text(encoding="utf-8", errors="replace") != text:
        message = f"{NAME}: expected no such file in this folder, found another one; move it, or use another folder"
        raise Refusal(message)
    command = ctx.find_root().command
    for words in COMMANDS:
        show(f"$ reviewgraph {' '.join(words)}\n")
        command.main(words, prog_name="reviewgraph", standalone_mode=False)
        show()
