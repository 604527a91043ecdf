"""kokoro's own modules as a type.

kokoro ships no types, and torch gives every attribute of a module the type "tensor or module": a
name for "a stock module, of which we know the attributes and a checker does not" says more.
"""

from __future__ import annotations

from typing import Any

StockModule = Any
