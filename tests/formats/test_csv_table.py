"""Detections as CSV and as a `pandas.DataFrame`."""

import csv
import io
import sys
from dataclasses import replace

import numpy as np
import pytest

import wherein
from walkers import found, renamed, tilted
from wherein.formats.csv_table import COLUMNS


def test_csv_has_a_row_for_each_part() -> None:
    some = found("leg", at=((110.0, 80.0), (120.0, 90.0)))
    text = some.to_csv("a.png")
    assert text.count("\r\n") == text.count("\n") == 1 + 2 * 6
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(table[0]) == COLUMNS
    assert [(row["instance"], row["part"]) for row in table] == [
        (str(k), name) for k in (1, 2) for name in some[0].parts
    ]
    leg = next(row for row in table if row["part"] == "leg")
    assert (leg["scene"], leg["template"], leg["found"], leg["score"]) == ("a.png", "walker", "false", "0.9")
    matrix = [float(leg[f"m{i}{j}"]) for i in range(2) for j in range(3)]
    np.testing.assert_allclose(matrix, some[0].parts["leg"].matrix.ravel(), atol=1e-6)
    assert float(leg["angle"]) == pytest.approx(40)
    assert float(leg["left"]) == pytest.approx(some[0].parts["leg"].polygon[:, 0].min(), abs=0.006)


@pytest.mark.parametrize("name", ['a "b", c', "two\nlines", "two\r\nlines", "", "plain", "é"])
def test_csv_gives_back_every_name(name: str) -> None:
    text = renamed(found(), {"hand": name}).to_csv(name)
    last = list(csv.reader(io.StringIO(text, newline="")))[-1]
    assert (last[0], last[4]) == (name, name)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_csv_names_are_no_formulas(name: str) -> None:
    some = renamed(found(), {"hand": name})
    last = list(csv.reader(io.StringIO(some.to_csv(name), newline="")))[-1]
    assert (last[0], last[4]) == (f"'{name}", f"'{name}")
    assert last[8].lstrip("-")[0].isdigit()  # a negative number stays one


def test_perspective_and_readings_have_columns() -> None:
    some = tilted()
    dial, needle = csv.DictReader(io.StringIO(some.to_csv("a.png"), newline=""))
    matrix = np.array([float(needle[f"m{i}{j}"]) for i in range(3) for j in range(3)]).reshape(3, 3)
    np.testing.assert_allclose(matrix, some[0].parts["needle"].matrix, atol=1e-6)
    assert (needle["turn"], needle["value"], needle["unit"]) == ("45.0", "70.0", "°C")
    assert float(needle["tilt"]) == pytest.approx(some[0].parts["needle"].tilt, abs=0.006)
    assert (dial["turn"], dial["value"], dial["unit"]) == ("0.0", "", "")
    lost = list(csv.DictReader(io.StringIO(tilted("needle").to_csv(), newline="")))[1]
    assert (lost["found"], lost["value"], lost["unit"]) == ("false", "", "°C")
    flat = next(csv.DictReader(io.StringIO(found().to_csv(), newline="")))
    assert [flat[name] for name in ("m20", "m21", "m22", "tilt")] == ["0.0", "0.0", "1.0", "0.0"]


def test_dataframe_has_the_rows_with_their_types() -> None:
    pandas = pytest.importorskip("pandas")
    table = renamed(found("hand"), {"hand": "=hand"}).to_dataframe("a.png")
    assert isinstance(table, pandas.DataFrame)
    assert tuple(table.columns) == COLUMNS
    assert table.part.tolist()[-1] == "=hand"
    assert table.found.dtype == bool
    assert table.m02.dtype == float
    assert table[table.found].part.tolist() == ["trunk", "arm", "leg", "upper"]
    nothing = replace(found(), items=()).to_dataframe()
    assert nothing.empty
    assert tuple(nothing.columns) == COLUMNS


def test_without_pandas_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(wherein.MissingError, match=r"to_dataframe\(\) needs pandas.*pip install") as caught:
        found().to_dataframe()
    assert isinstance(caught.value, ImportError)
