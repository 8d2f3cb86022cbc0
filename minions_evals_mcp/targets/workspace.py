"""Fresh workspaces: a folder for each output, with what an arm lays into it, in which a program of the user's is started."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from minions_evals_mcp.confined_paths import confined_path, copy_confined, opened_confined, write_confined
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.domain.outputs import output_value
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import Next

NEVER_LAID = frozenset({".git", "__pycache__", ".venv", "node_modules"})
MOST_LAID = 10_000
MOST_LAID_BYTES = 256_000_000
MOST_MADE = 50
"""So many files that a program left behind are told of."""
MOST_TEXT = 20_000
"""So many bytes of each are read; of a longer one, and of one that is no text, the size alone is kept."""
FILES = "files"
"""The input that names a case's own files: a list, or a mapping from each to the digest of what it holds."""


@frozen_type
class Laid:
    """One file of an arm: `source` below `root` here, `place` in the workspace, and its digest when it was read.

    `content` is what is written there instead of the source's own, of which the arm leaves something out.
    """

    source: Path
    root: Path
    place: PurePosixPath
    sha256: str
    content: bytes | None = None


def laid_at(source: Path, place: PurePosixPath, *, but: str = "") -> tuple[Laid, ...]:
    """The file, or all files of the folder, laid at that place; repositories, caches and the folder `but` in it stay out.

    Raises `BadInputError` for what is not there, for a link that leads out of the folder, and for too much.
    """
    if source.is_file():
        file = source.resolve()
        return (_laid(file, file.parent, place),)
    if not source.is_dir():
        raise BadInputError(f"{source} is neither a file nor a folder.", remedy="Check the path.")
    root = source.resolve()
    laid: list[Laid] = []
    size = 0
    for path in sorted(source.rglob("*")):
        within = path.relative_to(source)
        if not path.is_file() or NEVER_LAID & set(within.parts) or within.parts[0] == but:
            continue
        if not path.resolve().is_relative_to(root):
            raise BadInputError(f"{path} is outside {source}.", remedy="Put the file itself there.")
        size += path.stat().st_size
        if len(laid) == MOST_LAID or size > MOST_LAID_BYTES:
            raise BadInputError(
                f"{source} has more than {MOST_LAID:,} files or {MOST_LAID_BYTES // 1_000_000} MB.",
                remedy="Include only what the agent needs.",
            )
        laid.append(_laid(path, root, place / PurePosixPath(within.as_posix())))
    return tuple(laid)


def _laid(path: Path, root: Path, place: PurePosixPath) -> Laid:
    return Laid(path, root, confined_path(str(place), field="workspace"), sha256_of(path, root))


def sha256_of(path: Path, root: Path) -> str:
    """The SHA-256 of the file below `root`, in hexadecimal; raises `BadInputError` where it leads out of it."""
    with opened_confined(path, root) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rooted(run: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The command as it is called from anywhere: words that name a file in the folder, by their whole path."""
    return tuple(str((folder / word).resolve()) if (folder / word).is_file() else word for word in run)


def manifest(files: Sequence[Laid]) -> Json:
    """Returns what is laid where, by digest: equal for arms that lay the same."""
    return {str(file.place): file.sha256 for file in sorted(files, key=lambda file: str(file.place))}


@frozen_type
class Workspaces:
    """The arms by prompt version, and the folder in which the cases' own files stand."""

    arms: Mapping[str, Sequence[Laid]]
    case_files: Path | None = None

    def vet(self, version: str | None) -> None:
        """Raises `BadInputError` where no arm is of that version."""
        if version not in self.arms:
            raise BadInputError(
                f"there is no workspace for the prompt version {version}.",
                remedy=f"{Next('lift', {'file': 'FILE'}, 'runs its arms')}.",
            )

    @contextmanager
    def opened(self, inputs: Json, version: str) -> Generator[Path]:
        """A new folder with the arm's files and the case's own; it is gone afterwards.

        Raises `BadInputError` for a file of the case that is not there or stands elsewhere, and for one of the arm that
        changed since it was read.
        """
        from minions_evals_mcp.temporary_folders import temporary_folder  # noqa: PLC0415  most runs have no workspace

        with temporary_folder("workspace") as folder:
            for arm in self.arms[version]:
                if arm.content is not None:
                    write_confined(folder, arm.place, arm.content)
                    continue
                copy_confined(arm.source, arm.root, folder, arm.place)
                if sha256_of(folder / arm.place, folder) != arm.sha256:
                    raise BadInputError(f"{arm.source} changed while it was tried.", remedy="Run the lift again.")
            if self.case_files is not None:
                for name in case_file_names(inputs):
                    copy_confined(self.case_files / name, self.case_files, folder, name)
            yield folder


def case_file_names(inputs: Json) -> tuple[PurePosixPath, ...]:
    """The case's own files; raises `BadInputError` for a name that leads out of the folder."""
    named = inputs.get(FILES)
    return tuple(case_file_name(str(name)) for name in named) if isinstance(named, (list, dict)) else ()


def case_file_name(name: str) -> PurePosixPath:
    """The case's file by its path from the skill's folder; raises `BadInputError` where it leads out of it."""
    return confined_path(name, field=FILES, remedy="Name files by their path from the skill's folder.")


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Returns what stands in the folder, by path: when it was written, and its size."""
    seen = dict[str, tuple[int, int]]()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            stat = path.stat()
            seen[path.relative_to(folder).as_posix()] = (stat.st_mtime_ns, stat.st_size)
    return seen


def with_made(seen: Observed, folder: Path, before: Mapping[str, tuple[int, int]]) -> Observed:
    """The output with the files that the program made or changed: `answer` is what it said, `files` what each holds."""
    made = sorted(name for name, content in contents(folder).items() if before.get(name) != content)
    if not made:
        return seen
    files: Json = {name: _read(folder / name) for name in made[:MOST_MADE]}
    if len(made) > MOST_MADE:
        files["…"] = f"and {len(made) - MOST_MADE} more"
    return seen.model_copy(update={"output": {"output": {"answer": output_value(seen.output), FILES: files}}})


def _read(path: Path) -> JsonValue:
    size = path.stat().st_size
    if size <= MOST_TEXT:
        try:
            return path.read_bytes().decode()
        except UnicodeDecodeError:
            pass
    return {"bytes": size}
