"""What `doctor` finds: a part, its state, and the next command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "absent", "warning", "broken"]


@dataclass(frozen=True)
class Finding:
    """One line of `doctor`.

    `ok` needs nothing. `absent` is an optional part that is not there. `warning` is a part that is
    there and doubtful. `broken` is a part that the installation needs and that does not work: it
    makes `doctor` fail.
    """

    part: str
    state: State
    detail: str
    remedy: str = ""
