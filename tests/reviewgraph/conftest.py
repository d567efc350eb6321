"""A file to read."""

import pytest


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file and be in its folder, so that messages name it shortly."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="reviews.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write
