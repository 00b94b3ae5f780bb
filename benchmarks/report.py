"""Results as JSON, as a table on the terminal and in Markdown, with the comparisons that were lost."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import ge, le, lt
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks.measure import Trial, summarise

FORMAT = "wherein-benchmark/1"
RELATIONS: dict[str, Callable[[float, float], bool]] = {">=": ge, "<=": le, "<": lt}
HIGHER, LOWER = ("success", "within_1px"), ("corner_median", "corner_p90")  # measures that are compared


@dataclass(frozen=True)
class Target:
    """An aim: a measure, a relation and a bound."""

    measure: str
    relation: str
    bound: float

    def judge(self, ours: Mapping[str, Any] | None) -> dict[str, Any]:
        """The aim with our value, and whether it is met; None if it was not measured."""
        value = None if ours is None else ours.get(self.measure)
        met = None if ours is None or self._unmeasured(ours) else value is not None and self._holds(value)
        return {**asdict(self), "value": value, "met": met}

    def _holds(self, value: float) -> bool:
        return RELATIONS[self.relation](value, self.bound)

    def _unmeasured(self, ours: Mapping[str, Any]) -> bool:
        """Whether a ratio of times is missing because the peer solved nothing."""
        # A missing corner error does not mean that it was not measured: it is infinite.
        return self.measure.startswith("time / ") and ours.get(self.measure) is None


def compare(
    ours: str, trials: Mapping[str, Sequence[Trial]], summary: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Compare wherein with each peer, for each measure, over the problems that both were given."""
    if ours not in trials:
        return []
    rows = []
    for peer, theirs in trials.items():
        if peer != ours:
            rows += _against(peer, trials[ours], theirs)
            rows += _costs(peer, summary[ours], summary[peer])
    return rows


def _against(peer: str, ours: Sequence[Trial], theirs: Sequence[Trial]) -> list[dict[str, Any]]:
    common = {trial.index for trial in theirs}
    mine, other = summarise([trial for trial in ours if trial.index in common]), summarise(theirs)
    rows = [_row(peer, measure, mine[measure], other[measure], sign=1) for measure in HIGHER]
    rows += [_row(peer, measure, mine[measure], other[measure], sign=-1) for measure in LOWER]
    return rows + _where_both_succeed(peer, ours, theirs)


def _where_both_succeed(peer: str, ours: Sequence[Trial], theirs: Sequence[Trial]) -> list[dict[str, Any]]:
    """Compare errors on the problems that both solved: a peer may fail often, but be more accurate."""
    both = {t.index for t in ours if t.succeeded} & {t.index for t in theirs if t.succeeded}
    if not both:
        return []
    medians = [summarise([t for t in some if t.index in both])["corner_median"] for some in (ours, theirs)]
    return [_row(peer, "corner_median, both solved", *medians, sign=-1)]


