"""A small HTTP server on loopback that speaks the hub's endpoints, and can misbehave on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

REPOSITORY = "hexgrad/Kokoro-82M"
COMMIT = "f3ff3571791e39611d31c381e3a41a3af07b4987"


@dataclass
class Hub:
    """What the server has and how it behaves.

    `files` are the repository's. `missing` are listed but answered with 404. `claimed` overrides a
    file's announced size. `cuts` maps a file to how many bytes each of its next transfers gets
    before the connection is closed. `status` answers everything so; `page` answers everything with
    a web page. `requests` records method, path and Range header.
    """

    files: dict[str, bytes]
    missing: set[str] = field(default_factory=set)
    claimed: dict[str, int] = field(default_factory=dict)
    cuts: dict[str, list[int]] = field(default_factory=dict)
    status: int | None = None
    page: bool = False
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    endpoint: str = ""
    storage: str = ""

    def etag(self, name: str) -> str:
        """As the hub gives large files: the content's hash."""
        return hashlib.sha256(self.files[name]).hexdigest()

    def size(self, name: str) -> int:
        """As announced."""
        return self.claimed.get(name, len(self.files[name]))

    def transfers(self, name: str) -> list[str | None]:
        """The Range headers of the transfers of a file so far."""
        return [
            span
            for method, path, span in self.requests
            if method == "GET" and path.startswith("/cdn/") and path.endswith("/" + name)
        ]


class Handler(BaseHTTPRequestHandler):
    """GET and HEAD of `/api/models/…`, `/…/resolve/…` and the storage that `resolve` points to."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *arguments: object) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        """Answer with a body."""
        self.answer()

    def do_HEAD(self) -> None:
        """Answer without one."""
        self.answer()

    def answer(self) -> None:
        """Find out what is asked for."""
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, self.headers.get("Range")))
        if self.hub.status is not None:
            return self.send(self.hub.status, b"busy")
        if self.hub.page:
            return self.send(200, b"<html>Please log in to this network</html>")
        if path == f"/api/models/{REPOSITORY}/revision/main":
            siblings = [{"rfilename": name} for name in self.hub.files]
            return self.send_json({"id": REPOSITORY, "sha": COMMIT, "siblings": siblings})
        if path == f"/api/models/{REPOSITORY}/revision/{COMMIT}":
            siblings = [{"rfilename": name} for name in self.hub.files]
            return self.send_json({"id": REPOSITORY, "sha": COMMIT, "siblings": siblings})
        if path == f"/api/models/{REPOSITORY}/tree/{COMMIT}":
            return self.send_json([self.entry(name) for name in self.hub.files])
        for commit in ("main", COMMIT):
            start = f"/{REPOSITORY}/resolve/{commit}/"
            if path.startswith(start):
                return self.resolve(path.removeprefix(start))
        start = f"/cdn/{COMMIT}/"
        if path.startswith(start) and path.removeprefix(start) in self.hub.files:
            return self.transfer(path.removeprefix(start))
        return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def entry(self, name: str) -> dict[str, object]:
        """A file in the listing."""
        return {
            "type": "file",
            "path": name,
            "size": self.hub.size(name),
            "oid": self.hub.etag(name)[:40],
            "lfs": {"oid": self.hub.etag(name), "size": self.hub.size(name), "pointerSize": 134},
        }

    def resolve(self, name: str) -> None:
        """Point to the storage, as the hub does for large files."""
        if name not in self.hub.files or name in self.hub.missing:
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        return self.send(
            302,
            b"",
            {
                # Another host, as the hub's storage is: the client takes the headers from here.
                "Location": f"{self.hub.storage}/cdn/{COMMIT}/{name}",
                "X-Repo-Commit": COMMIT,
                "X-Linked-Size": str(self.hub.size(name)),
                "X-Linked-Etag": f'"{self.hub.etag(name)}"',
                "ETag": f'"{self.hub.etag(name)[:40]}"',
            },
        )

    def transfer(self, name: str) -> None:
        """Send the content, or the part of it that was asked for, or less."""
        content = self.hub.files[name]
        span = self.headers.get("Range")
        start = int(span.removeprefix("bytes=").split("-")[0]) if span else 0
        body = content[start:]
        headers = {"ETag": f'"{self.hub.etag(name)}"', "Accept-Ranges": "bytes"}
        if span:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        cuts = self.hub.cuts.get(name)
        if not cuts or self.command != "GET":
            return self.send(206 if span else 200, body, headers)
        self.send(206 if span else 200, body, headers, sent=cuts.pop(0))
        self.close_connection = True
        return None

    def send_json(self, value: object) -> None:
        """An answer of the API."""
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        sent: int | None = None,
    ) -> None:
        """Announce the whole body and send `sent` bytes of it."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:sent])


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Run the server during the body; `hub.endpoint` is where."""
    handler = type("BoundHandler", (Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    hub.storage = f"http://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
