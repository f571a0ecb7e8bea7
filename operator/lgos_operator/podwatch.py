"""Reads a model's pods while its rollout is not complete, to name the cause.

Pods are not watched: most of the time nobody asks. While a rollout is going on or stuck, its pods are listed every two
seconds at first, then every five, after five minutes every thirty; all models together at most five times a second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lgos_kube.errors import KubeError
from lgos_operator import names
from lgos_operator.causes import pod_cause
from lgos_operator.cluster import Cluster
from lgos_operator.resource import Key
from lgos_operator.status import Verdict

logger = logging.getLogger(__name__)

_INTERVALS: Final = ((10.0, 2.0), (300.0, 5.0))
"""Up to so many seconds of looking, so many seconds between two looks."""
_INTERVAL_MAX: Final = 30.0
_GAP_SECONDS: Final = 0.2
"""Time between two lists of all models together."""


@dataclass(slots=True)
class _Look:
    generation: int
    since: float
    due: float
    cause: Verdict | None = None


class PodWatch:
    """Remembers for each model with an unfinished rollout when its pods were read and what they said.

    Args:
        cluster: Where the pods are.
        again: Asks for another look at a model after some seconds.
        clock: Monotonic seconds.
    """

    def __init__(
        self, cluster: Cluster, again: Callable[[Key, float], None], clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._again = again
        self._clock = clock
        self._looks: dict[Key, _Look] = {}
        self._free_at = 0.0

    async def cause(self, key: Key, generation: int) -> Verdict | None:
        """Return what keeps the pods of a model from becoming ready, as far as is known.

        Args:
            key: The model.
            generation: Generation of its Deployment; a new one starts the looking anew.
        """
        now = self._clock()
        look = self._looks.get(key)
        if look is None or look.generation != generation:
            look = self._looks[key] = _Look(generation, since=now, due=now + _INTERVALS[0][1])
        if now >= look.due and now >= self._free_at:
            self._free_at = now + _GAP_SECONDS
            look.due = now + _interval(now - look.since)
            await self._read(key, look)
        self._again(key, max(look.due, self._free_at) - now)
        return look.cause

    def forget(self, key: Key) -> None:
        """Stop looking at a model's pods."""
        self._looks.pop(key, None)

    async def _read(self, key: Key, look: _Look) -> None:
        try:
            pods = await self._cluster.pods(key[0], names.selector(key[1]))
        except KubeError as error:
            logger.warning("cannot read the pods of %s/%s: %s", *key, error)
            return
        look.cause = pod_cause(pods)


def _interval(elapsed: float) -> float:
    for until, interval in _INTERVALS:
        if elapsed < until:
            return interval
    return _INTERVAL_MAX
