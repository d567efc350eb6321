"""Who may use the page: this machine, this address, with the token; and how it is served and ends.

The token is the first part of every path, not a cookie: cookies of 127.0.0.1 are sent to servers at all of its ports.
"""

from __future__ import annotations

import errno
import secrets
import shutil
import signal
import socket as sockets
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse

from reviewgraph.cli.app.pages import application, refusal
from reviewgraph.cli.app.workspace import Workspace
from reviewgraph.cli.output import Refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

#: Nothing is loaded but files of the page itself, and no other page may frame it or be sent its forms.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: Without the referrer of the same origin, browsers would send ``Origin: null`` with forms.
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass
class Guard:
    """Pass on requests with the token to this address from this address; refuse all others.

    ``once`` is a second token, good for one request: it is what a browser is started with, where other users of the
    machine may see the arguments of processes.
    """

    app: ASGIApp
    host: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    once: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{self.host}/{self.token}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        first = scope["path"].split("/", 2)[1]
        if self.once and _same(first, self.once) and not self.foreign(scope):
            self.once = ""
            await RedirectResponse(f"/{self.token}/", 303)(scope, receive, sent)
        elif why := self.foreign(scope) or ("" if _same(first, self.token) else "the address lacks the token"):
            await refusal(403, f"Refused: {why}. Open the address that the terminal shows.")(scope, receive, sent)
        else:
            await self.app({**scope, "root_path": f"/{self.token}"}, receive, sent)

    def foreign(self, scope: Scope) -> str:
        """Return why a request is not from this page, or nothing."""
        headers = Headers(scope=scope)
        # A page elsewhere whose name was made to lead here sends that name.
        if headers.getlist("host") != [self.host]:
            return "the host is another one"
        origins = headers.getlist("origin")
        address = f"http://{self.host}"
        if origins not in ([], [address]) or (not origins and scope["method"] not in ("GET", "HEAD")):
            return "the request is from another page"
        if headers.get("sec-fetch-site", "none") == "cross-site" and scope["method"] not in ("GET", "HEAD"):
            return "the request is from another page"
        return ""


def _same(token: str, secret: str) -> bool:
    return secrets.compare_digest(token.encode("utf-8", "surrogateescape"), secret.encode())


def bound(host: str, port: int) -> sockets.socket:
    """Return a socket that listens at a port of an address of this machine."""
    socket = sockets.socket()
    if hasattr(signal, "SIGHUP"):  # On Windows the option means that others may take the port.
        socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
    try:
        socket.bind((host, port))
        socket.listen()
    except OSError as error:
        socket.close()
        taken = error.errno == errno.EADDRINUSE
        reason = "another program uses it" if taken else str(error.strerror or error).lower()
        message = f"--port {port}: expected a free port, but {reason}; name another one, or none to use any free one"
        raise Refusal(message) from None
    return socket


@contextmanager
def _ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call a function where the process is asked to end: by Ctrl-C, by the system, or by a closed terminal."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {name: signal.signal(getattr(signal, name), lambda *_: end()) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def serve(socket: sockets.socket, *, browse: bool, say: Callable[[str], object]) -> None:
    """Serve the page until the process is asked to end, then delete all files of it."""
    import uvicorn

    folder = Path(tempfile.mkdtemp(prefix="reviewgraph-app-"))
    try:
        host = ":".join(map(str, socket.getsockname()[:2]))
        guard = Guard(application(Workspace(folder)), host)
        config = uvicorn.Config(
            guard, access_log=False, log_level="error", lifespan="on", server_header=False, timeout_graceful_shutdown=3
        )
        server = uvicorn.Server(config)

        def end() -> None:
            server.should_exit = True

        # Those of uvicorn raise the signal again once the server has ended.
        server.capture_signals = lambda: _ended_by_signals(end)  # type: ignore[method-assign]
        say(f"The page is at {guard.address}\nIt is for this machine only. Ctrl-C ends it, and deletes its files.")
        if browse:
            with suppress(webbrowser.Error):
                webbrowser.open(f"http://{host}/{guard.once}")
        server.run(sockets=[socket])
        say("Ended; the files of the page are deleted.")
    finally:
        socket.close()
        shutil.rmtree(folder, ignore_errors=True)
