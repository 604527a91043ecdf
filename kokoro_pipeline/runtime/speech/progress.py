"""What has been spoken of a request whose pieces are synthesized one by one."""

from __future__ import annotations

from dataclasses import replace

from kokoro_pipeline.errors import InputError

from .pieces import Piece
from .request import excerpt
from .result import Speech


class Progress:
    """The chunks of a request so far, and the text that could not be spoken.

    A piece gives no speech if the model knows none of its phonemes. Its text is listed as unspoken
    in the next piece that gives some.
    """

    def __init__(self) -> None:
        self.chunks = 0
        """How many chunks have been spoken, which is the number of the next one."""
        self._lost: tuple[str, ...] = ()

    def with_lost(self, piece: Piece) -> Piece:
        """The piece with what was lost before it as unspoken."""
        return replace(piece, unspoken=self._lost + piece.unspoken)

    def add(self, piece: Piece, speech: Speech | None) -> None:
        """Account for a piece as it was before `with_lost`, and its speech."""
        if speech is None:
            self._lost += (*piece.unspoken, piece.phonemes)
        else:
            self.chunks += len(speech.chunks)
            self._lost = ()

    def end(self) -> tuple[str, ...]:
        """What was lost behind the last piece that was spoken.

        Raises InputError if nothing was spoken.
        """
        if not self.chunks:
            lost = excerpt(self._lost)
            raise InputError(f"there is nothing to say: not in the vocabulary: {lost}")
        return self._lost
