"""A clock for tests that counts looks, not seconds."""

from reviewgraph._base import Clock


class Looks(Clock):
    """A clock that is over after so many looks; or somebody presses Ctrl-C then."""

    def __init__(self, looks: int, *, ctrl_c: bool = False) -> None:
        super().__init__(None)
        self.looks, self.ctrl_c = looks, ctrl_c

    def over(self) -> bool:
        self.looks -= 1
        if self.looks < 0 and self.ctrl_c:
            self.ctrl_c = False
            raise KeyboardInterrupt
        return self.looks < 0

    def left(self) -> float:
        return 1.0 if self.looks > 0 else 0.0

    def share(self, part: float) -> Clock:
        return self
