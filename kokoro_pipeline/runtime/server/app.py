"""The HTTP application."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.security import HTTPBearer
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from kokoro_pipeline.artifact.reader import open_artifact
from kokoro_pipeline.errors import EnvironmentFault, KokoroError
from kokoro_pipeline.version import __version__

from ..text.languages import find_language
from .context import ServerContext, file_state
from .engines import Engine
from .failures import BrokenAnswer, log_failure
from .metrics import Metrics
from .middleware import Gate
from .problems import Problem, problem_of
from .routes_kokoro_fastapi import router as kokoro_fastapi_router
from .routes_openai import router as openai_router
from .routes_page import router as page_router
from .routes_status import router as status_router
from .settings import ServerSettings
from .speaking import Speaker


def make_app(settings: ServerSettings, engines: Sequence[Engine]) -> FastAPI:
    """The application that speaks with the engines, which it closes when it shuts down.

    Raises ArtifactError if the artifact cannot be opened.
    """
    loaded = file_state(settings.artifact / "manifest.json")
    artifact = open_artifact(settings.artifact)
    metrics = Metrics()
    speaker = Speaker(engines, artifact.manifest.voices, settings, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threading.Thread(target=_load_english, daemon=True).start()
        yield
        speaker.close()

    # The viewer of the document is part of a package, and a page needs no public network.
    app = FastAPIOffline(
        docs_url="/docs",
        redoc_url=None,
        static_url="/docs/viewer",
        favicon_url="data:,",
        title="kokoro-pipeline",
        version=__version__,
        root_path=settings.root_path,
        description="Text to speech with Kokoro-82M, compiled by Apache TVM.",
        lifespan=lifespan,
    )
    app.state.context = ServerContext(settings, artifact, loaded, speaker, metrics)
    # The gate asks for the key; this tells the document, so that its viewer asks for it, too.
    needs = [Depends(HTTPBearer(auto_error=False))] if settings.api_key else []
    for router in (openai_router, kokoro_fastapi_router):
        app.include_router(router, dependencies=needs)
    for router in (status_router, page_router):
        app.include_router(router)
    app.add_middleware(Gate, api_key=settings.api_key, metrics=metrics)
    if settings.cors_origins:  # outside of the gate: a browser asks without the key
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["X-Kokoro-Voice", "X-Kokoro-Ignored", "Retry-After"],
        )

    @app.exception_handler(HTTPException)
    async def refuse(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        message, asked = str(error.detail), f"{request.method} {request.scope['path'][:80]}"
        if error.status_code == 404:
            message = (
                f"there is no {asked}: /docs shows what there is, and the base URL of a client "
                "of OpenAI ends with /v1"
            )
        elif error.status_code == 405:
            message = f"{asked} is not possible, only {headers.get('Allow')}"
        return Problem(error.status_code, message, headers=headers).response()

    @app.exception_handler(RequestValidationError)
    async def refuse_values(_: Request, error: RequestValidationError) -> Response:
        return Problem(400, str(error.errors()[0].get("msg", "invalid request"))).response()

    @app.exception_handler(Exception)
    async def answer(_: Request, error: Exception) -> Response:
        problem = problem_of(error)
        if problem.status >= 500 and not isinstance(error, BrokenAnswer):
            log_failure("a request failed", error)
        return problem.response()

    for kind in (Problem, TimeoutError, KokoroError):
        app.add_exception_handler(kind, answer)
    return app


def _load_english() -> None:
    """Load what reads English before the first request waits for it, which takes a second or two.

    Other languages are loaded by their first requests. What is not installed is
    refused there, by name.
    """
    with suppress(EnvironmentFault):
        find_language("en-us").reader()
