"""Requests that the studio refuses: other hosts, origins and sessions, large bodies, paths."""

import asyncio
import http.client
import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from studio_page import Page, asked, crane, png, served
from wherein.errors import ArgumentError
from wherein.studio import scene_frames, session
from wherein.studio.api import Api
from wherein.studio.bounds import Bounds
from wherein.studio.calibrations import Calibrator
from wherein.studio.drafts import DraftPictures
from wherein.studio.security import HEADERS
from wherein.studio.server import application, prepare

SESSION = "/api/session"


def raw(page: Page, request: bytes) -> tuple[int, bytes]:
    """The status and the rest of the answer to bytes that no proper client would send."""
    where = urlsplit(page.address)
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return int(answer.split(maxsplit=2)[1]), answer


def test_its_own_page_is_answered(strict: Page) -> None:
    for name in ("127.0.0.1", "localhost"):
        host = strict.address.removeprefix("http://").rstrip("/").replace("127.0.0.1", name)
        answer = strict.client.get(SESSION, headers={"host": host, "origin": f"http://{host}"})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""]
)
@pytest.mark.parametrize("path", ["/", "/main.js", SESSION])
def test_another_host(strict: Page, host: str, path: str) -> None:
    words = strict.refused(strict.client.get(path, headers={"host": host}), 403)
    assert words == "Wrong host: this is not the studio's address."


def test_two_hosts(strict: Page) -> None:
    own = strict.address.removeprefix("http://").rstrip("/")
    hosts = f"Host: {own}\r\nHost: evil.example"
    head = f"GET {SESSION} HTTP/1.1\r\n{hosts}\r\nX-Wherein-Token: {strict.token}\r\n\r\n"
    status, _ = raw(strict, head.encode())
    assert status in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "https://127.0.0.1", "http://127.0.0.1:1"]
)
def test_another_origin(strict: Page, origin: str) -> None:
    answer = strict.client.post("/api/demo", headers={"origin": origin})
    assert strict.refused(answer, 403) == "Only the studio's own page may send requests."
    assert "access-control-allow-origin" not in answer.headers


def test_preflight_requests_of_other_origins(strict: Page) -> None:
    headers = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = strict.client.request("OPTIONS", "/api/demo", headers=headers)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("token", [None, "", "x", "é", "wrong" * 10])
@pytest.mark.parametrize("path", [SESSION, "/api/calibration", "/api/nothing", "/api/pictures/0123"])
def test_no_token_or_a_wrong_one(strict: Page, token: str | None, path: str) -> None:
    where = urlsplit(strict.address)
    connection = http.client.HTTPConnection(str(where.hostname), where.port)
    headers = {} if token is None else {"X-Wherein-Token": token}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    assert (answer.status, b"belongs to another session" in answer.read()) == (401, True)
    connection.close()


def test_nearly_the_token(strict: Page) -> None:
    for token in (strict.token[:-1], strict.token + "x", strict.token.swapcase(), f"{strict.token} x"):
        answer = strict.client.get(SESSION, headers={"x-wherein-token": token})
        strict.refused(answer, 401)


def test_every_session_has_a_token_that_cannot_be_guessed(strict: Page, page: Page) -> None:
    assert strict.token != page.token
    assert min(len(strict.token), len(page.token)) >= 43  # 256 bits in base 64


def test_the_page_does_not_contain_the_token(strict: Page) -> None:
    for path in ("/", "/main.js", "/api.js"):
        answer = strict.client.get(path, headers={"x-wherein-token": ""})
        assert answer.status_code == 200
        assert strict.token not in answer.text


@pytest.mark.parametrize("path", ["/", "/main.js", SESSION, "/nothing", "/api/scenes/0", "/api/nothing"])
def test_every_answer_has_the_headers(strict: Page, path: str) -> None:
    for token in (strict.token, "wrong"):
        answer = strict.client.get(path, headers={"x-wherein-token": token})
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "*" not in policy


def test_it_listens_on_this_machine_only(strict: Page) -> None:
    where = urlsplit(strict.address)
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"."):
            socket.create_connection((str(address), where.port), timeout=2).close()


# The local network


@pytest.fixture(scope="module")
def exposed(network: str) -> Iterator[Page]:
    """A studio that others in the network can reach."""
    with served(host=network) as studio, asked(studio) as made:
        yield made


