"""Speech over HTTP: the APIs of OpenAI and Kokoro-FastAPI, and a page (extra `serve`)."""
