"""Requests to the studio: hostile headers, paths, messages and uploads, without a network."""

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz import seeds
from tools.fuzz.mutations import mutated, mutated_json
from wherein.detect.calibration.model import Calibration
from wherein.detect.calibration.store import Progress
from wherein.detect.search_range import Range
from wherein.images.picture import Picture
from wherein.studio.api import Api
from wherein.studio.bounds import Bounds
from wherein.studio.calibrations import Calibrator, default_calibration
from wherein.studio.drafts import DraftPictures
from wherein.studio.scene_frames import StudioScene
from wherein.studio.security import Guard
from wherein.studio.server import application
from wherein.studio.session import SaveTarget, Session
from wherein.template.bundle import Template

_HOST, _TOKEN = "127.0.0.1:8000", "the token of the session"
_BOUNDS = Bounds(upload=100_000, message=200_000, pixels=200_000, total_pixels=1_000_000)
_REFUSED = 400
_PAGES = ("", "main.js", "../secret.png", "%2e%2e/secret.png", "/etc/passwd", "\0")


class UnclearAnswerError(Exception):
    """The studio answered with an internal error, or without a message that says what is wrong."""


def studio(rng: Random, folder: Path) -> bool:
    """Send one request to a new session with a template, a picture and a scene; return if it was accepted."""
    session = Session(_BOUNDS, Calibrator(_calibrate), SaveTarget(folder / "saved", overwrite=True))
    pictures = DraftPictures(_BOUNDS)
    draft = pictures.open(seeds.template(), "toy")
    ids = {
        "template": session.templates.add(seeds.template()),
        "picture": draft.picture,
        "scene": session.add_scene(StudioScene("scene", Picture(seeds.scene(), None))),
    }
    app = Guard(application(Api(session, pictures)), [_HOST], _TOKEN, _BOUNDS)
    method, path, body = _request(rng, ids, draft.model_dump(mode="json"))
    status, answer = asyncio.run(_ask(app, method, path, _headers(rng), body))
    _check(status, answer, folder)
    return status < _REFUSED


def _calibrate(template: Template, ranges: Range, progress: Progress) -> Calibration:
    return default_calibration(template, ranges)


def _request(rng: Random, ids: dict[str, str], draft: dict[str, Any]) -> tuple[str, str, bytes]:
    """A method, a path and a body, mostly those of a request that the studio knows."""
    # A mutation of a valid request gets further than random bytes, which the router would refuse.
    search = {
        "template": ids["template"],
        "rotation": 10.0,
        "scale": [0.95, 1.05],
        "tilt": 0.0,
        "threshold": 0.5,
        "max_instances": 3,
        "overlap": 0.5,
        "polarity": "same",
        "region": [0, 0, 60, 60],
    }
    kind = rng.choice(("picture", "template", "scene"))
    upload = seeds.archive() if kind == "template" else rng.choice(seeds.pictures())
    name = rng.choice(("a.png", "..%2F..%2Fsecret.png", "%00", "%ED%A0%80", "a" * 400))
    listed, key = rng.choice(("pictures", "scenes", "templates")), rng.choice(list(ids.values()))
    export, page = rng.choice(("json", "coco", "pickle")), rng.choice(_PAGES)
    others = [seeds.archive(), *seeds.pictures()]
    choices = (
        ("POST", f"/api/upload/{kind}?name={name}", mutated(upload, rng, others)),
        ("POST", "/api/templates", _text(draft, rng)),
        ("POST", "/api/detections", _text(search | {"scene": ids["scene"]}, rng)),
        ("POST", f"/api/exports/{export}", _text(search | {"scenes": [ids["scene"]]}, rng)),
        ("POST", f"/api/templates/{ids['template']}/save", b""),
        ("GET", f"/api/{listed}/{key}", b""),
        ("GET", f"/{page}", b""),
    )
    method, path, body = rng.choice(choices)
    if rng.random() < 0.05:
        method = rng.choice(("PUT", "DELETE", "OPTIONS", "X" * 100, "get"))
    if rng.random() < 0.05:
        path = mutated(path.encode(), rng, [path.encode()]).decode("latin-1")
    return method, path, body


def _text(record: dict[str, Any], rng: Random) -> bytes:
    return mutated_json(record, rng).encode("utf-8", "surrogatepass")


def _headers(rng: Random) -> list[tuple[bytes, bytes]]:
    headers = {
        b"host": _HOST.encode(),
        b"origin": f"http://{_HOST}".encode(),
        b"x-wherein-token": _TOKEN.encode(),
        b"content-type": b"application/json",
    }
    if rng.random() < 0.1:
        name = rng.choice((*headers, b"content-length", b"content-encoding"))
        headers[name] = rng.choice(
            (b"", b"\xff\xfe", b"-1", b"99999999999999999999", b"null", b"gzip", b"evil:80")
        )
    return list(headers.items())


async def _ask(
    app: Guard, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes
) -> tuple[int, bytes]:
    """Call the application through ASGI, without a network; return the status and the body of its answer."""
    address, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": address,
        "raw_path": address.encode("utf-8", "replace"),
        "query_string": query.encode("latin-1", "replace"),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    status = next(message["status"] for message in sent if message["type"] == "http.response.start")
    return status, b"".join(message.get("body", b"") for message in sent)


def _check(status: int, answer: bytes, folder: Path) -> None:
    if status < _REFUSED:
        return
    try:
        error = json.loads(answer)["error"]
    except (ValueError, KeyError, TypeError) as wrong:
        raise UnclearAnswerError(f"{status}: {answer[:200]!r}") from wrong
    if status >= 500 or not error or str(folder) in error or "Traceback" in error:
        raise UnclearAnswerError(f"{status}: {error}")
