"""Runs as tasks: the same jobs under the same ids, for clients that follow handles and not `get_run`."""

from __future__ import annotations

import anyio
from mcp_types import ElicitResult
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.speaker import EDITOR, Role, require_role
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations.table import offers
from minions_evals_mcp.server.session.calls import Call, person_of, shows_forms, takes_forms_from
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.server.tasks.extension import Asker, Json, Status, TaskState

AWAITING = "awaiting-judgments"
STARTING = frozenset(name for name, operation in offers("mcp").items() if operation.long_running)
"""Calls that a handle may answer; `get_run` only looks."""


class RunBoard:
    """The runs of a session, as tasks. One that waits for a person asks a client that shows forms, one output after the other."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._declined: set[str] = set()
        self._names: dict[str, str] = {}

    async def find(self, task_id: str, ctx: Asker) -> TaskState | None:
        """The run under that id; its result is what the tool would have answered."""
        from minions_evals_mcp.server.tools.running import Shape, run_answer  # noqa: PLC0415  it needs the engine's modules

        job = await self._job(task_id)
        if job is None:
            return None
        call = Call(await self._session.engine(), await self._session.runs(), self._session.target, _untold)
        answer = await run_answer(call, job, Shape())
        result_wire: Json = answer.structured_content or {}
        status = _status(
            str(result_wire["state"]), str(result_wire.get("reason", ""))
        )  # both as of one look at the run
        detail: Json = {}
        if status == "completed" and (asked := await self._asked(job, ctx)):
            status = "input_required"
            detail["inputRequests"] = asked
        elif status == "completed":
            detail["result"] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        return TaskState(job.id, status, str(result_wire["summary"]), job.created_at, job.updated_at, detail)

    async def _asked(self, job: get_run.Job, ctx: Asker) -> Json:
        """The question about the next output that a person judges; none where nobody can be asked, or somebody declined."""
        from minions_evals_mcp.server.session.elicitation import NOBODY, question_about  # noqa: PLC0415  as above

        if job.state != AWAITING or job.id in self._declined or not shows_forms(ctx.session.client_capabilities):
            return {}
        if not takes_forms_from(ctx):
            return {}
        request = job.spec.get("request")
        if isinstance(request, dict) and request.get("judge") == "caller":
            return {}
        speaker, likely = person_of(ctx), self._names.get(job.id, NOBODY)
        name = None if speaker is None else speaker.name
        asked = await question_about(await self._session.engine(), job, name, likely=likely)
        return {} if asked is None else {asked[0]: asked[1].model_dump(by_alias=True, mode="json", exclude_none=True)}

    async def cancel(self, task_id: str, ctx: Asker) -> None:
        """Stops the run; what was judged is kept."""
        _require(ctx, EDITOR)
        with anyio.CancelScope(shield=True):
            await (await self._session.runs()).cancel(task_id)

    async def answer(self, task_id: str, responses: Json, ctx: Asker) -> None:
        """Keeps what the person said of each output; who declines is not asked again, and the rest waits in the queue."""
        from minions_evals_mcp.server.session.elicitation import keep_verdicts  # noqa: PLC0415  as above

        _require(ctx, "judge")
        if not takes_forms_from(ctx):
            raise BadInputError(
                "inputResponses: over HTTP a person is who brings a person's token, and none came.",
                remedy="Send it as the bearer token; `minions-evals people add NAME` makes one.",
            )
        job = await self._job(task_id)
        if job is None or job.state != AWAITING:
            return
        engine = await self._session.engine()
        speaker = person_of(ctx)
        engine = engine if speaker is None else engine.speaking(speaker)
        for digest, response in responses.items():
            answer = _answer(response)
            if answer.action != "accept":
                self._declined.add(job.id)
                return
            known = None if speaker is None else speaker.name
            self._names[job.id] = await keep_verdicts(engine, job, digest, answer, known=known)

    async def _job(self, task_id: str) -> get_run.Job | None:

        try:
            job = await get_run.stored_job(await self._session.engine(), task_id)
        except NotFoundError:
            return None
        return job if job.id == task_id else None


def _require(ctx: Asker, needed: Role) -> None:
    """Raises `NotAllowedError` where a person asks whose role does not include that one."""
    speaker = person_of(ctx)
    if speaker is not None:
        require_role(speaker, needed)


def _answer(response: JsonValue) -> ElicitResult:
    try:
        return ElicitResult.model_validate(response)
    except ValidationError:
        raise BadInputError(
            "inputResponses: an answer to a form needs an action.", remedy="Use accept, decline or cancel."
        ) from None


def _status(state: str, reason: str) -> Status:
    """A run that stopped by itself has an answer that says so; one that a server's end stopped goes on with the next start."""
    from minions_evals_mcp.server.session.background_runs import CANCELLED, CLOSED  # noqa: PLC0415  as above

    if state == "running" or (state == "stopped" and reason == CLOSED):
        return "working"
    if state == "cancelled" or (state == "stopped" and reason == CANCELLED):
        return "cancelled"
    return "completed"


async def _untold(progress: float, total: float | None, message: str | None) -> None:
    """Nobody waits: the client polls."""
