"""Files that people name: only those with an end are read, and what cannot be written is said before the work."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli import fails, omnes
from omnes import _core
from omnes.errors import OmnesError, one_line
from omnes.terminal import files

MORE = 17 << 20  # bytes: longer than what the core reads

# Options that write a file, in commands that would go on to work for long or to ask for more.
WRITERS = (
    ("run", "--stats-json"),
    ("run", "--profile"),
    ("bench", "--json="),
    ("check-guidelines", "--json="),
    ("draw", "bcast/knomial", "-n", "4", "-o"),
    ("export", "--to", "intel", "-n", "8", "-o"),
    ("map", "--all", "--nodes", "2x2", "--draw"),
    ("measure", "-o"),
    ("report", "-o"),
    ("simulate", "--platform", "fat-tree:2x2", "-o"),
    ("topology", "--draw"),
    ("topology", "groups", "--draw"),
    ("tune", "-o"),
)


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_what_cannot_be_written_is_said_before_the_work(words, tmp_path):
    last = ("/bin/true",) if words[0] == "run" else ()
    nowhere = tmp_path / "none/page.html"

    def fails_with(file: str | Path) -> str:
        target = (f"{words[-1]}{file}",) if words[-1].endswith("=") else (words[-1], str(file))
        return fails(*words[:-1], *target, *last)

    assert fails_with(nowhere) == f"omnes: cannot write {nowhere}: no folder {nowhere.parent}"
    assert fails_with(tmp_path) == f"omnes: cannot write {tmp_path}: it is a folder"
    below_a_file = f"{__file__}/page.html"
    assert "cannot write" in fails_with(below_a_file)


# What reads a file that is named, with a place for it.
READERS = (
    ("report", "-o", "{page}", "--bench", "{file}"),
    ("report", "-o", "{page}", "--guidelines", "{file}"),
    ("report", "-o", "{page}", "--costs", "{file}"),
    ("report", "-o", "{page}", "--measured", "{file}"),
    ("report", "-o", "{page}", "--simulate", "{file}"),
    ("report", "-o", "{page}", "--table", "{file}"),
    ("predict", "bcast", "-n", "2", "--costs", "{file}"),
    ("predict", "bcast", "-n", "2", "--table", "{file}"),
    ("explain", "bcast", "-n", "2", "--table", "{file}"),
    ("list", "--table", "{file}"),
    ("export", "{file}", "--to", "intel", "-n", "4"),
    ("map", "--traffic", "{file}", "--nodes", "2x2"),
    ("map", "--profile", "{file}", "--nodes", "2x2"),
    ("map", "bcast/knomial", "--nodes", "{file}"),
    ("tune", "-o", "{page}", "--from-profile", "{file}"),
    ("topology", "--shape", "{file}"),
    ("topology", "groups", "--nodes", "{file}"),
    ("topology", "groups", "--nodes", "2x2", "--network", "{file}"),
    ("simulate", "--platform", "{file}", "bcast"),
)


@pytest.mark.parametrize("kind", ["/dev/zero", "pipe", "folder", "long", "no text"])
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_only_files_with_an_end_are_read(words, kind, tmp_path):
    file = tmp_path / "file"
    if kind == "/dev/zero":
        file = Path(kind)
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "long":
        with file.open("wb") as made:
            made.truncate(files.MAX_BYTES + 1)
    else:
        file.write_bytes(b"\xff\xfe\x00[")
    said = fails(*(word.format(page=tmp_path / "page.html", file=file) for word in words))
    assert said.startswith("omnes: ") and len(said) < 500


def test_reading_says_what_is_wrong(tmp_path):
    cases = {
        "/dev/zero": "not a regular file",
        str(tmp_path): "Is a directory",
        str(tmp_path / "none"): "No such file or directory",
        "a\0b": "embedded null byte",
    }
    for name, complaint in cases.items():
        with pytest.raises(OmnesError, match=complaint):
            files.read(Path(name))


def test_packed_files_are_read_as_their_text(tmp_path, monkeypatch):
    plain, packed, torn = (tmp_path / name for name in ("a.jsonl", "a.jsonl.gz", "torn.gz"))
    packed.write_bytes(gzip.compress(b"one\ntwo\n"))
    torn.write_bytes(packed.read_bytes()[:-12])
    assert files.read(packed) == "one\ntwo\n"
    assert files.packed(plain) == packed and files.beside(packed, ".md") == tmp_path / "a.md"
    plain.write_text("one\n")
    assert files.packed(plain) == plain and files.beside(plain, ".md") == tmp_path / "a.md"
    with pytest.raises(OmnesError, match=f"^cannot read {torn}: "):
        files.read(torn)
    monkeypatch.setattr(files, "MAX_BYTES", packed.stat().st_size)
    packed.write_bytes(gzip.compress(bytes(1000)))
    with pytest.raises(OmnesError, match="longer than"):
        files.read(packed)


def test_the_core_reads_only_files_with_an_end(tmp_path):
    pipe, long = tmp_path / "pipe", tmp_path / "long"
    os.mkfifo(pipe)
    with long.open("wb") as made:
        made.truncate(MORE)
    cases = {"/dev/zero": "not a regular file", str(pipe): "not a regular file", str(long): "longer than 16 MiB"}
    for name, complaint in cases.items():
        for read in (_core.rules, _core.table_file, _core.network, _core.machine, _core.job):
            with pytest.raises(ValueError, match=complaint):
                read(name)
        with pytest.raises(ValueError, match=complaint):
            _core.job("2x2", "", name)


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("OMNES_TABLE", ("explain", "bcast", "-n", "2")),
        ("OMNES_MACHINE", ("predict", "bcast", "-n", "2")),
        ("OMNES_TOPOLOGY", ("topology", "groups", "--nodes", "2x2")),
    ],
)
def test_errors_of_a_variable_name_it(variable, words, monkeypatch):
    monkeypatch.setenv(variable, "/dev/zero")
    said = fails(*words)
    assert variable in said and "not a regular file" in said


@pytest.mark.parametrize(
    "content",
    [
        "[1]",
        "{}",
        '{"format": "omnes profile", "version": 1}',
        '{"format": "omnes profile", "version": 1, "called": [{}], "ranks": 4, "passed": [], "entries": []}',
        '{"format": "omnes profile", "version": 1, "called": [{"members": "0-99999999999", "calls": 1}], "ranks": 4}',
        '{"levels": [{"name": "node", "unit": [0, 99999999999]}]}',
        '{"levels": [{"name": "node", "unit": [0, -1]}]}',
        '{"record": 1}\n{"record": "cell"}\n',
        "[" * 100000,
        "9" * 5000,
    ],
)
def test_content_of_another_kind_is_one_line(content, tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_text(content)
    for words in READERS:
        result = omnes(*(word.format(page=tmp_path / "page.html", file=file) for word in words))
        if result.exit_code:  # what reads lines of words takes some of these for such
            assert result.output.startswith("omnes: ") and result.output.count("\n") == 1, (words, result.output)


def test_messages_stay_on_one_line():
    assert one_line("a\nb\x1b[31mc\udcff") == "a\\nb\\x1b[31mc\\xff"
    assert one_line("schön: 5 µs × 2") == "schön: 5 µs × 2"
    assert len(one_line("x" * 10**6)) < 5000
    assert "no operation 'br\\nod\\x1b'" in fails("predict", "br\nod\x1b", "-n", "2")
    assert "\n" not in fails("list", "a\nb")
    assert "\\n" in omnes("a\nb").output and "\\n" in omnes("--a\nb").output


def run_cli(*words, environment=None, before=":", **options):
    """The real command in its own process, perhaps after a shell's words."""
    return subprocess.run(
        ["sh", "-c", f'{before}; exec "$@"', "sh", sys.executable, "-m", "omnes", *words],
        env={**os.environ, **(environment or {})},
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "bcast", "--json"),
        ("draw", "bcast/knomial", "-n", "8"),
        ("predict", "bcast", "-n", "4", "-b", "8"),
        ("topology", "groups", "--nodes", "2x2"),
        ("export", "--to", "intel", "-n", "4"),
        ("--help",),
    ],
    ids=" ".join,
)
def test_a_full_disk_is_one_line(words, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with open("/dev/full", "w") as full:
        done = run_cli(*words, stdout=full)
    said = done.stderr.decode()
    assert done.returncode == 1 and said.count("\n") == 1
    assert said.startswith("omnes: ") and said.endswith("No space left on device\n")


def test_what_a_file_cannot_hold_is_one_line(tmp_path):
    done = run_cli("draw", "bcast/knomial", "-n", "8", "--format", "svg", "-o", "/dev/full")
    assert (done.returncode, done.stderr.decode()) == (1, "omnes: cannot write /dev/full: No space left on device\n")
    page = str(tmp_path / "page.html")
    done = run_cli("draw", "bcast/knomial", "-n", "8", "-o", page, before="ulimit -f 1")
    assert (done.returncode, done.stderr.decode()) == (1, f"omnes: cannot write {page}: {os.strerror(errno.EFBIG)}\n")


@pytest.mark.parametrize(
    "words",
    [
        (b"list", b"\xff"),
        (b"predict", b"bcast\xff", b"-n", b"4"),
        (b"topology", b"--shape", b"\xff"),
        (b"map", b"--traffic", b"\xff", b"--nodes", b"2x2"),
        (b"explain", b"bcast", b"-n", b"2", b"--table", b"\xff"),
        (b"draw", b"bcast/knomial", b"-n", b"2", b"-o", b"/nowhere/\xff.svg"),
        (b"run", b"-n", b"2", b"./\xff"),
        (b"run", b"--stats-json", b"/nowhere/\xff", b"./app"),
        (b"\xff",),
    ],
)
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_words_that_are_no_text_are_one_line(words, locale):
    done = run_cli(*words, environment={"LC_ALL": locale}, stdout=subprocess.PIPE)
    lines = done.stderr.decode().splitlines()
    assert done.returncode != 0 and "Traceback" not in done.stderr.decode()
    assert lines[0].startswith("omnes: ") and len(lines) == 1 or lines[0].startswith("Usage:"), lines


HUGE = "99999999999999999999"


@pytest.mark.parametrize("number", [HUGE, "9" * 5000])
@pytest.mark.parametrize(
    "words",
    [
        ("predict", "bcast", "-n", "{}"),
        ("predict", "bcast", "-n", "4", "-b", "{}"),
        ("predict", "bcast", "-n", "4", "-b", "8..{}:{}"),
        ("predict", "bcast", "--nodes", "{}x{}"),
        ("predict", "bcast", "-n", "4", "--nodes", "x{}"),
        ("explain", "bcast", "-n", "4", "-b", "{}G"),
        ("explain", "bcast", "-n", "{}"),
        ("verify", "bcast", "-n", "1..{}"),
        ("draw", "bcast/knomial", "-n", "{}"),
        ("draw", "bcast/knomial", "-n", "4", "--radix", "{}"),
        ("draw", "bcast/knomial", "-n", "4", "--segments", "{}"),
        ("draw", "bcast/hierarchical", "-n", "4", "--nodes", "{}x{}"),
        ("draw", "bcast/hierarchical", "-n", "4", "--nodes", "{},1"),
        ("map", "bcast/knomial", "--nodes", "{}x{}"),
        ("map", "bcast/knomial", "--nodes", "{},{}"),
        ("map", "bcast/knomial", "--nodes", "2x2", "--radix", "{}"),
        ("map", "bcast/knomial", "--nodes", "2x2", "--segments", "{}"),
        ("bench", "-n", "{}"),
        ("bench", "-b", "{}"),
        ("bench", "--tests", "{}"),
        ("run", "-n", "{}", "/bin/true"),
        ("export", "--to", "intel", "-n", "4", "--nodes", "x{}"),
        ("simulate", "--platform", "fat-tree:{}x{}", "bcast"),
        ("simulate", "--platform", "torus:2x2:cores={}", "bcast"),
        ("topology", "groups", "--nodes", "{}x{}"),
        ("topology", "groups", "--nodes", "node[1-{}]x2"),
        ("topology", "--shape", "package:{}"),
        ("check-guidelines", "-n", "{}"),
        ("check-guidelines", "-b", "{}"),
        ("report", "-o", "page.html", "--scale", "2..{}:{}"),
    ],
    ids=" ".join,
)
def test_numbers_beyond_64_bits_are_refused(words, number):
    result = omnes(*(word.replace("{}", number) for word in words))
    assert result.exit_code not in (0, None) and isinstance(result.exception, SystemExit), result.output
    assert result.output.count("\n") == 1 or result.output.startswith("Usage:")


def test_a_home_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    """Also for root, who may write everywhere but below a file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    said = fails("bench", "--limits")
    assert f"cannot keep compiled programs in {tmp_path}/file/omnes" in said and "XDG_CACHE_HOME=FOLDER" in said


def test_without_a_compiler_it_says_who_needs_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    said = fails("bench", "--limits")
    assert "cannot compile limits.c with cc: No such file or directory" in said
    assert "omnes bench, demo, tune, measure and check-guidelines need a C compiler" in said


def test_a_compiler_that_fails_is_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiler = tmp_path / "cc"
    compiler.write_text(
        "#!/bin/sh\necho 'limits.c:1: error: no room here' >&2\necho 'compilation ended.' >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert fails("bench", "--limits").endswith("cannot compile limits.c with cc: limits.c:1: error: no room here")
    assert not list((tmp_path / "omnes").iterdir())


def test_a_reader_that_has_seen_enough_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "omnes", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(60)
    process.stderr.close()


def test_ranks_of_a_profile_are_few(tmp_path):
    profile = {"format": "omnes profile", "version": 1, "ranks": 4, "passed": [], "called": []}
    profile["called"] = [{"operation": "bcast", "algorithm": "knomial", "members": "0-4000000000", "calls": 1}]
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(profile))
    assert "is no profile" in fails("map", "--profile", str(file), "--nodes", "2x2")