def test_the_network_needs_the_token_and_the_host(exposed: Page, network: str) -> None:
    own = f"{network}:{urlsplit(exposed.address).port}"
    assert exposed.address == f"http://{own}/"
    assert exposed.client.get(SESSION, headers={"origin": f"http://{own}"}).status_code == 200
    for token in ("", "wrong", exposed.token[:-1]):
        exposed.refused(exposed.client.get(SESSION, headers={"x-wherein-token": token}), 401)
    port = own.split(":")[1]
    for host in ("evil.example", f"evil.example:{port}", f"localhost:{port}", f"127.0.0.1:{port}", network):
        exposed.refused(exposed.client.get("/", headers={"host": host}), 403)
    exposed.refused(exposed.client.get(SESSION, headers={"origin": f"http://127.0.0.1:{port}"}), 403)


def test_an_exposed_studio_listens_at_one_address(exposed: Page) -> None:
    with pytest.raises(OSError, match=r"."):
        socket.create_connection(("127.0.0.1", urlsplit(exposed.address).port or 0), timeout=2).close()


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("0.0.0.0", "not the address of one computer"),
        ("224.0.0.1", "not the address of one computer"),
        ("example.org", "'example.org' is not an IPv4 address"),
        ("::1", "'::1' is not an IPv4 address"),
        ("", "'' is not an IPv4 address"),
        ("203.0.113.7", "cannot use port 0 on 203.0.113.7"),
    ],
)
def test_hosts_that_are_refused(host: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words) as caught:
        prepare(host=host)
    assert "--host takes an IPv4 address of this computer, such as 192.168.1.20, or auto" in str(caught.value)


# Uploads


def left_over() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("wherein-studio-*"))


@pytest.mark.parametrize("kind", ["picture", "scene", "template"])
def test_an_upload_over_the_limit(strict: Page, kind: str) -> None:
    before = left_over()
    answer = strict.client.post(f"/api/upload/{kind}?name=a.png", content=bytes(200_001))
    assert "larger than 200,000 bytes" in strict.refused(answer, 413)
    assert left_over() == before


def test_a_large_upload_is_refused_by_its_declared_length(strict: Page) -> None:
    own = strict.address.removeprefix("http://").rstrip("/")
    head = (
        f"POST /api/upload/scene HTTP/1.1\r\nHost: {own}\r\nX-Wherein-Token: {strict.token}\r\n"
        "Content-Length: 99999999999\r\n\r\n"
    )
    status, answer = raw(strict, head.encode())
    assert status == 413
    assert b"larger than" in answer


