"""The order of the modules, the rules of the tree, and what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tools import structure
from wherein import _MODULES as PUBLIC

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wherein"

ORDER = [
    "errors",
    "extras",
    "files",
    "threads",
    "thresholds",
    "memory",
    "progress_line",
    "native",
    "images",
    "giant",
    "motion",
    "warp",
    "formulations",
    "theory",
    "solve",
    "pyramid",
    "planes",
    "registration",
    "template",
    "detect.search_range",
    "detect.score",
    "detect.placed_part",
    "detect.exports",
    "detect.result",
    "detect.fast",
    "detect.calibration",
    "detect.paper",
    "detect.explain",
    "detect.methods",
    "detect.library_search",
    "detect.preparation",
    "detect.tiled",
    "detect.arguments",
    "detect.detector",
    "detect.tracker",
    "detect",
    "formats",
    "making",
    "drawing",
    "report",
    "video",
    "demo",
    "engine",
    "experiments",
    "studio",
    "cli",
    "__main__",
]
"""From what knows nothing of the others to what knows all: a module imports only from those before it."""

SHORTCUTS = {
    "detect.exports": ("formats",),
    "detect.result": ("drawing",),
    "registration.register": ("drawing",),
    "template.shown_template": ("drawing",),
}
"""Methods of a result that only pass it on, such as `to_coco()`, import what they call on use."""

MAX_SIDE_BY_SIDE = 13
MAX_CHAIN = 20


def place(module: str) -> int:
    """The place of a module in the order."""
    return next(i for i, name in enumerate(ORDER) if module == name or module.startswith(f"{name}."))


def imports(source: str) -> set[str]:
    """The modules of this package that a source imports at run time, in any of the ways that Python has."""
    found = set()
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if structure.for_types(node):
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import: write wherein. ..."
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        waiting += ast.iter_child_nodes(node)
    found.discard("wherein.__version__")  # of the package itself, which is above all order
    return {module_of(name) for name in found if name.split(".")[0] == "wherein"}


def module_of(name: str) -> str:
    """Where a dotted name lives: a module, a name in one, or a public name of the package."""
    parts = name.split(".")[1:]
    if not parts:
        return "registration.register"  # `import wherein` can reach all that is public
    if parts[0] in PUBLIC:
        return PUBLIC[parts[0]].removeprefix("wherein.")
    while not ((SOURCE / Path(*parts)).is_dir() or (SOURCE / Path(*parts)).with_suffix(".py").exists()):
        parts.pop()
    return ".".join(parts)


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from wherein import threads", "threads"),
        ("from wherein import threads as t, register", "threads registration.register"),
        ("from wherein.motion import field as fields", "motion.field"),
        ("from wherein.motion import rotation", "motion"),
        ("from wherein.images.load import Picture", "images.load"),
        ("import wherein.solve.solution", "solve.solution"),
        ("import wherein", "registration.register"),
        ("def late():\n    from wherein.cli import console", "cli.console"),
        ("import whereinelse, torch.nn", ""),
    ],
)
def test_every_way_to_import_is_seen(source: str, module: str) -> None:
    assert imports(source) == set(module.split())


def test_modules_import_only_from_those_before_them() -> None:
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        if module == "__init__":
            continue
        used = imports(path.read_text())
        allowed = SHORTCUTS.get(module, ())
        wrong += [
            f"{module} imports {other}"
            for other in used
            if place(other) > place(module) and other.split(".")[0] not in allowed
        ]
    assert not wrong


def test_no_two_modules_share_a_name() -> None:
    assert structure.repeated_names(structure.modules(SOURCE)) == []


def test_no_package_is_a_long_list_of_modules() -> None:
    folder, count = structure.side_by_side(structure.modules(SOURCE))
    assert count <= MAX_SIDE_BY_SIDE, folder


def test_no_import_chain_is_long() -> None:
    known = structure.modules(SOURCE)
    chain = structure.longest_chain(
        {name: structure.imports(path, set(known)) for name, path in known.items()}
    )
    assert len(chain) <= MAX_CHAIN, chain


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_importing_brings_in_nothing_heavy() -> None:
    assert run("import sys, wherein; print('torch' in sys.modules)") == "False"
    loaded = run("import sys, wherein; wherein.register; print(sorted(m.split('.')[0] for m in sys.modules))")
    for heavy in ("matplotlib", "skimage", "sklearn", "cv2", "kornia", "scipy", "rich", "typer"):
        assert f"'{heavy}'" not in loaded, heavy


def test_help_does_not_wait_for_torch() -> None:
    assert run("import sys, wherein.cli.main; print('torch' in sys.modules)") == "False"
