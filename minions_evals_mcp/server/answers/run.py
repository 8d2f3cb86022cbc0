"""A run in words for a model: one line of figures, the lists that matter, and the calls that come next."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import EVIDENCE_WORDS
from minions_evals_mcp.engine.answers.run_summary import PassRateBounds, RunSummary
from minions_evals_mcp.engine.audit_standing.standing import AuditStanding
from minions_evals_mcp.engine.licences.standing import JudgeStanding
from minions_evals_mcp.judges.packets import AskedCriterion, Packet
from minions_evals_mcp.judges.user_packets import HOW_TO_PLAY, UserPacket
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.presentation.next_steps import Tools
from minions_evals_mcp.presentation.resuming import resume_line
from minions_evals_mcp.presentation.verdict_words import beside_passes, compared_words, level_words
from minions_evals_mcp.report.sentences import addressed_words, instead_words, passed_words, trials
from minions_evals_mcp.server.edge.compact import compact_object, once, short_part, short_run, with_short_ids
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.signatures.runs import RunAnswer

FOR_A_PERSON = (
    "Items that waitsFor a person must be judged by a person, not by you: in this host's form, on the page, or at a terminal"
    f" ({Next('judge')}). You cannot submit them, even on a person's behalf. You judge only runs with judge=caller."
)
NO_MODEL = (
    "No judge model is configured: this server has no ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIONS_EVALS_JUDGE_MODEL. Its operator can"
    " set one. Judge these requests yourself, under your own name. They count as an agent's judgments. For human judgments, run again with"
    " judge=human."
)
"""Why the caller judges, where nobody asked for that."""
A_PERSON = "a person"
FOR_A_BASELINE = (
    "Items that waitsFor a baseline have no check yet: show them to a person. Save the accepted output as the case's expectedOutputs,"
    " which judges it at once."
)
NAMED = 5
"""So many cases of a cause are named."""
NO_BASELINE = "a baseline"


def run_told(
    summary: RunSummary, spec: Mapping[str, JsonValue], *, offset: int, limit: int, store: Path | None
) -> RunAnswer:
    """The summary as an answer: `limit` entries of each list from `offset` on; what every packet repeats is said once.

    What is a person's to type names the store that was named.
    """
    page = slice(offset, offset + limit)
    asked = [*summary.user_packets, *summary.packets][page]
    packets = [packet for packet in asked if isinstance(packet, Packet)]
    users = [packet for packet in asked if isinstance(packet, UserPacket)]
    return RunAnswer.of(
        summary,
        without={
            "more_packets",
            "workers",
            "lacks_model",
            "for_people",
            "user_packets",
            "addressed_judge",
            "reused_judgments",
            "self_judged",
            "repeated_judgments",
            "outputs",
            "own_run",
        },
        summary=one_line(summary),
        key="" if summary.key == summary.run_id else summary.key,
        verdict=run_verdict(summary),
        reason=in_tools(summary.reason),
        spent=_spent(summary),
        benchmark_run=_figures(summary),
        bounds=_bounds(summary),
        names={ident: name for ident, name in summary.names.items() if name != ident},
        causes=[cause_line(cause.model_dump(mode="json"), summary.run_id) for cause in summary.causes[page]],
        failures=_failures(summary, page),
        unscored=_unscored(summary, page),
        test_runs=[_without_digests(run) for run in summary.test_runs[page]],
        judge=summary.judge and brief(summary.judge),
        audit=summary.audit and brief(summary.audit),
        user_errors=summary.user_errors
        and {**summary.user_errors.model_dump(mode="json"), "inWords": summary.user_errors.sentence},
        reliability=summary.reliability
        and {
            "trials": summary.reliability.trials,
            "allPass": summary.reliability.all_pass[-1],
            "anyPasses": summary.reliability.any_passes[-1],
            "inWords": summary.reliability.sentence,
        },
        variance=summary.variance and {"buy": summary.variance.buy, "inWords": summary.variance.sentence},
        instructions=in_tools(_instructions(packets, users, summary), store),
        criteria=_criteria(packets),
        packets=[*map(_user, users), *(_bare(packet, summary.for_people) for packet in packets)],
        waiting=len(summary.packets) + len(summary.user_packets) + summary.more_packets,
        next=list(next_calls(summary, spec)),
    )


def brief(standing: JudgeStanding | AuditStanding) -> Json:
    """The standing in a sentence, with the tool call or the person that helps."""
    wire = standing.brief()
    return {**wire, "inWords": in_tools(str(wire["inWords"]))}


def run_verdict(summary: RunSummary) -> Json | None:
    """The one word on a concluded benchmark-run: whether its threshold is reached, and whether it fell, on what evidence.

    `regression`: `new` since the run before; `not-recovered` since an earlier run; `fall` of passes or scores that is no regression
    by the rule of ten points; else `none`.
    """
    run = summary.benchmark_run
    if run is None:
        return None
    fell = summary.regression or summary.fall or {}
    since = fell.get("fallenSince") or fell.get("previousRunId") or fell.get("since")
    return {
        **({} if run.get("passed") is None else {"passed": run["passed"]}),
        "regression": regression_word(summary),
        "evidence": "supported" if summary.fall is not None else fell.get("evidence") or run.get("evidence"),
        **({"since": short_run(str(since))} if since else {}),
    }


def regression_word(summary: RunSummary) -> str:
    """The kind of fall, if any."""
    if summary.regression is not None:
        return "new" if summary.regression.get("isNew") else "not-recovered"
    return "none" if summary.fall is None else "fall"


def cause_line(wire: Json, run_id: str) -> Json:
    """A cause with the first of its cases, whose number is `cases`: without a title that its summary or their id says."""
    cases = wire.get("affected")
    shown: list[JsonValue] = (
        [_case(case, run_id) for case in cases[:NAMED] if isinstance(case, dict)] if isinstance(cases, list) else []
    )
    said = {"title"} if str(wire.get("summary")).endswith(f": {wire.get('title')}") else set[str]()
    first = wire.get("firstRunId")
    own = {name: value for name, value in wire.items() if name not in {*said, "firstRunId"}}
    since: Json = {"firstRunId": short_run(first)} if isinstance(first, str) and first != run_id else {}
    return {**own, **since, "affected": shown}


def _case(wire: Json, run_id: str) -> Json:
    """A case's line without a title that is its id, and with its unit by the beginning of the run's id."""
    return with_short_ids(
        {
            name: value
            for name, value in wire.items()
            if not (name == "title" and value == wire.get("testCaseId")) and not (name == "isNew" and not value)
        },
        run_id,
    )


def _failures(summary: RunSummary, page: slice) -> list[Json]:
    """The failures, each said once; the number of a trial only where there are several."""
    has_trials = any(line.trial > 1 for line in summary.failures)
    lines = [_case(line.model_dump(mode="json"), summary.run_id) for line in summary.failures[page]]
    shown = lines if has_trials else [{name: line[name] for name in line if name != "trial"} for line in lines]
    return once(map(compact_object, shown), "testRunId")


def _unscored(summary: RunSummary, page: slice) -> list[Json]:
    """The units without a verdict, each reason said once; the number of a trial only where there are several."""
    has_trials = any(line.trial > 1 for line in summary.unscored)
    lines = [{**line.model_dump(mode="json"), "reason": in_tools(line.reason)} for line in summary.unscored[page]]
    shown = lines if has_trials else [{name: line[name] for name in line if name != "trial"} for line in lines]
    return once(map(compact_object, shown), "testCaseId")


UNSAID = (("expectedOutputs", None), ("trial", 1))
"""What a packet does not say: that nothing is expected, and that there is one trial."""
SAID_ABOVE = frozenset({"isRegression", "evidence", "passed", "fallenSince", "fall", "benchmarkId", "digests"})
"""Fields of a benchmark-run that its answer says elsewhere: in the verdict, in `regression` and `fall`, in its ids."""


def _figures(summary: RunSummary) -> Json:
    """The figures of a benchmark-run beside its verdict; get_record has the whole record."""
    run = summary.benchmark_run or {}
    said = compact_object({name: value for name, value in run.items() if name not in SAID_ABOVE})
    if said.get("id") == summary.run_id:
        del said["id"]
    return said


def _spent(summary: RunSummary) -> dict[str, float]:
    """What was spent; of a run that goes on not the calls that are under way, which it will be told the answers of."""
    under_way = {"unansweredCalls", "unansweredOutputs"} if summary.state == "running" else set[str]()
    return {name: amount for name, amount in summary.spent.items() if name not in under_way}


def _bounds(summary: RunSummary) -> PassRateBounds | None:
    """The bounds of the pass rate; none where all was scored, for then they are the rate itself."""
    bounds = summary.bounds
    return None if bounds is None or bounds.worst == bounds.best else bounds


def _without_digests(run: Json) -> Json:
    """Returns what is known of a run; get_record has its digests."""
    return {name: value for name, value in run.items() if value is not None and name != "digests"}


def _criteria(packets: Sequence[Packet]) -> list[AskedCriterion]:
    """The criteria of all the packets, each once."""
    judged = [packet for packet in packets if not packet.wants_baseline]
    return list({criterion.criterion_id: criterion for packet in judged for criterion in packet.criteria}.values())


def _bare(packet: Packet, for_people: Collection[str]) -> Json:
    """The packet with the ids of its criteria only, or with what it waits for."""
    own = packet.model_dump(mode="json", exclude={"instructions", "criteria"})
    own = {name: own[name] for name in own if (name, own[name]) not in UNSAID}
    if packet.wants_baseline:
        return {**own, "waitsFor": NO_BASELINE}
    waits: Json = {"waitsFor": A_PERSON} if packet.digest in for_people else {}
    return {**own, **waits, "criterionIds": [criterion.criterion_id for criterion in packet.criteria]}


def _user(packet: UserPacket) -> Json:
    """The request for a message of a user, with whom it waits for where that is a person."""
    waits: Json = {"waitsFor": A_PERSON} if packet.player == "person" else {}
    return {**packet.model_dump(mode="json", exclude={"player"}), **waits}


def _instructions(packets: Sequence[Packet], users: Sequence[UserPacket], summary: RunSummary) -> str:
    """Returns what to do with the packets, and who is to do it."""
    callers = _callers(packets, summary)
    parts = (
        HOW_TO_PLAY if any(packet.player == "caller" for packet in users) else "",
        callers[-1].instructions if callers else "",
        NO_MODEL if callers and summary.lacks_model else "",
        FOR_A_PERSON if any(packet.digest in summary.for_people for packet in (*packets, *users)) else "",
        FOR_A_BASELINE if any(packet.wants_baseline for packet in packets) else "",
    )
    return " ".join(part for part in parts if part)


def _callers(packets: Sequence[Packet], summary: RunSummary) -> list[Packet]:
    """The packets that are the caller's to judge."""
    return [packet for packet in packets if not packet.wants_baseline and packet.digest not in summary.for_people]


