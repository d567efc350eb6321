"""The pages: files, and one step each; and who may use them.

The token is the first part of every path, not a cookie: cookies of 127.0.0.1 are sent to servers at all of its ports.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
import shlex
import shutil
import signal
import socket as sockets
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from reviewgraph._base.errors import InputError
from reviewgraph._version import __version__
from reviewgraph.cli.app.steps import COLUMN_WORDS, EXCEL, ROLES, STEPS, Field, Step, field_of, table_fields, title_of
from reviewgraph.cli.app.workspace import MOST_BYTES, MOST_FILES, Workspace
from reviewgraph.cli.output import Refusal, say

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

#: What a form may have beside its files.
MOST_FIELDS = 2_000
#: The style of reports, then what the page adds.
STYLES = ("report/pictures.css", "report/style.css", "cli/app/app.css")
#: Seconds that a page waits for its result; one that takes longer shows the progress.
WAIT = 2.0


def application(workspace: Workspace) -> Starlette:

    @asynccontextmanager
    async def living(_: Starlette) -> AsyncIterator[None]:
        yield
        await workspace.close()

    routes = [
        Route("/", partial(_files, workspace), methods=["GET"]),
        Route("/files", partial(_add, workspace), methods=["POST"]),
        Route("/choices", partial(_choose, workspace), methods=["POST"]),
        Route("/clear", partial(_clear, workspace), methods=["POST"]),
        *(Route(f"/{name}", partial(_step, workspace, step), methods=["GET"]) for name, step in STEPS.items()),
        *(Route(f"/{name}", partial(_run, workspace, step), methods=["POST"]) for name, step in STEPS.items()),
        Route("/progress", partial(_progress, workspace), methods=["GET"]),
        Route("/stop", partial(_stop, workspace), methods=["POST"]),
        Route("/download/{name}", partial(_download, workspace), methods=["GET"]),
        Route("/style.css", partial(_asset, "text/css", STYLES), methods=["GET"]),
        Route("/tables.js", partial(_asset, "text/javascript", ["report/script.js"]), methods=["GET"]),
        Route("/script.js", partial(_asset, "text/javascript", ["cli/app/app.js"]), methods=["GET"]),
    ]
    # A request that is refused has a page of its own.
    handlers: Any = {HTTPException: lambda _, error: refusal(error.status_code, f"Refused: {error.detail}.")}
    return Starlette(routes=routes, lifespan=living, exception_handlers=handlers)


TEMPLATES = Environment(
    loader=PackageLoader("reviewgraph.cli.app", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals |= {"steps": STEPS, "roles": ROLES, "words": COLUMN_WORDS, "version": __version__}
TEMPLATES.globals |= {"most_bytes": MOST_BYTES, "most_files": MOST_FILES}


def _page(request: Request, workspace: Workspace, name: str, status: int = 200, **values: Any) -> HTMLResponse:
    template = TEMPLATES.get_template("step.html" if name in STEPS else f"{name}.html")
    context = {"base": request.scope["root_path"], "here": name, "workspace": workspace, **values}
    return HTMLResponse(template.render(context), status)


def _to(request: Request, place: str) -> RedirectResponse:
    return RedirectResponse(f"{request.scope['root_path']}/{place}", 303)


def refusal(status: int, words: str) -> HTMLResponse:
    """Return a page of one sentence, which contains nothing that anybody sent."""
    text = f"<!doctype html><html lang=en><meta charset=utf-8><title>reviewgraph</title><main><p>{words}</p></main>"
    return HTMLResponse(text, status)


async def _form(request: Request, most_files: int = 0) -> FormData:
    """Return a form, whose fields are limited; refuse what is none."""
    try:
        return await request.form(max_fields=MOST_FIELDS, max_files=most_files)
    except (MultiPartException, HTTPException, LookupError, ValueError):
        # A form without a boundary, or with another one, or with too much in it.
        message = f"expected a form of this page with at most {MOST_FIELDS:,} fields, found something else"
        raise HTTPException(400, message) from None


# Files.


async def _files(workspace: Workspace, request: Request, error: str = "", status: int = 200) -> Response:
    result = workspace.results.get("check")
    refused = {upload.error for upload in workspace.uploads.values() if upload.error}
    # What is said beside a file is not said twice.
    error = error or (result.error if result and result.error not in refused else "")
    context = {"result": result, "refused": refused, "error": error, "notes": workspace.notes, "table": table_fields()}
    workspace.notes = []
    return _page(request, workspace, "files", status, **context)


async def _check(workspace: Workspace) -> None:
    """Check what there is, if there are reviews; the caller holds the lock."""
    if workspace.of_role("reviews"):
        await workspace.start(STEPS["check"])
        await workspace.settle(WAIT)


async def _add(workspace: Workspace, request: Request) -> Response:
    """Keep the files of a form, as far as the limits allow."""
    length = request.headers.get("content-length", "")
    size = int(length) if length.isdecimal() else MOST_BYTES + 1
    try:
        workspace.expect_room((), size)
    except InputError as error:
        async for _ in request.stream():
            pass  # A browser shows the answer only once it has sent everything.
        return await _files(workspace, request, f"The files were not added: {error}.", 413)
    form = await _form(request, MOST_FIELDS)
    try:
        async with workspace.lock:
            await workspace.close()
            uploads = [upload for upload in form.getlist("files") if isinstance(upload, UploadFile)]
            contents = {upload.filename: await upload.read() for upload in uploads if upload.filename}
            workspace.expect_room(contents, size)
            for name, content in contents.items():
                await asyncio.to_thread(workspace.add, name, content)
                workspace.results = {}
            await _check(workspace)
    except InputError as error:
        return await _files(workspace, request, str(error), 422)
    finally:
        await form.close()
    return _to(request, "")


async def _choose(workspace: Workspace, request: Request) -> Response:
    """Take the role, the part and the columns of one file, or how the tables are written, and check again."""
    form = {key: str(value) for key, value in (await _form(request)).items()}
    async with workspace.lock:
        await workspace.close()
        upload = workspace.uploads.get(form.get("file", ""))
        if form.get("remove"):
            workspace.remove(form["remove"])
        elif upload is None:
            _take(workspace, form, table_fields())
        else:
            # With another role, columns are something else.
            if (role := form.get("role", "")) not in upload.roles[:1]:
                workspace.give(upload, role if role in ROLES else "")
            elif form.get("part", "") == upload.part:
                upload.choose([form.get(str(place), "") for place in range(len(upload.header))])
            upload.error = ""
            await asyncio.to_thread(upload.take, form.get("part", ""), workspace.folder)
        workspace.results = {}
        try:
            await _check(workspace)
        except InputError as error:
            return await _files(workspace, request, str(error), 422)
    return _to(request, "")


def _take(workspace: Workspace, form: Mapping[str, Any], fields: Sequence[Field]) -> None:
    workspace.values |= {field.key: str(form.get(field.key, "")).strip() for field in fields}


async def _clear(workspace: Workspace, request: Request) -> Response:
    async with workspace.lock:
        await workspace.close()
        workspace.clear()
    return _to(request, "")


# Steps.


async def _step(workspace: Workspace, step: Step, request: Request, error: str = "", status: int = 200) -> Response:
    result = workspace.results.get(step.command)
    error = error or (result.error if result else "")
    command = ""
    with suppress(InputError):
        command = shlex.join(["reviewgraph", *workspace.command(step)[0]])
    to = workspace.default_to(step)
    context: dict[str, Any] = {"step": step, "result": result, "command": command, "error": error}
    context["field"] = field_of(result.error, step) if result else ""
    context["card"] = workspace.card(step)
    context["ranked"] = workspace.ranked() if step.command == "calibrate" else []
    context["default"] = f"{title_of(to)}, as the files" if to else title_of(EXCEL)
    return _page(request, workspace, step.command, status, **context)


async def _run(workspace: Workspace, step: Step, request: Request) -> Response:
    """Run a step, with the choices of its form; a button elsewhere keeps these."""
    form = await _form(request)
    if not form.get("keep"):
        _take(workspace, form, step.fields)
    try:
        async with workspace.lock:
            await workspace.start(step)
    except InputError as error:
        return await _step(workspace, step, request, str(error), 422)
    await workspace.settle(WAIT)
    return _to(request, step.command)


async def _progress(workspace: Workspace, request: Request) -> Response:
    run = workspace.running
    return JSONResponse({"running": run is not None, "lines": run.lines[-3:] if run else []})


async def _stop(workspace: Workspace, request: Request) -> Response:
    step = workspace.running.step.command if workspace.running else ""
    await workspace.stop()
    return _to(request, step)


# Results.


async def _download(workspace: Workspace, request: Request) -> Response:
    """Return a file that a command wrote."""
    name = request.path_params["name"]
    written = {file for result in workspace.results.values() for file in result.files}
    if name not in written:
        raise HTTPException(404, "there is no such file")
    return FileResponse(workspace.folder / name, filename=name, media_type="application/octet-stream")


async def _asset(kind: str, names: Sequence[str], request: Request) -> Response:
    return Response("\n".join((files("reviewgraph") / name).read_text("utf-8") for name in names), media_type=kind)


# Who may use the pages: this machine, this address, with the token; and how they are served and end.

#: Nothing is loaded but files of the page itself, and no other page may frame it or be sent its forms. Without the
#: referrer of the same origin, browsers would send ``Origin: null`` with forms.
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
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
        ours = [f"http://{self.host}"]
        # Who only follows a link sends none.
        if scope["method"] in ("GET", "HEAD"):
            own = origins in ([], ours)
        else:
            own = origins == ours and headers.get("sec-fetch-site") != "cross-site"
        return "" if own else "the request is from another page"


def _same(token: str, secret: str) -> bool:
    return secrets.compare_digest(token.encode("utf-8", "surrogateescape"), secret.encode())


def bound(port: int) -> sockets.socket:
    """Return a socket that listens at a port, which only this machine reaches."""
    socket = sockets.socket()
    if hasattr(signal, "SIGHUP"):  # On Windows the option means that others may take the port.
        socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
    try:
        socket.bind(("127.0.0.1", port))
        socket.listen()
    except OSError as error:
        socket.close()
        reason = "another program uses it" if error.errno == errno.EADDRINUSE else str(error.strerror or error).lower()
        message = f"--port {port}: expected a free port, but {reason}; name another one, or none to use any free one"
        raise Refusal(message) from None
    return socket


def serve(socket: sockets.socket, *, browse: bool) -> None:
    """Serve the page until the process is asked to end, then delete all files of it."""
    folder = Path(tempfile.mkdtemp(prefix="reviewgraph-app-"))
    try:
        host = ":".join(map(str, socket.getsockname()[:2]))
        guard = Guard(application(Workspace(folder)), host)
        config = uvicorn.Config(
            guard, access_log=False, log_level="error", lifespan="on", server_header=False, timeout_graceful_shutdown=3
        )
        server = uvicorn.Server(config)
        # The signals of uvicorn itself are raised again once the server has ended, and do not include SIGHUP.
        server.capture_signals = nullcontext  # type: ignore[assignment, method-assign]
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), server.handle_exit)
        address = f"http://{host}/{guard.token}/"
        say(f"The page is at {address}\nIt is for this machine only. Ctrl-C ends it, and deletes its files.")
        if browse:
            with suppress(webbrowser.Error):
                webbrowser.open(f"http://{host}/{guard.once}")
        server.run(sockets=[socket])
        say("Ended; the files of the page are deleted.")
    finally:
        socket.close()
        shutil.rmtree(folder, ignore_errors=True)
