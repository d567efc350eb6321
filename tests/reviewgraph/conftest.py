"""A file to read."""

import pytest


@pytest.fixture
def write(folder):
    """Write a file and be in its folder, so that messages name it shortly."""

    def write(content, name="reviews.csv"):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write
