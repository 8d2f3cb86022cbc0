"""Synonyms out of WordNet's own files (Princeton), which are found and never shipped: a word is searched in them, none is loaded.

An index has a line for each word in byte order: `word pos senses pointers … offsets`; at an offset of a data file stands the
line of a set of synonyms: `offset file type count(hex) word id word id …`.
"""

from __future__ import annotations

import mmap
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.scoring.checks import SynonymNeed, Unmet

PARTS = ("noun", "verb", "adj", "adv")
FOLDERS = ("wordnet31", "wordnet")
"""Its names among nltk's data; the first that is there is taken."""
SYSTEM = (Path("/usr/share/wordnet"), Path("/usr/local/share/wordnet"))
"""Where Debian's package `wordnet-base` puts it, and where an installation by hand does."""
Bytes = bytes | mmap.mmap
MISSING = "WordNet is not there, in which meteor looks synonyms up."
REMEDY = "python -m nltk.downloader wordnet31 (or point NLTK_DATA at it), or apt-get install wordnet-base."


def vet_wordnet() -> None:
    """Raises `UnsupportedError` where synonyms cannot be looked up: no nltk, or no WordNet."""
    if find_spec("nltk") is None:
        raise UnsupportedError(
            "meteor needs the package nltk, which is not installed.", remedy="pip install 'minions-evals-mcp[meteor]'"
        )
    if wordnet() is None:
        raise UnsupportedError(MISSING, remedy=REMEDY)


def synonyms(
    needs: Iterable[SynonymNeed], files: Mapping[str, Bytes] | None = None
) -> dict[SynonymNeed, Mapping[str, frozenset[str]] | Unmet]:
    """The synonyms of the words of each need, in the WordNet that is there; why there are none, where none is."""
    held = wordnet() if files is None else files
    if held is None:
        return dict.fromkeys(needs, Unmet(f"{MISSING} {REMEDY}"))
    return {need: {word: frozenset(_synonyms(word, held)) for word in need.words} for need in needs}


@cache
def wordnet() -> Mapping[str, Bytes] | None:
    """WordNet's files by their names, mapped into memory; None where it is not there."""
    return next((files for place in _places() if (files := files_at(place)) is not None), None)


def files_at(place: Path) -> Mapping[str, Bytes] | None:
    """The files at a folder or in a `.zip`, where they are all there."""
    return _in_zip(place) if place.suffix == ".zip" else _in_folder(place)


def _places() -> Iterator[Path]:
    try:
        import nltk.data  # noqa: PLC0415  an extra: it knows NLTK_DATA and its usual places
    except ModuleNotFoundError:
        folders: list[str] = []
    else:
        folders = cast("list[str]", nltk.data.path)  # untyped there
    for name in FOLDERS:
        yield from (Path(folder, "corpora", f"{name}{suffix}") for folder in folders for suffix in ("", ".zip"))
    yield from SYSTEM


def _names() -> list[str]:
    return [f"{kind}.{part}" for part in PARTS for kind in ("index", "data")]


def _in_folder(folder: Path) -> Mapping[str, Bytes] | None:
    paths = {name: folder / name for name in _names()}
    if not all(path.is_file() for path in paths.values()):
        return None
    files: dict[str, Bytes] = {}
    for name, path in paths.items():
        with path.open("rb") as file:
            files[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return files


def _in_zip(path: Path) -> Mapping[str, Bytes] | None:
    if not path.is_file():
        return None
    with zipfile.ZipFile(path) as packed:
        held = {name: f"{path.stem}/{name}" for name in _names()}
        if not {*held.values()} <= {*packed.namelist()}:
            return None
        return {name: packed.read(inner) for name, inner in held.items()}


def _synonyms(word: str, files: Mapping[str, Bytes]) -> Iterator[str]:
    """The single words that share a set of synonyms with the word, which is searched as it stands."""
    for part in PARTS:
        for offset in _offsets(word.encode("utf-8", "replace"), files[f"index.{part}"]):
            fields = _line(files[f"data.{part}"], offset).split()
            count = int(fields[3], 16)
            names: Sequence[bytes] = fields[4 : 4 + 2 * count : 2]
            yield from (name.decode() for name in names if b"_" not in name)


def _offsets(word: bytes, index: Bytes) -> list[int]:
    """Returns where the word's sets of synonyms stand, by a search that halves the index."""
    low, high = 0, len(index)
    while low < high:
        middle = (low + high) // 2
        start = index.rfind(b"\n", 0, middle) + 1
        line = _line(index, start)
        offset = line.split(b" ", 1)[0]
        if offset == word and word:
            fields = line.split()
            return [int(field) for field in fields[-int(fields[2]) :]]
        if offset < word:
            low = start + len(line) + 1
        else:
            high = start
    return []


def _line(file: Bytes, start: int) -> bytes:
    end = file.find(b"\n", start)
    return bytes(file[start : end if end >= 0 else len(file)])
