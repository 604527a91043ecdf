"""The page at `/`: three files without anything fetched from elsewhere."""

from __future__ import annotations

from importlib import resources

from fastapi import APIRouter
from fastapi.responses import Response

router = APIRouter(include_in_schema=False)

_FOLDER = resources.files(__package__) / "page"


def _file(name: str, media_type: str) -> Response:
    return Response(
        (_FOLDER / name).read_bytes(), media_type=media_type, headers={"Cache-Control": "no-cache"}
    )


@router.get("/")
async def page() -> Response:
    """The page."""
    return _file("index.html", "text/html; charset=utf-8")


@router.get("/page.js")
async def script() -> Response:
    """Its script."""
    return _file("page.js", "text/javascript; charset=utf-8")


@router.get("/page.css")
async def style() -> Response:
    """Its style."""
    return _file("page.css", "text/css; charset=utf-8")
