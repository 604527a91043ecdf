"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_pipeline.errors import InputError

if TYPE_CHECKING:
    from ..text.lexicon import Lexicon

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+")
"""Browsers send no path with it, not even a slash."""

_ROOT_PATH = re.compile(r"(?:/[\w.~-]+)*")

_HOST_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class ServerSettings:
    """Settings of `kokoro-pipeline serve`, checked."""

    artifact: Path
    host: str = "127.0.0.1"
    port: int = 8880
    workers: int = 1
    threads: int | None = None
    """Threads of each worker; by default the CPUs are divided between them."""
    api_key: str | None = None
    insecure: bool = False
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may use the server from a browser; "*" is every page."""
    root_path: str = ""
    """Path under which a reverse proxy offers the server, such as "/tts"."""
    lexicon: Lexicon | None = None
    """Pronunciations for every text, over which those of a request win."""
    max_body: int = 1 << 20
    """Bytes of a request's body."""
    max_text: int = 200_000
    """Characters of a text."""
    max_requests: int = 64
    """Requests that are spoken or wait at once; the next one is answered with 429."""
    time_limit: float = 600.0
    """Seconds until a piece of speech must be there, and until its client must have taken it."""
    receive_limit: float = 30.0
    """Seconds in which the headers of a request must arrive, and as many for its body."""

    def __post_init__(self) -> None:
        """Raises InputError for a host that is not local without a key, and for bad values."""
        if not 0 <= self.port <= 65_535:
            raise InputError(f"port is {self.port}, expected a number from 0 to 65535")
        if self.workers < 1:
            raise InputError(f"workers is {self.workers}, expected at least 1")
        for name, seconds in (("time", self.time_limit), ("receive", self.receive_limit)):
            if not 0 < seconds < math.inf:
                raise InputError(f"{name}_limit is {seconds}, expected seconds above 0")
        if self.api_key is not None and not self.api_key.strip():
            raise InputError("the API key is empty: give --api-key KEY, or unset KOKORO_API_KEY")
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise InputError(
                    f"{origin!r} is no origin: expected * or the address of a page up to its "
                    "port, such as https://chat.example or http://localhost:3000"
                )
        if not _ROOT_PATH.fullmatch(self.root_path):
            raise InputError(
                f"root path is {self.root_path!r}, expected a path without a slash at its end, "
                "such as /tts"
            )
        if not (_HOST_NAME.fullmatch(self.host) or _is_address(self.host)):
            raise InputError(
                f"host is {self.host!r}, expected an address or a name without scheme, brackets "
                "and port, such as 127.0.0.1, ::1 or localhost"
            )
        if not (is_loopback(self.host) or self.api_key or self.insecure):
            raise InputError(
                f"{self.host} can be reached from other machines: give --api-key KEY, or "
                "--insecure to serve everybody"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the host."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
