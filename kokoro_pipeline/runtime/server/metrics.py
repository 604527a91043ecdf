"""What `/metrics` tells, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "kokoro_requests",
            "Requests by path and status",
            ["path", "status"],
            registry=self._registry,
        )
        self.audio = Counter(
            "kokoro_audio_seconds", "Seconds of audio made", registry=self._registry
        )
        self.synthesis = Counter(
            "kokoro_synthesis_seconds", "Seconds that engines worked", registry=self._registry
        )
        self.active = Gauge(
            "kokoro_active_requests", "Requests that are spoken or wait", registry=self._registry
        )
        self.busy = Gauge("kokoro_busy_workers", "Engines that work", registry=self._registry)
        self._waiting = Gauge(
            "kokoro_waiting_pieces", "Pieces that wait for an engine", registry=self._registry
        )
        self.first_audio = Histogram(
            "kokoro_first_audio_seconds",
            "Seconds until the first audio of a request",
            buckets=(0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30),
            registry=self._registry,
        )

    def watch_waiting(self, waiting: Callable[[], float]) -> None:
        """Ask `waiting` how many pieces wait, whenever somebody reads the metrics."""
        self._waiting.set_function(waiting)

    def text(self) -> bytes:
        """The metrics as Prometheus reads them."""
        return generate_latest(self._registry)
