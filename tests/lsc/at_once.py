"""What tables on a cluster ask of a client, done at once in this process: the same tasks, and no time between them."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import cloudpickle


class Done:
    """The result of a task, copied when it is sent and when it is read, as between processes."""

    def __init__(self, result: Any) -> None:
        self.sent = cloudpickle.dumps(result, protocol=5)

    @property
    def result(self) -> Any:
        """A copy for each who asks."""
        return pickle.loads(self.sent)


def given(value: Any) -> Any:
    """Put results in the place of tasks, where a scheduler looks for them: in lists, tuples and dictionaries."""
    if isinstance(value, Done):
        return value.result
    if type(value) in (list, tuple):
        return type(value)(map(given, value))
    if type(value) is dict:
        return {key: given(each) for key, each in value.items()}
    return value


class AtOnce:
    """A client without scheduler and workers, which take nine tenths of the time of small tables."""

    def map(self, function: Callable[..., Any], *values: Iterable[Any], pure: bool, **same: Any) -> list[Done]:
        """Apply a function to some values, one after another; ``same`` goes to all of them."""
        sent = cloudpickle.dumps((function, same), protocol=5)
        done = []
        for each in zip(*values, strict=False):
            received, further = pickle.loads(sent)
            done.append(Done(received(*map(given, each), **given(further))))
        return done

    def gather(self, tasks: Sequence[Done]) -> list[Any]:
        """Return results."""
        return [task.result for task in tasks]

    def compute(self, parts: Sequence[Any]) -> list[Done]:
        """Return the parts of a data frame."""
        return [Done(part.compute(scheduler="synchronous")) for part in parts]

    def nthreads(self) -> dict[str, int]:
        """Return the number of threads of each worker."""
        return {"here": 2}
