"""Who reviews what, and whether these reviews put every item on one scale.

The public names are listed in ``__init__.pyi`` and loaded when first used, so that importing the package costs nothing.
That list is data: the few names in it that belong to planner and lsc, so that one import is enough for most work, are
found there by name, and nothing here imports what stands above it.
"""


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__all__":
        return list(_places())
    if name not in _places():
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module, attribute = _places()[name]
    if not module.startswith(f"{__name__}.") and (
        message := import_module("reviewgraph._base.errors").say_foreign(name, module)
    ):
        raise ImportError(message)
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def _places() -> dict[str, tuple[str, str]]:
    """Return the module of each public name, and its name there."""
    if "_PLACES" not in globals():
        import ast
        from pathlib import Path

        stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
        places = globals()["_PLACES"] = {}
        for node in stub.body:
            if isinstance(node, ast.ImportFrom):
                home = f"{__name__}." * node.level + (node.module or "")
                places |= {alias.asname or alias.name: (home, alias.name) for alias in node.names}
            elif isinstance(node, ast.Assign):  # under another name
                home, _, name = ast.unparse(node.value).rpartition(".")
                places[ast.unparse(node.targets[0])] = home, name
    known: dict[str, tuple[str, str]] = globals()["_PLACES"]
    return known


def __dir__() -> list[str]:
    return sorted(_places())
