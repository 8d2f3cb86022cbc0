"""The store that is used where nobody names one: the project's own, outside a project the user's."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp.project import Project, find_project, repository_root
from minions_evals_mcp.store.database import FOLDER

FILE = "evals.db"


def project_store(project: Project | None, start: Path | None = None) -> Path | None:
    """The store of the project that the folder is in: as its file names it, else in its own folder; None outside a project.

    The folder lies beside the project file, without one at the root of the repository.
    """
    start = start or Path.cwd()
    project = project or find_project(start)
    if project is not None:
        return project.store() or project.folder / FOLDER / FILE
    root = repository_root(start)
    return None if root is None else root / FOLDER / FILE


def user_store() -> Path:
    """The user's store, in the platform's data folder."""
    from platformdirs import user_data_path  # noqa: PLC0415  20 ms of a start that a project does not need

    return user_data_path("minions-evals") / FILE


def default_store(project: Project | None, start: Path | None = None) -> Path:
    """The store where nobody names one."""
    return project_store(project, start) or user_store()


def left_behind(store: Path) -> Path | None:
    """The user's store, where a project's is begun and the user's holds what was kept before; else None."""
    before = user_store()
    return before if store.parent.name == FOLDER and before.exists() else None
