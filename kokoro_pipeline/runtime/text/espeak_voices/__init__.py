"""Languages that eSpeak reads alone: Spanish, French, Hindi, Italian, Brazilian Portuguese."""
