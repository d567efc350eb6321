"""Compiles kernels while a wheel is built, which is when ``pip install`` installs from source."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("reviewgraph", "planner", "lsc")


class CompileKernels(BuildHookInterface[Any]):  # type: ignore[misc]
    """Adds compiled kernels to a wheel, or puts them beside the modules of an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is written."""
        root = Path(self.root)
        sys.path.insert(0, str(root))
        # A copy, so that the wheel has nothing of earlier runs and the source stays as it is.
        self.copy = Path(tempfile.mkdtemp())
        try:
            from reviewgraph.graph.kernels.ahead import compile_all

            if version == "editable":
                compile_all(root)
                return
            for package in PACKAGES:
                shutil.copytree(root / package, self.copy / package, ignore=shutil.ignore_patterns("__pycache__"))
            compile_all(self.copy)
        except Exception as problem:  # whatever it is, kernels are then compiled on the first run
            self.app.display_warning(f"Kernels were not compiled ahead: {problem}")
            return
        entries = sorted(path for kind in ("nbi", "nbc") for path in self.copy.rglob(f"__pycache__/*.{kind}"))
        build_data["force_include"] |= {str(path): str(path.relative_to(self.copy)) for path in entries}
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copy that was compiled."""
        shutil.rmtree(self.copy, ignore_errors=True)