COUNTED = {"awaiting-judgments": "waiting to be judged"}


def one_line(summary: RunSummary) -> str:
    """State and figures, of ids and numbers only: what agents wrote stands in data fields."""
    parts = [f"{summary.kind} {summary.subject_id}: {summary.state}"]
    run = summary.benchmark_run
    if run is not None:
        parts.append(
            f"{passed_words(summary, run)} ({_figure(run['passRate'])} %), score {_figure(run['overallScore'])}"
        )
    elif summary.kind == "test-case" and summary.state == "completed" and summary.test_runs:
        parts.append(
            f"{sum(run['passed'] is True for run in summary.test_runs)} of {len(summary.test_runs)}{trials(summary)} passed"
        )
    elif summary.open and summary.state != "completed":
        parts.append(f"{summary.units - summary.open} of {summary.units} done")
    if summary.outputs:
        parts.append(summary.outputs)
    parts.extend(_verdicts(summary))
    if summary.failure_types:
        parts.append(
            f"failed{trials(summary)}: "
            + ", ".join(f"{number} {name}" for name, number in summary.failure_types.items())
        )
    counts = {name: number for name, number in summary.outcomes.items() if name not in {"scored", "timed-out"}}
    parts.extend(f"{number} {COUNTED.get(name, name)}" for name, number in counts.items())
    parts.extend(_doubts(summary))
    return "; ".join(parts)


