"""`python -m tools.fuzz`: fuzz everything that reads untrusted input.

A case is determined by the seed, the target and its number, so a finding can be reproduced:
`python -m tools.fuzz pictures --seed 0 --first 1234 --cases 1`. The exit status is 1 if there are findings.
"""

import argparse
import sys
from itertools import groupby

from tools.fuzz.runner import Finding, Tally, fuzz

TARGETS = ("pictures", "templates", "archives", "annotations", "calibrations", "requests")
"""The keys of `targets.TARGETS`, repeated here because that module takes seconds to import."""

_SHOWN = 20
"""Maximum number of findings that are printed for a target, one for each place in the source."""


def main() -> int:
    """Fuzz the targets, and print a line for each target and each finding."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description="Fuzz the readers of wherein.")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all by default"
    )
    parser.add_argument("--cases", type=int, default=10_000, help="of each target (default: 10000)")
    parser.add_argument("--seconds", type=float, default=86_400.0, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    given = parser.parse_args()
    unknown = sorted(set(given.targets) - set(TARGETS))
    if unknown:
        parser.error(f"unknown target {unknown[0]}: use {', '.join(TARGETS)}")
    chosen, found = given.targets or TARGETS, 0
    for target in chosen:
        tally = fuzz(target, given.seed, given.first, given.cases, given.seconds / len(chosen))
        print(_summary(target, tally), flush=True)
        for finding, count in _by_place(tally):
            print(f"  case {finding.case} ({count} such): {finding.where}: {finding.what}", flush=True)
        found += len(tally.findings)
    return 1 if found else 0


def _summary(target: str, tally: Tally) -> str:
    counts = tally.outcomes
    return (
        f"{target}: {tally.cases} cases in {tally.seconds:.0f} s: {counts['accepted']} accepted, "
        f"{counts['refused']} refused, {counts['finding']} findings"
    )


def _by_place(tally: Tally) -> list[tuple[Finding, int]]:
    """The first finding at each place in the source, and the number of findings there."""
    # Many cases end at the same defect: one line for each place keeps the output readable.
    ordered = sorted(tally.findings, key=lambda finding: (finding.where, finding.case))
    groups = (list(group) for _, group in groupby(ordered, key=lambda finding: finding.where))
    return [(group[0], len(group)) for group in groups][:_SHOWN]


if __name__ == "__main__":
    sys.exit(main())
