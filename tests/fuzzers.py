"""Runs the parsers' fuzzers (tests/fuzz), where the preset `fuzz` has been built."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from launching import ROOT

BUILT = ROOT / "build/fuzz/tests/fuzz"
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-close_fd_mask=1")


def run_all(folder: Path, seconds: float) -> list[str]:
    """All of them in so many seconds, in that folder: what they found, with the command that replays it."""
    fuzzers = sorted(path for path in BUILT.glob("fuzz_*") if path.is_file() and path.suffix == "")
    found = []
    for fuzzer in fuzzers:
        target = fuzzer.name.removeprefix("fuzz_")
        corpus = folder / "corpus" / target
        shutil.copytree(ROOT / "tests/fuzz/corpus" / target, corpus, dirs_exist_ok=True)
        share = max(1, int(seconds / len(fuzzers)))
        words = [str(fuzzer), str(corpus), f"-max_total_time={share}", f"-artifact_prefix={folder}/{target}-", *LIMITS]
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
        if run.returncode != 0:
            kept = [line.split()[-1] for line in run.stderr.splitlines() if "Test unit written to" in line]
            found.append(f"fuzzer of {target}: {fuzzer} {' '.join(kept) or run.stderr[-300:]}")
    return found
