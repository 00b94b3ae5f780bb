"""Objects by random ids. The page refers to pictures, scenes and templates by id, not by file name."""

import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from wherein.errors import WhereinError

T = TypeVar("T")


class ExpiredIdError(WhereinError, LookupError):
    """The object with this id is no longer kept; `kind` is the name of what it was, such as "template"."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"The studio no longer has this {kind}. Load it again.")
        self.kind = kind


class IdMap(Generic[T]):
    """A thread-safe map from random ids to objects, which drops the least recently used object.

    Arguments:
        kind: the name of an object in error messages.
        max_count: maximum number of objects; None: no limit, the caller checks before adding.
        size: the size of an object, in any unit.
        max_total: maximum sum of the sizes, if there is a `max_count`. The newest object is always kept.
    """

    def __init__(
        self,
        kind: str,
        max_count: int | None = None,
        size: Callable[[T], int] = lambda _: 0,
        max_total: int = 0,
    ) -> None:
        self.kind, self.max_count, self.size, self.max_total = kind, max_count, size, max_total
        self._objects: dict[str, T] = {}
        self._lock = threading.Lock()

    def add(self, item: T) -> str:
        """Keep an object, and drop others if there are too many; returns its id, which cannot be guessed."""
        key = secrets.token_hex(8)
        with self._lock:
            self._objects[key] = item
            while self.max_count is not None and len(self._objects) > 1 and self._exceeds():
                del self._objects[next(iter(self._objects))]
        return key

    def _exceeds(self) -> bool:
        return len(self._objects) > (self.max_count or 0) or self.total > self.max_total

    @property
    def total(self) -> int:
        """The sum of the sizes."""
        return sum(map(self.size, self._objects.values()))

    def __getitem__(self, key: str) -> T:
        with self._lock:
            if key not in self._objects:
                raise ExpiredIdError(self.kind)
            if self.max_count is not None:
                # A dict keeps the insertion order. Objects in use are moved to the end, and dropped last.
                self._objects[key] = self._objects.pop(key)
            return self._objects[key]

    def __iter__(self) -> Iterator[tuple[str, T]]:
        """A snapshot of ids and objects."""
        with self._lock:
            return iter(list(self._objects.items()))

    def __len__(self) -> int:
        return len(self._objects)

    def remove(self, key: str) -> None:
        """Drop an object, if it is kept."""
        with self._lock:
            self._objects.pop(key, None)
