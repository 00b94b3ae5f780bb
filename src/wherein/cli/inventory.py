"""What `wherein info` tells: what is installed here, what is missing, and where things are kept."""

import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import torch

import wherein
from wherein import native
from wherein.detect.calibration.store import cached_calibrations
from wherein.native import library as build

_PACKAGES = ("torch", "numpy", "pillow")
_OURS = "dev"
"""The extra of those who work on wherein itself."""

_REQUIREMENT = re.compile(r"""(?P<package>[\w.-]+)[^;]*;.*extra\s*==\s*["'](?P<extra>[\w.-]+)["']""")


def inventory() -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "wherein": wherein.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "kernel": _kernel(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "calibrations": str(cached_calibrations()),
        "extras": {extra: _extra(extra, packages) for extra, packages in _extras().items()},
    }


def in_words(told: dict[str, Any]) -> Iterator[str]:
    """The same, a line at a time."""
    yield f"wherein {told['wherein']}, Python {told['python']}, {told['platform']}"
    yield ", ".join(f"{name} {version or 'missing'}" for name, version in told["packages"].items())
    kernel = told["kernel"]
    yield (
        f"C kernel: built by {kernel['compiler']} ({kernel['version']}), kept in {kernel['folder']}"
        if kernel["built"]
        else f"C kernel: none, everything takes longer: {kernel['reason']}"
    )
    yield f"threads: {told['threads']} on {told['cores']} cores"
    yield f"calibrations: beside each template, or in {told['calibrations']} where that cannot be written"
    for extra, about in told["extras"].items():
        here = ", ".join(f"{name} {version}" for name, version in about["packages"].items() if version)
        missing = ", ".join(name for name, version in about["packages"].items() if not version)
        remedy = f"{missing} missing: {about['install']}" if missing else ""
        yield f"extra {extra}: {'; '.join(filter(None, (here, remedy)))}"


def _kernel() -> dict[str, Any]:
    """Whether there is one; it is built if it can be and has not been."""
    built = native.available()
    compiler = build.compiler() if built else None
    return {
        "built": built,
        "reason": native.reason(),
        "compiler": compiler and " ".join(compiler),
        "version": compiler and build.version(compiler).decode(errors="replace").partition("\n")[0],
        "folder": str(build.cache_folder()),
    }


def _extras() -> dict[str, list[str]]:
    """What each extra of this package asks for, by the metadata that it was installed with."""
    try:
        asked = metadata.requires("wherein") or []
    except metadata.PackageNotFoundError:  # run from its sources
        return {}
    extras: dict[str, list[str]] = {}
    for match in filter(None, map(_REQUIREMENT.match, asked)):
        if match["extra"] != _OURS:
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
