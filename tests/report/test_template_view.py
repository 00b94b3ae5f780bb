"""What the page says about the template and its scores."""

from detecting import detector, group, leaf, made_up, noise, ready, template, toy, upright, walker
from pages import ParsedPage, fragment
from wherein.detect import Detector
from wherein.detect.calibration.store import StoredCalibration
from wherein.images.motif import Motif
from wherein.report.html_format import render
from wherein.report.part_entries import library_entries, part_entries
from wherein.report.template_view import score_view, template_view
from wherein.template import Library, Template


def section(of: Detector) -> ParsedPage:
    return fragment(render("scores.html", scores=score_view(of)))


def test_a_threshold_of_the_users_own_is_marked_as_such() -> None:
    assert "Score threshold 0.600 False alarms" in section(detector(toy())).text
    given = ready(toy(), rotation=0.0, calibration=upright(toy()), threshold=0.7)
    assert "Score threshold 0.700, set by the user; calibrated: 0.600 False alarms" in section(given).text


def test_what_calibration_measured_is_listed() -> None:
    page = section(detector(toy()))
    assert "Search range rotation ±0°, scale 1, no tilt Detection limits rotation ±0°" in page.text
    assert "scale 1.00 to 1.00 (joints at rest)" in page.text
    assert "4 scenes, highest score 0.300" in page.text
    assert "3 scenes, lowest score 0.850" in page.text
    assert [circle["class"] for circle in page.all("circle")] == 4 * ["clutter"] + 3 * ["present"]


def test_joints_are_mentioned_only_where_there_are_any() -> None:
    assert "at rest" in section(detector(toy())).text
    assert "at rest" not in section(ready(template(leaf("motif", None, noise(40, 40)), size=(40, 40)))).text


def test_of_several_templates_scores_say_whose_they_are() -> None:
    """Their thresholds are higher than alone, which no user has asked for."""
    names = ("one", "two")
    made = {name: toy(name) for name in names}
    known = {name: made_up(of, threshold=0.3) for name, of in made.items()}
    both = Detector(list(made.values()), scale=1, tilt=0, calibration=known)
    text = fragment(render("scores.html", scores=score_view(both, "two"))).text
    assert text.startswith("Scores and threshold of two ")
    assert f"Score threshold {both.thresholds['two']:.3f}, calibrated alone: 0.300 " in text
    assert "user" not in text


def test_warnings_are_shown() -> None:
    known = upright(toy()).model_copy(update={"confused": [("a", "<b>", 0.9)]})
    page = section(ready(toy(), rotation=0.0, calibration=known))
    assert "Warning: a and <b> look alike (ZNCC 0.90)." in page.text


def test_without_calibration_there_is_the_threshold_alone() -> None:
    of = detector(toy())
    known = of.search.calibration
    # As with method="paper", whose own calibration takes minutes.
    of.search.calibration = StoredCalibration.model_construct(**known.model_dump(include={"threshold"}))
    assert section(of).text == "Scores and threshold Score threshold 0.600"
    assert score_view(of).false_alarms(0.9) is None


def test_parts_follow_their_group_and_groups_are_grey() -> None:
    made = template(
        group("root"),
        leaf("b", "root", noise(20, 20, 1)),
        group("g", "root"),
        leaf("a", "g", noise(20, 10, 2)),
        leaf("c", "root", noise(20, 20, 3)),
        size=(40, 40),
    )
    entries = part_entries(made)
    assert [entry.name for entry in entries] == ["b", "g", "a", "c"]
    assert [entry.number for entry in entries] == [0, 1, 2, 3]
    assert [entry.depth for entry in entries] == [0, 0, 1, 0]
    assert [entry.leaf for entry in entries] == [True, False, True, True]
    assert entries[1].color == "#b0b0b0"
    assert len({entry.color for entry in entries}) == 4
    assert entries[2].centre == (4.5, 9.5)


def test_the_tree_of_parts_is_a_nested_list() -> None:
    page = fragment(render("template.html", template=template_view(toy())))
    assert len(page.all("ul")) == 2
    assert page.text == "Template toy, 80 × 48 px, 3 parts toy body arm turns ±20°"


def test_parts_of_all_templates_of_a_library_have_different_colors() -> None:
    one, other = (Template.rigid(name, Motif.whole(noise(9, 9, 1))) for name in ("one", "other"))
    entries = [*library_entries(Library.of([one, other, walker()])).values()]
    assert [entry.number for some in entries for entry in some] == list(range(sum(map(len, entries))))
    leaves = [entry.color for some in entries for entry in some if entry.leaf]
    assert len(set(leaves)) == len(leaves) == 2 + len(walker().parts.leaves)
    assert library_entries(Library.of(walker())) == {"walker": part_entries(walker())}