def _costs(peer: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []  # times count only on problems that the peer solved: failing fast is no advantage
    if (ratio := ours.get(f"time / {peer}, solved")) is not None:
        rows.append(_row(peer, "relative time", ratio, 1.0, sign=-1))
    if ours.get("peak_mb") is not None and theirs.get("peak_mb") is not None:
        rows.append(_row(peer, "peak_mb", ours["peak_mb"], theirs["peak_mb"], sign=-1))
    return rows


def _row(peer: str, measure: str, ours: float | None, theirs: float | None, *, sign: int) -> dict[str, Any]:
    a, b = (sign * (float("inf") if value is None else value) for value in (ours, theirs))
    verdict = "tie" if a == b else "win" if a > b else "loss"
    return {"peer": peer, "measure": measure, "ours": ours, "theirs": theirs, "verdict": verdict}


# --- tables ---


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _pixels(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}" if value < 1 else f"{value:.1f}"


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{1e3 * value:.1f}"


def _megabytes(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _ratio(which: str) -> Callable[[Mapping[str, Any] | None], str]:
    return lambda ratio: "" if ratio is None else "–" if ratio[which] is None else f"{ratio[which]:.3g}"


COLUMNS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("n", "count", str),
    ("ZNCC ≥ 0.9", "success", _percent),
    ("< 1 px", "within_1px", _percent),
    ("corner px, median", "corner_median", _pixels),
    ("of the solved", "corner_median_solved", _pixels),
    ("90 %", "corner_p90", _pixels),
    ("RMS", "corner_rms", _pixels),
    ("ms", "seconds", _milliseconds),
    ("ours / its, solved", "our_time_over_its", _ratio("solved")),
    ("ours / its, all", "our_time_over_its", _ratio("all")),
    ("peak MB", "peak_mb", _megabytes),
)
HEADER = ("group", "method", *(title for title, _, _ in COLUMNS))


def rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table as text, one row for each group and method."""
    return [
        (group["name"], name, *(show(numbers.get(key)) for _, key, show in COLUMNS))
        for group in report["groups"]
        for name, numbers in group["methods"].items()
    ]


def terminal(report: Mapping[str, Any]) -> Table:
    """The table for a terminal, with groups as headings, which saves a column."""
    table = Table("", *HEADER[2:], title=report["command"], box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify, column.max_width = "right", 10
    last = None
    for group, *cells in rows(report):
        if group != last:
            table.add_section()
            table.add_row(f"[bold]{group}")
        table.add_row(*cells)
        last = group
    return table


def preamble(report: Mapping[str, Any]) -> list[str]:
    """The title, the command and the machine."""
    at = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in at["versions"].items() if number)
    return [
        f"# Benchmark: {report['suite']}",
        "",
        f"`{report['command']}` with seed {report['settings']['seed']}, on {at['cores']} cores with "
        f"{at['threads']} threads (load before: {at['load_before'][0]}); Python {at['python']}, {versions}.",
        "",
    ]


def markdown(report: Mapping[str, Any]) -> str:
    """The report in Markdown: the machine, the table, the aims, and the comparisons that were lost."""
    lines = [
        *preamble(report),
        *(f"- {name}: {_about(method)}" for name, method in report["methods"].items()),
        *(f"- missing: {what}" for what in report["data"]["missing"]),
        "",
        *grid(HEADER, rows(report)),
        "",
        "Corner errors are in px, over all problems of a row; –: too many had no result. Times are medians. "
        "ours / its is the median ratio of wherein's time to the peer's, over the problems that the peer "
        "solved, and over all problems that it was given.",
        "",
        "## Aims",
        "",
        *grid(("group", "measure", "aim", "value", "met"), aims(report)),
        "",
        "## Lost to a peer",
        "",
        *(_losses(report) or ["Nothing."]),
    ]
    return "\n".join(lines) + "\n"


def _about(method: Mapping[str, Any]) -> str:
    return method["about"] if method["missing"] is None else f"not measured: {method['missing']}"


def grid(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *body)]


def aims(report: Mapping[str, Any], parts: str = "groups") -> list[tuple[str, ...]]:
    """One row for each aim of a report's groups or sections."""
    words = {True: "yes", False: "no", None: "not measured"}
    return [
        (g["name"], t["measure"], f"{t['relation']} {t['bound']:g}", _number(t["value"]), words[t["met"]])
        for g in report[parts]
        for t in g["targets"]
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _losses(report: Mapping[str, Any]) -> list[str]:
    lines = []
    for group in report["groups"]:
        lost: dict[str, list[str]] = {}
        for row in group["comparisons"]:
            if row["verdict"] == "loss":
                words = f"{row['measure']} {_number(row['ours'])} against {_number(row['theirs'])}"
                lost.setdefault(row["peer"], []).append(words)
        lines += [f"- {group['name']}, to {peer}: {'; '.join(words)}" for peer, words in lost.items()]
    return lines


def write(
    report: Mapping[str, Any],
    folder: Path,
    console: Console,
    text: Callable[[Mapping[str, Any]], str] = markdown,
    table: Callable[[Mapping[str, Any]], RenderableType] = terminal,
) -> list[Path]:
    """Print the table, and write `<suite>.json` and `<suite>.md` to the folder; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / f"{report['suite']}.json", folder / f"{report['suite']}.md"
    files[0].write_text(
        json.dumps(report, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    files[1].write_text(text(report), encoding="utf-8")
    console.print(table(report))
    return list(files)
