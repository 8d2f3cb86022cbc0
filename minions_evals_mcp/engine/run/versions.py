"""The prompt version of each case of a run, and whose version an output is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.digests import combined, digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.judge.compose import UNKNOWN_VERSION, OutputVersion
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.version_chain import (
    common_prompt,
    default_name,
    default_version,
    find_ref,
    version_record,
)
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job


@frozen_type
class RunVersions:
    """The versions of a run: the one that was asked for, else those that the cases' own names stood for at its start.

    `known` keeps, for each name met, the version's record; `outputs` what is said of outputs, by the version's id.
    """

    asked: str | None = None
    known: dict[str, Record[PromptVersion] | None] = field(default_factory=dict[str, "Record[PromptVersion] | None"])
    outputs: dict[str, OutputVersion] = field(default_factory=dict[str, OutputVersion])
    contents: dict[str, str] = field(default_factory=dict[str, str])
    """The digests of what versions say, by their ids."""

    def of(self, case: TestCase) -> Record[PromptVersion] | None:
        """The version that the case is asked with."""
        name = self.asked or default_name(case)
        return None if name is None else self.known.get(name)

    def default_ref(self, case: TestCase) -> str | None:
        """The id of the version that the case is run with by default, recorded or not."""
        version = self.of(case)
        return case.prompt_version_ref if version is None else version.id

    def meet(self, db: Db, cases: Iterable[TestCase]) -> None:
        """Finds the versions of those cases, each name once."""
        for case in cases:
            name = self.asked or default_name(case)
            if name is not None and name not in self.known:
                version = version_record(db, name) if self.asked is not None else default_version(db, case)
                self.known[name] = version
                if version is not None:
                    self.outputs[version.id] = _said_of(version.id, version)

    def of_output(self, ref: str | None) -> OutputVersion:
        """Returns what is known of the version that an output names; of an output that names none, the one asked for."""
        ref = ref or self.asked
        return UNKNOWN_VERSION if ref is None else self.outputs.get(ref, OutputVersion(ref))

    def content_digest(self, version: Record[PromptVersion]) -> str:
        """The digest of what the version says."""
        if version.id not in self.contents:
            self.contents[version.id] = digest(version.fields.content)
        return self.contents[version.id]

    def meet_output(self, db: Db, ref: str | None) -> None:
        """Looks the version up that a recorded output names."""
        if ref is not None and ref not in self.outputs:
            self.outputs[ref] = _said_of(ref, version_record(db, ref))

    def recorded(self) -> list[Record[PromptVersion]]:
        """The recorded versions, each once."""
        return list({version.id: version for version in self.known.values() if version is not None}.values())

    def digest(self) -> str | None:
        """Equal for runs that ask their cases with the same versions; None where there is none."""
        return combined([version.id for version in self.recorded()] or [None])

    def frozen(self) -> dict[str, str]:
        """The id that each name stands for."""
        return {name: version.id for name, version in self.known.items() if version is not None}


def _said_of(ref: str, version: Record[PromptVersion] | None) -> OutputVersion:
    if version is None:
        return OutputVersion(ref)
    return OutputVersion(ref, version.fields.version_number, digest(version.fields.content))


def with_version(db: Db, request: RunRequest, case_ids: Iterable[str]) -> RunRequest:
    """The request with the version that it names by its id; raises as `find_version` does for one that is unknown.

    A run that is resumed under its key keeps the version that the name stood for when it began.
    """
    name = request.prompt_version_ref
    if name is None or request.rejudge_run_id is not None:
        return request
    ref = _frozen_names(db, request).get(name) or find_ref(db, name, prompt=_prompt_of_cases(db, name, case_ids))
    if request.target is not None and version_record(db, ref) is None:
        raise NotFoundError(
            "prompt-version",
            ref,
            remedy=f"{Next('import-version', {'file': 'FILE'}, 'saves it')}."
            f" Or leave {argument('prompt_version_ref')} out.",
        )
    return request.model_copy(update={"prompt_version_ref": ref})


def versions_of_job(db: Db, job: Job, request: RunRequest) -> RunVersions:
    """The versions that a job was started with."""
    refs = job.spec.get("versions", {})
    names = {name: str(ref) for name, ref in refs.items()} if isinstance(refs, dict) else {}
    return RunVersions(request.prompt_version_ref, {name: version_record(db, ref) for name, ref in names.items()})


def named_alike(db: Db, request: RunRequest) -> dict[str, Record[PromptVersion] | None]:
    """Returns what the names stood for when the run under the request's key began; empty for a new one."""
    return {name: version_record(db, ref) for name, ref in _frozen_names(db, request).items()}


def _frozen_names(db: Db, request: RunRequest) -> Mapping[str, str]:
    job = None if request.key is None else jobs.job_by_key(db, request.key)
    refs = {} if job is None else job.spec.get("versions", {})
    return {name: str(ref) for name, ref in refs.items()} if isinstance(refs, dict) else {}


def _prompt_of_cases(db: Db, name: str, case_ids: Iterable[str]) -> str | None:
    """The prompt whose version a bare number, or `latest`, is meant to be."""
    if not name.isdigit() and name != "latest":
        return None
    cases = [case.fields for case in records.get_all(db, case_ids, TestCase).values()]
    return common_prompt(db, cases)


def vet_agent_run(version: str | None, ident: str, made_with: str | None) -> None:
    """Refuses an agent-run that was made with another version than the one asked for."""
    if version is not None and made_with is not None and made_with != version:
        raise BadInputError(
            f"agent-run {ident} used {made_with}, not {version}.",
            remedy="Leave the version out, or name the version it used.",
        )
