"""One connection to the API server: JSON requests, server-side apply, lists in pages, watches."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final, Self

import aiohttp

from lgos_kube.config import KubeConfig
from lgos_kube.errors import ConnectionFailed, api_error

Object = dict[str, Any]
Observe = Callable[[str, str, int], None]
"""Called after each request with method, path and HTTP code (0 without an answer)."""

APPLY_PATCH: Final = "application/apply-patch+yaml"
MERGE_PATCH: Final = "application/merge-patch+json"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PAGE_SIZE: Final = 500
WATCH_SECONDS: Final = 300
"""How long the API server keeps one watch open."""
SILENCE_SECONDS: Final = 75.0
"""A watch without a byte for this long is dead: the API server sends a bookmark every minute."""


class KubeClient:
    """An asynchronous context manager around one HTTP session to one API server."""

    def __init__(
        self, config: KubeConfig, *, user_agent: str, observe: Observe | None = None
    ) -> None:
        self.config = config
        self._user_agent = user_agent
        self._observe = observe
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=self.config.tls or True, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": self._user_agent, "Accept": "application/json"},
            timeout=aiohttp.ClientTimeout(total=30, connect=5),
        )
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Object:
        """Send one request and return the JSON answer.

        Raises:
            ConnectionFailed: No answer.
            ApiError: An error answer, as the subclass that belongs to its code.
        """
        headers = {**self.config.headers(), "Accept": accept}
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body, separators=(",", ":")).encode()
        code = 0
        try:
            async with self._open().request(
                method, self.config.server + path, params=params, data=data, headers=headers
            ) as answer:
                code = answer.status
                document: Object = await _json(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            msg = f"{method} {path}: {str(error) or type(error).__name__}"
            raise ConnectionFailed(msg) from error
        finally:
            if self._observe is not None:
                self._observe(method, path, code)
        if code >= 400:
            raise api_error(code, document)
        return document

    async def apply(self, path: str, body: Object, *, field_manager: str) -> Object:
        """Create or change an object by server-side apply; fields of ours that others changed become ours again."""
        params = {"fieldManager": field_manager, "force": "true"}
        return await self.request("PATCH", path, params=params, body=body, content_type=APPLY_PATCH)

    async def merge_patch(self, path: str, body: Object, *, field_manager: str) -> Object:
        """Change an object by a JSON merge patch."""
        params = {"fieldManager": field_manager}
        return await self.request("PATCH", path, params=params, body=body, content_type=MERGE_PATCH)

    async def list(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        accept: str = "application/json",
    ) -> tuple[list[Object], str]:
        """Return all items of a collection, read in pages, and the list's resourceVersion."""
        items: list[Object] = []
        query = {**(params or {}), "limit": str(PAGE_SIZE)}
        while True:
            page = await self.request("GET", path, params=query, accept=accept)
            items += page.get("items") or ()
            metadata = page.get("metadata") or {}
            if not metadata.get("continue"):
                return items, metadata.get("resourceVersion", "")
            query["continue"] = metadata["continue"]

    async def watch(
        self, path: str, *, resource_version: str, params: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Object, None]:
        """Yield watch events from `resource_version` on; ends when the API server closes the watch.

        Raises:
            Gone: The resourceVersion is too old; list again.
            ConnectionFailed: The connection broke, or was silent for `SILENCE_SECONDS`.
        """
        query = {
            **(params or {}),
            "watch": "1",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        timeout = aiohttp.ClientTimeout(total=None, connect=5, sock_read=SILENCE_SECONDS)
        try:
            async with self._open().get(
                self.config.server + path,
                params=query,
                headers=self.config.headers(),
                timeout=timeout,
                read_bufsize=2**20,
            ) as answer:
                if answer.status >= 400:
                    raise api_error(answer.status, await _json(answer))
                async for line in _lines(answer.content):
                    event: Object = json.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise api_error(int(status.get("code") or 500), status)
                    yield event
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            msg = f"watch {path}: {str(error) or type(error).__name__}"
            raise ConnectionFailed(msg) from error

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            msg = "the client is not open: use it as an asynchronous context manager"
            raise RuntimeError(msg)
        return self._session


async def _json(answer: aiohttp.ClientResponse) -> Object:
    raw = await answer.read()
    try:
        document: Object = json.loads(raw)
    except ValueError:
        return {"message": raw.decode(errors="replace")[:500]}
    return document


async def _lines(content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
    """Split a stream at newlines, however long a line is: a registry ConfigMap may have a megabyte."""
    rest: list[bytes] = []
    async for chunk in content.iter_any():
        head, *tail = chunk.split(b"\n")
        rest.append(head)
        for part in tail:
            line = b"".join(rest)
            rest = [part]
            if line:
                yield line
