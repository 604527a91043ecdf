"""A type for kokoro's own modules.

kokoro has no type annotations, and in torch every attribute of a module has the type "tensor or
module". This alias documents that a value is a stock module, whose attributes are known to us but
not to a type checker.
"""

from __future__ import annotations

from typing import Any

StockModule = Any
