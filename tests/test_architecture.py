"""The order of the modules, and what importing them costs."""

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wherein"

ORDER = [
    "errors",
    "native",
    "images.gaussian",
    "images.decode",
    "images.load",
    "images.pool",
    "images.motif",
    "motion",
    "warp",
    "images.render",
    "formulations",
    "theory",
    "solve",
    "pyramid",
    "registration",
    "template",
    "search",
    "detect",
    "report",
    "cli",
]
"""From what knows nothing of the others to what knows all: a module imports only from those before it."""


def home(module: str) -> int:
    """The place of a module in the order."""
    return next(i for i, name in enumerate(ORDER) if module == name or module.startswith(f"{name}."))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("wherein."):
            names = [node.module]
            whole = (SOURCE / Path(*node.module.split(".")[1:])).is_dir()
            if whole:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
        found.update(name.removeprefix("wherein.") for name in names)
    return found


def test_modules_import_only_from_those_before_them() -> None:
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        if module in ("__init__", "images"):
            continue
        wrong += [f"{module} imports {other}" for other in imports(path) if home(other) > home(module)]
    assert not wrong


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
