"""Kubernetes Events of LanggraphModels: what `kubectl describe` shows of the last hour. Best effort; conditions are the truth.

An event tells of a change of the condition Ready and of a repair. Each LanggraphModel has a bucket of 25 events that
fills by one each five minutes, and all together ten a second, so that something that flaps cannot flood the API server.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from lgos_contract.manifest import API_VERSION, KIND
from lgos_kube.errors import KubeError
from lgos_operator.cluster import Cluster
from lgos_operator.names import FIELD_MANAGER
from lgos_operator.resource import Key, Object
from lgos_operator.status import MESSAGE_MAX

logger = logging.getLogger(__name__)

_MODEL_BURST: Final = 25.0
_MODEL_PER_SECOND: Final = 1 / 300
_ALL_BURST: Final = 50.0
_ALL_PER_SECOND: Final = 10.0


class EventType(StrEnum):
    """Whether a person should look."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(slots=True)
class Bucket:
    """Tokens that come back with time."""

    burst: float
    per_second: float
    tokens: float
    at: float

    def take(self, now: float) -> bool:
        """Take a token, if there is one."""
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.per_second)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Events:
    """Writes events.

    Args:
        cluster: Where they are written.
        now: The wall clock.
        clock: Monotonic seconds.
    """

    def __init__(
        self, cluster: Cluster, *, now: Callable[[], datetime], clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._now = now
        self._clock = clock
        self._all = Bucket(_ALL_BURST, _ALL_PER_SECOND, _ALL_BURST, clock())
        self._of_model: dict[Key, Bucket] = {}

    async def tell(self, obj: Object, kind: EventType, reason: str, message: str) -> None:
        """Write one event of a LanggraphModel, unless there were too many; a failure is only logged."""
        key: Key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
        now = self._clock()
        bucket = self._of_model.setdefault(
            key, Bucket(_MODEL_BURST, _MODEL_PER_SECOND, _MODEL_BURST, now)
        )
        if not (bucket.take(now) and self._all.take(now)):
            logger.debug("event %s of %s/%s is left out: there were too many", reason, *key)
            return
        try:
            await self._cluster.create_event(self._event(obj, kind, reason, message))
        except KubeError as error:
            logger.warning("cannot write the event %s of %s/%s: %s", reason, *key, error)

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a LanggraphModel."""
        self._of_model.pop(key, None)

    def _event(self, obj: Object, kind: EventType, reason: str, message: str) -> Object:
        metadata = obj["metadata"]
        when = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name']}.{uuid.uuid4().hex[:16]}",
                "namespace": metadata["namespace"],
            },
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
                "resourceVersion": metadata.get("resourceVersion", ""),
            },
            "type": kind.value,
            "reason": reason,
            "message": message[:MESSAGE_MAX],
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": FIELD_MANAGER,
            "reportingInstance": FIELD_MANAGER,
            "firstTimestamp": when,
            "lastTimestamp": when,
            "count": 1,
        }
