"""How to install the optional parts of this distribution."""

from __future__ import annotations

import sys

NEWEST_PYTHON = {
    "build": (3, 12),
    "text": (3, 12),
    "ja": (3, 12),
    "zh": (3, 12),
    "serve": (3, 12),
    "batch": (3, 12),
    "ray": (3, 12),
}
"""The newest Python that the packages of an extra (kokoro, misaki) install on."""


EXTRA_OF = {
    "torch": "build",
    "transformers": "build",
    "kokoro": "build",
    "huggingface_hub": "build",
    "misaki": "text",
    "num2words": "text",
    "phonemizer": "text",
    "espeakng_loader": "text",
    "defusedxml": "text",
    "fugashi": "ja",
    "unidic_lite": "ja",
    "jaconv": "ja",
    "jieba": "zh",
    "pypinyin": "zh",
    "cn2an": "zh",
    "ordered_set": "zh",
    "soundfile": "audio",
    "sounddevice": "audio",
    "ebooklib": "batch",
    "lxml": "batch",
    "ray": "ray",
    "av": "serve",
    "fastapi": "serve",
    "fastapi_offline": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "onnx": "onnx",
    "onnxruntime": "bench",
    "openvino": "bench",
    "matplotlib": "bench",
}
"""The extra that contains a module which a command may be missing."""


def install_command(*extras: str, python: tuple[int, int] = sys.version_info[:2]) -> str:
    """The command that installs these extras, with the Python to take where this one is too new.

    `pip install` on a newer Python would succeed and leave the packages out: they carry markers.
    """
    command = f"pip install 'tvm-kokoro[{','.join(extras)}]'"
    newest = min((NEWEST_PYTHON[extra] for extra in extras if extra in NEWEST_PYTHON), default=None)
    if newest is None or python <= newest:
        return command
    have, need = (".".join(map(str, version)) for version in (python, newest))
    return (
        f"its packages stop at Python {need} and this is {have}; in an environment of Python "
        f"{need}: {command}"
    )
