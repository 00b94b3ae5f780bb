"""The suite "busy": how the ratio of times is measured."""

import pytest

from benchmarks import busy


def test_a_busy_process_ends_with_its_block() -> None:
    with busy.busy_process(), busy.busy_process(busy=False):
        pass


def test_every_call_is_timed_alone_and_beside_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter((1.0, 3.0, 2.0, 5.0, 4.0, 8.0))
    monkeypatch.setattr(busy, "_seconds", lambda call: next(seconds))
    row = busy._row("a call", 3 * [lambda: None])
    assert (row["problems"], row["alone"], row["beside"], row["ratio"]) == (3, 2.0, 5.0, 2.5)
