"""The folder of a run: what is kept, what is not trusted, and whom it belongs to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from detecting import toy
from wherein.engine.manifest import Entry, SceneFile, Shard, has_begun
from wherein.engine.run_folder import RunFolder, shard_file, write_shard
from wherein.engine.scene_events import Failed, OutsideRegion, PictureDone, SceneEvent, SceneLine, Unreadable
from wherein.errors import ArgumentError
from wherein.template.template_library import Library

LIBRARY = Library.of(toy())


def entries(*names: str) -> tuple[Entry, ...]:
    return tuple(Entry(k, SceneFile(Path(name)), key=name) for k, name in enumerate(names))


def line(entry: Entry) -> SceneLine:
    return SceneLine(entry.key, {"scene": entry.key, "score": 0.1 + 0.2, "detections": []}, ["row"])


def work(entry: Entry) -> Iterator[SceneEvent]:
    yield line(entry)
    yield PictureDone(0, ("toy", 0.1))


def opened(path: Path, threshold: float = 0.5, overwrite: bool = False) -> RunFolder:
    return RunFolder.open(path, LIBRARY, {"thresholds": {"toy": threshold}, "region": (1, 2)}, overwrite)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    a, b, c = entries("a", "b", "sürrögate \udcff")
    assert not has_begun(tmp_path / "run")
    folder = opened(tmp_path / "run")
    assert has_begun(tmp_path / "run")
    write_shard(folder.path, Shard((a, b)), work)
    folder.add(Shard((a, b)))
    write_shard(folder.path, Shard((c,)), work)
    for known in (folder, opened(tmp_path / "run")):
        assert list(known.read(b)) == [line(b), PictureDone(0, ("toy", 0.1))]
        assert next(iter(known.read(a))) == line(a)
    assert [folder.has(entry) for entry in (a, b, c)] == [True, True, False]
    assert next(iter(opened(tmp_path / "run").read(c))) == line(c)


@pytest.mark.parametrize("cut", [b"", b"\0" * 300, None])
def test_an_incomplete_file_is_as_none(tmp_path: Path, cut: bytes | None) -> None:
    """As after a power cut; a kill leaves whole files."""
    (a,) = entries("a")
    folder = opened(tmp_path / "run")
    write_shard(folder.path, Shard((a,)), work)
    file = shard_file(folder.path, Shard((a,)))
    file.write_bytes(file.read_bytes()[:-2] if cut is None else cut)
    assert not opened(tmp_path / "run").has(a)


@pytest.mark.parametrize("damage", [b'[0, ["line', b"[0, [7]]", b'[0, ["line", []]]'])
def test_a_damaged_line_between_the_ends_of_a_file_is_named(tmp_path: Path, damage: bytes) -> None:
    (a,) = entries("a")
    folder = opened(tmp_path / "run")
    write_shard(folder.path, Shard((a,)), work)
    file = shard_file(folder.path, Shard((a,)))
    first, _, *rest = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join((first, damage, *rest)))
    with pytest.raises(ArgumentError, match=r"jsonl is damaged: delete it, and run the same command again"):
        list(opened(tmp_path / "run").read(a))


def test_work_that_fails_leaves_no_file(tmp_path: Path) -> None:
    folder = opened(tmp_path / "run")

    def failing(entry: Entry) -> Iterator[SceneEvent]:
        yield line(entry)
        raise MemoryError

    with pytest.raises(MemoryError):
        write_shard(folder.path, Shard(entries("a")), failing)
    assert list((folder.path / "shards").iterdir()) == []


def test_a_folder_belongs_to_one_run(tmp_path: Path) -> None:
    (a,) = entries("a")
    folder = opened(tmp_path / "run")
    write_shard(folder.path, Shard((a,)), work)
    with pytest.raises(ArgumentError, match=r"belongs to another run \(different thresholds\): choose"):
        opened(tmp_path / "run", threshold=0.6)
    assert opened(tmp_path / "run", overwrite=True).has(a), "the same run is never started again"
    assert not opened(tmp_path / "run", threshold=0.6, overwrite=True).has(a)
    (tmp_path / "photographs").mkdir()
    (tmp_path / "photographs" / "a.png").touch()
    with pytest.raises(ArgumentError, match="has other files"):
        opened(tmp_path / "photographs", overwrite=True)


def test_scenes_whose_drawing_is_gone_are_searched_again(tmp_path: Path) -> None:
    drawn, gone, outside = (
        Entry(k, SceneFile(Path(name)), tmp_path / f"{name}.png", name)
        for k, name in enumerate(("drawn", "gone", "outside"))
    )
    folder = opened(tmp_path / "run")
    for entry in (drawn, gone):
        write_shard(folder.path, Shard((entry,)), work)
    write_shard(folder.path, Shard((outside,)), lambda _: [OutsideRegion("beyond")])
    (tmp_path / "drawn.png").touch()
    folder = opened(tmp_path / "run")
    folder.forget_undrawn((drawn, gone, outside))
    assert [folder.has(entry) for entry in (drawn, gone, outside)] == [True, False, True]


def test_what_could_not_be_read_is_read_again(tmp_path: Path) -> None:
    """A disk may be mounted again, a package installed: neither changes the size and time of a file."""
    shard = Shard(entries("a", "b", "c", "d"))
    folder = opened(tmp_path / "run")
    write_shard(folder.path, shard, lambda entry: [Unreadable("gone")] if entry.key in "bd" else work(entry))
    folder.add(shard)
    assert [list(folder.read(entry)) for entry in shard.entries[1::2]] == [[Unreadable("gone")]] * 2
    again = opened(tmp_path / "run")
    assert [again.has(entry) for entry in shard.entries] == [True, False, True, False]


def test_files_of_others_in_a_folder_of_this_name_are_left_alone(tmp_path: Path) -> None:
    """As in data sets that consist of shards, or in a run whose first file is damaged."""
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "00.tar").touch()
    with pytest.raises(ArgumentError, match="has other files"):
        opened(tmp_path, overwrite=True)
    folder = opened(tmp_path / "run")
    write_shard(folder.path, Shard(entries("a")), work)
    (tmp_path / "run" / "run.json").write_bytes(b"")
    with pytest.raises(ArgumentError, match="has other files"):
        opened(tmp_path / "run", threshold=0.6)


def test_what_failed_is_not_kept(tmp_path: Path) -> None:
    (a,) = entries("a")
    folder = opened(tmp_path / "run")
    folder.failed["a"] = "it died"
    assert list(folder.read(a)) == [Failed("it died")]
    assert not opened(tmp_path / "run").has(a)


def test_a_temporary_folder_holds_only_what_was_not_read(tmp_path: Path) -> None:
    a, b = entries("a", "b")
    with RunFolder.temporary(LIBRARY) as folder:
        write_shard(folder.path, Shard((a, b)), work)
        folder.add(Shard((a, b)))
        file = shard_file(folder.path, Shard((a, b)))
        assert len(list(folder.read(a))) == 2 and file.exists()
        assert len(list(folder.read(b))) == 2 and not file.exists()
    assert not folder.path.exists()
