"""Which C compiler is chosen, and why there is none."""

import pytest

from wherein.native import compiler


def test_the_compiler_of_the_environment_comes_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "sh -c 'a b'")
    command = compiler.find_compiler()
    assert command[0].endswith("/sh")
    assert command[1:] == ["-c", "a b"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("no-such-compiler -O3", r"no C compiler found \(looked for no-such-compiler\)"),
        ('gcc "unmatched', 'CC=gcc "unmatched: No closing quotation'),
    ],
)
def test_a_compiler_that_is_not_there_or_cannot_be_parsed_is_an_error(
    asked: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", asked)
    with pytest.raises(compiler.CompilerError, match=words):
        compiler.find_compiler()
