"""Whether there is a C library, and what it accepts."""

import os
import shutil

import pytest
import torch

from wherein.native import kernel


def test_where_there_is_a_compiler_there_is_a_library() -> None:
    """So that C that does not compile cannot hide behind the plain path."""
    if shutil.which("cc") and os.environ.get("WHEREIN_NATIVE", "1") != "0":
        assert kernel.available(), kernel.reason()


@pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")
def test_only_plain_float32_on_the_cpu_is_accepted() -> None:
    plain, learned = torch.zeros(3), torch.zeros(3, requires_grad=True)
    assert kernel.accepts(plain, plain)
    for other in (plain.double(), plain.to("meta"), learned):
        assert not kernel.accepts(plain, other)
    with torch.no_grad():
        assert kernel.accepts(learned)


def test_c_without_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Functions:
        wherein_pool = staticmethod(lambda: -1)

    class Loaded:
        functions = Functions

    monkeypatch.setattr(kernel, "library", Loaded)
    with pytest.raises(MemoryError):
        kernel.call("wherein_pool")
