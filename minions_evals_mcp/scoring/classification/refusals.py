"""Signs of a refusal: the stop reason, then what the text says."""

from __future__ import annotations

import re

from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.scoring.assertions.kinds import refusal as wording
from minions_evals_mcp.scoring.classification.unwilling import sends_elsewhere, tells_what_was_found, unwilling_cues
from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.judged import DECLINED, says_declined
from minions_evals_mcp.scoring.failures.texts import flat

REFUSED = frozenset(("refusal", "content_filter", "safety", "prohibited_content", "blocklist", "recitation"))
"""Stop reasons, lower case, of a reply that the provider or the model withheld."""
OUTRIGHT, LECTURED, JUDGED, KEEPS_AWAY, WANTED = 0.85, 0.7, 0.65, 0.6, 0.3
"""Confidence in a refusal in so many words, in one that only says that it is wrong to ask, in one that only a judge sees, in one
that was expected."""
SENTENCES_READ, READ = 30, 5_000
_SENTENCE = re.compile(r"[^.!?\n]+")


def refusal_signals(failed: FailedOutput) -> tuple[Signal, ...]:
    """The stop reason, then the text; where a refusal was expected, a refusing text is not what is wrong."""
    reason = (failed.stop_reason or "").casefold()
    stopped = (Signal("stop reason", reason, 0.98),) if reason in REFUSED else ()
    may_decline = not wording.holds_no_refusal(failed.text)
    declined = wording.refusal(failed.text) if may_decline else None
    if declined:
        wanted = failed.expected is not None and wording.refusal(output_text(failed.expected)) is not None
        regrets = wanted or (not declined.outright and tells_what_was_found(failed))
        confidence = WANTED if regrets else OUTRIGHT if declined.outright else LECTURED
        return (*stopped, *(Signal("refusal", cue, confidence) for cue in declined.cues))
    unwilling = [Signal("keeps away", cue, KEEPS_AWAY) for cue in unwilling_cues(failed)]
    if not unwilling and (elsewhere := sends_elsewhere(failed)):
        unwilling.append(Signal("sends elsewhere", elsewhere, KEEPS_AWAY))
    judged = [
        criterion.rationale
        for criterion in failed.criteria
        if criterion.fraction < 1 and not criterion.by_rule and says_declined(criterion.rationale)
    ]
    if judged and DECLINED.search(flat(failed.inputs)):
        judged = []  # to decline is what was asked for
    stopped = (*stopped, *(Signal("judge", rationale, JUDGED) for rationale in judged), *unwilling)
    if not may_decline:
        return stopped
    # A sentence that would refuse if it stood alone, within a text that does not: a part may have been declined.
    sentences = dict.fromkeys(_SENTENCE.findall(failed.text[:READ])[:SENTENCES_READ])
    return (*stopped, *(Signal("refusing sentence", sentence, 0.3) for sentence in wording.refusing([*sentences])))
