"""The libraries that a wheel carries: which one is chosen, and that their results are those of torch."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import wherein
from wherein.native import abi, compiler, kernel, library, shipped


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the libraries of a wheel."""
    folder = tmp_path_factory.mktemp("shipped")
    try:
        shipped.build_shipped(folder)
    except compiler.CompilerError as error:
        pytest.skip(str(error))
    return folder


def test_the_best_one_that_the_processor_can_run_is_chosen(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline, *others = shipped.variants()
    functions, file = shipped.open_shipped(built)
    best = [variant for variant in shipped.variants() if variant.level <= functions.wherein_cpu_level()][-1]
    assert file == built / best.name
    beyond = [shipped.Variant(variant.name, variant.flags, 99) for variant in others]
    monkeypatch.setattr(shipped, "variants", lambda: (baseline, *beyond))
    assert shipped.open_shipped(built)[1] == built / baseline.name


def test_the_machine_decides_which_there_are() -> None:
    names = [variant.name for variant in shipped.variants("x86_64")]
    assert names == ["kernel-x86-64.so", "kernel-x86-64-v3.so"]
    assert [variant.name for variant in shipped.variants("aarch64")] == ["kernel-aarch64.so"]


def test_without_a_compiler_the_shipped_one_is_used(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "FOLDER", built)
    monkeypatch.delenv("WHEREIN_NATIVE", raising=False)
    monkeypatch.setenv("CC", "no-such-compiler")
    loaded = library.load()
    assert (loaded.source, loaded.file.parent) == ("shipped", built)
    assert loaded.reason == "no C compiler found (looked for no-such-compiler)"
    monkeypatch.setattr(abi, "ABI", 99)
    with pytest.raises(
        library.UnavailableError, match="no shipped kernel: the library has ABI 1, but this version needs 99"
    ):
        library.load()


def test_each_registers_as_torch_does(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = torch.rand(1, 3, 30, 36, generator=torch.Generator().manual_seed(0))
    scene = F.interpolate(coarse, size=(91, 113), mode="bicubic", align_corners=True)[0].clamp(0, 1)
    found = []
    for only in (*shipped.variants(), None):
        if only is not None and only.level > shipped.open_shipped(built)[0].wherein_cpu_level():
            continue
        loaded = _opened(built, only, monkeypatch) if only else None
        monkeypatch.setattr(kernel, "_loaded", lambda loaded=loaded: (loaded, ""))
        found.append(wherein.register(scene, scene[:, 30:61, 40:77], "affine").matrix)
    for matrix in found:
        np.testing.assert_allclose(matrix, found[-1], atol=2e-3)
    assert len(found) > 1


def _opened(folder: Path, variant: shipped.Variant, monkeypatch: pytest.MonkeyPatch) -> library.Library:
    with monkeypatch.context() as patch:
        patch.setattr(shipped, "variants", lambda: (variant,))
        return library.Library(*_swapped(shipped.open_shipped(folder)))


def _swapped(opened: tuple[object, Path]) -> tuple[object, str, Path]:
    return opened[0], "shipped", opened[1]


def test_what_python_cannot_load_is_no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "cc"
    fake.write_text('#!/bin/sh\nwhile test "$1" != -o; do shift; done; echo rubbish > "$2"\n')
    fake.chmod(0o700)
    monkeypatch.setenv("CC", str(fake))
    with pytest.raises(compiler.CompilerError, match="compiles for another platform"):
        shipped.build_shipped(tmp_path)
    monkeypatch.setattr("sys.platform", "plan9")
    with pytest.raises(compiler.CompilerError, match="on Linux only, and this is plan9"):
        shipped.build_shipped(tmp_path)
