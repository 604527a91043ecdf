"""The findings of `doctor`: a part, its state, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "absent", "warning", "broken"]


@dataclass(frozen=True)
class Finding:
    """One line of `doctor`.

    The state is `ok`; `absent` for an optional part that is missing; `warning` for a part that is
    present but questionable; or `broken` for a required part that does not work, which makes
    `doctor` fail.
    """

    part: str
    state: State
    detail: str
    remedy: str = ""
