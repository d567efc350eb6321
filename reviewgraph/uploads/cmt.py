"""CMT's assignments, as the XML that it imports."""

from __future__ import annotations

from reviewgraph.uploads.upload import Outgoing, Upload, emails


def write(outgoing: Outgoing) -> str:
    """Return one ``submission`` a paper with one ``user`` a reviewer.

    Raises
    ------
    InputError
        If a reviewer is no email.

    Examples
    --------
    >>> print(write(Outgoing({"item": [4, 4], "reviewer": ["ann@example.org", "bob@example.org"]})), end="")
    <assignments>
      <submission submissionId="4">
        <user email="ann@example.org" />
        <user email="bob@example.org" />
      </submission>
    </assignments>
    """
    from xml.sax.saxutils import quoteattr  # brings much of the network library along

    CMT.expect_taken(outgoing)
    lines = ["<assignments>"]
    for item, reviewers in outgoing.by_item().items():
        lines.append(f"  <submission submissionId={quoteattr(str(item))}>")
        lines += [f"    <user email={quoteattr(str(reviewer))} />" for reviewer in reviewers]
        lines.append("  </submission>")
    return "\n".join([*lines, "</assignments>", ""])


CMT = Upload("cmt", "Microsoft CMT's assignments, as XML", ".xml", write, reviewers=emails("cmt"))
