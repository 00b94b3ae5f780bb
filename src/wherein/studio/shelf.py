"""Things that are held by an id which the page is given in their place: it never names a file."""

import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from wherein.errors import WhereinError

T = TypeVar("T")


class GoneError(WhereinError, LookupError):
    """What an id stood for is no longer held."""


class Shelf(Generic[T]):
    """Things by id, those that were used last.

    Arguments:
        what: one of them is called, for errors.
        most: that are held; None: those who put something here see to it.
        weight: of one, where that is bounded too.
        heaviest: that all together may be; the last one is held in any case.
    """

    def __init__(
        self,
        what: str,
        most: int | None = None,
        weight: Callable[[T], int] = lambda _: 0,
        heaviest: int = 0,
    ) -> None:
        self.what, self.most, self.weight, self.heaviest = what, most, weight, heaviest
        self._held: dict[str, T] = {}
        self._lock = threading.Lock()

    def put(self, thing: T) -> str:
        """Hold a thing, and let the first go where there are too many.

        Returns:
            its id, which cannot be guessed.
        """
        key = secrets.token_hex(8)
        with self._lock:
            self._held[key] = thing
            while self.most is not None and len(self._held) > 1 and self._is_full():
                del self._held[next(iter(self._held))]
        return key

    def _is_full(self) -> bool:
        return len(self._held) > (self.most or 0) or self.total > self.heaviest

    @property
    def total(self) -> int:
        """What all weigh together."""
        return sum(map(self.weight, self._held.values()))

    def __getitem__(self, key: str) -> T:
        with self._lock:
            if key not in self._held:
                raise GoneError(f"the studio no longer has this {self.what}: load it again")
            if self.most is not None:  # what is in use is not the next to go
                self._held[key] = self._held.pop(key)
            return self._held[key]

    def __iter__(self) -> Iterator[tuple[str, T]]:
        """Ids and things, as they are now."""
        with self._lock:
            return iter(list(self._held.items()))

    def __len__(self) -> int:
        return len(self._held)

    def drop(self, key: str) -> None:
        """Let a thing go."""
        with self._lock:
            self._held.pop(key, None)
