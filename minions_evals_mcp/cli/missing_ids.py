"""A command that was given no id says which ids there are."""

from __future__ import annotations

import shlex
from functools import partial

from minions_evals_mcp.cli.session import Common, run, session
from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.report.named_store import named_store
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.listings import ids_beginning
from minions_evals_mcp.store.runs import run_before

NAMED = 4
"""So many ids are shown."""
TWO = frozenset({"diff"})
"""Commands that take two runs of one benchmark, the older first."""
KINDS = {
    **dict.fromkeys(("trend", "what-changed", "run-benchmark", "compare", "try-version", "calibrate", "agreement", "audit"), "benchmark"),
    **dict.fromkeys(("run-test-case", "history", "stats", "accept", "branches", "ab-test"), "test-case"),
    **dict.fromkeys(("diff", "report", "rejudge", "classify", "label", "label-user", "judge-check"), "benchmark-run"),
    **dict.fromkeys(("versions", "approve", "use"), "prompt-version"),
    "promote": "eval-failure",
}  # fmt: skip
"""What a command's first argument is the id of."""
NEEDED = {
    "report": ("-o", "report.html"),
    "compare": ("--from", "VERSION", "--to", "VERSION"),
    "try-version": ("VERSION",),
}
"""What a command needs besides."""
ALSO = {"accept": " or a run", "compare": " and two versions, or two runs", "try-version": " and a version"}
"""What a command takes instead, or besides."""
WORDS = {
    "benchmark-run": "run",
    "eval-failure": "failure",
    "prompt-version": "prompt version",
    "test-case": "test case",
}


def missing_id(words: list[str], arguments: list[str]) -> BadInputError | None:
    """Returns which ids could be given to that command, the newest first; None for one whose argument is no id."""
    command = next((word for word in words if word in KINDS), None)
    if command is None:
        return None
    kind = KINDS[command]
    try:
        known, example = run(partial(_known, kind, command in TWO, Common(db=named_store(arguments), read_only=True)))
    except EvalsError:  # there is no store yet, or none that can be read
        known, example = [], []
    thing = WORDS.get(kind, kind)
    wanted = (
        f"{command} takes two {thing}s of a benchmark"
        if command in TWO
        else f"{command} takes a {thing}{ALSO.get(command, '')}"
    )
    if not example:
        return BadInputError(f"{wanted}; there {'are not two' if known else 'is none'} yet.", remedy=_FIRST)
    shown = [short_id(ident) for ident in known[:NAMED]]
    return BadInputError(
        f"{wanted}. The newest: {', '.join(shown)}{', …' if len(known) > NAMED else ''}.",
        remedy=shlex.join(["minions-evals", *words, *(short_id(ident) for ident in example), *NEEDED.get(command, ())]),
    )


_FIRST = "`minions-evals run` creates a run. `minions-evals init` creates a first suite."


async def _known(kind: str, is_pair: bool, common: Common) -> tuple[list[str], list[str]]:
    """The newest ids, and those that an example of the command names."""
    async with session(common) as engine:
        return await engine.store.read(partial(_ids, kind=kind, is_pair=is_pair))


def _ids(db: Db, *, kind: str, is_pair: bool) -> tuple[list[str], list[str]]:
    known = ids_beginning(db, kind, "", limit=NAMED + 1)
    if not is_pair:
        return known, known[:1]
    pairs = ([before, ident] for ident in known if (before := run_before(db, run_id=ident)) is not None)
    return known, next(pairs, list[str]())
