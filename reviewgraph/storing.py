"""Files that are written whole or not at all."""

from __future__ import annotations

import os

from reviewgraph.errors import InputError


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a file in UTF-8, whole or not at all.

    The text goes to a new file in the same folder, which then takes the name. What is not a plain file, such as
    ``/dev/stdout``, is written to directly.

    Raises
    ------
    InputError
        If the file cannot be written; what stood there before is still there.
    """
    target = os.path.realpath(path)
    special = os.path.exists(path) and not os.path.isfile(path)
    draft = path if special else f"{target}.{os.getpid()}.part"
    try:
        if os.path.isdir(target):
            raise IsADirectoryError(None, "it is a folder")
        with open(draft, "w" if special else "x", encoding="utf-8", newline="") as file:
            file.write(text)
        if not special:
            os.replace(draft, target)
    except BrokenPipeError:  # nobody reads on
        raise
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror or error})"
        raise InputError(message) from error
    finally:
        if not special and os.path.exists(draft):
            os.unlink(draft)
