"""Compiles the kernels: the modules that have a header, a file ``.pxd``, beside them.

A kernel is plain Python on arrays; its header gives the types with which Cython translates it to C. ``pip`` runs this by
way of hatchling. In a checkout ``python -m reviewgraph._build`` compiles again what has changed, and with ``--checked``
everything so that indices out of bounds are errors.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

PACKAGES = ("reviewgraph", "planner", "lsc")
#: The module with the code for arrays that all kernels share.
SHARED = "reviewgraph._memoryviews"
#: No flag of this machine's processor and no fused product and sum: results are the same on every x86-64 machine.
FLAGS = {"msvc": ["/O2", "/fp:strict"]}
UNIX_FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-w"]
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "infer_types": True,
    "cdivision": True,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "show_performance_hints": False,
}
COMPILERS = ("cc", "gcc", "clang", "cl")
NO_COMPILER = """reviewgraph: its kernels could not be compiled.
What to do: install a C compiler (Debian and Ubuntu: apt install gcc python3-dev; Fedora: dnf install gcc python3-devel;
macOS: xcode-select --install; Windows: the Build Tools for Visual Studio), or `pip install --only-binary reviewgraph
reviewgraph` on a system for which there is a wheel."""


def has_compiler() -> bool:
    """Whether a C compiler is on the path, or named by the environment."""
    return "CC" in os.environ or any(shutil.which(name) for name in COMPILERS)


def kernels(root: Path) -> list[Path]:
    """Return the modules to be compiled."""
    headers = [header for package in PACKAGES for header in sorted((root / package).rglob("*.pxd"))]
    return [header.with_suffix(".py") for header in headers]


def compiled(module: Path) -> Path:
    """Return where the compiled form of a module stands: beside it."""
    return module.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))


def is_stale(root: Path) -> bool:
    """Whether a kernel, or any header, is newer than its compiled form."""
    modules = kernels(root)
    headers = max(module.with_suffix(".pxd").stat().st_mtime for module in modules)
    for module in modules:
        form = compiled(module)
        if not form.exists() or form.stat().st_mtime < max(headers, module.stat().st_mtime):
            return True
    return False


def compile_kernels(root: Path, target: Path, *, checked: bool = False) -> list[Path]:
    """Compile the kernels of a checkout into a folder; return the files, relative to it.

    Raises
    ------
    Exception
        Whatever the compiler says.
    """
    from Cython.Build import cythonize
    from Cython.Compiler import Options
    from setuptools import Distribution, Extension

    Options.docstrings = False
    Options.warning_errors = True  # a negative index would be read as it is
    if not has_compiler():
        os.environ["CC"] = f"{sys.executable} -m ziglang cc"
        os.environ["LDSHARED"] = f"{sys.executable} -m ziglang cc -shared"
    modules = kernels(root)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(root)  # names of modules follow from paths below it
        try:
            shared = Path(work, "_memoryviews.c")
            subprocess.run([sys.executable, "-m", "cython", f"--generate-shared={shared}"], check=True)
            sources = {SHARED: str(shared)}
            sources |= {".".join(m.relative_to(root).with_suffix("").parts): str(m.relative_to(root)) for m in modules}
            extensions = [
                Extension(name, [source], extra_compile_args=UNIX_FLAGS, libraries=["m"] if os.name == "posix" else [])
                for name, source in sources.items()
            ]
            directives: dict[str, Any] = DIRECTIVES | {"boundscheck": checked}
            extensions = cythonize(
                extensions, build_dir=work, compiler_directives=directives, shared_utility_qualified_name=SHARED,
                force=True, quiet=True,
            )  # fmt: skip
            command = Distribution({"name": "reviewgraph", "ext_modules": extensions}).get_command_obj("build_ext")
            command.build_lib = str(target)
            command.build_temp = work
            command.parallel = os.cpu_count()
            command.ensure_finalized()
            command.run()
            return sorted(Path(file).relative_to(target) for file in command.get_outputs())
        finally:
            os.chdir(here)


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    if "--checked" in sys.argv or is_stale(root):
        compile_kernels(root, root, checked="--checked" in sys.argv)
