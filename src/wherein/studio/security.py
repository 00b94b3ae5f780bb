"""Access control: the studio accepts requests of its own page, of this session, and of limited size only.

Any website that is open in the same browser can send requests to 127.0.0.1, under this name or, by DNS
rebinding, under its own name. Therefore each request must have the studio's host name (`Host`), must come
from the studio's page (`Origin`), and must have the token of the session, which is only in the opened
address. The same checks protect a studio that is served to a network.
"""

import asyncio
import secrets
from collections.abc import Collection
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wherein.studio.bounds import Bounds

TOKEN = "x-wherein-token"
"""The header with the token. Browsers send a custom header to another origin only after asking it (CORS)."""

API, UPLOADS = "/api/", "/api/upload/"
"""Prefixes of the paths that need the token, and of those that may receive a large body."""

_REFUSALS = (401, 403, 413)
_DRAIN_BYTES, _DRAIN_SECONDS = 2**20, 1.0
"""Maximum bytes and time for reading the rest of a refused request. Choices: see `_drain`."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The content security policy: only the studio's own scripts run, only the studio is contacted, and text
cannot become markup (trusted types)."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def refusal(status: int, message: str) -> JSONResponse:
    """An error response, which closes the connection: the rest of the request may not have been read."""
    return JSONResponse({"error": message}, status, {"connection": "close"})


class TooLargeError(HTTPException):
    """A request exceeds its maximum size."""

    def __init__(self, maximum: int) -> None:
        size = f"{maximum / 2**20:.0f} MB" if maximum >= 2**20 else f"{maximum:,} bytes"
        super().__init__(413, f"The request is larger than {size}, the maximum.")


class Guard:
    """ASGI middleware around the whole application, so that every request passes it.

    Arguments:
        app: the application.
        hosts: the accepted values of `Host`, as `name:port`.
        token: the token of the session.
        bounds: the maximum sizes of requests.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str, bounds: Bounds) -> None:
        self.app, self.hosts, self.bounds = app, frozenset(hosts), bounds
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request or pass it on, and add the security headers to the response."""
        # Websockets and lifespan events are not used.
        if scope["type"] != "http":
            return

        refused = False

        async def send_with_headers(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start":
                refused = message["status"] in _REFUSALS
                MutableHeaders(scope=message).update(HEADERS)
            elif refused and not message.get("more_body"):
                # Send the response, but keep it open until the request has been drained.
                await send({**message, "more_body": True})
                await _drain(receive)
                message = {"type": "http.response.body"}
            await send(message)

        headers, maximum = Headers(scope=scope), self._maximum(scope["path"])
        response = self._refusal(scope["path"], headers, maximum)
        if response is not None:
            await response(scope, receive, send_with_headers)
        else:
            await self.app(scope, _limited(receive, maximum), send_with_headers)

    def _maximum(self, path: str) -> int:
        return self.bounds.upload if path.startswith(UPLOADS) else self.bounds.message

    def _refusal(self, path: str, headers: Headers, maximum: int) -> JSONResponse | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        # Exactly one: of two values, a proxy and this server could read different ones.
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return refusal(403, "Wrong host: this is not the studio's address.")
        # Browsers send no Origin with GET requests to the same origin.
        if origins not in ([], [f"http://{hosts[0]}"]):
            return refusal(403, "Only the studio's own page may send requests.")
        given = headers.get(TOKEN, "").encode("latin-1")  # as headers are decoded: any byte may occur
        # compare_digest takes the same time wherever the values differ, so that timing reveals nothing.
        if path.startswith(API) and not secrets.compare_digest(given, self._token):
            return refusal(
                401, "This page belongs to another session. Open the address that the studio printed."
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > maximum:
            return refusal(413, TooLargeError(maximum).detail)
        return None


async def _drain(receive: Receive) -> None:
    """Continue to read a refused request for a moment.

    If the connection were closed while the client is still sending, the client would get a connection error
    instead of the response.
    """
    left = _DRAIN_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _limited(receive: Receive, maximum: int) -> Receive:
    """A `receive` that raises after `maximum` bytes: `Content-Length` may be missing or wrong."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > maximum:
            raise TooLargeError(maximum)
        return message

    return limited
