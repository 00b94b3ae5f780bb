"""The application: the page's files, the requests behind it, and errors in words."""

from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from wherein.errors import WhereinError
from wherein.studio.api import Api
from wherein.studio.guard import refusal
from wherein.studio.shelf import GoneError

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def application(api: Api) -> FastAPI:
    """The studio, still without its guard.

    Arguments:
        api: the requests of the session.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    api.install(app)
    files = dict(page_files())
    files[""] = files["index.html"]

    def file(name: str) -> Response:
        """One of the page's files: those that were listed at the start, so no path leads elsewhere."""
        if name not in files:
            raise HTTPException(404, "there is nothing at this address")
        content, media = files[name]
        return Response(content, media_type=media)

    app.add_api_route("/{name:path}", file, methods=["GET"], response_model=None)
    app.add_exception_handler(WhereinError, _in_words)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _failed)
    return app


def page_files() -> Iterator[tuple[str, tuple[bytes, str]]]:
    """Every file of the page by its address, and its type."""
    waiting: list[tuple[str, Traversable]] = [("", resources.files("wherein.studio").joinpath("page"))]
    while waiting:
        name, place = waiting.pop()
        if place.is_dir():
            waiting += [(f"{name}/{child.name}".lstrip("/"), child) for child in place.iterdir()]
        elif (suffix := PurePosixPath(name).suffix) in _TYPES:
            yield name, (place.read_bytes(), _TYPES[suffix])


def _in_words(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": str(error)}, 404 if isinstance(error, GoneError) else 400)


def _not_understood(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "value_error":  # ours, in words for a person
        return JSONResponse({"error": str(first["ctx"]["error"])}, 422)
    place = ".".join(str(step) for step in first["loc"][1:])
    return JSONResponse({"error": f"the studio cannot take this: {place}: {first['msg']}"}, 422)


def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, str(error.detail))


def _failed(request: Request, error: Exception) -> JSONResponse:
    """What nobody foresaw: the terminal has the details, the page has none."""
    return JSONResponse({"error": "something went wrong in the studio; the terminal says what"}, 500)
