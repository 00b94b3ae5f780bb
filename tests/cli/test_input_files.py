"""Which scenes files, folders and patterns stand for, and what is skipped."""

from pathlib import Path

import pytest
from PIL import Image, features

from detecting import toy, write_template
from wherein.cli import input_files
from wherein.cli.input_files import check_exists, check_order, check_template_path, list_scenes
from wherein.errors import ArgumentError


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """A folder with pictures, files that cannot be read, and folders in it."""
    for name in ("b.png", "A.JPG", "c.heic", "d.HEIF", "e.pdf", "f.svg", "notes.txt", "g.dng"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "._b.png").write_bytes(b"")
    for name in ("more/deep/z.png", ".hidden/x.png", "empty/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def names(folder: Path, recursive: bool = False) -> list[str]:
    return [str(scene.path.relative_to(folder)) for scene in list_scenes([str(folder)], recursive).scenes]


def test_broken_links_and_pictures_without_an_extension_are_named(tmp_path: Path) -> None:
    Image.new("L", (9, 9)).save(tmp_path / "scan", format="PNG")
    (tmp_path / "LICENSE").write_text("text")
    for name in ("lost.jpg", "lost.txt"):
        (tmp_path / name).symlink_to(tmp_path / "nowhere")
    listed = list_scenes([str(tmp_path)])
    assert listed.skipped == {tmp_path / "lost.jpg": "broken link", tmp_path / "scan": "no extension"}
    assert list(listed.skipped_messages) == [
        f"skipped {tmp_path / 'lost.jpg'} (broken link): their files do not exist",
        f"skipped {tmp_path / 'scan'} (no extension): "
        "add the extension to their names, or give them one by one",
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("https://example.com/a.jpg", "https://example.com/a.jpg is an address, and only files on this"),
        ("s3://bucket/a.png", "s3://bucket/a.png is an address"),
        ("-", "standard input is not read: write the picture to a file"),
    ],
)
def test_addresses_and_standard_input(given: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        list_scenes([given])
    with pytest.raises(ArgumentError, match=words):
        check_template_path(given)
    with pytest.raises(ArgumentError, match=r"is an address|standard input"):
        check_exists("scene", Path(given))  # as a path, an address loses a slash


def test_what_is_skipped_is_named(photographs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "find_spec", lambda name: None)
    listed = list_scenes([str(photographs)])
    assert names(photographs) == ["A.JPG", "b.png"]
    skipped = {str(path.relative_to(photographs)): kind for path, kind in listed.skipped.items()}
    assert skipped == {
        **{"c.heic": "HEIC", "d.HEIF": "HEIC", "e.pdf": "PDF", "f.svg": "SVG", "g.dng": "RAW"},
        "more": "subfolder",
    }
    assert listed.skipped_summary == "6 skipped: HEIC, PDF, SVG, RAW, subfolder"
    first, *_, last = listed.skipped_messages
    heic = f"{photographs / 'c.heic'}, {photographs / 'd.HEIF'}"
    assert first == f"skipped {heic} (HEIC): pip install 'wherein[heic]' to read them"
    assert last == f"skipped {photographs / 'more'} (subfolder): use --recursive to search them"


def test_heic_is_read_with_its_extra(photographs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "find_spec", lambda name: object())
    assert names(photographs) == ["A.JPG", "b.png", "c.heic", "d.HEIF"]


def test_a_file_under_several_spellings_is_one_scene(
    photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photographs)
    (photographs / "same").symlink_to(photographs, target_is_directory=True)
    (photographs / "link.png").symlink_to(photographs / "b.png")
    spellings = ["b.png", "./b.png", "more/../b.png", str(photographs / "b.png"), "same/b.png", "./?.png"]
    assert [scene.path for scene in list_scenes(spellings).scenes] == [Path("b.png")]
    assert len(list_scenes(["b.png", "link.png"]).scenes) == 2
    assert len(list_scenes(["more/deep/z.png", "more", "more/deep"], True).scenes) == 1


def test_subfolders_on_request(photographs: Path) -> None:
    assert "more/deep/z.png" in names(photographs, recursive=True)
    assert not any("hidden" in name for name in names(photographs, recursive=True))
    assert "subfolder" not in list_scenes([str(photographs)], True).skipped.values()


@pytest.mark.skipif(not features.check("avif"), reason="this build of Pillow cannot read AVIF")
def test_a_subfolder_of_avif_is_named(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.avif").write_bytes(b"")
    assert list_scenes([str(tmp_path)]).skipped == {tmp_path / "more": "subfolder"}


@pytest.mark.parametrize("template", ["photographs", "photograph.png"])
def test_a_template_in_the_place_of_a_scene_is_refused(tmp_path: Path, template: str) -> None:
    robot, given = tmp_path / "robot", tmp_path / template
    write_template(robot, toy())
    with pytest.raises(
        ArgumentError, match=f"the template comes first, as in wherein detect {robot} {given}"
    ):
        check_order(str(given), ["a.png", str(robot)])
    check_order(str(robot), [str(given)])
    check_order(str(robot), [str(robot)])  # its own pictures
    check_order(str(tmp_path), [str(robot)])  # a library


def test_an_archive_among_pictures_is_no_template(tmp_path: Path) -> None:
    archive = tmp_path / "robot.zip"
    archive.write_bytes(b"")
    with pytest.raises(ArgumentError, match="the template comes first"):
        check_order("photographs", [str(archive)])
    check_order("logo.png", ["a.png", str(archive)])
    check_order(str(archive), [str(archive)])


def test_many_files_are_not_all_named(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.pdf").write_bytes(b"")
    (line,) = list_scenes([str(tmp_path)]).skipped_messages
    assert "4.pdf and 4 more (PDF): this format is not supported" in line


def test_what_is_not_there_is_known_before_it_is_read(tmp_path: Path) -> None:
    errors = [scene.error for scene in list_scenes([str(tmp_path / "a.png"), str(tmp_path / "b.mp4")]).scenes]
    assert errors == ["file not found", "file not found"]
    (camera,) = list_scenes(["camera:0"]).scenes
    assert (camera.error, camera.is_video) == (None, True)


def test_a_picture_with_frames_is_a_video(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (40, 30), (60 * k, 0, 0)) for k in range(3)]
    frames[0].save(tmp_path / "still.gif")
    frames[0].save(tmp_path / "walk.gif", save_all=True, append_images=frames[1:], duration=50)
    (tmp_path / "torn.gif").write_bytes(b"GIF89a")
    frames[0].save(tmp_path / "x.png", save_all=True, append_images=frames[1:])
    frames[0].save(tmp_path / "y.tif", save_all=True, append_images=frames[1:])
    scenes = list_scenes([str(tmp_path)]).scenes
    assert [scene.is_video for scene in scenes] == [False, False, True, True, True]
