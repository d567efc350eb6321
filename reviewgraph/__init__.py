"""Who reviews what, and whether these reviews put every item on one scale.

The public names are listed in ``__init__.pyi`` and loaded when first used, so that importing the package costs nothing.
Not even the loader is imported before: the command answers Ctrl-C only after this module.
"""


def __getattr__(name: str) -> object:
    import lazy_loader

    load, names, everything = lazy_loader.attach_stub(__name__, __file__)
    globals().update({"__getattr__": load, "__dir__": names, "__all__": everything})
    return everything if name == "__all__" else load(name)


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
