"""Which cache lines and pages a call touches, from the registers before each of its instructions (a trace of
overhead.c).

How: an instruction's bytes tell its length, and with the registers the addresses that it reads and writes. Under
single steps a repeated string instruction stops after each element, so each element is a step of its own.
Not seen: what the kernel touches, page tables, and what the processor fetches unasked. A masked vector counts as a
whole one; of a vector of addresses only the base is known.
"""

from __future__ import annotations

import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from omnes.errors import OmnesError

LINE, PAGE = 64, 4096
_OLDER = ("rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip", "eflags")
REGISTERS = [*(f"r{number}" for number in range(8, 16)), *_OLDER]  # as signal handlers get them
_WORDS = len(REGISTERS) + 2  # of a step: the registers, and 16 bytes of code
_WORD = 8  # bytes: of a register, of what a push writes
_MASK = (1 << 64) - 1


class Access(NamedTuple):
    address: int
    bytes: int
    writes: bool


@dataclass(frozen=True)
class Operand:
    """Memory that an instruction reads or writes: where, by the registers before it."""

    bytes: int
    writes: bool
    base: int | None = None  # place among the registers
    index: int | None = None
    scale: int = 1
    displacement: int = 0
    of_thread: bool = False
    repeated: bool = False


@dataclass(frozen=True)
class Instruction:
    text: str
    length: int
    operands: tuple[Operand, ...]


@dataclass
class Step:
    address: int
    instruction: Instruction
    accesses: list[Access]


@dataclass
class Call:
    steps: list[Step]
    code: set[int] = field(init=False)  # numbers of lines
    data: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.code = lines_of((step.address, step.instruction.length) for step in self.steps)
        self.data = lines_of((access.address, access.bytes) for step in self.steps for access in step.accesses)

    @property
    def code_pages(self) -> set[int]:
        return pages_of(self.code)

    @property
    def data_pages(self) -> set[int]:
        return pages_of(self.data)


def lines_of(places: Iterable[tuple[int, int]]) -> set[int]:
    """The cache lines that hold so many bytes, starting at such addresses."""
    return {line for at, size in places for line in range(at // LINE, (at + size - 1) // LINE + 1)}


def pages_of(lines: Iterable[int]) -> set[int]:
    return {line * LINE // PAGE for line in lines}


@dataclass
class Trace:
    thread: int  # where its own data begin
    calls: list[Call]


def read(trace: Path) -> Trace:
    words = array.array("Q", trace.read_bytes())
    thread, calls, at = words[0], [], 1
    while at < len(words):
        end = at + 1 + words[at] * _WORDS
        calls.append(Call([_step(words[i : i + _WORDS], thread) for i in range(at + 1, end, _WORDS)]))
        at = end
    return Trace(thread, calls)


def middle(calls: list[Call]) -> Call:
    """The call that touches neither few nor many lines."""
    return sorted(calls, key=lambda call: len(call.code) + len(call.data))[len(calls) // 2]


def _step(words: array.array[int], thread: int) -> Step:
    instruction = decode(words[-2:].tobytes())
    return Step(words[REGISTERS.index("rip")], instruction, accesses(instruction, words, thread))


def accesses(instruction: Instruction, registers: Sequence[int], thread: int) -> list[Access]:
    """What it reads and writes: `registers` before it, in the order of REGISTERS."""
    found = []
    for operand in instruction.operands:
        if operand.repeated and registers[REGISTERS.index("rcx")] == 0:
            continue
        address = operand.displacement + (thread if operand.of_thread else 0)
        if operand.base is not None:
            address += registers[operand.base]
        if operand.index is not None:
            address += registers[operand.index] * operand.scale
        found.append(Access(address & _MASK, operand.bytes, operand.writes))
    return found


@lru_cache(None)
def decode(code: bytes) -> Instruction:
    """The first instruction."""
    found = next(_decoder().disasm(code, 0), None)
    if found is None:
        raise OmnesError(f"no instruction that capstone knows: {code.hex()}")
    return Instruction(f"{found.mnemonic} {found.op_str}".strip(), found.size, (*_stated(found), *_on_stack(found)))


def need_decoder() -> None:
    """Throws OmnesError where there is none."""
    _decoder()


@lru_cache(None)
def _decoder() -> Any:
    try:
        import capstone
    except ImportError:
        raise OmnesError("to see which lines a call touches takes capstone: pip install capstone") from None
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    return decoder


def _stated(found: Any) -> Iterator[Operand]:
    """Operands that are written down; those of `lea` and of long `nop` are no accesses."""
    from capstone import CS_AC_WRITE, x86

    if found.id in (x86.X86_INS_LEA, x86.X86_INS_NOP):
        return
    repeated = found.prefix[0] in (x86.X86_PREFIX_REP, x86.X86_PREFIX_REPNE) and found.mnemonic.startswith("rep")
    for place, operand in enumerate(found.operands):
        if operand.type != x86.X86_OP_MEM:
            continue
        memory = operand.mem
        stored = place == 0 and found.mnemonic.startswith(("mov", "vmov"))  # of vectors capstone does not say so
        relative = found.size if memory.base == x86.X86_REG_RIP else 0
        yield Operand(
            max(operand.size, 1),
            stored or bool(operand.access & CS_AC_WRITE),
            _place(found, memory.base),
            _place(found, memory.index),
            memory.scale,
            memory.disp + relative,
            memory.segment == x86.X86_REG_FS,
            repeated,
        )


def _place(found: Any, register: int) -> int | None:
    """None: no register, or a vector of addresses, of which only the base is known."""
    name = found.reg_name(register) if register else ""
    return REGISTERS.index(name) if name in REGISTERS else None


def _on_stack(found: Any) -> Iterator[Operand]:
    """What push, call, pop, ret and leave do beside their operands."""
    from capstone import x86

    stack, frame = REGISTERS.index("rsp"), REGISTERS.index("rbp")
    if found.id in (x86.X86_INS_PUSH, x86.X86_INS_CALL, x86.X86_INS_PUSHFQ):
        yield Operand(_WORD, True, stack, displacement=-_WORD)
    elif found.id in (x86.X86_INS_POP, x86.X86_INS_RET, x86.X86_INS_POPFQ):
        yield Operand(_WORD, False, stack)
    elif found.id == x86.X86_INS_LEAVE:
        yield Operand(_WORD, False, frame)
