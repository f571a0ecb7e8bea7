"""API keys of the gateway: a folder of JSON files, read again when it changes, and each key's limits.

The folder is a mounted Secret. The kubelet replaces it as a whole, by a symbolic link `..data` that points elsewhere, so
it is looked at every few seconds; a watch on the files would follow the old ones. A file that cannot be used gives no
key; the others count. When the folder itself cannot be read, what was known stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Final

from pydantic import ValidationError

from lgos_contract.api_keys import ApiKey, id_of, new_key
from lgos_gateway import errors

logger = logging.getLogger(__name__)

RELOAD_SECONDS: Final = 2.0
VOLUME_LINK: Final = "..data"
SCHEME: Final = "bearer "
Stamp = tuple[str, tuple[tuple[str, int, int], ...]]


class Caller:
    """One API key in use: what it may do and how much of it.

    Args:
        key: The stored key.
        clock: Monotonic seconds.
    """

    def __init__(self, key: ApiKey, clock: Callable[[], float] = monotonic) -> None:
        self.key = key
        self.open_requests = 0
        self._clock = clock
        self._tokens = float(key.requests_per_minute or 0)
        self._filled_at = clock()

    def enter(self) -> None:
        """Begin a request; `leave` ends it.

        Raises:
            Refusal: The key has no request left at the moment.
        """
        most = self.key.max_concurrent
        if most is not None and self.open_requests >= most:
            raise errors.too_many_open(most)
        if self.key.requests_per_minute is not None:
            self._take_token(self.key.requests_per_minute)
        self.open_requests += 1

    def leave(self) -> None:
        """End a request."""
        self.open_requests -= 1

    def becomes(self, key: ApiKey) -> None:
        """Take what changed of the key; requests that are open or were counted still count."""
        self.key = key

    def _take_token(self, per_minute: int) -> None:
        now = self._clock()
        earned = (now - self._filled_at) * per_minute / 60
        self._tokens = min(float(per_minute), self._tokens + earned)
        self._filled_at = now
        if self._tokens < 1:
            raise errors.too_many_requests(per_minute, (1 - self._tokens) * 60 / per_minute)
        self._tokens -= 1


class Keys:
    """All API keys by id.

    Args:
        folder: Where the files are.
        changed: Told how many keys there are after each change.
    """

    def __init__(self, folder: Path, changed: Callable[[int], None] = lambda _: None) -> None:
        self._folder = folder
        self._changed = changed
        self._callers: dict[str, Caller] = {}
        self._stamp: Stamp | None = None
        # Compared with when nobody has the id, so that the time does not tell.
        self._nobody = ApiKey(id="nobody", hash=new_key("nobody")[1], scope="nobody")

    def caller(self, authorization: str | None) -> Caller:
        """Return whose key an `Authorization` header holds.

        Raises:
            Refusal: There is none, or it is not valid any more.
        """
        if not authorization or authorization[: len(SCHEME)].lower() != SCHEME:
            raise errors.no_key()
        given = authorization[len(SCHEME) :].strip()
        caller = self._callers.get(id_of(given) or "")
        if not (caller.key if caller else self._nobody).is_key(given) or caller is None:
            raise errors.wrong_key()
        if caller.key.is_expired(datetime.now(UTC)):
            raise errors.expired_key()
        return caller

    def load(self) -> None:
        """Read the folder.

        Raises:
            OSError: That is not possible; what was known stays.
        """
        root = self._folder / VOLUME_LINK
        # Resolved once: all files come from one state of the Secret.
        root = root.resolve(strict=True) if root.exists() else self._folder
        stamp = _stamp(root)
        if stamp != self._stamp:
            found = [key for path in sorted(root.glob("*.json")) if (key := _read(path))]
            self._stamp = stamp
            self._replace(found)

    async def follow(self) -> None:
        """Read the folder again whenever it changes, until cancelled."""
        was_readable = True
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            try:
                self.load()
            except OSError as error:
                if was_readable:
                    logger.warning("API keys cannot be read, the known ones stay: %s", error)
                was_readable = False
            else:
                was_readable = True

    def _replace(self, keys: list[ApiKey]) -> None:
        before, self._callers = self._callers, {}
        for key in keys:
            if key.id in self._callers:
                logger.warning("API key %s is there twice; the first file counts", key.id)
                continue
            caller = before.get(key.id)
            # A new secret under an old id is the same caller: its limits go on.
            if caller is None or caller.key.requests_per_minute != key.requests_per_minute:
                open_requests = caller.open_requests if caller else 0
                caller = Caller(key)
                caller.open_requests = open_requests
            caller.becomes(key)
            self._callers[key.id] = caller
        logger.info("%d API keys", len(self._callers))
        self._changed(len(self._callers))


def _stamp(root: Path) -> Stamp:
    files = ((path.name, path.stat()) for path in sorted(root.iterdir()))
    return str(root), tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in files)


def _read(path: Path) -> ApiKey | None:
    text = path.read_bytes()
    try:
        return ApiKey.model_validate_json(text)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        where = ".".join(map(str, problems[0]["loc"]))
        logger.warning("API key file %s is skipped: %s %s", path.name, where, problems[0]["msg"])
        return None
