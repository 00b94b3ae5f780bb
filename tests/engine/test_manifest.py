"""Entries, shards and portions of the scenes of a run."""

import os
from itertools import chain
from pathlib import Path

import pytest

from wherein.engine.manifest import Entry, Portion, SceneFile, Shard, manifest, shards
from wherein.errors import ArgumentError


def entries(count: int) -> list[Entry]:
    return [Entry(k, SceneFile(Path(f"{k}.png")), key=str(k)) for k in range(count)]


@pytest.mark.parametrize("total", [0, 1, 5, 7, 100])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_portions_have_each_scene_once_and_in_order(total: int, count: int) -> None:
    numbers = list(range(total))
    parts = [numbers[Portion(k, count).of_scenes(total)] for k in range(1, count + 1)]
    assert list(chain.from_iterable(parts)) == numbers
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "1", "a/b", "-1/3", "1/3/5", "", "1 / 3"])
def test_what_is_no_portion(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"use I/N with 1 ≤ I ≤ N"):
        Portion.of(text)


@pytest.mark.parametrize(("total", "size"), [(1, 1), (1024, 1), (1025, 2), (10_000, 10), (10**6, 16)])
def test_shards_are_small_until_there_are_many(total: int, size: int) -> None:
    made = list(shards(entries(50), total))
    assert [entry for shard in made for entry in shard.entries] == entries(50)
    assert max(map(len, made)) == size


def test_a_shard_is_named_by_its_scenes() -> None:
    one, two = entries(2)
    assert Shard((one, two)).name == Shard((one, two)).name
    assert len({Shard((one, two)).name, Shard((one,)).name, Shard((two, one)).name}) == 3
    assert Shard((one, two)).split() == [Shard((one,)), Shard((two,))]


def test_a_file_that_changes_gets_another_key(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"1")
    before = manifest([SceneFile(path)], {})[0].key
    assert manifest([SceneFile(path)], {})[0].key == before
    os.utime(path, (1, 1))
    later = manifest([SceneFile(path)], {})[0].key
    assert later != before
    missing = SceneFile(tmp_path / "missing.png", "file not found")
    assert len({entry.key for entry in manifest([missing, missing], {})}) == 2
    numbered = [entry.key for entry in manifest([SceneFile(path)] * 2, {}, numbered=True)]
    assert len({later, *numbered}) == 3
