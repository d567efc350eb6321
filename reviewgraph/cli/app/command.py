"""``reviewgraph app``: the commands as a local page in the browser."""

from __future__ import annotations

import click

from reviewgraph.cli.options import examples
from reviewgraph.cli.output import Refusal, refusing


@click.command(
    epilog=examples(
        ("Open the page in the browser:", "app"),
        ("At a fixed port, without opening a browser:", "app --port 8000 --no-browser"),
    ),
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page.  [default: any free one]")
@click.option("--browser/--no-browser", default=True, help="Open the page in the default browser, or only print it.")
@refusing
def app(port: int, browser: bool) -> None:
    """Open a local page in the browser that checks, plans, assigns and calibrates, without typed commands.

    The page is for this machine and this user only: it is served at 127.0.0.1, its address has a secret token, it loads
    nothing from elsewhere, and its files are deleted when it ends. Ctrl-C ends it.
    """
    try:
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        message = f"app: expected the package {error.name}, found none; install it with pip install 'reviewgraph[app]'"
        raise Refusal(message) from None
    from reviewgraph.cli.app.pages import bound, serve

    serve(bound(port), browse=browser)
