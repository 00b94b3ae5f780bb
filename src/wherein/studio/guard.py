"""Who may speak to the studio: its own page, of this session, in bounded requests.

Any website that is open in the same browser can send requests to 127.0.0.1, under that name or, by DNS
rebinding, under its own. So the name must be ours (`Host`), the page that asks must be ours (`Origin`), and
it must know the token of the session, which only the address that was opened tells.
"""

import asyncio
import secrets
from collections.abc import Collection
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wherein.studio.limits import Limits

TOKEN = "x-wherein-token"
"""The header with the token. Being no usual one, it cannot come from another origin unasked."""

API, UPLOADS = "/api/", "/api/upload/"
"""What needs the token; what may be as large as a picture."""

_REFUSALS = (401, 403, 413)
_OVERHEARD, _PATIENCE = 2**20, 1.0
"""Bytes and seconds that who was refused is still listened to."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Only our own files are run and asked, and no text ever becomes markup."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def refusal(status: int, words: str) -> JSONResponse:
    """An error as the page expects it. The connection ends with it: what was refused may still be coming."""
    return JSONResponse({"error": words}, status, {"connection": "close"})


class TooLargeError(HTTPException):
    """A request is larger than it may be."""

    def __init__(self, most: int) -> None:
        size = f"{most / 2**20:.0f} MB" if most >= 2**20 else f"{most:,} bytes"
        super().__init__(413, f"this is more than {size}, the most that the studio takes at once")


class Guard:
    """Around the whole application, so that nothing behind it is reached unasked.

    Arguments:
        app: what is guarded.
        hosts: `name:port` as they stand in `Host`.
        token: of the session.
        limits: on the size of requests.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str, limits: Limits) -> None:
        self.app, self.hosts, self.limits = app, frozenset(hosts), limits
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with what is received counted and what is sent under our headers."""
        if scope["type"] != "http":
            return

        refusing = False

        async def sent(message: Message) -> None:
            nonlocal refusing
            if message["type"] == "http.response.start":
                refusing = message["status"] in _REFUSALS
                MutableHeaders(scope=message).update(HEADERS)
            elif refusing and not message.get("more_body"):
                await send({**message, "more_body": True})
                await _overheard(receive)
                message = {"type": "http.response.body"}
            await send(message)

        headers, most = Headers(scope=scope), self._most(scope["path"])
        refused = self._refused(scope["path"], headers, most)
        if refused is not None:
            await refused(scope, receive, sent)
        else:
            await self.app(scope, _counted(receive, most), sent)

    def _most(self, path: str) -> int:
        return self.limits.upload if path.startswith(UPLOADS) else self.limits.message

    def _refused(self, path: str, headers: Headers, most: int) -> JSONResponse | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return refusal(403, "this is not the studio's address")
        if origins not in ([], [f"http://{hosts[0]}"]):
            return refusal(403, "only the studio's own page may ask")
        given = headers.get(TOKEN, "").encode("latin-1")  # as headers are decoded: any byte may come
        if path.startswith(API) and not secrets.compare_digest(given, self._token):
            return refusal(401, "this page is not of this session: open the address that the studio printed")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            return refusal(413, TooLargeError(most).detail)
        return None


async def _overheard(receive: Receive) -> None:
    """Let who was refused speak on for a little: on hanging up at once, they might never hear why."""
    left = _OVERHEARD
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _counted(receive: Receive, most: int) -> Receive:
    """The same, until more has come than may: also where no length was told, or a wrong one."""
    come = 0

    async def counted() -> Message:
        nonlocal come
        message = await receive()
        come += len(message.get("body", b""))
        if come > most:
            raise TooLargeError(most)
        return message

    return counted
