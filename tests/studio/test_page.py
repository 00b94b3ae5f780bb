"""The page's JavaScript modules fit together. There is no build step that would check it."""

import re
from pathlib import Path, PurePosixPath

from wherein.studio.server import page_files

FILES = {name: content.decode() for name, (content, _) in page_files()}
SCRIPTS = {name: text for name, text in FILES.items() if name.endswith(".js")}

EXPORT = re.compile(r"^export (?:async )?(?:const|function|class) ([\w$]+)", re.MULTILINE)
IMPORT = re.compile(r'^import (?:\{([^}]*)\} from |\* as (\w+) from )?"([^"]+)";', re.MULTILINE)


def imported(script: str) -> dict[str, set[str]]:
    """The names that a script uses of each other script."""
    text, found = SCRIPTS[script], {}
    for names, namespace, path in IMPORT.findall(text):
        target = Path("/", PurePosixPath(script).parent, path).resolve().relative_to("/").as_posix()
        used = set(re.findall(rf"(?<!\w){namespace}\.([\w$]+)", text)) if namespace else set()
        found[target] = used - {"js"} | {name.strip() for name in names.split(",") if name.strip()}
    return found


def test_every_import_exists() -> None:
    for script in SCRIPTS:
        for target, names in imported(script).items():
            assert target in SCRIPTS, (script, target)
            assert names <= set(EXPORT.findall(SCRIPTS[target])), (script, target)


def test_every_script_and_export_is_used() -> None:
    used: dict[str, set[str]] = {"main.js": set()}
    for script in SCRIPTS:
        for target, names in imported(script).items():
            used.setdefault(target, set()).update(names)
    assert set(used) == set(SCRIPTS)
    unused = {name: set(EXPORT.findall(text)) - used[name] for name, text in SCRIPTS.items()}
    assert {name: names for name, names in unused.items() if names} == {}


def test_every_import_is_used() -> None:
    for script, text in SCRIPTS.items():
        body = IMPORT.sub("", text)
        for names, _, _ in IMPORT.findall(text):
            for name in filter(None, map(str.strip, names.split(","))):
                assert re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", body), (script, name)


def test_every_element_exists() -> None:
    ids = set(re.findall(r' id="([\w-]+)"', FILES["index.html"]))
    for script, text in SCRIPTS.items():
        assert set(re.findall(r'\$\("#([\w-]+)', text)) <= ids, script
