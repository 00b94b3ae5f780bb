"""Put the C kernel into the wheel, compiled for every processor of the platform that the wheel is for.

Only the standard library and wherein.native are used: torch is not needed to build. Without a compiler the
wheel is pure Python: it works everywhere, and compiles the kernel where it is installed if it can.
"""

import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelBuildHook(BuildHookInterface):
    """Compiles the libraries of wherein/native/shipped.py."""

    _folder: TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the libraries to the wheel, and the platform to its tag."""
        if version == "editable":
            return  # runs from its sources, where the kernel is compiled on first use
        sys.path.insert(0, str(Path(self.root) / "src"))
        from wherein.native.compiler import CompilerError
        from wherein.native.shipped import build_shipped

        # Outside of the sources: a file left there would end up in the next wheel, whatever its platform.
        self._folder = TemporaryDirectory(prefix="wherein-kernel-")
        try:
            libraries = build_shipped(Path(self._folder.name))
        except CompilerError as error:
            self.app.display_warning(f"Building a pure Python wheel, without the C kernel: {error}")
            return
        build_data["force_include"] |= {str(file): f"wherein/native/{file.name}" for file in libraries}
        build_data["pure_python"] = False
        # Any Python 3, because ctypes loads them. Not manylinux: they are linked to this system's C library,
        # and nothing here has checked how old another one may be.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the libraries, which are in the wheel now."""
        if self._folder is not None:
            self._folder.cleanup()
