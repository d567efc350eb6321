"""JSON and XML as they are in files: read whole, and refused where they are damaged or would blow up."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from reviewgraph.errors import InputError
from reviewgraph.formats.limits import DEPTH
from reviewgraph.formats.problems import cut, quote

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# An object, or a list of objects, lists or texts; a header of CSV may begin with a bracket, but not so.
_JSON = re.compile(r'\ufeff?\s*(?:\{\s*["}]|\[\s*[\[{"\]])')
_XML = re.compile(r"\ufeff?\s*<[?!A-Za-z]")
#: What may be half a character; there are others behind it, mostly.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
#: Bytes in which the beginning is looked for.
_LOOKED_AT = 1 << 12


def is_json(data: bytes) -> bool:
    """Return whether a file begins as JSON does."""
    return bool(_JSON.match(_beginning(data)))


def is_xml(data: bytes) -> bool:
    """Return whether a file begins as XML does."""
    return bool(_XML.match(_beginning(data)))


def _beginning(data: bytes) -> str:
    return data[:_LOOKED_AT].decode(_encoding(data), errors="replace")


def _encoding(data: bytes) -> str:
    return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def read_json(name: str, data: bytes) -> Any:
    """Return what a file of JSON holds; one object a line is a list of them.

    Raises
    ------
    InputError
        If it is damaged, not UTF-8, or nested too deeply.
    """
    try:
        text = data.decode(_encoding(data))
        try:
            found = _loads(text)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
            found = [_loads(line) for line in text.split("\n") if line.strip()]
        if _HALF.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        message = f"{name}: the JSON is damaged (a surrogate without its other half); export the file again"
        raise InputError(message) from error
    except json.JSONDecodeError as error:
        message = f"{name}:{error.lineno}: the JSON is damaged ({error.msg}); export the file again"
        raise InputError(message) from error
    except RecursionError as error:
        raise InputError(_say_deep(name)) from error
    except ValueError as error:
        message = f"{name}: the JSON is damaged ({cut(error)}); export the file again"
        raise InputError(message) from error
    _expect_shallow(name, found)
    return found


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)


def _refuse_constant(word: str) -> NoReturn:
    message = f"{word} is not a number"
    raise ValueError(message)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        message = f"the name {quote(twice)} stands twice in one object"
        raise ValueError(message)
    return found


def _expect_shallow(name: str, found: Any) -> None:
    level, depth = [found], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        DEPTH.expect(name, depth)
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]


def _say_deep(name: str) -> str:
    return f"{name}: the limit is {DEPTH.most} {DEPTH.what}, found more; {DEPTH.advice}"


def objects(found: Any) -> list[dict[str, Any]]:
    """Return a list of objects; an empty one where it is anything else.

    >>> objects([{"a": 1}]), objects([1]), objects({"a": 1})
    ([{'a': 1}], [], [])
    """
    return found if isinstance(found, list) and all(isinstance(one, dict) for one in found) else []


def read_xml(name: str, data: bytes) -> Element:
    """Return the root of a file of XML.

    Raises
    ------
    InputError
        If it is damaged, or declares entities or a document type, which no system's export does.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        message = f"{name}: the XML declares a document type or entities, which can blow up and are not read; "
        message += "export the file again, or save it as CSV"
        raise InputError(message) from error
    except (ParseError, ValueError, LookupError) as error:  # the latter two: encodings that do not exist
        message = f"{name}: the XML is damaged ({cut(error)}); export the file again, or save it as CSV"
        raise InputError(message) from error
    return root


def plain_tag(element: Element) -> str:
    """Return the name of an element without its namespace, in lower case."""
    return str(element.tag).rpartition("}")[2].casefold()


def attribute(element: Element, name: str) -> str:
    """Return an attribute by its name without namespace and whatever its case; empty where there is none."""
    found = (value for key, value in element.attrib.items() if key.rpartition("}")[2].casefold() == name.casefold())
    return next(found, "")


def children(element: Element, tag: str) -> Iterator[Element]:
    """Return the children of a name."""
    return (child for child in element if plain_tag(child) == tag)
