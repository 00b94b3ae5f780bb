"""The cards of the grid: their kinds, their texts and the filters."""

from dataclasses import replace

import pytest

from walkers import found, logo, tilted
from wherein.detect.result import Detections
from wherein.report.scene_card import Card, Kind, common_folder, filters, scene_card


def nothing(candidates: int) -> Detections:
    return replace(tilted(candidates=candidates), items=())


@pytest.mark.parametrize(
    ("some", "kind", "text", "score"),
    [
        (tilted(), Kind.FOUND, "score 0.93 · 70 °C", 0.93),
        (tilted("needle", candidates=2), Kind.FOUND, "score 0.93 · 1 of 2 parts", 0.93),
        (found(at=((60.0, 80.0), (170.0, 90.0))), Kind.FOUND, "2 found, best 0.97", 0.97),
        (logo(), Kind.FOUND, "score 0.85", 0.85),
        (nothing(2), Kind.NEAR, "near miss 0.600", 0.6),
        (nothing(0), Kind.NOTHING, "nothing found", 0.0),
    ],
)
def test_what_a_card_says(some: Detections, kind: Kind, text: str, score: float) -> None:
    card = scene_card("s0", "a.png", some)
    assert (card.kind, card.text, card.score) == (kind, text, score)
    assert (card.count, card.seconds) == (len(some), 0.08)


def test_a_single_motif_has_no_parts_to_count() -> None:
    (item,) = logo()
    doubtful = replace(item, parts={"logo": replace(item.parts["logo"], found=False)})
    assert scene_card("s0", "a.png", replace(logo(), items=(doubtful,))).text == "score 0.85"


def test_of_several_templates_the_name_is_said() -> None:
    (item,) = tilted().items
    library = replace(tilted(), items=(replace(item, template="gauge"),), templates=("gauge", "cup"))
    assert scene_card("s0", "a.png", library).text == "gauge · score 0.93 · 70 °C"


def test_filters_count_each_scene_once() -> None:
    kinds = [Kind.FOUND, Kind.FOUND, Kind.NOTHING, Kind.ERROR]
    cards = [Card("a.png", f"s{k}", kind, "") for k, kind in enumerate(kinds)]
    shown = {one.label: one.count for one in filters(cards)}
    assert shown == {"All": 4, "Found": 2, "Near miss": 0, "Nothing": 1, "Error": 1}


def test_a_folder_that_all_scenes_share() -> None:
    cards = [Card(name, "s0", Kind.FOUND, "") for name in ("a/b/1.png", "a/b/2.png")]
    assert [(card.folder, card.file) for card in cards] == [("a/b/", "1.png"), ("a/b/", "2.png")]
    assert common_folder(cards) == "a/b/"
    assert common_folder([*cards, Card("3.png", "s2", Kind.ERROR, "")]) is None
    assert common_folder([]) is None
