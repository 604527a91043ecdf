"""Many texts into one folder of audio files, which goes on where it was when it was ended."""
