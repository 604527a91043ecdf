"""Speech: a request, its chunks, and the synthesizer that turns them into audio."""
