"""Kernels run as the plain Python they are written in, where NumPy checks the bounds of arrays: KERNELS=plain."""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


class PlainKernels(MetaPathFinder):
    """Finds the source of every module with a header."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        for folder in path or ():
            source = Path(folder, f"{name.rpartition('.')[2]}.py")
            if source.exists() and source.with_suffix(".pxd").exists():
                return importlib.util.spec_from_file_location(name, source)
        return None


def use_plain_kernels() -> None:
    """Let kernels that are imported from now on be plain Python."""
    sys.meta_path.insert(0, PlainKernels())
