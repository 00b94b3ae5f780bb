"""The HTTP requests of the page. They refer to pictures, scenes and templates by id, not by path or URL."""

import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import Response

from wherein.demo import ROBOT
from wherein.demo.robot_scene import SCALE, demo_scene, photograph
from wherein.drawing.palette import colors
from wherein.errors import ArgumentError, require
from wherein.images.frames.picture_frames import count_frames
from wherein.images.picture import Picture
from wherein.making.checks import findings
from wherein.studio.calibrations import CalibrationKind
from wherein.studio.downloads import RESULT_FORMATS, SceneResult, preview
from wherein.studio.drafts import Draft, DraftPictures
from wherein.studio.edge_paths import PathRequest, edge_path
from wherein.studio.id_map import ExpiredIdError
from wherein.studio.mask_outlines import alpha_outline
from wherein.studio.scene_frames import StudioScene
from wherein.studio.session import SearchRequest, Session
from wherein.studio.uploads import label, read_upload
from wherein.template.bundle import Template
from wherein.template.part_limits import DEFAULT_TURN

Answer = dict[str, Any]


class SceneRequest(SearchRequest):
    """A search in one scene."""

    scene: str


class ExportRequest(SearchRequest):
    """A search in several scenes."""

    scenes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Api:
    """The requests of a session.

    Attributes:
        session: its scenes and templates.
        pictures: the pictures on which parts are outlined.
        first: the template with which the studio was started.
    """

    session: Session
    pictures: DraftPictures
    first: Template | None = None

    def install(self, app: FastAPI) -> None:
        """Add a route for each request."""
        for method, path, answer in (
            ("GET", "/api/session", self.start),
            ("POST", "/api/demo", self.demo),
            ("POST", "/api/upload/picture", self.add_picture),
            ("POST", "/api/upload/template", self.open_template),
            ("POST", "/api/upload/scene", self.add_scene),
            ("GET", "/api/pictures/{key}", self.picture),
            ("POST", "/api/pictures/{key}/edge-path", self.edge_path),
            ("GET", "/api/scenes/{key}", self.scene),
            ("DELETE", "/api/scenes/{key}", self.remove_scene),
            ("POST", "/api/templates", self.make_template),
            ("GET", "/api/templates/{key}", self.template),
            ("GET", "/api/templates/{key}/findings", self.findings),
            ("POST", "/api/templates/{key}/save", self.save),
            ("POST", "/api/detections", self.detect),
            ("GET", "/api/calibration", self.calibration),
            ("POST", "/api/exports/{kind}", self.export),
        ):
            app.add_api_route(path, answer, methods=[method], response_model=None)

    def start(self) -> Answer:
        """The initial data of the page."""
        name, latest, current = self.session.target.name, self.session.latest, self._current()
        first = self.first if current is None else None
        return {
            "max_upload": self.session.bounds.upload,
            "default_turn": DEFAULT_TURN,
            "save": None if name is None else {"name": name},
            "first": None if first is None else self._opened(first, first.name),
            "current": current,
            "settings": None if latest is None else latest.settings(),
            "scenes": [_describe(key, scene.name, scene.picture) for key, scene in self.session.scenes],
        }

    def demo(self) -> Answer:
        """The demo template, and a scene that shows it three times."""
        # Without a source, no calibration is written into the installed package.
        robot = replace(Template.load(ROBOT), source=None)
        scene = demo_scene(robot, photograph(0)[0], 0)
        key = self.session.add_scene(StudioScene("three robots", Picture(scene.pixels, None)))
        return self._opened(robot, robot.name) | {"scene": self._scene(key), "scale": SCALE}

    async def add_picture(self, request: Request, name: str = "") -> Answer:
        """Upload a picture to outline; the answer has a first outline if parts of it are transparent."""
        shown = label(name, "picture")
        return await read_upload(request.stream(), shown, lambda path: self._added_picture(path, shown))

    async def open_template(self, request: Request, name: str = "") -> Answer:
        """Upload a template's .zip to edit it."""
        shown = label(name, "template.zip")
        draft = await read_upload(request.stream(), shown, lambda path: self.pictures.open_file(path, shown))
        return self._opened_draft(draft)

    async def add_scene(self, request: Request, name: str = "") -> Answer:
        """Upload a file of one scene, or of several frames that become scenes."""
        shown, session = label(name, "scene"), self.session
        keys, count = await read_upload(
            request.stream(), shown, lambda path: session.add_scene_file(path, shown)
        )
        return {"scenes": [self._scene(key) for key in keys], "frames": count}

    def picture(self, key: str) -> Response:
        """The preview of a picture to outline."""
        return _preview(self.pictures[key].picture)

    def edge_path(self, key: str, request: PathRequest) -> Answer:
        """A line along the edges of a picture."""
        return {"path": edge_path(self.pictures[key].picture, request)}

    def scene(self, key: str) -> Response:
        """The preview of a scene."""
        return _preview(self.session.scenes[key].picture)

    def remove_scene(self, key: str) -> Answer:
        """Remove a scene."""
        self.session.scenes.remove(key)
        return {}

    def make_template(self, draft: Draft) -> Answer:
        """Compile a draft to a template."""
        template = self.pictures.compile(draft)
        # The findings are a request of their own (`findings`): they take longer than compiling.
        key = self.session.templates.add(template)
        return {"id": key, "leaves": template.parts.leaves, "colors": part_colors(template)}

    def findings(self, key: str) -> Answer:
        """The findings about a template: properties that make it hard to detect."""
        found = findings(self.session.templates[key])
        return {"findings": [finding.to_dict() for finding in found]}

    def template(self, key: str) -> Response:
        """A template's .zip."""
        with tempfile.TemporaryDirectory(prefix="wherein-studio-") as folder:
            path = self.session.templates[key].save(Path(folder) / "template.zip")
            return _download(path.read_bytes(), "application/zip", "template.zip")

    def save(self, key: str) -> Answer:
        """Save a template in the folder or .zip of the command line."""
        target = self.session.target
        target.save(self.session.templates[key])
        return {"name": target.name}

    def detect(self, request: SceneRequest) -> Answer:
        """Search a scene."""
        result = self.session.search(request, self.session.scenes[request.scene])
        return result.to_dict() | {"calibration": self.calibration()}

    def calibration(self) -> Answer:
        """The progress of the running calibration."""
        return asdict(self.session.calibrator.progress)

    def export(self, kind: Literal["json", "coco", "report"], request: ExportRequest) -> Response:
        """The detections in the requested scenes, as a file."""
        require(bool(request.scenes), "There are no scenes to export. Add a scene first.")
        chosen, template = RESULT_FORMATS[kind], self.session.templates[request.template]
        # The report also uses the detectors (for maps and convergence plots): until it is written, no other
        # search may change their settings.
        with self.session.searching:
            # Each scene once, however often a request names it: otherwise a short request could cause
            # searches without end.
            results = [self._final_result(request, key) for key in dict.fromkeys(request.scenes)]
            content = chosen.write(template, results)
        return _download(content, chosen.media_type, f"detections{chosen.suffix}")

    def _final_result(self, request: ExportRequest, key: str) -> SceneResult:
        scene = self.session.scenes[key]
        result = self.session.search(request, scene)
        # A file outlives the session: it must not contain results of a substitute calibration.
        if result.kind is not CalibrationKind.MEASURED:
            raise ArgumentError("The calibration is still running. Try again when it is done.")
        return SceneResult(scene, result.detections, result.detector)

    def _current(self) -> Answer | None:
        """The draft of the session, for a browser that has none of its own; None if there is none."""
        draft = self.pictures.latest
        if draft is None:
            return None
        try:
            return {"draft": draft.model_dump(mode="json"), "picture": self._picture(draft.picture)}
        except ExpiredIdError:
            return None

    def _added_picture(self, path: Path, name: str) -> Answer:
        key = self.pictures.add_file(path, name)
        outline = alpha_outline(self.pictures[key].picture)
        return self._picture(key) | {
            "outline": None if outline is None else outline.tolist(),
            "frames": count_frames(path),
        }

    def _opened(self, template: Template, name: str) -> Answer:
        return self._opened_draft(self.pictures.open(template, name))

    def _opened_draft(self, draft: Draft) -> Answer:
        template = self.pictures[draft.picture].template
        assert template is not None, "the draft was opened from a template"
        return {
            "picture": self._picture(draft.picture),
            "draft": draft.model_dump(mode="json"),
            "colors": part_colors(template),
        }

    def _picture(self, key: str) -> Answer:
        return _describe(key, self.pictures[key].name, self.pictures[key].picture)

    def _scene(self, key: str) -> Answer:
        return _describe(key, self.session.scenes[key].name, self.session.scenes[key].picture)


def part_colors(template: Template) -> dict[str, str]:
    """The CSS colour of every leaf, the same as in drawings and reports."""
    return {
        name: f"#{red:02x}{green:02x}{blue:02x}"
        for name, (red, green, blue) in colors(template.parts.leaves).items()
    }


def _describe(key: str, name: str, picture: Picture) -> Answer:
    height, width = picture.samples.shape[-2:]
    return {"id": key, "name": name, "width": width, "height": height}


def _preview(picture: Picture) -> Response:
    content, media_type = preview(picture)
    return Response(content, media_type=media_type)


def _download(content: bytes, media_type: str, name: str) -> Response:
    return Response(
        content, media_type=media_type, headers={"content-disposition": f'attachment; filename="{name}"'}
    )
