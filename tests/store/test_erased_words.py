"""Erasing leaves no word that an output came with: of its conversation, its log, its messages and its audits."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import fields_from_json
from minions_evals_mcp.domain.tagged_values import listed_values
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.store.connection import Db, open_raw
from minions_evals_mcp.store.erasure.forgetting import forget
from minions_evals_mcp.store.erasure.scope import ErasureScope
from minions_evals_mcp.store.rows import TABLES, record_of, select
from tests.shared.store.file_bytes import bytes_of
from tests.store.test_forgetting import written
from tests.workshop import Json

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
LATER = NOW + timedelta(days=9000)
SPACED, UNSPACED = "Zqx was ill", "ズクックスは病気です"
"""A sentence, and one in a language that writes none of its spaces."""


def said_everywhere(word: str) -> Json:
    """An agent-run as a log of a session holds it, with that word in each part that people or agents wrote."""
    return {
        "agentId": "desk", "triggeredAt": "2026-11-20T09:00:00.000Z", "completedAt": "2026-11-20T09:00:05.000Z",
        "inputs": {"input": word}, "outputs": {"output": word}, "status": "success", "cost": 0.25, "stopReason": word,
        "toolCallsLog": [{"tool": "send", "arguments": {"to": word}, "result": word, "extra": {"note": word}}],
        "errorMessage": word, "group": "talk-7",
        "extra": {
            "log": {"format": "claude-code", "session": "s-1", "folder": word},
            "messages": [{"role": "user", "content": word}, {"role": "assistant", "content": word}],
            "userTurns": [{"afterStep": 1, "text": word, "correction": True}],
            "foreignScores": [
                {"name": "helpful", "value": 0.5, "foreign": True, "explanation": word, "about": {"quote": word, "n": 2}},
                {"name": "verdict", "value": word, "foreign": True},
            ],
            "usage": {"some-model": {"inputTokens": 7}},
            "anything": {"of the toolbox": [word]},
        },
    }  # fmt: skip


@pytest.mark.parametrize("word", [SPACED, UNSPACED])
@pytest.mark.parametrize(
    "wanted",
    [
        ErasureScope(record="t"),
        ErasureScope(before=LATER),
        ErasureScope(before=LATER, kinds=frozenset({"agent-runs"}), retention=True),
    ],
    ids=["its record", "its time", "a rule"],
)
def test_an_erased_agent_run_keeps_its_figures_and_no_word(small_store: Path, word: str, wanted: ErasureScope) -> None:
    def fill(db: Db) -> None:
        row = ("t", "agent-run", word, json.dumps(said_everywhere(word), ensure_ascii=False), "[]", "active", "d", 1, 1)
        db.execute("INSERT INTO minion VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)

    written(small_store, fill)
    assert word.encode() in bytes_of(small_store)
    forget(small_store, wanted, at=NOW, by="ada")
    assert word.encode() not in bytes_of(small_store)
    with closing(open_raw(small_store, read_only=True)) as db:
        (stored,) = db.execute("SELECT fields FROM minion WHERE id = 't'").fetchone()
    kept = fields_from_json(AgentRun, stored)
    assert (kept.agent_id, kept.cost, kept.group, kept.status) == ("desk", 0.25, "talk-7", "success")
    assert kept.triggered_at is not None
    assert kept.extra["log"] == {"format": "claude-code", "session": "s-1"}
    assert kept.extra["usage"] == {"some-model": {"inputTokens": 7}}
    helpful, verdict = listed_values(kept.extra["foreignScores"])
    assert helpful == {"name": "helpful", "value": 0.5, "foreign": True, "about": {"n": 2}}
    assert verdict == {"name": "verdict", "value": "forgotten@2026-11-21", "foreign": True}


MESSAGE = "INSERT INTO inbox VALUES (NULL, ?, ?, ?, 'ada', ?, 1, ?, 0, 1, ?, NULL, ?, 'cli', ?)"


@pytest.mark.parametrize("word", [SPACED, UNSPACED])
@pytest.mark.parametrize("kind", [None, "t"], ids=["a rule", "its record"])
def test_messages_keep_no_word_of_what_they_carried_or_were_refused_for(
    small_store: Path, word: str, kind: str | None
) -> None:
    carried = {"agentRun": {"id": "t", "type": "agent-run", "fields": {**said_everywhere(word), "group": None}}}

    def fill(db: Db) -> None:
        row = ("t", "agent-run", "t", '{"agentId":"a","status":"success"}', "[]", "active", "d", 1, 1)
        db.execute("INSERT INTO minion VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)
        payload = json.dumps(carried, ensure_ascii=False)
        db.execute(MESSAGE, ("m1", "agent-run-completed", "t", payload, "dead", f"cannot read {word}", 1, word))
        db.execute(
            "UPDATE delivery SET state = 'refused', settled_at = 1, reason = ?, dismissed = ?", (f"400: {word}", word)
        )
        db.execute("UPDATE outbox SET fields = json_set(fields, '$.payload', json(?))", (payload,))

    written(small_store, fill)
    scope = (
        ErasureScope(record=kind) if kind else ErasureScope(before=LATER, kinds=frozenset({"messages"}), retention=True)
    )
    forget(small_store, scope, at=NOW, by="ada")
    assert word.encode() not in bytes_of(small_store)


def test_a_rule_for_outputs_reaches_audits_and_why_a_run_ended(small_store: Path) -> None:
    def fill(db: Db) -> None:
        db.execute("UPDATE job SET reason = ?", (f"the provider refused {SPACED}",))
        db.execute(
            "UPDATE audit SET rest = json_set(rest, '$.cases[0].letThrough', json(?))",
            (json.dumps([{"kind": "echo", "text": UNSPACED, "told": SPACED}], ensure_ascii=False),),
        )

    written(small_store, fill)
    held = bytes_of(small_store)
    assert (SPACED.encode() in held, UNSPACED.encode() in held) == (True, True)
    rule = ErasureScope(before=LATER, kinds=frozenset({"outputs"}), retention=True)
    forget(small_store, rule, at=NOW, by="agent")
    held = bytes_of(small_store)
    assert (SPACED.encode() in held, UNSPACED.encode() in held) == (False, False)
    with closing(open_raw(small_store, read_only=True)) as db:
        for table in TABLES.values():
            for row in db.execute(select(table, "1")):
                record_of(table, row)


def test_forgetting_a_run_reaches_why_it_ended_and_leaves_its_figures(small_store: Path) -> None:
    def noted(db: Db) -> list[str]:
        return [str(rest) for (rest,) in db.execute("SELECT rest FROM eval_metric ORDER BY seq")]

    def fill(db: Db) -> None:
        db.execute("UPDATE job SET reason = ?", (f"it refused {SPACED}",))

    written(small_store, fill)
    with closing(open_raw(small_store, read_only=True)) as db:
        ((run,),), before = db.execute("SELECT id FROM job").fetchall(), noted(db)
    forget(small_store, ErasureScope(record=run), at=NOW, by="ada")
    forget(small_store, ErasureScope(before=LATER), at=NOW, by="ada")
    assert SPACED.encode() not in bytes_of(small_store)
    with closing(open_raw(small_store, read_only=True)) as db:
        assert noted(db) == before


def test_a_rule_leaves_what_is_newer(small_store: Path) -> None:
    with closing(open_raw(small_store, read_only=True)) as db:
        (earliest,) = db.execute("SELECT min(updated_at) FROM job").fetchone()
    before = datetime.fromtimestamp((earliest - 1) / 1000, tz=UTC)
    assert to_millis(before) < earliest
    assert "audit" not in forget(small_store, ErasureScope(before=before, retention=True), at=NOW, by="agent").rows
