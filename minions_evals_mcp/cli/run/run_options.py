"""The options of a run, and the request that they make."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.derived import GivenOptions, help_of, options_of
from minions_evals_mcp.cli.run.agreeing import vet_project
from minions_evals_mcp.cli.run.targeting import read_target
from minions_evals_mcp.cli.session import Common, session
from minions_evals_mcp.engine.request import RunSettings
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.fields import fields_at
from minions_evals_mcp.operations.table import TABLE
from minions_evals_mcp.settings import settings_here
from minions_evals_mcp.targets.own import OwnTarget

Positive = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=1000))]
Fraction = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=1))]
Judge = Literal["auto", "heuristic", "llm", "human", "caller"]


RUN_BENCHMARK = TABLE["run_benchmark"]
OF_RUN = frozenset({*RunSettings.model_fields, "prompt_version_ref"})
"""The fields of a request that `RunOptions` takes."""
R = TypeVar("R", bound=RunSettings)

if TYPE_CHECKING:
    from minions_evals_mcp.engine.request import RunSettings as Settings  # the options have its fields
else:
    Settings = options_of(RUN_BENCHMARK, RunSettings.model_fields)


@Parameter(name="*")
@frozen_type
class RunOptions:
    """The options of a run."""

    settings: Settings = Settings()
    prompt_version: Annotated[str | None, Parameter(help=help_of(RUN_BENCHMARK, "prompt_version_ref"))] = None
    judge_model: Annotated[
        str | None, Parameter(help="Judge model, as provider:model (MINIONS_EVALS_JUDGE_MODEL).")
    ] = None
    target_config: Annotated[
        Path | None, Parameter(help="A YAML file that describes how to call your application, as http: or command:.")
    ] = None
    concurrency: Annotated[
        Positive | None, Parameter(help="Maximum number of cases run in parallel (MINIONS_EVALS_CONCURRENCY, else 16).")
    ] = None
    trust_code: Annotated[
        bool,
        Parameter(help="Run assertion code outside the sandbox, with all your permissions.", negative=""),
    ] = False
    embedder: Annotated[
        str | None,
        Parameter(
            help="Embedder for similarity: wordllama, semantic, openai:MODEL (MINIONS_EVALS_EMBEDDER, else wordllama)."
        ),
    ] = None
    yes: Annotated[
        bool,
        Parameter(
            help="Consent to everything the file names: programs, code, addresses, variables, outside paths.",
            negative="",
        ),
    ] = False

    @property
    def trials(self) -> int | None:
        """Repetitions of each case, where the command line says how many."""
        return cast("int | None", self.settings.trials)

    def with_settings(self, **changes: object) -> RunOptions:
        """The options with these settings in place of their own."""
        return replace(self, settings=replace(cast("Any", self.settings), **changes))

    def values(self) -> dict[str, object]:
        """The settings by the request's names: those that were given, else the project's, else none."""
        given = {
            offered.field: cast("object", getattr(self.settings, offered.name))
            for offered in fields_at(RUN_BENCHMARK, "cli")
            if offered.field in RunSettings.model_fields
        }
        max_cost_usd, max_seconds = self._caps()
        own = {"target": self.target_name(), "max_cost_usd": max_cost_usd, "max_seconds": max_seconds}
        return {name: value for name, value in {**given, **own}.items() if value is not None}

    def request(self, operation: str, kind: type[R], **own: object) -> R:
        """The request of that operation, with these options and with what is given beside them; raises `BadInputError`."""
        named = {"prompt_version_ref": self.prompt_version, **own}
        return GivenOptions(TABLE[operation], self.values()).request(kind, **named)

    def target_name(self) -> str | None:
        """The target that is asked for: the one that is named, set up in a file, or the project's.

        Raises `BadInputError` for two of them, and for a project's that runs code and was not agreed to.
        """
        if self.target_config is None:
            return self.settings.target or self._of_project()
        if self.settings.target is not None:
            raise BadInputError("--target and --target-config both name a target.", remedy="Give one of them.")
        return read_target(self.target_config).name

    def _of_project(self) -> str | None:
        project = settings_here().project
        if project is None or (project.fields.target is None and project.fields.target_config is None):
            return None
        vet_project(project, yes=self.yes)
        if str(project.folder) not in sys.path:
            sys.path.insert(0, str(project.folder))  # a python: target stands beside the file
        if project.fields.target_config is not None:
            return read_target(project.path(project.fields.target_config)).name
        return project.fields.target

    def _own_target(self) -> OwnTarget | None:
        if self.target_config is not None:
            return read_target(self.target_config)
        project = settings_here().project
        if project is None or project.fields.target_config is None or self.settings.target is not None:
            return None
        return read_target(project.path(project.fields.target_config))

    def _caps(self) -> tuple[float | None, float | None]:
        """The caps of the command line, else the project's."""
        project = settings_here().project
        own = None if project is None else project.fields.caps
        cost, seconds = (
            self.settings.max_cost_usd,
            self.settings.max_seconds,
        )  # 0 is refused where it is read, not passed over
        if own is None:
            return cost, seconds
        return own.max_cost_usd if cost is None else cost, own.max_seconds if seconds is None else seconds

    def session(
        self, common: Common, *, own_target: OwnTarget | None = None, makes: bool = False
    ) -> AbstractAsyncContextManager[Engine]:
        """An open engine that is set up by these options; `own_target` stands for the target that they name."""
        return session(
            common,
            agrees=self.yes,
            judge_model=self.judge_model,
            concurrency=self.concurrency,
            embedder=self.embedder,
            trust_code=self.trust_code,
            own_target=own_target or self._own_target(),
            makes=makes,
        )


RUN_DEFAULTS = RunOptions()
