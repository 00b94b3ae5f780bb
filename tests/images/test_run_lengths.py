"""Run lengths of masks that were damaged, or made to do damage."""

import pytest

from wherein.errors import TemplateError
from wherein.images.run_lengths import decode_run_lengths


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([10**30], r"of more than 10¹⁸ pixels instead of 3 × 2"),
        ([-(10**400), 10**400, 6], "of 6 pixels instead of 3 × 2"),
        ([-1, 7], "of 6 pixels instead of 3 × 2"),
        ([], "of 0 pixels instead of 3 × 2"),
        ("o" * 1_000_000, "a number of more than 64 bits"),
    ],
    ids=["huge", "huge and negative", "negative", "none", "endless digits"],
)
def test_damaged_run_lengths_are_refused(counts: str | list[int], words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        decode_run_lengths(counts, 3, 2, "it")
