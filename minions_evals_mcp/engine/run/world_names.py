"""The tools that the cases of a run name in their worlds, looked at before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.yardstick import Measure
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import BadInputError, InvalidRecordError

if TYPE_CHECKING:
    from minions_evals_mcp.world.naming import Offered, UnknownName

WITHOUT_WORLD = "Set `world` in its cases, or name a world for the run."


class WorldNames:
    """What the worlds of a run offer, and which of the run's own faults can strike in none of them."""

    def __init__(self, engine: Engine, request: RunRequest) -> None:
        self.engine, self.request = engine, request
        self._worlds: dict[str, Offered] = {}

    def vet(self, measure: Measure) -> None:
        """Raises `BadInputError` where a case or its world names what the world does not have."""
        world, case = measure.world, measure.case
        if world is None:
            return
        from minions_evals_mcp.world.naming import unknown_faults, unknown_in_checks  # noqa: PLC0415  few cases have a world

        known = self._worlds.get(world.id)
        if known is None:
            more = len(case.fields.faults) + len(self.request.faults)
            own = world.fields.faults[: len(world.fields.faults) - more]
            known = self._worlds[world.id] = self._offered(world.fields)
            _refuse(unknown_faults(own, known), f"world {world.id}")
        named = f"test-case {case.id} in the world {world.id}"
        _refuse(unknown_faults(case.fields.faults, known), named)
        _refuse(unknown_in_checks(case.fields, known), named)

    def vet_run(self, case_ids: Sequence[str]) -> None:
        """Raises `BadInputError` where the run has faults or attacks, and no world in which they could strike."""
        asked = "fault can strike" if self.request.faults else "attack can be planted" if self.request.attacks else ""
        if asked and case_ids and not self._worlds:
            raise BadInputError(f"no case of this run uses a world, so no {asked}.", remedy=WITHOUT_WORLD)
        if not self.request.faults or not self._worlds:
            return
        from minions_evals_mcp.world.naming import unknown_in_all  # noqa: PLC0415  few runs have faults

        for fault in self.request.faults:
            reason = unknown_in_all(fault.tool, [*self._worlds.values()])
            if reason:
                raise BadInputError(f"fault {fault.written}: {reason}.")

    def _offered(self, world: World) -> Offered:
        from minions_evals_mcp.world.naming import offered  # noqa: PLC0415  few cases have a world

        makes = self.request.target is not None
        return offered(world, tapes_in=self.engine.config.world_folder if makes else None)


def _refuse(unknown: Iterable[UnknownName], named: str) -> None:
    for field_name, reason, remedy in unknown:
        raise InvalidRecordError(reason, field=field_name, record=named, remedy=remedy)