def _doubts(summary: RunSummary) -> Iterator[str]:
    """Yields what of the judgments says less than it seems to."""
    if instead := instead_words(summary.benchmark_run or {}):
        own = f": its own judge's newest run is {summary.own_run}, which gates use" if summary.own_run else ""
        yield f"{instead}{own}"
    if summary.reused_judgments:
        yield f"{summary.reused_judgments} judgments of earlier runs reused (fresh: true judges again)"
    if summary.self_judged:
        yield f"{summary.self_judged} judged by their producer: no evidence for an approval"
    if summary.repeated_judgments:
        yield (
            f"{summary.repeated_judgments} judgments repeated (one rationale for five different outputs or more): no evidence for an"
            " agent's approval"
        )
    if addressed := addressed_words(summary):
        yield addressed


def _verdicts(summary: RunSummary) -> Iterator[str]:
    """The verdict beside the run before, the newest change of level, the fall, and the documents' rule where it fired."""
    if summary.change is not None:
        yield f"compared with the run before, {compared_words(summary.change)}"
    if summary.level_change is not None:
        yield f"newest level shift: {level_words(summary.level_change)}"
    if summary.regression is None and summary.fall is not None:
        yield f"FALL: {summary.fall['summary']}"
    if summary.regression is not None:
        since = summary.regression.get("fallenSince")
        what = "REGRESSION" if summary.regression.get("isNew") else "NOT RECOVERED"
        beside = beside_passes(summary.regression, summary.fall)
        yield f"{what}{f' since {since}' if since else ''}, {EVIDENCE_WORDS[str(summary.regression['evidence'])]}{beside}"


