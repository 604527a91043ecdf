"""The operators of the dtype sweep."""

from __future__ import annotations

from dtype_sweep import Row
from dtype_sweep_elements import ELEMENTWISE, INTEGERS, ORDER, SCATTERS
from dtype_sweep_products import ATTENTION, CONVOLUTIONS, PRODUCTS, RECURRENT
from dtype_sweep_reductions import LOSSES, NORMALIZATIONS, POOLS, REDUCTIONS

GROUPS = {
    "products": PRODUCTS,
    "convolutions": CONVOLUTIONS,
    "recurrent": RECURRENT,
    "reductions": REDUCTIONS,
    "normalizations": NORMALIZATIONS,
    "pools": POOLS,
    "attention": ATTENTION,
    "losses": LOSSES,
    "scatters": SCATTERS,
    "elementwise": ELEMENTWISE,
    "order": ORDER,
    "integers": INTEGERS,
}


def all_rows() -> list[Row]:
    return [row for rows in GROUPS.values() for row in rows]
