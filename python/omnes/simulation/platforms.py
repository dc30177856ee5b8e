"""The simulated machines: `fat-tree:64x16:leaf=8` and the like, written as SimGrid's XML, or a file that exists.

Ranks of one host reach each other by its loopback link, which stands for shared memory; pairs of ranks do not slow each
other down on it.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from omnes.errors import OmnesError, UsageError, guess
from omnes.placement.patterns import MAX_RANKS
from omnes.terminal import files, units

KINDS = "fat-tree:HOSTSxCORES, torus:XxYx...:cores=C, dragonfly:GROUPSxCHASSISxROUTERSxHOSTS:cores=C, or an XML file"

# What a link, and the memory of a host, can do; and what a rank pays for each message that it sends or receives.
_PARAMETERS = {"bw": "12.5G", "lat": "500ns", "memory-bw": "10G", "memory-lat": "200ns", "overhead": "300ns"}
_OF_KIND = {"fat-tree": {"leaf": 0, "up": 0}, "torus": {"cores": 16}, "dragonfly": {"cores": 16}}
_RATE = re.compile(r"\d+(\.\d+)?[KMG]?")
_TIME = re.compile(r"\d+(\.\d+)?(ns|us|ms|s)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Platform:
    text: str  # as the user wrote it
    hosts: tuple[str, ...]
    cores: int  # of a host; 0: unknown
    overhead: float  # seconds for each message, at each end
    xml: str | None = None  # None: `file` is there already
    file: Path | None = None

    def write(self, folder: Path) -> Path:
        if self.xml is None:
            assert self.file
            return self.file
        (folder / "platform.xml").write_text(self.xml)
        return folder / "platform.xml"

    def host_of_each_rank(self, ranks: int, ppn: int, placement: str) -> list[str]:
        """Block: ranks fill one host after the other; cyclic: they are dealt out to as many hosts."""
        used = math.ceil(ranks / ppn)
        if used > len(self.hosts):
            raise OmnesError(f"{ranks} ranks, {ppn} on a host, need {used} hosts; {self.text} has {len(self.hosts)}")
        return [self.hosts[host] for host in host_numbers(ranks, ppn, placement)]


def parse(text: str) -> Platform:
    kind, _, rest = text.partition(":")
    if kind not in _OF_KIND:
        return _from_file(text)
    shape, _, words = rest.partition(":")
    try:
        numbers = [int(number) for number in shape.split("x")]
    except ValueError:
        numbers = []
    if math.prod(numbers) > MAX_RANKS:
        raise OmnesError(f"'{text}' is too large: at most {MAX_RANKS} hosts")
    wanted = {"fat-tree": (2, 2), "torus": (1, 6), "dragonfly": (4, 4)}[kind]
    if not wanted[0] <= len(numbers) <= wanted[1] or min(numbers) < 1:
        raise UsageError(f"'{text}' is no platform; valid: {KINDS}")
    own = dict(_OF_KIND[kind])
    parameters = dict(_PARAMETERS)
    for word in filter(None, words.split(",")):
        key, _, value = word.partition("=")
        if key in own and value.isdecimal() and 0 < units.whole(value) <= MAX_RANKS:
            own[key] = units.whole(value)
        elif key in parameters and (_RATE if key.endswith("bw") else _TIME).fullmatch(value):
            parameters[key] = value
        else:
            valid = ", ".join(
                [*(f"{name}=N" for name in own), *(f"{name}={example}" for name, example in _PARAMETERS.items())]
            )
            raise UsageError(f"'{word}' is no parameter of a {kind}; valid: {valid}")
    count, cores, topology, shape_text = {"fat-tree": _fat_tree, "torus": _torus, "dragonfly": _dragonfly}[kind](
        numbers, own
    )
    return Platform(
        text, tuple(f"node-{i}" for i in range(count)), cores, _seconds(parameters["overhead"]),
        _XML.format(
            last=count - 1, topology=topology, shape=shape_text, bw=_rate(parameters["bw"]), lat=parameters["lat"],
            memory_bw=_rate(parameters["memory-bw"]), memory_lat=parameters["memory-lat"],
        ),
    )  # fmt: skip


_XML = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="machine" prefix="node-" suffix="" radical="0-{last}" speed="1Gf" bw="{bw}" lat="{lat}"
           loopback_bw="{memory_bw}" loopback_lat="{memory_lat}" topology="{topology}" topo_parameters="{shape}"/>
</platform>
"""


def _fat_tree(numbers: list[int], own: dict[str, int]) -> tuple[int, int, str, str]:
    """Two levels: `leaf` hosts below each leaf switch, each of which has a link to all `up` top switches."""
    hosts, cores = numbers
    leaf = own["leaf"] or max(n for n in range(1, math.isqrt(hosts) + 1) if hosts % n == 0)
    if hosts % leaf:
        raise OmnesError(f"leaf={leaf}: {hosts} hosts do not fill leaf switches of {leaf}")
    return hosts, cores, "FAT_TREE", f"2;{leaf},{hosts // leaf};1,{own['up'] or leaf};1,1"


def _torus(numbers: list[int], own: dict[str, int]) -> tuple[int, int, str, str]:
    return math.prod(numbers), own["cores"], "TORUS", ",".join(map(str, numbers))


def _dragonfly(numbers: list[int], own: dict[str, int]) -> tuple[int, int, str, str]:
    groups, chassis, routers, hosts = numbers
    return math.prod(numbers), own["cores"], "DRAGONFLY", f"{groups},1;{chassis},1;{routers},1;{hosts}"


def _rate(text: str) -> str:
    return f"{text.rstrip('KMG')}{text[-1].replace('K', 'k') if text[-1] in 'KMG' else ''}Bps"


def _seconds(text: str) -> float:
    unit = text.lstrip("0123456789.")
    return float(text[: -len(unit)]) * _SECONDS[unit]


def _from_file(text: str) -> Platform:
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"'{text}' is no platform; {guess(text.partition(':')[0], _OF_KIND)}valid: {KINDS}")
    try:
        root = ElementTree.fromstring(files.read(path))
    except ElementTree.ParseError as fault:
        raise OmnesError(f"{text} is no XML: {fault}") from None
    hosts: list[str] = []
    with files.expecting(path, "no platform of SimGrid: hosts have an id, clusters a prefix, radical and suffix"):
        for element in root.iter():
            if element.tag == "host":
                hosts.append(element.attrib["id"])
            if element.tag == "cluster":
                for part in element.attrib["radical"].split(","):
                    first, _, last = part.partition("-")
                    names = range(int(first), int(last or first) + 1)
                    if len(hosts) + len(names) > MAX_RANKS:
                        raise OmnesError(f"{text} is too large: at most {MAX_RANKS} hosts")
                    hosts += [f"{element.attrib['prefix']}{name}{element.attrib['suffix']}" for name in names]
    if not hosts:
        raise OmnesError(f"{text} describes no host")
    return Platform(text, tuple(hosts), 0, _seconds(_PARAMETERS["overhead"]), file=path.absolute())


def host_numbers(ranks: int, ppn: int, placement: str) -> list[int]:
    """Block: one host is filled after the other. Cyclic: ranks are dealt out to as many hosts. Random: shuffled block,
    always in the same way."""
    used = math.ceil(ranks / ppn)
    hosts = [rank % used if placement == "cyclic" else rank // ppn for rank in range(ranks)]
    if placement == "random":
        random.Random(0).shuffle(hosts)
    return hosts
