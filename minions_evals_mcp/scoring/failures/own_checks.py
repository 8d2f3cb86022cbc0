"""The failed checks in a verdict of rules, and those of them that are the user's own code: what it looks for its writer knows."""

from __future__ import annotations

import re
from functools import lru_cache

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.texts import cut

CODE = frozenset(("javascript", "python"))
_OWN = CODE | {"function", "webhook"}
_OF_ACTS = frozenset(("effect", "state"))
LONGEST = 160
_FAILED_CHECK = late(r"(?:^|; )failed ([a-z][a-z:-]*): (.{0,2000}?)(?=; (?:passed|failed) [a-z]|$)", re.DOTALL)


@lru_cache(maxsize=1024)  # what a rule says of one output it says of many
def failed_checks(rationale: str) -> tuple[tuple[str, str], ...]:
    """The failed checks in a verdict of rules, each with its reason."""
    return tuple(_FAILED_CHECK.findall(rationale))


def own_failed(failed: FailedOutput) -> tuple[str, ...]:
    """Names the user's own checks that failed; nothing where any other check or criterion lost, too."""
    lost = [criterion for criterion in failed.criteria if criterion.fraction < 1]
    checks = [check for criterion in lost for check in failed_checks(criterion.rationale)]
    if not checks or any(kind.removeprefix("not-") not in _OWN for kind, _ in checks):
        return ()
    if any(not failed_checks(criterion.rationale) for criterion in lost):
        return ()
    return tuple(dict.fromkeys(_named(failed, kind, reason) for kind, reason in checks))


def act_failed(failed: FailedOutput) -> str:
    """The reason of the first failed check of what the agent did, whatever it answered."""
    rationales = (
        criterion.rationale for criterion in failed.criteria if criterion.fraction < 1 and not criterion.is_opinion
    )
    reasons = (reason for text in rationales for kind, reason in failed_checks(text) if kind in _OF_ACTS)
    return cut(next(reasons, ""), LONGEST)


def _named(failed: FailedOutput, kind: str, reason: str) -> str:
    """A function by its name, code by what stands there where only one check is of its kind; what was raised is said."""
    if kind.removeprefix("not-") == "function":
        return reason.partition(": ")[0]
    codes = [check.value for check in failed.checks if check.type == kind]
    code = f" {cut(str(codes[0]), 80)}" if len(codes) == 1 else ""
    raised = f" ({reason})" if reason.startswith("raised ") else ""
    return f"{kind}{code}{raised}"
