"""Makes the modules beside `upstream_patches/prove.py` importable, as they are when it runs."""

from __future__ import annotations

import sys
from pathlib import Path

PATCHES = Path(__file__).resolve().parents[2] / "upstream_patches"
sys.path.insert(0, str(PATCHES))
