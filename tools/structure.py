"""Measures the structure of the package: `python tools/structure.py [SRC] [--scene TEMPLATE PICTURE]`.

SRC is the folder of the package, src/wherein by default; another checkout can be measured too. The longest
import chain counts module-level imports outside `if TYPE_CHECKING`. With --scene, it also counts the modules
whose functions run while one scene passes through `wherein detect`, from reading the scene to its line of
JSON.
"""

import argparse
import ast
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def modules(source: Path) -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: set[str]) -> set[str]:
    """The modules among `known` that a file imports when it is imported itself."""
    # Not the bodies of functions, whose imports run later, nor `if TYPE_CHECKING`, whose imports never run.
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or for_types(node):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & known
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from a import b` imports the module a.b if there is one, else a name from the module a.
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & known) or ({node.module} & known)
        waiting += ast.iter_child_nodes(node)
    return found


def for_types(node: ast.AST) -> bool:
    """Whether a node is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def longest_chain(graph: dict[str, set[str]]) -> tuple[str, ...]:
    """The longest path through the imports, the module that imports nothing first."""

    @cache
    def chain(name: str) -> tuple[str, ...]:
        below = max((chain(other) for other in sorted(graph[name]) if other != name), key=len, default=())
        return (*below, name)

    return max(map(chain, sorted(graph)), key=len)


def repeated_names(known: dict[str, Path]) -> list[str]:
    """File names that are used by more than one module."""
    names = Counter(path.stem for path in known.values() if not path.stem.startswith("__"))
    return sorted(name for name, count in names.items() if count > 1)


def side_by_side(known: dict[str, Path]) -> tuple[str, int]:
    """The folder with the most modules, and how many it has."""
    return Counter(str(p.parent.name) for p in known.values() if p.stem != "__init__").most_common(1)[0]


def functions(known: dict[str, Path]) -> list[int]:
    """The number of lines in the body of every function, its docstring not counted."""
    lengths = []
    for path in known.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lengths.append(body[-1].end_lineno - body[0].lineno + 1 if body else 0)  # type: ignore[operator]
    return lengths


def comments(known: dict[str, Path]) -> float:
    """Lines with a comment in a thousand lines, without directives for tools."""
    lines = [
        line.strip() for path in known.values() for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return (
        1000 * sum("# " in line and "noqa" not in line and "type:" not in line for line in lines) / len(lines)
    )


TRACE = """
import json, sys, threading
from wherein.cli.main import app
calls = set()
def called(frame, event, _):
    name, code = frame.f_globals.get("__name__", ""), frame.f_code
    if event == "call" and name.startswith("wherein") and code.co_filename != "<string>":
        if code.co_name == "load_picture":
            calls.clear()
        calls.add(name)
threading.setprofile(called); sys.setprofile(called)
try:
    app(sys.argv[1:], standalone_mode=False)
except SystemExit:
    pass
sys.setprofile(None); threading.setprofile(None)
print("TRACE" + json.dumps(sorted(calls)))
"""
"""Records the modules that are called after the last picture was read. That is the second of two scenes, so
preparations that happen once are not counted. Generated methods of dataclasses ("<string>") do not count,
since nobody reads them."""


def crossed(source: Path, template: str, picture: str) -> list[str]:
    """The modules that run in `wherein detect`, from reading a scene to its line of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "second"):
            shutil.copy(picture, Path(folder) / f"{name}{Path(picture).suffix}")
        command = [sys.executable, "-c", TRACE, "detect", template, folder, "--quiet"]
        environment = {**os.environ, "PYTHONPATH": str(source.parent)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("TRACE"))
    return list(json.loads(line.removeprefix("TRACE")))


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description="Numbers about the structure of the package.")
    parser.add_argument("source", nargs="?", type=Path, default=ROOT / "src" / "wherein")
    parser.add_argument("--scene", nargs=2, metavar=("TEMPLATE", "PICTURE"))
    parser.add_argument("--list", action="store_true", help="name the modules, too")
    asked = parser.parse_args()
    known = modules(asked.source.resolve())
    chain = longest_chain({name: imports(path, set(known)) for name, path in known.items()})
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in known.values()]
    lengths = functions(known)
    folder, count = side_by_side(known)
    print(f"modules: {len(known)}")
    print(f"longest import chain: {len(chain)} modules")
    print(f"module names used twice or more: {len(repeated_names(known))} {', '.join(repeated_names(known))}")
    print(f"most modules side by side: {count} in {folder}/")
    print(f"lines in a file: median {statistics.median(lines):.0f}, maximum {max(lines)}")
    print(f"lines in a function: median {statistics.median(lengths):.0f}, maximum {max(lengths)}")
    print(f"comments in a thousand lines: {comments(known):.0f}")
    if asked.list:
        print("chain: " + " > ".join(name.removeprefix("wherein.") for name in chain))
    if asked.scene:
        way = crossed(asked.source.resolve(), *asked.scene)
        print(f"modules on the way of a scene: {len(way)}")
        if asked.list:
            print("way: " + ", ".join(name.removeprefix("wherein.") for name in way))


if __name__ == "__main__":
    main()
