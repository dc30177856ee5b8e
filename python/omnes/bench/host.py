"""What a results page says of its machine, and the machine's short name."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from omnes.launching import cpus
from omnes.terminal import units

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def describe() -> dict[str, Any]:
    return {
        "name": name(),
        "processor": _processor(),
        "cores": cpus.usable_cores(),
        "cpus": cpus.usable_cpus(),
        "caches": {level: units.format_bytes(size) for level, size in caches().items()},
        "memory": units.format_bytes(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30 << 30),
        "system": f"{platform.system()} {platform.release()}",
        "load": os.getloadavg()[0],
    }


def name() -> str:
    """Such as amd-epyc-7763-16-cores."""
    words = re.sub(r"\((R|TM|tm|r)\)|@.*|\bCPU\b|\bProcessor\b|\d+-Core", " ", _processor())
    return f"{'-'.join(re.findall(r'[a-z0-9]+', words.lower())) or 'machine'}-{cpus.usable_cores()}-cores"


def caches() -> dict[str, int]:
    """Bytes of each data cache that CPU 0 uses: L1, L2, L3."""
    found = {}
    for index in sorted(_CACHES.glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            found[f"L{(index / 'level').read_text().strip()}"] = units.parse_bytes((index / "size").read_text())
    return found


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()
