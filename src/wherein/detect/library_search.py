"""The search for several templates in one pass over a scene, with at most one object for each pixel."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from wherein.detect.explain.fit_trace import FitTraces
from wherein.detect.explain.occurrence_maps import Map
from wherein.detect.fast.exclusion import OVERLAP
from wherein.detect.fast.following import Seen
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.scene_search import LIKELY, SceneSearch
from wherein.detect.fast.shared_pixels import Contender, between_templates
from wherein.detect.fast.shared_search import EFFORTS, MAX_ALONE, SharedSearch
from wherein.detect.result import Detection, MethodResult, best_first
from wherein.images.picture import Samples
from wherein.pyramid.levels import Poses, ScenePyramid

if TYPE_CHECKING:  # for the annotation only
    from wherein.detect.methods import FastSearch


class LibrarySearch:
    """Searches scenes for several templates.

    The pyramid of the scene, its responses and its channels are computed once for all templates.

    Arguments:
        searches: the search for each template, by its name.
        overlap: fraction of an object that may overlap with another before one of them is dropped.
    """

    name = "fast"

    def __init__(self, searches: "Mapping[str, FastSearch]", overlap: float = OVERLAP) -> None:
        self.searches, self._overlap = searches, overlap

    def __call__(self, scene: Samples, count: int | None) -> MethodResult:
        """The best `count` detections of all templates in a scene; None: all."""
        levels = self.levels(scene)
        return self._result(levels, self._everywhere(levels, tuple(self.searches), count), count)

    def at(self, reduction: int) -> "LibrarySearch":
        """The search in reduced scenes, for templates that are reduced by the same factor."""
        if reduction == 1:
            return self
        return LibrarySearch({name: one.at(reduction) for name, one in self.searches.items()}, self._overlap)

    def by_template(self, levels: ScenePyramid, count: int | None) -> dict[str, Hypotheses]:
        """The hypotheses that remain after exclusion between templates, by the name of the template.

        Arguments:
            levels: the scene to search.
            count: maximum number of detections; None: all.
        """
        return self.between(levels, self._everywhere(levels, tuple(self.searches), count))

    def of(self, name: str) -> SceneSearch:
        """The search for one template."""
        return self.searches[name]

    def between(self, levels: ScenePyramid | None, found: Mapping[str, Hypotheses]) -> dict[str, Hypotheses]:
        """The hypotheses that remain after templates have competed for pixels, by the name of the template.

        Arguments:
            levels: the scene; None: only areas are compared.
            found: the hypotheses by template, already exclusive within each template.
        """
        some = {name: one for name, one in found.items() if len(one.scores)}
        contenders = [self._contender(name, one) for name, one in some.items()]
        return dict(zip(some, between_templates(levels, contenders, self._overlap), strict=True))

    def _everywhere(
        self, levels: ScenePyramid, names: Sequence[str], count: int | None
    ) -> dict[str, Hypotheses]:
        """The hypotheses of each of these templates in the whole scene, before templates compete.

        A few templates are searched for one by one, which is more thorough. More of them share one look
        over the scene; those without a body, which is what the look is for, are still searched for alone.
        """
        shared = [name for name in names if name in self._shared_names]
        if len(shared) <= MAX_ALONE:
            return {name: self.searches[name].kept(levels, count) for name in names}
        found = {name: self.searches[name].kept(levels, count) for name in names if name not in shared}
        # The shared search is made once, and always searches for all its templates.
        for number, one in self._shared(levels).items():
            if self._shared_names[number] in shared:
                found[self._shared_names[number]] = one
        return found

    @cached_property
    def _shared_names(self) -> tuple[str, ...]:
        """The names of the templates that can share a look: those with a body."""
        return tuple(name for name, one in self.searches.items() if one.finder.body_search is not None)

    @cached_property
    def _shared(self) -> SharedSearch:
        searches = [self.searches[name] for name in self._shared_names]
        return SharedSearch(searches, [EFFORTS[one.calibration.look_effort] for one in searches])

    def follow(
        self,
        scene: Samples,
        roots: Mapping[str, Poses],
        count: int | None,
        everywhere: bool,
        seen: Mapping[str, Sequence[Seen]] | None = None,
    ) -> MethodResult:
        """The best `count` detections near known poses.

        Arguments:
            scene: the picture to search.
            roots: canvas → scene, (N, 3, 3), N > 0, by the name of the template.
            count: maximum number of detections; None: all.
            everywhere: search the whole scene as well.
            seen: what is known of each from the previous frame, by the name of the template; None: nothing.
        """
        levels, before = self.levels(scene), seen or {}
        found = {
            name: self.searches[name].near(levels, own, everywhere, before.get(name))
            for name, own in roots.items()
        }
        if everywhere:
            # Templates in `found` have been searched for everywhere above, by `near`.
            others = [name for name in self.searches if name not in found]
            found |= self._everywhere(levels, others, count)
        return self._result(levels, found, count)

    def levels(self, scene: Samples) -> ScenePyramid:
        """The pyramid of the scene, in the form that the searches share."""
        return next(iter(self.searches.values())).levels(scene)

    def _result(
        self, levels: ScenePyramid, found: Mapping[str, Hypotheses], count: int | None
    ) -> MethodResult:
        """The detections and candidates that remain after templates have competed for pixels."""
        items, candidates = list[Detection](), list[Detection]()
        for name, one in self.between(levels, found).items():
            reported = self.searches[name].reported(levels, one, count)
            items += reported.items
            candidates += reported.candidates
        return MethodResult(best_first(items)[:count], best_first(candidates))

    def _contender(self, name: str, found: Hypotheses) -> Contender:
        search = self.searches[name]
        # In a crowd there are candidates below `LIKELY` of the threshold: they compete too.
        least = min(LIKELY * search.threshold, float(found.scores.min()))
        return Contender(search.finder, found, search.threshold, least)

    def occurrence(self, scene: Samples) -> dict[str, Map]:
        """The maps of every template, by "template: part"."""
        return {
            f"{name}: {part}": values
            for name, search in self.searches.items()
            for part, values in search.occurrence(scene).items()
        }

    def fit_traces(self, scene: Samples, found: Sequence[Detection]) -> tuple[FitTraces, ...]:
        """How the fit of each piece of each detection converged."""
        return tuple(self.searches[one.template].fit_traces(scene, (one,))[0] for one in found)