@pytest.mark.parametrize("kind", ["picture", "scene", "template"])
def test_an_endless_upload_without_a_length(strict: Page, kind: str) -> None:
    where, before, sent = urlsplit(strict.address), left_over(), 0
    own = strict.address.removeprefix("http://").rstrip("/")
    head = (
        f"POST /api/upload/{kind}?name=a.png HTTP/1.1\r\nHost: {own}\r\nX-Wherein-Token: {strict.token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    answer = b""
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        connection.sendall(head.encode())
        try:
            while sent < 2**28:  # far beyond the maximum
                connection.sendall(b"4000\r\n" + bytes(0x4000) + b"\r\n")
                sent += 0x4000
                connection.settimeout(0 if sent <= 200_000 else 0.05)
                try:
                    answer = connection.recv(65536)
                    break
                except (BlockingIOError, TimeoutError):
                    connection.settimeout(20)
        except ConnectionError:
            pass  # the server closed the connection
    assert sent < 2**26
    assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    assert left_over() == before


def test_just_over_the_limit_without_a_length(strict: Page) -> None:
    def pieces():  # type: ignore[no-untyped-def]
        for _ in range(5):
            yield bytes(40_001)

    answer = strict.client.post("/api/upload/scene?name=a.png", content=pieces())
    assert "larger than 200,000 bytes" in strict.refused(answer, 413)


def test_an_upload_of_the_maximum_size(strict: Page) -> None:
    answer = strict.client.post("/api/upload/scene?name=a.png", content=bytes(200_000))
    assert "content is not PNG" in strict.refused(answer, 400)


def test_messages_have_their_own_maximum(strict: Page) -> None:
    long = {"name": "x" * 5_000, "picture": "", "parts": []}
    assert "larger than 5,000 bytes" in strict.refused(strict.client.post("/api/templates", json=long), 413)


def test_a_picture_bomb(strict: Page) -> None:
    bomb = png(np.zeros((2000, 2000), dtype=np.uint8))
    assert len(bomb) < 200_000
    for kind in ("picture", "scene"):
        answer = strict.client.post(f"/api/upload/{kind}?name=bomb.png", content=bomb)
        assert "bomb.png: the picture has 2000 × 2000" in strict.refused(answer, 400)


def test_too_many_scenes_and_too_large_ones(strict: Page) -> None:
    small, large = png(crane()), png(np.zeros((200, 299), dtype=np.uint8))
    held = [strict.add_scene(small, "a.png"), strict.add_scene(large, "b.png")]
    answer = strict.client.post("/api/upload/scene?name=c.png", content=small)
    assert "at most 2 scenes" in strict.refused(answer, 400)
    strict.client.delete(f"/api/scenes/{held[0]['id']}")
    answer = strict.client.post("/api/upload/scene?name=c.png", content=large)
    assert "million pixels of scenes" in strict.refused(answer, 400)
    strict.client.delete(f"/api/scenes/{held[1]['id']}")
    assert strict.get(SESSION)["scenes"] == []


# Paths


def test_no_address_is_made_of_what_was_asked() -> None:
    """A redirect from no path to "/" failed where the query is not UTF-8 (found by fuzzing)."""
    scope = {"type": "http", "method": "GET", "path": "", "query_string": b"a\x80", "headers": []}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    own = session.Session(Bounds(), Calibrator(), session.SaveTarget())
    app = application(Api(own, DraftPictures(Bounds())))

    def ask() -> None:
        asyncio.run(app({**scope, "scheme": "http", "server": ("127.0.0.1", 80)}, receive, send))

    # In a thread of its own: that of the tests may have the event loop of the browser that they share.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(ask).result()
    assert sent[0]["status"] == 404


TRICKS = [
    "/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/..\\..\\etc\\passwd",
    "//etc/passwd",
    "/page/../security.py",
    "/../security.py",
    "/%00",
    "/main.js%00.html",
    "/api/scenes/..%2f..%2fetc%2fpasswd",
    "/api/pictures/%2fetc%2fpasswd",
    "/api/templates/..",
]


@pytest.mark.parametrize("trick", TRICKS)
def test_no_path_leads_anywhere(strict: Page, trick: str) -> None:
    own = strict.address.removeprefix("http://").rstrip("/")
    head = (
        f"GET {trick} HTTP/1.1\r\nHost: {own}\r\nX-Wherein-Token: {strict.token}\r\nConnection: close\r\n\r\n"
    )
    status, answer = raw(strict, head.encode())
    assert status in (400, 404)
    assert b"root:" not in answer
    assert b"import " not in answer


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("/etc/cron.d/x.png", "x.png"),
        ("C:\\windows\\x.png", "x.png"),
        ("..", "scene"),
        ("a\x00b\r\nSet-Cookie: c.png", "abSet-Cookie: c.png"),
        ("\u202egnp.exe", "gnp.exe"),  # right-to-left override
        ("<img src=x onerror=alert(1)>.png", "<img src=x onerror=alert(1)>.png"),
        ("x" * 999, "x" * 200),
    ],
)
def test_names_are_labels(strict: Page, name: str, shown: str) -> None:
    scene = strict.add_scene(png(crane()), name)
    strict.client.delete(f"/api/scenes/{scene['id']}")
    assert scene["name"] == shown


def test_errors_show_no_path_and_no_traceback(strict: Page) -> None:
    broken = {"picture": png(crane())[:500], "scene": b"", "template": b"PK\x05\x06" + bytes(18)}
    for kind, content in broken.items():
        words = strict.refused(strict.client.post(f"/api/upload/{kind}?name=my.file", content=content), 400)
        assert words.startswith("my.file")
        for secret in (tempfile.gettempdir(), "Traceback", "upload", ".py"):
            assert secret not in words


def test_the_details_of_an_internal_error_are_in_the_terminal_only(
    page: Page, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(scene_frames, "load_picture", broken)
    answer = page.client.post("/api/upload/scene?name=a.png", content=png(crane()))
    assert page.refused(answer, 500) == "Internal error in the studio. See the terminal for details."
    assert "secret" not in answer.text


def test_no_api_documentation_is_served(strict: Page) -> None:
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert strict.client.get(path).status_code == 404
