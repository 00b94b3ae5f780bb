"""A scene of the report as HTML: rendered by the process that searched it, and added to the page later."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wherein.detect.result import Detections
from wherein.images.eight_bit import to_image
from wherein.images.picture import is_reduced
from wherein.report.films.key_frames import KeyFrames
from wherein.report.films.video_view import timeline, video_card
from wherein.report.html_format import render
from wherein.report.image_uri import picture_uri
from wherein.report.part_entries import PartEntry, library_entries
from wherein.report.scene_card import Card, Kind, scene_card
from wherein.report.scene_view import SceneView, SceneViewer
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.report.template_view import ScoreView, score_view
from wherein.report.times import laps_of
from wherein.template.template_library import Library

if TYPE_CHECKING:
    from wherein.detect.detector import Detector

PAGE_SIZE = 4_500_000
"""Maximum number of characters of all scenes together; pictures are reduced accordingly. A choice: a browser
opens such a page at once, and it can be sent by e-mail."""

_KEY_FRAME_SIDE = 640
"""Maximum longer side of the frames of a video, apart from the best one. A choice: twice their width on the
page."""


@dataclass(frozen=True)
class VideoFacts:
    """What is known of a searched video besides its frames.

    Attributes:
        found: the number of detections, all frames together.
        seconds: the time of the search.
        drawing: the annotated video; None if there is none.
    """

    found: int
    seconds: float
    drawing: str | None


@dataclass(frozen=True)
class RenderedScene:
    """A searched scene, ready to be added to a page.

    Attributes:
        card: its card in the grid.
        laps: the seconds of each step.
        maps: the number of its occurrence maps.
        html: the HTML of the card with its details.
    """

    card: Card
    laps: dict[str, float]
    maps: int
    html: str

    def to_dict(self) -> dict[str, Any]:
        """The scene as a dictionary for JSON."""
        return asdict(self)

    @staticmethod
    def of(record: dict[str, Any]) -> "RenderedScene":
        """The scene from a record of `to_dict`."""
        # JSON has turned the kind into its text.
        card = Card(**{**record["card"], "kind": Kind(record["card"]["kind"])})
        return RenderedScene(card, record["laps"], record["maps"], record["html"])


@dataclass(frozen=True)
class SceneRenderer:
    """Renders scenes for a page.

    Attributes:
        library: the templates that are searched for.
        scenes: the approximate number of scenes of the page: the more, the smaller are their pictures.
    """

    library: Library
    scenes: int = 1

    @cached_property
    def entries(self) -> dict[str, tuple[PartEntry, ...]]:
        """The entries of each template's parts, by the template's name."""
        return library_entries(self.library)

    def __call__(
        self,
        number: int,
        name: str,
        found: Detections,
        detector: "Detector",
        maps: bool = False,
        watch: Stopwatch | None = None,
    ) -> RenderedScene:
        """The HTML of a scene.

        Arguments:
            number: the number of the scene in the page, from 0.
            name: the name of its file.
            found: its detections.
            detector: the detector that found them; it also repeats each fit for the convergence plots.
            maps: whether to add occurrence maps, as layers that can be switched on.
            watch: the times of the work on the scene so far; None: only that of the search.
        """
        watch, card = watch or Stopwatch({SEARCH: found.seconds}), scene_card(anchor(number), name, found)
        occurrence = {}
        if maps and not is_reduced(found.scene):  # maps need all pixels, and not only an overview
            with watch("occurrence maps"):
                occurrence = detector.occurrence(found.scene)
        with watch("convergence plots"):
            traces = detector.fit_traces(found)
        with watch("page"):
            viewer = SceneViewer(self.library, self.entries, score_views(detector))
            shown = viewer(card.anchor, name, found, occurrence, traces)
            numbers = render("numbers.html", scene=shown)
            # The picture gets the remaining room: the numbers of many parts take much of it.
            image = picture_uri(to_image(found.scene.pixels), self._room(shown, numbers))
            picture = render("scene_image.html", scene=shown, image=image)
        # The card is rendered last, because its time bar includes the time of rendering its contents.
        html = render("card.html", card=card, picture=picture, numbers=numbers, **_time_bar(watch))
        return RenderedScene(card, dict(watch.laps), len(occurrence), html)

    def video(
        self, number: int, name: str, frames: KeyFrames, detector: "Detector", done: VideoFacts
    ) -> RenderedScene:
        """The HTML of a video of at least one frame; arguments as for a scene."""
        best, scores = frames.best, score_views(detector)
        assert best is not None, "there is a frame"
        card = video_card(anchor(number), name, frames, done.found, done.seconds)
        viewer, key_frames = SceneViewer(self.library, self.entries, scores), frames.shown()
        pictures, numbers = {}, ""
        for frame, _ in key_frames:
            shown = viewer(f"{card.anchor}f{frame.index}", name, frame.found, {}, [{} for _ in frame.found])
            if frame is best:
                numbers = render("numbers.html", scene=shown)
            image = to_image(frame.found.scene.pixels)
            if frame is not best:
                image.thumbnail((_KEY_FRAME_SIDE, _KEY_FRAME_SIDE))
            uri = picture_uri(image, self._room(shown, numbers) // len(key_frames))
            pictures[frame.index] = render("scene_image.html", scene=shown, image=uri)
        threshold = None if self.library.several else scores[self.library.only.name].threshold
        about = render(
            "video.html",
            frames=len(frames.scores),
            hits=card.frames,
            drawing=done.drawing,
            timeline=timeline(frames, threshold),
            others=[(pictures[frame.index], frame, text) for frame, text in key_frames if frame is not best],
            best=best,
            best_text=next(text for frame, text in key_frames if frame is best),
        )
        laps = _time_bar(Stopwatch({SEARCH: done.seconds}))
        html = render("card.html", card=card, picture=pictures[best.index], numbers=about + numbers, **laps)
        return RenderedScene(card, {}, 0, html)

    def _room(self, shown: SceneView, numbers: str) -> int:
        """The number of characters that are left for the picture of a scene, at least one."""
        # Each scene gets the same share, so that its HTML does not depend on other scenes or on who renders
        # it.
        share = PAGE_SIZE // max(1, self.scenes)
        return max(1, share - len(numbers) - sum(len(layer.image) for layer in shown.maps))


def anchor(number: int) -> str:
    """The anchor of a scene in the page, by its number."""
    return f"s{number}"


def score_views(detector: "Detector") -> dict[str, ScoreView]:
    """The sections about the scores of each template, by the template's name."""
    return {name: score_view(detector, name) for name in detector.thresholds}


def _time_bar(watch: Stopwatch) -> dict[str, object]:
    return {"laps": laps_of(watch.laps), "total": sum(watch.laps.values())}
