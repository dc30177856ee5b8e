"""How a job is led: what its ranks are told, and what rank 0 says, by pipes or, to ranks on any host, by sockets.

A rank sleeps while it is told nothing. When this process ends its channels close, and the ranks end.
"""

from __future__ import annotations

import os
import resource
import secrets
import select
import socket
import tempfile
import time
from pathlib import Path

from omnes.errors import OmnesError

_LINE_BYTES = 128  # sizeof(struct line) in collbench.c
_HELLO_SECONDS = 5.0
_AT_ONCE = 4096  # bytes
_OF_RANK = 12  # bytes behind the word: a space, ten digits, the end of the line
_SPARE = 64  # open files for all else


class Pipes:
    """To ranks on this machine, which meet in memory that they map."""

    def __init__(self, ranks: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="omnes-bench-")
        folder = Path(self._folder.name)
        (folder / "meeting").write_bytes(bytes(_LINE_BYTES * ranks))
        os.mkfifo(folder / "answers")
        self._answers = os.open(folder / "answers", os.O_RDWR)
        self._commands = []
        for rank in range(ranks):
            os.mkfifo(folder / f"command-{rank}")
            # Opened for both, because opening for writing alone would wait for the reader.
            self._commands.append(os.open(folder / f"command-{rank}", os.O_RDWR))
        self.folder = folder  # what the program is given

    def tell(self, command: str) -> None:
        for pipe in self._commands:
            os.write(pipe, f"{command}\n".encode())

    def hear(self, seconds: float) -> bytes:
        """What rank 0 says meanwhile; nothing, if it does not."""
        return os.read(self._answers, _AT_ONCE) if _has_more(self._answers, seconds) else b""

    def close(self) -> None:
        for pipe in (*self._commands, self._answers):
            os.close(pipe)
        self._folder.cleanup()


class Connections:
    """To ranks on any host: each connects to this process, and says a word that only files of this user have."""

    def __init__(self, ranks: int, folder: Path) -> None:
        """All hosts see the folder."""
        _allow(ranks)
        self._expected = ranks
        self._ranks: dict[int, socket.socket] = {}
        self._listener = socket.create_server(("", 0), backlog=ranks)
        self._word = secrets.token_hex(16)
        self._file = tempfile.NamedTemporaryFile("w", prefix="leader-", dir=folder)  # noqa: SIM115
        self._file.write(f"{socket.gethostname()} {self._listener.getsockname()[1]} {self._word}\n")
        self._file.flush()
        self.folder = Path(self._file.name)  # what the program is given

    def tell(self, command: str) -> None:
        for rank in self._ranks.values():
            try:
                rank.sendall(f"{command}\n".encode())
            except OSError:  # it has ended; rank 0 will not answer
                continue

    def hear(self, seconds: float) -> bytes:
        if len(self._ranks) < self._expected:
            if _has_more(self._listener.fileno(), seconds):
                self._accept()
            return b""
        if not _has_more(self._ranks[0].fileno(), seconds):
            return b""
        try:
            said = self._ranks[0].recv(_AT_ONCE)
        except OSError:
            said = b""
        if not said:  # it has ended, as its launcher will
            time.sleep(seconds)
        return said

    def _accept(self) -> None:
        """Of a rank; anybody else is sent away."""
        other, _ = self._listener.accept()
        other.settimeout(_HELLO_SECONDS)
        hello, wanted = b"", len(self._word) + _OF_RANK
        try:
            while len(hello) < wanted and (more := other.recv(wanted - len(hello))):
                hello += more
        except OSError:
            hello = b""
        word, _, rank = hello.partition(b" ")
        if not secrets.compare_digest(word, self._word.encode()):
            other.close()
            return
        other.settimeout(None)
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ranks[int(rank)] = other
        if len(self._ranks) == self._expected:
            self._file.close()
            self._listener.close()

    def close(self) -> None:
        for one in (*self._ranks.values(), self._listener):
            one.close()
        self._file.close()


def _has_more(file: int, seconds: float) -> bool:
    """Soon; a select() would know the first 1024 files only."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _allow(files: int) -> None:
    """So many more open ones."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = len(os.listdir("/proc/self/fd")) + files + _SPARE
    if soft == resource.RLIM_INFINITY or wanted <= soft:
        return
    if hard != resource.RLIM_INFINITY and wanted > hard:
        raise OmnesError(f"{files} ranks more need {wanted} open files, and {hard} are allowed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
