"""The summary of `wherein detect`, and its exit status."""

from wherein.cli.scene_totals import Totals


def test_an_empty_part_of_the_scenes_is_no_failure() -> None:
    """As of --shard 8/9 with three scenes."""
    assert Totals().summary("") == "No scene in this part of the scenes"
    assert Totals().exit_status(fail_if_none=False) == 0
    assert Totals(unreadable=1).summary("") == "No scene could be searched; 1 unreadable"