def _figure(number: JsonValue) -> str:
    return f"{number:.3g}" if isinstance(number, int | float) else "unknown"


def next_calls(summary: RunSummary, spec: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yields what to call next, ready to be copied."""
    run = json.dumps(summary.run_id)
    match summary.state:
        case "running" if summary.reason:  # its process is gone
            yield resume_line(summary, spec, Tools())
        case "running":
            yield f'get_run {{"runId": {json.dumps(short_run(summary.run_id))}, "waitSeconds": 20}}'
        case "awaiting-judgments":
            yield from _judged(summary)
        case "stopped" | "failed" | "cancelled":
            yield from recorded_calls(summary, spec)
            yield resume_line(summary, spec, Tools())
        case "completed":
            if summary.failures:
                first = short_part(summary.failures[0].test_run_id, summary.run_id)
                yield f'get_record {{"id": {json.dumps(first)}}}'
                yield f'classify_failure {{"id": {run}}}'
            yield from recorded_calls(summary, spec)


def recorded_calls(summary: RunSummary, spec: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yields how an output is recorded that was missing; a run of its case takes it from then on."""
    skipped = [unscored_case.test_case_id for unscored_case in summary.unscored if unscored_case.outcome == "skipped"]
    if skipped:
        version = cast("Json", spec["request"]).get("promptVersionRef")
        of_version: Json = {"promptVersionRef": version} if version else {}
        inputs: Json = {"…": f"those of {skipped[0]}"}
        fields: Json = {"agentId": "…", **of_version, "inputs": inputs, "outputs": {"output": "…"}}
        arguments = json.dumps({"records": [{"type": "agent-run", "fields": fields}]}, ensure_ascii=False)
        yield f"record the missing output, then run again: save_records {arguments}"


def _judged(summary: RunSummary) -> Iterator[str]:
    run = json.dumps(summary.run_id)
    if any(packet.player == "caller" for packet in summary.user_packets):
        yield f'submit_judgments {{"runId": {run}, "packets": [{{"digest": "…", "message": "…"}}]}}'
    if _callers(summary.packets, summary):
        yield (
            f'submit_judgments {{"runId": {run}, "judgedBy": "YOUR-ID", "packets":'
            ' [{"digest": "…", "judgments": [{"criterionId": "…", "score": 0, "rationale": "…"}]}]}'
        )
    if summary.for_people:
        yield f'after a person has judged: get_run {{"runId": {json.dumps(short_run(summary.run_id))}}}'
    wanting = [packet for packet in summary.packets if packet.wants_baseline]
    for packet in wanting[:1]:
        fields: Json = {"expectedOutputs": {"output": "…"}}
        case: Json = {"id": packet.test_case_id, "type": "test-case", "fields": fields}
        arguments = json.dumps({"records": [case], "merge": True}, ensure_ascii=False)
        yield f"after a person has accepted an output: save_records {arguments}"
