"""Results that can be looked at: a picture that a notebook shows and a file keeps."""

from __future__ import annotations

import base64
import os
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from reviewgraph.arguments import checked
from reviewgraph.errors import InputError
from reviewgraph.results import Result
from reviewgraph.storing import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence


class Plot(ABC):
    """A picture of a result. A notebook shows it with its title and what it says in words."""

    name: str
    title: str
    words: str

    @property
    @abstractmethod
    def svg(self) -> str:
        """The picture as SVG that stands alone, loads nothing, and follows the light or dark setting of the machine."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, whole or not at all.

        Parameters
        ----------
        path
            A name that ends with ``.svg``.

        Raises
        ------
        InputError
            If it ends otherwise, or cannot be written; what stood there before is still there.
        """
        if Path(path).suffix.lower() != ".svg":
            message = (
                f"path: expected a name that ends with .svg, found {os.fspath(path)!r}; pictures are vectors, which "
                "browsers, word processors and inkscape open, and rsvg-convert turns into PNG or PDF"
            )
            raise InputError(message)
        write_whole(path, self.svg)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.title}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """Return the picture as an image, which keeps its styles and names apart from those of the page."""
        from html import escape

        data = base64.b64encode(self.svg.encode()).decode()
        image = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(self.title)}" style="max-width: 100%">'
        words = f'<figcaption style="max-width: 792px">{escape(self.words)}</figcaption>'
        return f'<figure style="margin: 0">{image}{words}</figure>'


class Pictured(Result):
    """A result of which there are pictures, those of its report."""

    #: Module whose function ``pictures`` draws a result. It knows the result, which knows no more of it than its name.
    pictured_by: ClassVar[str]

    @checked
    def plot(self, name: str | None = None) -> Plot:
        """Return one of the pictures that the report holds.

        Parameters
        ----------
        name
            Which one; by default the first. A name that does not exist is answered with those that do.

        Raises
        ------
        InputError
            If there is no such picture, or nothing to draw.
        """
        return self._picture(name)

    def _picture(self, name: str | None, **options: Any) -> Plot:
        found: Sequence[Plot] = import_module(self.pictured_by).pictures(self, **options)
        if not found:
            message = f"plot: nothing to draw ({self.headline()})"
            raise InputError(message)
        for picture in found:
            if name in (None, picture.name):
                return picture
        message = f"name: expected {' or '.join(repr(picture.name) for picture in found)}, found {name!r}"
        raise InputError(message)
