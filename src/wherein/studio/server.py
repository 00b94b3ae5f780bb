"""The studio's web server. By default it accepts connections of this computer only; Ctrl-C ends it."""

import errno
import ipaddress
import secrets
import socket
import threading
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from wherein.errors import ArgumentError, WhereinError
from wherein.studio.api import Api
from wherein.studio.bounds import Bounds
from wherein.studio.calibrations import Calibrate, Calibrator
from wherein.studio.drafts import DraftPictures
from wherein.studio.id_map import ExpiredIdError
from wherein.studio.security import Guard, refusal
from wherein.studio.session import SaveTarget, Session
from wherein.studio.uploads import UploadError
from wherein.template.bundle import Template

LOCAL = "127.0.0.1"
"""The address that only this computer can reach."""

EXPIRED = "X-Wherein-Expired"
"""The header that says what is no longer kept. The page can send a template again, but not a picture."""

_HOSTS = "--host takes an IPv4 address of this computer, such as 192.168.1.20, or auto"

_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, eq=False)
class Studio:
    """A studio that is ready to be served.

    Attributes:
        server: the web server.
        socket: its bound socket.
        address: the URL to open in a browser. The token of the session is in its fragment (after the #),
        which
            browsers do not send to servers.
    """

    server: uvicorn.Server
    socket: socket.socket
    address: str

    def serve(self) -> None:
        """Serve until Ctrl-C, or until `server.should_exit` is set."""
        try:
            self.server.run(sockets=[self.socket])
        except KeyboardInterrupt:  # uvicorn raises it again after its shutdown
            pass
        finally:
            self.socket.close()


def prepare(
    template: Template | None = None,
    port: int = 0,
    target: SaveTarget | None = None,
    bounds: Bounds | None = None,
    calibrate: Calibrate | None = None,
    host: str = LOCAL,
) -> Studio:
    """A studio that is bound to a port and ready to be served.

    Arguments:
        template: the template that the page opens at the start.
        port: the port; 0: any free port.
        target: where templates are saved.
        bounds: the limits of what is accepted and kept.
        calibrate: replaces the measured calibration, for tests.
        host: the IPv4 address of this computer at which the studio is served. Unless it is 127.0.0.1, other
            computers in the network can use the studio if they know the token.

    Raises:
        ArgumentError: the address or the port cannot be used.
    """
    bound = _bound_socket(host, port)
    number = bound.getsockname()[1]
    bounds, token = bounds or Bounds(), secrets.token_urlsafe(32)
    calibrator = Calibrator() if calibrate is None else Calibrator(calibrate)
    session = Session(bounds, calibrator, target or SaveTarget())
    app = application(Api(session, DraftPictures(bounds), template))
    names = (LOCAL, "localhost") if host == LOCAL else (host,)
    config = uvicorn.Config(
        Guard(app, [f"{name}:{number}" for name in names], token, bounds),
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    return Studio(uvicorn.Server(config), bound, f"http://{host}:{number}/#{token}")


def network_address() -> str:
    """The IPv4 address of this computer in its local network.

    Raises:
        ArgumentError: it is not in a network, or its address is a public address of the Internet.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a UDP socket sends nothing. It only chooses the route, and with it the own address.
            # The destination is reserved for documentation (RFC 5737).
            probe.connect(("192.0.2.1", 9))
        except OSError as error:
            raise ArgumentError(f"this computer is not in a network ({error.strerror}): {_HOSTS}") from error
        found = str(probe.getsockname()[0])
    if not ipaddress.IPv4Address(found).is_private:
        raise ArgumentError(f"{found} is an address of the Internet, not of a local network: {_HOSTS}")
    return found


def _check_host(host: str) -> None:
    """Refuse names and 0.0.0.0: requests must name exactly one address, which DNS cannot redirect."""
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError as error:
        raise ArgumentError(f"{host!r} is not an IPv4 address: {_HOSTS}") from error
    if address.is_unspecified or address.is_multicast:
        raise ArgumentError(f"{host} is not the address of one computer: {_HOSTS}")


def _bound_socket(host: str, port: int) -> socket.socket:
    _check_host(host)
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)  # from now on, a browser that connects before the server accepts waits in the queue
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or "it must be 0 to 65535"
        remedy = _HOSTS if getattr(error, "errno", None) == errno.EADDRNOTAVAIL else "choose another --port"
        raise ArgumentError(f"cannot use port {port} on {host} ({reason}): {remedy}") from error
    return made


def open_browser(address: str) -> None:
    """Open a browser, in a thread, because some browsers block until they are closed."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def application(api: Api) -> FastAPI:
    """The page's files and the requests of a session, without access control (see `security.Guard`)."""
    # Without redirects from "/path/" to "/path": to construct one fails if the query is not UTF-8.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    api.install(app)
    files = dict(page_files())
    files[""] = files["index.html"]

    def file(name: str) -> Response:
        """A file of the page. Files are read at the start, so that no path leads to other files."""
        if name not in files:
            raise HTTPException(404, "Not found.")
        content, media_type = files[name]
        return Response(content, media_type=media_type)

    app.add_api_route("/{name:path}", file, methods=["GET"], response_model=None)
    app.add_exception_handler(WhereinError, _library_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)
    return app


def page_files() -> Iterator[tuple[str, tuple[bytes, str]]]:
    """The path of every file of the page, its content and its media type."""
    pending: list[tuple[str, Traversable]] = [("", resources.files("wherein.studio").joinpath("page"))]
    while pending:
        name, entry = pending.pop()
        if entry.is_dir():
            pending += [(f"{name}/{child.name}".lstrip("/"), child) for child in entry.iterdir()]
        elif (suffix := PurePosixPath(name).suffix) in _MEDIA_TYPES:
            yield name, (entry.read_bytes(), _MEDIA_TYPES[suffix])


def _library_error(request: Request, error: Exception) -> JSONResponse:
    message = str(error)
    # Messages of the library begin in lower case, to follow a file name. Those of uploads begin with a label.
    if not isinstance(error, UploadError):
        message = message[:1].upper() + message[1:]
    if isinstance(error, ExpiredIdError):
        return JSONResponse({"error": message}, 404, {EXPIRED: error.kind})
    return JSONResponse({"error": message}, 400)


def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "value_error":  # raised by our own validators, for the user
        return JSONResponse({"error": str(first["ctx"]["error"])}, 422)
    where = ".".join(str(step) for step in first["loc"][1:])
    return JSONResponse({"error": f"Invalid request: {where}: {first['msg']}"}, 422)


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, str(error.detail))


def _unexpected_error(request: Request, error: Exception) -> JSONResponse:
    """The response to an unexpected error. Details may contain paths: only the terminal shows them."""
    return JSONResponse({"error": "Internal error in the studio. See the terminal for details."}, 500)
