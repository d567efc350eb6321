"""Who reviews what, and whether these reviews put every item on one scale.

The public names are listed in ``__init__.pyi`` and loaded when first used, so that importing the package costs nothing.
The few names in it that belong to planner and lsc, so that one import is enough for most work, are found there by name.
"""


def __getattr__(name: str) -> object:
    from reviewgraph._base.lazy import load

    return load(__name__, name)


def __dir__() -> list[str]:
    from reviewgraph._base.lazy import names

    return names(__name__)
