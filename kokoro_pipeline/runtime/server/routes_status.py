"""What supervisors and monitors ask."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from .context import context_of

router = APIRouter(tags=["status"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Whether the server answers."""
    return {"status": "healthy"}


@router.get("/ready", responses={503: {"description": "The artifact is gone or was replaced."}})
async def ready(request: Request) -> JSONResponse:
    """Whether it can speak: the artifact is still there."""
    context = context_of(request)
    context.check_artifact()
    return JSONResponse(
        {"status": "ready", "synthetic": context.artifact.manifest.weights.synthetic}
    )


@router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Counters in the text format of Prometheus."""
    return Response(
        context_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
