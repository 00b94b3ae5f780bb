"""Values as text, and the environment that escapes them."""

import base64
import html
import os
import zlib

import pytest
from jinja2 import UndefinedError

from wherein.report.html_format import duration, environment, matrix, number, packed, render


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 ms"),
        (0.00012345, "0.12 ms"),
        (0.0012345, "1.23 ms"),
        (0.0999, "99.9 ms"),
        (0.00996, "9.96 ms"),
        (0.641, "641 ms"),
        (1.234, "1.23 s"),
        (59.04, "59 s"),
        (125.4, "2 min 5 s"),
        (119.7, "2 min 0 s"),
        (0.99999, "1 s"),
    ],
)
def test_durations_are_easy_to_read(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_have_a_proper_minus_and_no_negative_zero() -> None:
    assert (number(-1.234), number(-0.001), number(2, 0)) == ("−1.23", "0.00", "2")


def test_a_matrix_can_be_copied_into_python() -> None:
    assert matrix([[1.0, -0.5, 20.25], [0.0, 1e-9, 3.0]]) == "[[1, -0.5, 20.25],\n [0, 1e-09, 3]]"


def test_every_template_compiles() -> None:
    names = environment().list_templates()
    assert {"page.html", "page.css", "page.js", "card.html"} <= set(names)
    for name in names:
        environment().get_template(name)


def test_values_are_escaped_in_every_template() -> None:
    made = environment().from_string('<a title="{{ name }}">{{ name }}</a>').render(name="\"'<b>")
    assert made == '<a title="&#34;&#39;&lt;b&gt;">&#34;&#39;&lt;b&gt;</a>'


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="laps"):
        render("laps.html", total=1.0)


def test_packed_markup_keeps_every_letter() -> None:
    names = ("°C − 漢", os.fsdecode(b"caf\xe9"))
    markup = "".join(f"<p>{name}</p>" for name in names) * 100
    assert len(packed(markup)) < len(markup) / 5
    unpacked = html.unescape(zlib.decompress(base64.b64decode(packed(markup))).decode())
    assert unpacked == markup.replace("\udce9", "\N{REPLACEMENT CHARACTER}")
