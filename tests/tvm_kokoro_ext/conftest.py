"""Makes `frontend_cases` importable by the tests beside it (pytest runs in importlib mode)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("frontend_cases")
