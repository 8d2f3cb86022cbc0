"""Instructions in plain words: a model takes one step after the other, each a message that the loop carries out as any other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

import anyio
from pydantic import JsonValue

from agent.instructions.allowed_messages import FINISH, LIST, SHOW, Bearings, arguments_of, looked_up, payload_of
from agent.instructions.turns import InstructionWork, ModelTurn, next_turn
from agent.message_work import InstructionBounds, MessageWork
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.errors import BadInputError, StoppedError, UnsupportedError
from minions_evals_mcp.messages import payloads
from minions_evals_mcp.messages.send_message import UNREADABLE
from minions_evals_mcp.presentation.next_steps import Messages, in_terms
from minions_evals_mcp.skills import OwnSkill
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.inbox import Arriving, Message
from minions_evals_mcp.store.connection import Db

SKILL_DUE = "skill-due"


async def follow_instruction(work: MessageWork) -> Json:
    """instruction: what its text asks for is done, step by step, by the model that is set up."""
    text = work.payload_as(payloads.Instruction).text
    return await _carried_out(work, text, _work(work, work.bounds))


async def start_skill(skill: OwnSkill, work: MessageWork) -> Json:
    """A trigger of a skill of one's own: it becomes a message of its own, so that its steps hold up nothing else."""
    came = work.message
    if await work.engine.store.read(partial(_is_of_a_step, message=came)):
        return {"skill": skill.name, "skipped": "events caused by an instruction start no skill"}
    due = payloads.SkillDue(skill=skill.name, message_id=came.id, message_type=came.type, message=came.payload)
    ident = f"skill:{text_digest(f'{skill.name} {came.id}')}"
    topic = payloads.topic_of(payloads.OWN[SKILL_DUE], due, ident)
    arriving = Arriving(ident, SKILL_DUE, topic, came.sender, due.model_dump(mode="json"))
    await work.loop.hand_in(arriving, refused="")
    return {"skill": skill.name, "messageId": ident}


async def follow_skill(skills: Mapping[str, OwnSkill], doing: MessageWork) -> Json:
    """Returns what a skill of one's own says is done within its limits; the message that started it is data to the model."""
    due = doing.payload_as(payloads.SkillDue)
    skill = skills.get(due.skill)
    if skill is None:
        raise UnsupportedError(
            f"the skill {due.skill!r} is no longer in the folder.", remedy="Restore it, or ignore this."
        )
    limits, bounds = skill.limits, doing.bounds
    within = InstructionBounds(
        steps=min(limits.max_steps, bounds.steps) + 1,  # the message itself is the first thing that the model is told
        cost_usd=min(limits.max_cost_usd, bounds.cost_usd),
        seconds=min(limits.max_seconds, bounds.seconds),
    )
    work = _work(doing, within)
    work.note(f"the {due.message_type} that started this skill", json.dumps(due.message, ensure_ascii=False))
    return {"skill": skill.name, **await _carried_out(doing, f"Carry out this skill.\n\n{skill.instructions}", work)}


def _is_of_a_step(db: Db, *, message: Message) -> bool:
    """Returns whether the message is a step, or tells of a run that one set off: a skill would start itself for ever."""
    subject = str(message.payload.get("subjectId", ""))
    job = jobs.job(db, subject) or jobs.job(db, subject.rpartition(":")[0])
    return message.id.startswith("step:") or (job is not None and job.key.startswith("message:step:"))


def _work(work: MessageWork, bounds: InstructionBounds) -> InstructionWork:
    model = work.engine.judge_model()
    if model is None:
        raise UnsupportedError(
            "an instruction needs a model, and none is configured.",
            remedy="Set ANTHROPIC_API_KEY, or --judge-model with its key.",
        )
    return InstructionWork(work, model, bounds, anyio.current_time() + bounds.seconds)


async def _carried_out(doing: MessageWork, text: str, work: InstructionWork) -> Json:
    while (message := await _saved_work(doing, work.next_id)) is not None:  # steps from before a crash
        await _wait_for(work, message)
    while True:
        bearings = work.left()
        turn = await next_turn(work, text, deadline_s=min(doing.engine.config.call_timeout_s, bearings.seconds))
        if turn is not None and turn.verb == FINISH:
            return {"said": turn.reason, "steps": list[JsonValue](work.made)}
        if turn is not None:
            await _step(work, turn, bearings)


async def _saved_work(work: MessageWork, ident: str) -> Message | None:
    return await work.engine.store.read(lambda db: inbox.message(db, ident))


async def _step(work: InstructionWork, turn: ModelTurn, bearings: Bearings) -> None:
    """Takes the step: a look, or a message; one that is refused is kept with the dead letters and told to the model."""
    try:
        arguments = arguments_of(turn.arguments)
        if turn.verb in {LIST, SHOW}:
            answer = await looked_up(work.asked.engine, turn.verb, arguments)
            work.note(f"{turn.verb} {turn.arguments}", json.dumps(answer, ensure_ascii=False))
            return
        payload = payload_of(turn.verb, arguments, bearings)
    except BadInputError as error:
        refused: Json = {"verb": turn.verb, "arguments": turn.arguments}
        arriving = Arriving(work.next_id, UNREADABLE, work.next_id, None, refused)
        await _wait_for(
            work,
            await work.asked.loop.hand_in(
                arriving, refused=in_terms(error.text, Messages(work.asked.engine.config.named_db))
            ),
        )
    else:
        kind = payloads.kind_of(turn.verb)
        message_payload = payloads.payload_as(kind.payload, payload, message=work.next_id)
        topic = payloads.topic_of(kind, message_payload, work.next_id)
        arriving = Arriving(work.next_id, turn.verb, topic, None, payload)
        await _wait_for(work, await work.asked.loop.hand_in(arriving, refused=""))


async def _wait_for(work: InstructionWork, message: Message) -> None:
    """Notes how the step's message ended."""
    try:
        with anyio.fail_after(max(0.0, work.until - anyio.current_time())):
            ended = await work.asked.loop.settled(message, of=work.asked.message)
    except TimeoutError:
        raise StoppedError(f"the instruction was not finished after {work.bounds.seconds:g} s.") from None
    verb = str(ended.payload.get("verb", "")) if ended.type == UNREADABLE else ended.type
    result = f"done: {json.dumps(ended.result)}" if ended.state == "done" else f"refused: {ended.reason}"
    work.made.append({"messageId": ended.id, "verb": verb, "state": ended.state})
    work.note(f"{verb} {json.dumps(ended.payload, ensure_ascii=False)}", result)
    work.cost_usd += await work.asked.engine.store.read(lambda db: _cost(db, f"message:{ended.id}"))


def _cost(db: Db, key: str) -> float:
    """Returns what the run under that key has cost; a step that is no run costs nothing."""
    job = jobs.job_by_key(db, key)
    return 0.0 if job is None else job.spent.get("costUsd", 0.0)
