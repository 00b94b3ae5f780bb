"""Results as a table to read."""

from dataclasses import replace

from walkers import found, logo, tilted
from wherein.cli.terminal.scene_table import SceneTable
from wherein.engine.scene_rows import detection_rows


def test_a_row_for_each_detection() -> None:
    table = SceneTable(["a.png", "photographs/b.png"])
    assert table.header == "scene             score      x      y    angle  scale  tilt"
    (row,) = table.rows("a.png", detection_rows(logo()))
    assert row == "a.png              0.85     40     46     0.0°   1.00     –"
    first, second = table.rows(
        "b.png", detection_rows(found("hand", "leg", at=((110.0, 80.0), (120.0, 90.0))))
    )
    assert first.startswith("b.png  ") and second.startswith("       ")
    assert first.endswith("without leg, hand")
    assert table.rows("b.png", detection_rows(replace(logo(), items=()))) == [
        "b.png              nothing found"
    ]


def test_readings_tracks_templates_and_long_names() -> None:
    table = SceneTable(["x" * 90])
    some = tilted()
    (row,) = table.rows("x" * 90 + "/end.png", detection_rows(some, [7]))
    assert row.startswith("…") and row[:40].endswith("/end.png")
    assert row.endswith("54°  track 7, needle 70 °C")
    both = replace(some, items=(some[0], replace(logo()[0], template="logo")))
    rows = detection_rows(both)
    assert ["gauge" in rows[0], "logo" in rows[1]] == [True, True]
