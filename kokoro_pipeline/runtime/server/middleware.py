"""What holds for every answer: the key, headers, counting, and errors in one form."""

from __future__ import annotations

import hmac
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .metrics import Metrics
from .problems import Problem

OPEN_PATHS = frozenset(
    {"/", "/page.js", "/page.css", "/health", "/ready", "/docs", "/openapi.json"}
)
"""Paths that need no key: the pages themselves, whose requests need one, and what supervisors ask.

So are those under `/docs/`.
"""

_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; media-src 'self' blob:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
# The viewer's page has a script and styles in it, which are always the same.
_DOCS_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; media-src 'self' blob:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Gate:
    """Checks the key and adds the security headers; not buffering, for answers are streams."""

    def __init__(self, app: ASGIApp, api_key: str | None, metrics: Metrics) -> None:
        self._app = app
        self._key = None if api_key is None else api_key.encode()
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # monitors ask so; the server itself leaves out the body
            scope = {**scope, "method": "GET"}
        # ASGI's path begins with the root path, which a proxy may have stripped.
        root = scope.get("root_path", "")
        path = scope["path"]
        if root and path.startswith(root + "/"):
            path = path[len(root) :]
        scope = {**scope, "path": root + path}
        docs = path == "/docs" or path.startswith("/docs/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = _DOCS_POLICY if docs else _CONTENT_POLICY
                own = (*_HEADERS, (b"content-security-policy", policy.encode()))
                message["headers"] = [*message["headers"], *own]
                self._metrics.requests.labels(_route(scope), str(message["status"])).inc()
            await send(message)

        if not docs and path not in OPEN_PATHS and not self._allowed(scope):
            problem = Problem(
                401,
                "this server needs its API key: Authorization: Bearer KEY",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"},
            )
            await problem.response()(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _allowed(self, scope: Scope) -> bool:
        if self._key is None:
            return True
        given = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                kind, _, rest = value.partition(b" ")
                given = rest.strip() if kind.lower() == b"bearer" else b""
        return hmac.compare_digest(given, self._key)


def _route(scope: Any) -> str:
    """The path of the route, so that unknown paths are not counted one by one."""
    route = scope.get("route")
    return getattr(route, "path", "other")
