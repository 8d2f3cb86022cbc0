"""The two arms of a lift, as versions of one prompt: what each lays into its workspaces is the content of its version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical, digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import version_rows
from minions_evals_mcp.targets.workspace import Laid, manifest

ArmName = Literal["with", "without"]
PREFIX = "lift"


def prompt_of(name: str) -> str:
    """The prompt whose versions are the arms of that lift."""
    return f"{PREFIX}/{name}"


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm: what it lays into each workspace. Equal files make an equal version. `lacks` names what was left out of it."""

    lift: str
    name: ArmName | Literal["ablated"]
    files: Sequence[Laid]
    lacks: str = ""

    @property
    def laid(self) -> Json:
        """The files by place, each by its digest."""
        return manifest(self.files)

    @property
    def version(self) -> str:
        """The id of the version."""
        return f"{prompt_of(self.lift)}/{self.name}-{digest(self.laid)[:12]}"

    def content(self) -> str:
        """Returns what the version says: the manifest, which tells arms apart."""
        return canonical({"laid": self.laid})


async def save_arms(engine: Engine, arms: Sequence[Arm]) -> None:
    """Keeps the arms of one lift as versions; one that is kept already stays as it is."""
    numbers, version_ids = await engine.store.read(lambda db: _known(db, arms))
    number = max(numbers, default=0)
    arrivals: list[Arrival] = []
    for arm in arms:
        if arm.version in version_ids:
            continue
        number += 1
        laid = len(arm.files)
        title = f"without {arm.lacks}" if arm.lacks else arm.name
        fields = PromptVersion(
            content=arm.content(),
            description=f"{arm.lift}, {title}: {laid} {'file' if laid == 1 else 'files'} in the workspace",
            version_number=number,
            prompt_id=prompt_of(arm.lift),
        )
        at = engine.clock()
        arrivals.append(Arrival(Record(arm.version, fields, f"{arm.lift} ({title})", at, at)))
    if arrivals:
        await save_records(engine, arrivals)


def _known(db: Db, arms: Sequence[Arm]) -> tuple[list[int], set[str]]:
    numbers = [link.number for link in version_rows.links(db, prompt_of(arms[0].lift))]
    wanted = [arm.version for arm in arms]
    return numbers, set(records.get_all(db, wanted, PromptVersion))
