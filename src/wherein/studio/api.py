"""What the page may ask: each request names things by their ids, never by a path or an address."""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import Response

from wherein import __version__
from wherein.demo import ROBOT
from wherein.demo.robot_scene import SCALE, demo_scene, photograph
from wherein.images.load import Picture
from wherein.making import findings
from wherein.studio.draft import Draft
from wherein.studio.exports import export
from wherein.studio.previews import preview
from wherein.studio.saving import Target
from wherein.studio.uploads import label, read_upload
from wherein.studio.workshop import Scene, Wish, Workshop
from wherein.template import Template

Answer = dict[str, Any]


class SceneWish(Wish):
    """What to look for, and in which scene."""

    scene: str


class ExportWish(Wish):
    """What to look for, and in which scenes."""

    scenes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Api:
    """The requests of a session.

    Attributes:
        workshop: what it holds.
        target: where templates are saved.
        first: the template that the studio was started with.
    """

    workshop: Workshop
    target: Target
    first: Template | None = None

    def install(self, app: FastAPI) -> None:
        """Give every request its address."""
        for method, path, answer in (
            ("GET", "/api/session", self.session),
            ("POST", "/api/demo", self.demo),
            ("POST", "/api/upload/picture", self.add_picture),
            ("POST", "/api/upload/template", self.open_template),
            ("POST", "/api/upload/scene", self.add_scene),
            ("GET", "/api/pictures/{key}", self.picture),
            ("GET", "/api/scenes/{key}", self.scene),
            ("DELETE", "/api/scenes/{key}", self.drop_scene),
            ("POST", "/api/templates", self.make_template),
            ("GET", "/api/templates/{key}", self.template),
            ("GET", "/api/templates/{key}/findings", self.findings),
            ("POST", "/api/templates/{key}/save", self.save),
            ("POST", "/api/detections", self.detect),
            ("GET", "/api/calibration", self.calibration),
            ("POST", "/api/exports/{kind}", self.export),
        ):
            app.add_api_route(path, answer, methods=[method], response_model=None)

    def session(self) -> Answer:
        """What there is when a page opens."""
        limits = self.workshop.limits
        return {
            "version": __version__,
            "limits": {"upload": limits.upload, "scenes": limits.scenes},
            "save": self.target.to_dict(),
            "first": None if self.first is None else self._opened(self.first, self.first.name),
            "scenes": list(self._scenes()),
        }

    def demo(self) -> Answer:
        """The demonstration's robot, and a scene with three of it."""
        robot = replace(Template.load(ROBOT), source=None)
        scene = demo_scene(robot, photograph(0)[0], 0)
        key = self.workshop.add_scene(Picture(scene.pixels, None), "three robots")
        return self._opened(robot, robot.name) | {"scene": self._told(key), "scale": SCALE}

    async def add_picture(self, request: Request, name: str = "") -> Answer:
        """Load a picture to outline on."""
        shown = label(name, "picture")
        key = await read_upload(request.stream(), shown, lambda path: self.workshop.add_sheet(path, shown))
        return self._sheet(key)

    async def open_template(self, request: Request, name: str = "") -> Answer:
        """Load a template's .zip, to go on with it."""
        shown = label(name, "template.zip")
        key, draft = await read_upload(
            request.stream(), shown, lambda path: self.workshop.open_file(path, shown)
        )
        return {"picture": self._sheet(key), "draft": draft.model_dump(mode="json")}

    async def add_scene(self, request: Request, name: str = "") -> Answer:
        """Load a picture to look in."""
        shown = label(name, "scene")
        key = await read_upload(request.stream(), shown, lambda path: self.workshop.read_scene(path, shown))
        return self._told(key)

    def picture(self, key: str) -> Response:
        """A picture to outline on, to be shown."""
        return _shown(self.workshop.sheets[key].picture)

    def scene(self, key: str) -> Response:
        """A scene, to be shown."""
        return _shown(self.workshop.scenes[key].picture)

    def drop_scene(self, key: str) -> Answer:
        """Let a scene go."""
        self.workshop.scenes.drop(key)
        return {}

    def make_template(self, draft: Draft) -> Answer:
        """Cut a draft's template out."""
        key, template = self.workshop.compile(draft)
        return {"id": key, "leaves": template.parts.leaves}

    def findings(self, key: str) -> Answer:
        """What makes a template hard to find."""
        return {"findings": [finding.to_dict() for finding in findings(self.workshop.templates[key])]}

    def template(self, key: str) -> Response:
        """A template's .zip."""
        with tempfile.TemporaryDirectory(prefix="wherein-studio-") as folder:
            path = self.workshop.templates[key].save(Path(folder) / "template.zip")
            return _download(path.read_bytes(), "application/zip", "template.zip")

    def save(self, key: str) -> Answer:
        """Save a template where the command line said."""
        return {"name": self.target.save(self.workshop.templates[key])}

    def detect(self, wish: SceneWish) -> Answer:
        """Look in a scene."""
        found = self.workshop.find(wish, self.workshop.scenes[wish.scene])
        return found.to_dict() | {"calibration": self.calibration()}

    def calibration(self) -> Answer:
        """How far it is."""
        return asdict(self.workshop.calibrator.standing)

    def export(self, kind: Literal["json", "coco", "report"], wish: ExportWish) -> Response:
        """All scenes, in a file."""
        scenes = [self.workshop.scenes[key] for key in wish.scenes]
        content, made = export(self.workshop, kind, wish, scenes)
        return _download(content, made.media, f"detections{made.suffix}")

    def _opened(self, template: Template, name: str) -> Answer:
        key, draft = self.workshop.open(template, name)
        return {"picture": self._sheet(key), "draft": draft.model_dump(mode="json")}

    def _sheet(self, key: str) -> Answer:
        sheet = self.workshop.sheets[key]
        return _sized(key, Scene(sheet.name, sheet.picture))

    def _told(self, key: str) -> Answer:
        return _sized(key, self.workshop.scenes[key])

    def _scenes(self) -> Iterator[Answer]:
        return (_sized(key, scene) for key, scene in self.workshop.scenes)


def _sized(key: str, scene: Scene) -> Answer:
    width, height = scene.size
    return {"id": key, "name": scene.name, "width": width, "height": height}


def _shown(picture: Picture) -> Response:
    content, media = preview(picture)
    return Response(content, media_type=media)


def _download(content: bytes, media: str, name: str) -> Response:
    return Response(
        content, media_type=media, headers={"content-disposition": f'attachment; filename="{name}"'}
    )
