"""Kernels compiled ahead, when the distribution is installed, for the arguments that the commands pass.

``signatures.json`` lists the kernels that Python calls, and the types of their arguments;
``python -m tests.record_signatures`` writes it. The entries go where Numba's cache looks first, beside the modules, so
that a kernel is read and not compiled on the first run. What is not listed, or was compiled for another Numba or
processor, is compiled on demand.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reviewgraph.graph.kernels.compiling import Kernel

#: The kernels and the types of their arguments.
LISTED = Path(__file__).with_name("signatures.json")
#: Packages whose kernels share callees, compiled in one process each; what takes longest comes first.
PARTS = ("planner._assign", "lsc._inference", "planner._plans", "lsc._solver", "reviewgraph")


def spell(kind: Any) -> Any:
    """Return a type of Numba in plain lists and strings.

    >>> from numba import types
    >>> spell(types.int64), spell(types.Array(types.boolean, 1, "C", readonly=True))
    ('int64', ['bool', 1, 'C', 'readonly'])
    """
    from numba import types

    if isinstance(kind, types.Array):
        return [str(kind.dtype), kind.ndim, kind.layout, "mutable" if kind.mutable else "readonly"]
    if isinstance(kind, types.BaseTuple):
        named = getattr(kind, "instance_class", tuple)
        return {f"{named.__module__}:{named.__qualname__}": [spell(part) for part in kind.types]}
    return str(kind)


def read(spelled: Any) -> Any:
    """Return the type of Numba that :func:`spell` spelled.

    >>> print(read(["float64", 2, "C", "mutable"]), read({"builtins:tuple": ["int64", "bool"]}))
    array(float64, 2d, C) Tuple(int64, bool)
    """
    from numba import types

    if isinstance(spelled, list):
        return types.Array(read(spelled[0]), spelled[1], spelled[2], readonly=spelled[3] == "readonly")
    if isinstance(spelled, dict):
        ((name, parts),) = spelled.items()
        module, _, named = name.partition(":")
        return types.BaseTuple.from_types([read(part) for part in parts], getattr(import_module(module), named))
    return types.boolean if spelled == "bool" else getattr(types, spelled)


def compile_listed(part: str) -> None:
    """Compile the listed kernels of the modules of one package, and store their code in the cache."""
    for name, signatures in json.loads(LISTED.read_text("utf-8")).items():
        module, _, function = name.partition(":")
        if module.startswith(f"{part}."):
            kernel: Kernel[..., Any] = getattr(import_module(module), function)
            for signature in signatures:
                kernel.compiled.compile(tuple(map(read, signature)))  # type: ignore[attr-defined]


def compile_all(tree: Path) -> None:
    """Compile all listed kernels of the packages in a folder, in as many processes as there are processors.

    Raises
    ------
    subprocess.CalledProcessError
        If a process fails; the other parts may be compiled.
    """
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), *filter(None, [os.environ.get("PYTHONPATH")])])}
    env.pop("NUMBA_CACHE_DIR", None)

    def compile_part(part: str) -> None:
        command = [sys.executable, "-m", __spec__.name, part]
        subprocess.run(command, cwd=tree, env=env, stderr=subprocess.DEVNULL, check=True)  # noqa: S603

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_part, PARTS))


if __name__ == "__main__":
    gc.disable()  # a tenth of the time: what the compiler makes stays until the end
    compile_listed(sys.argv[1])
