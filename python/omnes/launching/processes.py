"""Launchers that do not end by themselves, and what they said last."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import Any

_STOP_SECONDS = 10.0
_TELLING = re.compile(r"\bOMNES_\w+: |\berror\b|signal|fault|abort|cannot|not found", re.IGNORECASE)


def stop(process: subprocess.Popen[Any]) -> None:
    """The launcher ends its ranks; if it does not, by force."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def last_words(text: str) -> str:
    lines = [line.strip(" -=|*%") for line in text.splitlines() if line.strip(" -=|*%")]
    telling = [line for line in lines if _TELLING.search(line)]
    return (telling or lines or ["it said nothing"])[-1][:200]
