"""All LanggraphModels that are known, and which of them holds a public model name.

Fed by the watcher; told by the sweep what is gone, because the watcher never reports what was deleted while its watch
was down.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from lgos_kube.listwatch import drop_managed_fields, key_of, version_of
from lgos_operator.resource import Key, Object, is_deleting, model_id_of, owner_of

logger = logging.getLogger(__name__)


class ModelCache:
    """LanggraphModels by namespace and name.

    Args:
        changed: Told of each key that needs a look. Synchronous, and must not raise.
    """

    def __init__(self, changed: Callable[[Key], None]) -> None:
        self._objects: dict[Key, Object] = {}
        self._claims: defaultdict[str, set[Key]] = defaultdict(set)
        self._changed = changed

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[Object]:
        return iter(tuple(self._objects.values()))

    def get(self, key: Key) -> Object | None:
        """Return a LanggraphModel as the API server holds it."""
        return self._objects.get(key)

    def put(self, obj: Object, *, is_own_write: bool = False) -> None:
        """Take an object in, unless a newer one is there.

        Args:
            obj: What the watch or the answer of a write shows.
            is_own_write: Whether it is the answer of our own write, which needs no further look.
        """
        key = key_of(obj)
        old = self._objects.get(key)
        same = old is not None and old["metadata"].get("uid") == obj["metadata"].get("uid")
        if old is not None and same and version_of(old) >= version_of(obj):
            return
        if old is not None and not same:
            self.drop(key)
        self._objects[key] = drop_managed_fields(obj)
        claim = model_id_of(obj)
        self._claims[claim].add(key)
        if not is_own_write:
            self._changed(key)
        if not same or (old is not None and is_deleting(old) != is_deleting(obj)):
            self._wake_rivals(claim, key)

    def drop(self, key: Key) -> None:
        """Forget an object that is gone."""
        obj = self._objects.pop(key, None)
        if obj is None:
            return
        claim = model_id_of(obj)
        self._claims[claim].discard(key)
        self._changed(key)
        self._wake_rivals(claim, key)
        if not self._claims[claim]:
            del self._claims[claim]

    def holder(self, model_id: str) -> Key | None:
        """Return which LanggraphModel has the public name: the oldest, then the one with the lowest uid."""
        rivals = [
            key for key in self._claims.get(model_id, ()) if not is_deleting(self._objects[key])
        ]
        return min(rivals, key=self._seniority, default=None)

    def sweep(self, listed: Iterable[Key], version: int) -> None:
        """Forget what a complete list does not show, unless it is newer than the list.

        Args:
            listed: The keys that the list shows.
            version: The list's resourceVersion.
        """
        shown = set(listed)
        gone = [
            key
            for key, obj in self._objects.items()
            if key not in shown and version_of(obj) <= version
        ]
        for key in gone:
            logger.info("%s/%s was deleted while no watch was open", *key)
            self.drop(key)

    def shows(self, uids: Iterable[str]) -> bool:
        """Whether all objects with these uids are known."""
        return {obj["metadata"]["uid"] for obj in self._objects.values()}.issuperset(uids)

    def _seniority(self, key: Key) -> tuple[int, str]:
        owner = owner_of(self._objects[key])
        return owner.created, owner.uid

    def _wake_rivals(self, claim: str, key: Key) -> None:
        for rival in self._claims[claim] - {key}:
            self._changed(rival)
