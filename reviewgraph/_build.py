"""Compiles the kernels when the distribution is built: the modules that have a header, a file ``.pxd``, beside them.

A kernel is plain Python on arrays; its header gives the types with which Cython translates it to C. ``pip`` comes here
by way of hatchling; where there is no C compiler, the one of Zig is used, a wheel. In a checkout,
``python -m reviewgraph._build`` compiles again when something has changed; with ``--checked``, so that an index out of
bounds is an error.
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

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("reviewgraph", "planner", "lsc")
#: The module with what kernels share: the code for views of arrays.
SHARED = "reviewgraph._memoryviews"
#: Results are the same on every x86-64 machine: no flag for this one's processor, no product and sum in one rounding.
FLAGS = ["-O2", "-g0", "-w", "-ffp-contract=off", "-fno-math-errno"]
WINDOWS_FLAGS = ["/O2", "/fp:precise"]
ZIG = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline", "-fno-sanitize=undefined"]
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "infer_types": True,
    "cdivision": True,
    "wraparound": False,
    "initializedcheck": False,
    "show_performance_hints": False,
}
COMPILERS = ("cc", "gcc", "clang", "cl")
MISSING = """The kernels of reviewgraph could not be compiled; above is what the compiler said.
What to do: install a C compiler and the headers of Python, then repeat the command. Debian, Ubuntu: apt install gcc \
python3-dev. Fedora: dnf install gcc python3-devel. macOS: xcode-select --install. Windows: the Build Tools for Visual \
Studio. Or install a wheel, which needs neither: pip install --only-binary reviewgraph reviewgraph."""


class CompileKernels(BuildHookInterface[Any]):  # type: ignore[misc]
    """Adds the compiled kernels to a wheel, or puts them beside the modules of an editable installation."""

    def dependencies(self) -> list[str]:
        """Return what the build needs besides what pyproject.toml lists."""
        return [] if has_compiler() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is written."""
        root = Path(self.root)
        self.target = tempfile.mkdtemp()
        if version != "editable":
            target = Path(self.target)
            compiled = compile_kernels(root, target, kernels(root))
            build_data["force_include"] |= {str(target / file): str(file) for file in compiled}
        elif modules := stale(root):
            compile_kernels(root, root, modules)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies."""
        shutil.rmtree(self.target, ignore_errors=True)


def has_compiler() -> bool:
    """Whether the environment names a C compiler, or one is on the path; Zig is for Linux and macOS."""
    return os.name == "nt" or "CC" in os.environ or any(map(shutil.which, COMPILERS))


def kernels(root: Path) -> list[Path]:
    """Return the modules that are compiled."""
    return sorted(header.with_suffix(".py") for package in PACKAGES for header in (root / package).rglob("*.pxd"))


def stale(root: Path) -> list[Path]:
    """Return the modules that are newer than their compiled forms; all if this file or a header is."""
    modules = kernels(root)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    compiled = [module.with_suffix(suffix) for module in modules]
    times = [form.stat().st_mtime if form.exists() else 0.0 for form in compiled]
    shared = [Path(__file__), *(module.with_suffix(".pxd") for module in modules)]
    if max(source.stat().st_mtime for source in shared) > min(times):
        return modules
    return [module for module, time in zip(modules, times, strict=True) if module.stat().st_mtime > time]


def compile_kernels(root: Path, target: Path, modules: list[Path], *, checked: bool = False) -> list[Path]:
    """Compile kernels of a checkout into a folder; return the files, relative to it.

    Raises
    ------
    SystemExit
        If the compiler fails; it says what to install.
    """
    from setuptools import Distribution

    if not has_compiler():
        os.environ["CC"] = " ".join(ZIG)
        os.environ["LDSHARED"] = " ".join([*ZIG, "-shared"])
    with tempfile.TemporaryDirectory() as work:
        extensions = translated(root, Path(work), modules, checked=checked)
        command = Distribution({"name": "reviewgraph", "ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib = str(target)
        command.build_temp = work
        command.parallel = os.cpu_count()
        try:
            command.ensure_finalized()
            command.run()
        except Exception as problem:
            raise SystemExit(f"{problem}\n\n{MISSING}") from None
        return sorted(Path(file).relative_to(target) for file in command.get_outputs())


def translated(root: Path, work: Path, modules: list[Path], *, checked: bool) -> list[Any]:
    """Translate kernels to C in a folder; return what setuptools compiles."""
    from Cython.Build import cythonize
    from Cython.Compiler import Options
    from setuptools import Extension

    Options.docstrings = False
    Options.warning_errors = True  # a negative index would be read as it is
    flags = WINDOWS_FLAGS if os.name == "nt" else FLAGS
    views = work / f"{SHARED.rpartition('.')[2]}.c"
    generate = [sys.executable, "-m", "cython", f"--generate-shared={views}"]
    subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    here = Path.cwd()
    os.chdir(root)  # names of modules follow from paths below it
    try:
        paths = [module.relative_to(root) for module in modules]
        extensions: list[Any] = cythonize(
            [Extension(".".join(path.with_suffix("").parts), [str(path)]) for path in paths],
            build_dir=str(work),
            compiler_directives=DIRECTIVES | {"boundscheck": checked},
            shared_utility_qualified_name=SHARED,
            force=True,
            quiet=True,
        )
    finally:
        os.chdir(here)
    extensions.append(Extension(SHARED, [str(views)]))
    for extension in extensions:
        extension.sources = [str(work / source) for source in extension.sources]
        extension.extra_compile_args = flags
    return extensions


if __name__ == "__main__":
    checkout = Path(__file__).parents[1]
    checking = "--checked" in sys.argv
    if to_compile := kernels(checkout) if checking else stale(checkout):
        compile_kernels(checkout, checkout, to_compile, checked=checking)
