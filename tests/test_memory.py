"""Amounts of memory as people give them."""

import mmap

import pytest

from wherein.errors import ArgumentError
from wherein.memory import bytes_of, held


@pytest.mark.parametrize(
    ("given", "amount"),
    [
        ("4GB", 4 * 10**9),
        (" 4 gb ", 4 * 10**9),
        ("1.5GiB", 3 * 2**29),
        ("512MB", 512 * 10**6),
        (4e9, 4 * 10**9),
        (200_000_000, 200_000_000),
    ],
)
def test_amounts(given: float | str, amount: int) -> None:
    assert bytes_of(given) == amount


@pytest.mark.parametrize(
    "given", ["4", "4 G", "GB", "-4GB", "", "4GB/s", 4, 0, -1e9, float("nan"), float("inf"), "1e9 TB"]
)
def test_what_is_no_amount_says_what_is(given: float | str) -> None:
    with pytest.raises(ArgumentError, match='such as "4GB"'):
        bytes_of(given)


def test_what_the_process_holds_grows_with_what_is_written() -> None:
    # A mapping of its own: an array may get pages that the allocator kept from something freed earlier.
    size = 64 * 2**20
    with mmap.mmap(-1, size) as fresh:
        before = held()
        fresh.write(b"1" * size)
        assert held() - before > 0.9 * size
