"""Detection, 5: whether the JSON of a scene is the same every time and with any number of threads."""

import json
from typing import Any

import torch
from numpy.typing import NDArray

from benchmarks.subjects import FIXED, bodiless, timed_subject
from benchmarks.workload import Share, Workload, aim, levels, section
from wherein.detect import Detector
from wherein.template import Template

ABOUT = (
    "The JSON of a scene without its seconds, compared byte by byte: twice in a row with one detector, and "
    "from new detectors with 1 and with 2 threads, including those of torch."
)
COLUMNS = (
    ("template", "template", "text"),
    ("scenes of", "kind", "text"),
    ("n", "scenes", "text"),
    ("the same again", "again", "of scenes"),
    ("the same with 1 and 2 threads", "threads", "of scenes"),
)
KINDS = ("plain", "two", "noise", "covered", "empty")


def measure(work: Workload, share: Share) -> dict[str, Any]:
    """Compare with the whole template and, unless quick, without its body, which another search finds."""
    whole = timed_subject()
    templates, rows = [whole] if work.settings.quick else [whole, bodiless(whole)], []
    for done, template in enumerate(templates):
        share(done / len(templates))
        rows += _rows(work, template)
    total = sum(row["scenes"] for row in rows)
    targets = [
        aim(f"the same JSON {words}, share of {total} scenes", ">=", 1, sum(row[key] for row in rows) / total)
        for key, words in (("again", "again"), ("threads", "with 1 and 2 threads"))
    ]
    return section("determinism", ABOUT, COLUMNS, rows=rows, targets=targets)


def _rows(work: Workload, template: Template) -> list[dict[str, Any]]:
    count, kinds = work.counts.same, KINDS[:: 2 if work.settings.quick else 1]
    pictures = [levels(work.scene(template, kind, k, FIXED).picture) for kind in kinds for k in range(count)]
    one, two, again = _outputs(work, template, pictures)
    return [
        {
            "template": template.name,
            "kind": kind,
            "scenes": count,
            "again": sum(two[k] == again[k] for k in range(first, first + count)),
            "threads": sum(one[k] == two[k] for k in range(first, first + count)),
        }
        for kind, first in zip(kinds, range(0, len(pictures), count), strict=True)
    ]


def _outputs(work: Workload, template: Template, pictures: list[NDArray]) -> list[list[str]]:
    """The JSON of all pictures with one thread, with two threads, and again with two threads."""
    before, outputs = torch.get_num_threads(), []
    try:
        for threads, times in ((1, 1), (2, 2)):
            torch.set_num_threads(threads)
            detector = work.calibrations.detector(template, FIXED, threads)
            outputs += [[json_of(detector, picture) for picture in pictures] for _ in range(times)]
    finally:
        torch.set_num_threads(before)
    return outputs


def json_of(detector: Detector, picture: NDArray) -> str:
    """The JSON of a scene, without the time of the search."""
    result = detector(picture).to_dict()
    return json.dumps({key: value for key, value in result.items() if key != "seconds"}, sort_keys=True)
