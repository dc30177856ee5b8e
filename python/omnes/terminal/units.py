"""Byte counts, times and ranges as people write them: 8, 16K, 8..4M, 1..17."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from omnes.errors import UsageError

MAX_BYTES = 1 << 50  # of a part: far beyond any memory, and times all ranks still a number of 64 bits
MAX_COUNTED = 1 << 20  # numbers that a range may stand for
_DIGITS = 18  # of a number that has 64 bits
_SUFFIX = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def whole(digits: str) -> int:
    """The number; of longer ones than anybody means, one that is too large for everything."""
    return int(digits) if len(digits) <= _DIGITS else 10**_DIGITS


def parse_bytes(text: str) -> int:
    """'16K' -> 16384."""
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"'{text}' is no size: write bytes such as 8, 16K or 4M")
    size = whole(match[1]) * _SUFFIX[match[2].upper()]
    if size > MAX_BYTES:
        raise UsageError(f"'{text}' is too large: sizes are up to {format_bytes(MAX_BYTES)}")
    return size


def format_bytes(count: int) -> str:
    """16384 -> '16K'; what is no whole multiple stays in bytes."""
    for suffix in ("G", "M", "K"):
        if count >= _SUFFIX[suffix] and count % _SUFFIX[suffix] == 0:
            return f"{count // _SUFFIX[suffix]}{suffix}"
    return str(count)


def format_about(count: float) -> str:
    """1234.5 -> '1.21K': three digits of what is no exact size."""
    suffix = next((suffix for suffix in ("G", "M", "K") if count >= _SUFFIX[suffix]), "")
    return (
        f"{count / _SUFFIX[suffix]:.3g}{suffix}"
        if count < 1000 * _SUFFIX[suffix]
        else f"{count / _SUFFIX[suffix]:.0f}{suffix}"
    )


def parse_sizes(text: str) -> list[int]:
    """'8,1K..1M:4' -> [8, 1024, 4096, ..., 1048576]: a range doubles, or multiplies by what follows the colon."""
    sizes: list[int] = []
    for part in text.split(","):
        first, dots, rest = part.partition("..")
        last, _, factor_text = rest.partition(":")
        low = parse_bytes(first)
        if not dots:
            sizes.append(low)
            continue
        high = parse_bytes(last)
        factor = whole(factor_text) if factor_text.isdecimal() else (0 if factor_text else 2)
        if low < 1 or high < low or factor < 2:
            raise UsageError(
                f"'{part}' is no range of sizes: write FROM..TO or FROM..TO:FACTOR, such as 8..4M or 1K..1M:4"
            )
        while low <= high:
            sizes.append(low)
            low *= factor
    return list(dict.fromkeys(sizes))


def parse_multiples(text: str, element: int, type_name: str) -> list[int]:
    """The same of whole numbers of elements."""
    sizes = parse_sizes(text)
    if odd := [size for size in sizes if size % element]:
        raise UsageError(f"{odd[0]} bytes are no whole number of {type_name}s: use multiples of {element}")
    return sizes


def parse_counts(text: str) -> list[int]:
    """'1..4,8' -> [1, 2, 3, 4, 8]; all at least 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", part.strip())
        low = whole(match[1]) if match else 0
        high = whole(match[2]) if match and match[2] else low
        if low < 1 or high < low:
            raise UsageError(f"'{text}' is no range: write numbers of at least 1, such as 8, 1..17 or 2,4,8")
        if high - low >= MAX_COUNTED:
            raise UsageError(f"'{text}' stands for too many numbers: at most {MAX_COUNTED} in a range")
        counts.extend(range(low, high + 1))
    return list(dict.fromkeys(counts))


def format_seconds(seconds: float) -> str:
    """In the unit that leaves one to three digits before the point."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if seconds / scale < 1000 else f"{seconds / scale:.0f} {unit}"
    return f"{seconds * 1e6:.2g} µs" if seconds else "0 s"


def format_share(share: float) -> str:
    """0.123 -> '12 %'."""
    return f"{share * 100:.0f} %"


def format_us(seconds: float) -> str:
    """Microseconds with three significant digits, without a unit, for tables."""
    us = seconds * 1e6
    return f"{us:.0f}" if us >= 100 else f"{us:.1f}" if us >= 10 else f"{us:.2f}"


def geometric_mean(values: Iterable[float]) -> float | None:
    """None of no values."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def percentile(values: Sequence[float], fraction: float) -> float:
    """The value below which that fraction of the values lies, linearly between neighbours."""
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
