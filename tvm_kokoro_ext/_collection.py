"""Python's search for unreachable cycles, put off while a program is imported.

Nearly everything that an import makes lives until its end. Beside the objects of torch and of a
library of models each search takes 0.3 s and finds little, as long as importing a small model.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def put_off() -> Iterator[None]:
    """Context without automatic garbage collection, which is on again afterwards if it was."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
