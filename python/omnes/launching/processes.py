"""Launches run to their end, or ended, and what they said last."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from omnes.launching.launch import Launch

_STOP_SECONDS = 10.0
_TELLING = re.compile(r"\bOMNES_\w+: |\berror\b|signal|fault|abort|cannot|not found", re.IGNORECASE)


def to_the_end(
    started: Launch,
    output: IO[Any],
    limit: float | None,
    stdin: IO[Any] | int = subprocess.DEVNULL,
    folder: Path | None = None,
) -> tuple[float, int]:
    """Seconds, and the exit code; what it says goes to `output`. Whatever happens, nothing of it runs on.

    Raises subprocess.TimeoutExpired after `limit` seconds. `folder`: where it runs, if not here.
    """
    begin = time.monotonic()
    process = subprocess.Popen(
        started.command,
        cwd=folder,
        env=started.full_environment(),
        stdin=stdin,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        process.wait(limit)
        return time.monotonic() - begin, process.returncode
    finally:
        if process.poll() is None:
            stop(process)


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
