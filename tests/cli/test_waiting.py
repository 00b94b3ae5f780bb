"""Progress: on standard error, only where someone watches, and off the screen for what others print."""

import io
import sys

import pytest
from rich.console import Console

from wherein.cli import waiting


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal was sent on standard error."""
    sent = io.StringIO()

    def terminal(stderr: bool) -> Console:
        assert stderr
        return Console(file=sent, force_terminal=True, width=80, legacy_windows=False)

    monkeypatch.setattr(waiting, "Console", terminal)
    return sent


def test_many_scenes_have_a_bar_that_goes_away_for_every_line(screen: io.StringIO) -> None:
    before = sys.stdout
    with waiting.counted(7) as bar:
        assert screen.getvalue() == ""  # nothing before the first is done
        bar.step()
        bar.step()
        assert "2/7" in screen.getvalue()
        assert sys.stdout is before  # rich would lead it to the bar
        bar.hide()
        assert screen.getvalue().endswith("\x1b[2K")  # the line is empty
        told = len(screen.getvalue())
        bar.step()
        assert "3/7" in screen.getvalue()[told:]
        assert "-:--:--" in screen.getvalue() or "0:00" in screen.getvalue()  # the time that is left
    assert screen.getvalue().endswith("\x1b[2K")


def test_it_is_gone_when_things_go_wrong(screen: io.StringIO) -> None:
    with pytest.raises(KeyboardInterrupt), waiting.counted(7) as bar:
        bar.step()
        raise KeyboardInterrupt
    assert screen.getvalue().endswith("\x1b[2K")
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back


@pytest.mark.parametrize(("total", "quiet"), [(waiting.HANDFUL, False), (7, True)])
def test_a_handful_or_quiet_has_none(screen: io.StringIO, total: int, quiet: bool) -> None:
    with waiting.counted(total, quiet) as bar:
        bar.step()
        bar.hide()
    assert screen.getvalue() == ""


def test_without_a_terminal_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.counted(7) as bar:
        bar.step()
    assert capsys.readouterr() == ("", "")


def test_a_calibration_is_a_bar_or_lines_or_nothing(
    screen: io.StringIO, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with waiting.progress("calibrating") as show:
        show(0.5, "looking")
    assert "calibrating: looking" in screen.getvalue()
    sent = screen.getvalue()
    with waiting.progress("calibrating", quiet=True) as show:
        show(0.5, "looking")
    assert screen.getvalue() == sent
    monkeypatch.setattr(waiting, "Console", Console)
    with waiting.progress("calibrating") as show:
        show(0.5, "looking")
        show(0.6, "looking")
    assert capsys.readouterr() == ("", "calibrating: looking, 50% done\n")
