"""Start the studio: on this machine only, under a token of the session, until Ctrl-C."""

import secrets
import socket
import threading
import webbrowser
from dataclasses import dataclass

import uvicorn

from wherein.errors import ArgumentError
from wherein.studio.api import Api
from wherein.studio.app import application
from wherein.studio.calibrating import Calibrate, Calibrator
from wherein.studio.guard import Guard
from wherein.studio.limits import Limits
from wherein.studio.saving import Target
from wherein.studio.workshop import Workshop
from wherein.template.bundle import Template

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""That a browser may know this machine by."""


@dataclass(frozen=True, eq=False)
class Studio:
    """A studio that is ready to be served.

    Attributes:
        server: answers requests.
        socket: on which.
        token: of the session.
    """

    server: uvicorn.Server
    socket: socket.socket
    token: str

    @property
    def address(self) -> str:
        """To be opened in a browser. The token is behind the #, which no browser sends or logs."""
        return f"http://{HOST}:{self.socket.getsockname()[1]}/#{self.token}"

    def serve(self) -> None:
        """Until Ctrl-C, or until `server.should_exit` is set."""
        try:
            self.server.run(sockets=[self.socket])
        except KeyboardInterrupt:  # which uvicorn passes on once all is closed
            pass
        finally:
            self.socket.close()


def prepare(
    template: Template | None = None,
    port: int = 0,
    target: Target | None = None,
    limits: Limits | None = None,
    calibrate: Calibrate | None = None,
) -> Studio:
    """A studio on a port of its own.

    Arguments:
        template: to begin with.
        port: 0: any that is free.
        target: where templates are saved.
        limits: on what is taken and held.
        calibrate: in place of measuring.

    Raises:
        ArgumentError: the port is taken.
    """
    bound = _bound(port)
    limits, token = limits or Limits(), secrets.token_urlsafe(32)
    calibrator = Calibrator() if calibrate is None else Calibrator(calibrate)
    api = Api(Workshop(limits, calibrator), target or Target(), template)
    hosts = [f"{name}:{bound.getsockname()[1]}" for name in NAMES]
    config = uvicorn.Config(
        Guard(application(api), hosts, token, limits),
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    return Studio(uvicorn.Server(config), bound, token)


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        made.listen(128)  # who comes before it is served waits
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or "it must be 0 to 65535"
        raise ArgumentError(
            f"port {port} of {HOST} cannot be used: {reason}; give another to --port"
        ) from error
    return made


def open_browser(address: str) -> None:
    """In a thread: some browsers keep who opens them waiting."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
