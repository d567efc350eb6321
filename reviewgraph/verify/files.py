"""The files that an answer says it was made from, beside those that were given to verify it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.findings import Findings

#: Digits of SHA-256 that a message has.
DIGITS = 12


def verify_files(findings: Findings, answer: Answer, read: Sequence[Mapping[str, Any]], words: Collection[str]) -> None:
    """Compare the files that an answer names with those that were read to verify it.

    An answer may be true of another file than it was made from. So a file of other bytes refutes nothing, but leaves
    open what the answer says of its own.

    Parameters
    ----------
    findings
        Where it is noted.
    answer
        The answer; a CSV, and the JSON of earlier versions, names no files.
    read
        What was read, as answers have it under ``files``.
    words
        What was given to verify it, file names among other words.
    """
    said = answer.found.get("files")
    if said is None:
        findings.trust("that it was made from these files: it does not say from which")
        return
    names = answer.rows("files", {"file": "a text", "sha256": "a text"})
    digests, here = {digest for _, digest in names}, {file["sha256"] for file in read}
    changed = {_base(file["file"]) for file in read if file["sha256"] not in digests}
    for file in read:
        _compare(findings, file, said)
    for name in dict.fromkeys(_base(name) for name, digest in names if digest not in here):
        if name in changed:
            continue
        if any(_base(word) == name for word in words):
            findings.trust(f"{name}: read for the answer, and not looked at here")
        else:
            findings.trust(f"{name}: read for the answer, and not given here", decisive=True)
    findings.check("files: the bytes of those that were read here, and which of their rows count")


def _compare(findings: Findings, file: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> None:
    """Compare a file with what the answer says of the one of its bytes."""
    name, digest = file["file"], file["sha256"]
    same = [one for one in said if one["sha256"] == digest]
    alike = [one for one in said if _base(one["file"]) == _base(name)]
    if not same and alike:
        found, other = (one["sha256"][:DIGITS] for one in (file, alike[0]))
        why = f"SHA-256 {other}..., here {found}..."
        findings.trust(f"{name}: the answer was made from a file of other bytes ({why})", decisive=True)
    elif not same:
        findings.trust(f"{name}: not among the files that the answer was made from", decisive=True)
    elif file not in same:
        # The same bytes read in the same way have the same rows, whatever the file is called.
        best = next((one for one in same if one in alike), same[0])
        for key in ("sheets", "rows", "scored", "left_out"):
            words = f"files: {name}: {key}: says {best.get(key, 'nothing')}, found {file[key]}"
            findings.expect(key in best and best[key] == file[key], words)
        if best.get("options") != file.get("options"):
            findings.trust(f"{name}: other options of it were used where the answer was made", decisive=True)
        if best not in alike:
            findings.trust(f"{name}: called {best['file']} where the answer was made")


def _base(name: str) -> str:
    """Return the name of a file without its folder, without what is meant of it or how it is weighed."""
    return name.replace("\\", "/").rpartition("/")[2].partition("#")[0].partition("=")[0]
