"""Score card code: what a person's Python or JavaScript makes of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minions_evals_mcp import bounded_files
from minions_evals_mcp.errors import BadInputError, InstrumentError, InvalidRecordError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.sandbox.limits import Limits
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import Language, SnippetError
from minions_evals_mcp.scoring.score_card import Row
from minions_evals_mcp.scoring.score_matrix import CustomScore, custom_score

LIMITS = Limits(seconds=30.0, memory_bytes=1 << 30, output_bytes=8 << 20)
LANGUAGES: dict[str, Language] = {".py": "python", ".js": "javascript"}
_LIMITS = frozenset({"time-limit", "memory-limit", "output-limit", "died"})


@dataclass(frozen=True, slots=True)
class TableScoringCode:
    """Code that scores a table; `trusted` runs it with the real interpreter."""

    name: str
    language: Language
    text: str
    trusted: bool = False

    async def score(self, rows: Sequence[Row]) -> CustomScore:
        """Returns what the code returns for those rows, which it finds in `data`.

        Raises `BadInputError` where the code is at fault, `InstrumentError` with the limit that it exceeded.
        """
        async with Snippets(trusted=self.trusted, limits=LIMITS) as snippets:
            outcome = await snippets.run(self.language, self.text, {"data": [dict(row) for row in rows]})
        if isinstance(outcome, SnippetError):
            stop = InstrumentError if outcome.kind in _LIMITS else BadInputError
            raise stop(f"{self.name}: {outcome.error}.", remedy=_remedy(outcome))
        try:
            return custom_score(outcome.value)
        except InvalidRecordError as error:
            raise error.at(self.name) from None


def _remedy(broke: SnippetError) -> str:
    match broke.kind:
        case "unsupported":
            return f"Avoid it, or use the real interpreter: {argument('trust_code')}."
        case "time-limit" | "memory-limit" | "output-limit":
            return "Do less work, or score fewer rows."
        case _:
            return "The code must return {score, score_matrix?}; data is a list of rows."


def read_scoring_code(path: Path, *, trusted: bool) -> TableScoringCode:
    """The code in a `.py` or `.js` file; raises `BadInputError` for any other."""
    language = LANGUAGES.get(path.suffix.lower())
    if language is None:
        raise BadInputError(f"{path} is not scoring code.", remedy="Name a .py or a .js file.")
    try:
        return TableScoringCode(str(path), language, bounded_files.read_text(path), trusted)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{path} is not UTF-8 text.") from None
