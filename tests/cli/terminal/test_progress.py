"""Progress: on standard error, only on a terminal, and out of the way of what others print."""

import io
import re
import sys

import pytest
import torch
from rich.console import Console as RichConsole

from detecting import toy
from wherein.cli.console import FEW_SCENES, Console
from wherein.cli.terminal import progress
from wherein.detect.calibration import measure
from wherein.detect.search_range import Range


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal was sent on standard error."""
    sent = io.StringIO()

    def terminal(stderr: bool) -> RichConsole:
        assert stderr
        return RichConsole(file=sent, force_terminal=True, width=80, legacy_windows=False)

    monkeypatch.setattr(progress, "RichConsole", terminal)
    return sent


def test_many_scenes_have_a_bar_that_goes_away_for_every_line(
    screen: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    console, before = Console(), sys.stdout
    with console.scene_bar(7):
        assert screen.getvalue() == ""  # nothing before the first is done
        console.scenes_done(1)
        console.scenes_done(1)
        assert "2/7" in screen.getvalue()
        assert sys.stdout is before  # rich would lead it to the bar
        console.result({"scene": "a.png"})
        assert screen.getvalue().endswith("\x1b[2K")  # the line is empty
        printed = len(screen.getvalue())
        console.scenes_done(1)
        assert "3/7" in screen.getvalue()[printed:]
        assert "-:--:--" in screen.getvalue() or "0:00" in screen.getvalue()  # the time that is left
        console.message("a message")
        assert screen.getvalue().endswith("\x1b[2K")
        console.scenes_done(1)
    assert screen.getvalue().endswith("\x1b[2K")
    assert capsys.readouterr() == ('{"scene": "a.png"}\n', "a message\n")


def test_a_long_task_leaves_room_for_the_bar_and_the_time(screen: io.StringIO) -> None:
    with Console().progress("Calibrating (first use of this template)") as show:
        show(0.5, "searching scenes without the object")
    text = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", screen.getvalue())
    words = r"Calibrating \(first use of this template\): searc"
    assert re.search(rf"[━╸╺]{{12}} [-\d]:[-\d]{{2}}:[-\d]{{2}} {words}", text)


def test_no_word_of_a_calibration_is_cut_on_80_columns(screen: io.StringIO) -> None:
    said = dict[str, None]()
    with torch.no_grad():
        measure.calibrate(toy(), Range(0.0, (1.0, 1.0), 0.0), progress=lambda _, step: said.setdefault(step))
    assert len(said) == 3
    for step in said:
        with Console().progress("Calibrating (first use)") as show:
            show(0.5, f"gauge: {step}")
        assert f"Calibrating (first use): gauge: {step}" in screen.getvalue()


def test_it_is_gone_when_things_go_wrong(screen: io.StringIO) -> None:
    console = Console()
    with pytest.raises(KeyboardInterrupt), console.scene_bar(7):
        console.scenes_done(1)
        raise KeyboardInterrupt
    assert screen.getvalue().endswith("\x1b[2K")
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back


@pytest.mark.parametrize(("total", "quiet"), [(FEW_SCENES, False), (7, True)])
def test_a_few_scenes_or_quiet_has_none(screen: io.StringIO, total: int, quiet: bool) -> None:
    console = Console(quiet)
    with console.scene_bar(total):
        console.scenes_done(1)
        console.message("")
    assert screen.getvalue() == ""


def test_without_a_terminal_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    with console.scene_bar(7):
        console.scenes_done(1)
    assert capsys.readouterr() == ("", "")


def test_a_calibration_is_a_bar_or_lines_or_nothing(
    screen: io.StringIO, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Console().progress("calibrating") as show:
        show(0.5, "looking")
    assert "calibrating: looking" in screen.getvalue()
    sent = screen.getvalue()
    with Console(quiet=True).progress("calibrating") as show:
        show(0.5, "looking")
    assert screen.getvalue() == sent
    monkeypatch.setattr(progress, "RichConsole", RichConsole)
    with Console().progress("calibrating") as show:
        show(0.5, "looking")
        show(0.6, "looking")
    assert capsys.readouterr() == ("", "calibrating: looking, 50% done\n")


def test_a_task_that_reports_nothing_shows_nothing(screen: io.StringIO) -> None:
    with Console().progress("calibrating"):
        pass
    assert screen.getvalue() == ""
