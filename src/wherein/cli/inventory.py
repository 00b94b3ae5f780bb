"""The contents of `wherein info`: installed and missing packages, and the folders of files."""

import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import wherein
from wherein.detect.calibration.store import cached_calibrations
from wherein.native import compiler, kernel

_PACKAGES = ("torch", "numpy", "pillow")
_DEVELOPMENT = "dev"
"""The extra for the development of wherein, which users do not need."""

_REQUIREMENT = re.compile(r"""(?P<package>[\w.-]+)[^;]*;.*extra\s*==\s*["'](?P<extra>[\w.-]+)["']""")


def inventory() -> dict[str, Any]:
    """All facts as a dictionary for JSON."""
    return {
        "wherein": wherein.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "kernel": _kernel(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "calibrations": _text(cached_calibrations()),
        "extras": {extra: _extra(extra, packages) for extra, packages in _extras().items()},
    }


def describe(facts: dict[str, Any]) -> Iterator[str]:
    """The facts of `inventory` as lines of text."""
    yield f"wherein {facts['wherein']}, Python {facts['python']}, {facts['platform']}"
    yield ", ".join(f"{name} {version or 'missing'}" for name, version in facts["packages"].items())
    yield f"C kernel: {_describe_kernel(facts['kernel'])}"
    yield f"threads: {facts['threads']} on {facts['cores']} cores"
    yield f"calibrations: {_describe_calibrations(facts['calibrations'])}"
    for extra, about in facts["extras"].items():
        here = ", ".join(f"{name} {version}" for name, version in about["packages"].items() if version)
        missing = ", ".join(name for name, version in about["packages"].items() if not version)
        remedy = f"{missing} missing: {about['install']}" if missing else ""
        yield f"extra {extra}: {'; '.join(filter(None, (here, remedy)))}"


def _describe_calibrations(folder: str | None) -> str:
    if folder is None:
        return "beside each template; nowhere else, as there is no home directory (set XDG_CACHE_HOME)"
    return f"beside each template, or in {folder} if that is not writable"


def _describe_kernel(kernel: dict[str, Any]) -> str:
    if kernel["source"] == "compiled":
        kept = f"cached in {kernel['folder']}" if kernel["folder"] else "not cached"
        return f"compiled by {kernel['compiler']} ({kernel['version']}), {kept}"
    if kernel["source"] == "shipped":
        return (
            f"{Path(kernel['file']).name}, from the wheel; not compiled on this machine: {kernel['reason']}"
        )
    return f"not available, using the slower PyTorch code: {kernel['reason']}"


def _kernel() -> dict[str, Any]:
    """The C library in use, and the reason. If it can be compiled but has not been, it is compiled now."""
    library = kernel.library()
    source = library and library.source
    # A shipped library was compiled elsewhere: a compiler on this machine says nothing about it.
    command = compiler.find_compiler() if source == "compiled" else None
    return {
        "built": library is not None,
        "source": source,
        "file": library and str(library.file),
        "reason": library.reason if library else kernel.reason(),
        "compiler": command and " ".join(command),
        "version": command and compiler.compiler_version(command).decode(errors="replace").partition("\n")[0],
        "folder": str(library.file.parent) if library and library.file.exists() else None,
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _extras() -> dict[str, list[str]]:
    """The requirements of each extra, from the metadata of the installed package."""
    try:
        # Each is a text such as: name>=1.0; extra == "video"
        asked = metadata.requires("wherein") or []
    except metadata.PackageNotFoundError:  # not installed, but run from its sources
        return {}
    extras: dict[str, list[str]] = {}
    for match in filter(None, map(_REQUIREMENT.match, asked)):
        if match["extra"] != _DEVELOPMENT:
            extras.setdefault(match["extra"], []).append(match["package"])
    return extras


def _extra(name: str, packages: list[str]) -> dict[str, Any]:
    versions = {package: _version(package) for package in packages}
    return {
        "installed": all(versions.values()),
        "packages": versions,
        "install": f"pip install 'wherein[{name}]'",
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
