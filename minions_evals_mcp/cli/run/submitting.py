"""Judgments that are handed in from outside."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import ValidationError

from minions_evals_mcp import bounded_files
from minions_evals_mcp.cli.run.showing import show_summary
from minions_evals_mcp.cli.session import DEFAULTS, Common, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.operations import get_run, submit_judgments


async def submit(file: Annotated[str, Parameter(allow_leading_hyphen=True)], /, *, common: Common = DEFAULTS) -> int:
    """Submit what a run asked for: judgments, or messages of users (`minions-evals runs RUN --json` shows the requests).

    The file is {runId, judgedBy, packets: [{digest, judgments: [{criterionId, score, rationale, confidence?}]}]}. For
    a conversation with the player `caller`, send a message instead of judgments.
    Example: minions-evals submit judgments.json

    Parameters
    ----------
    file
        JSON. `-` is standard input.
    """
    try:
        text = sys.stdin.buffer.read() if file == "-" else bounded_files.read_bytes(Path(file))
        submission = Submission.model_validate_json(text.removeprefix(BOM_UTF8))
    except OSError as error:
        raise BadInputError(f"{file} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInputError(
            f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}.",
            remedy="minions-evals submit --help shows the form.",
        ) from None
    async with session(common) as engine:
        speaking = engine.speaking(await speaker_at(engine))
        job = await submit_judgments.run(speaking, submission)
        summary = await get_run.summary(engine, job.id)
    show_summary(summary, common)
    return 0
