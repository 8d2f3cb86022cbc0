"""Answers that say that the material does not tell, and answers that tell all the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.first_look import first_look

_LONGEST = 200
_UNKNOWN = late(
    r"\b(?:not (?:\w+ )?(?:stated|specified|mentioned|given|regulated|known|available|provided|disclosed|covered|defined"
    r"|recorded|documented|listed|included|found"
    r"|answered|in (?:the|this))|unknown|unspecified|no (?:information|data|answer|mention|record|details?|indication|such)"
    r"|no (?:\w+ ){1,2}(?:on (?:record|file)|recorded|found|given|available|known)"
    r"|no (?:\w+ ){1,3}(?:is|are|was|were) (?:stated|given|mentioned|specified|named|listed|provided|recorded|indicated)"
    r"|none (?:\w+ )?(?:recorded|listed|stated|known|given|mentioned|found|on (?:file|record))|keine? (?:\w+ )?(?:bekannt|vermerkt"
    r"|erfasst|hinterlegt)"
    r"|aucune? (?:\w+ )?(?:connue?|mentionnée?|indiquée?|renseignée?)|ningun[ao] (?:\w+ )?(?:registrad|indicad|conocid)[ao]"
    r"|cannot be (?:determined|told|known|answered|found)"
    r"|(?:does|do|did)(?: not|n't) (?:say|state|specify|mention|tell|contain|include|give|cover|exist)|(?:i )?do(?: not"
    r"|n't) know|n/a|not enough information"
    r"|nicht (?:\w+ )?(?:geregelt|angegeben|genannt|enthalten|bekannt|erwähnt|vermerkt|festgelegt|aufgeführt|ersichtlich"
    r"|vorhanden|beantwort\w+|hinterlegt)|unbekannt"
    r"|keine? (?:angaben?|information\w*|auskunft|daten|regelung|hinweis\w*|eintrag\w*)|steht (?:\w+ )?nichts?|(?:sagt|findet sich"
    r"|geht) (?:dazu )?nichts|geht (?:\w+ )?nicht hervor"
    r"|(?:non|pas|n'est pas|ne sont pas) (?:\w+ )?(?:précisée?s?|indiquée?s?|mentionnée?s?|spécifiée?s?|renseignée?s?"
    r"|connue?s?|disponibles?|communiquée?s?)|inconnue?s?"
    r"|aucune? (?:information|mention|indication|donnée|précision)|ne (?:l[ea]s? |l')?(?:précise|dit|mentionne|contient)\w* (?:pas|rien)"
    r"|no (?:se |lo |la )?(?:consta|especifica|indica|menciona|sabe|dice|figura)\w*|desconocid\w+|sin (?:datos|información)"
    r"|non (?:\w+ )?(?:specificat\w+|indicat\w+|menzionat\w+|not\w+|disponibil\w+|precisat\w+)|sconosciut\w+|nessuna informazione"
    r"|não (?:\w+ )?(?:consta|especificad\w+|informad\w+|mencionad\w+|indicad\w+|sabe\w*)|desconhecid\w+|nenhuma informação)\b",
    re.IGNORECASE,
)


def says_unknown(text: str) -> bool:
    """Returns whether a short text says that it is not known or not stated."""
    return len(text) <= _LONGEST and _may_say_so()(text) and _UNKNOWN.search(text) is not None


@cache
def _may_say_so() -> Callable[[str], bool]:
    return first_look([_UNKNOWN], ignore_case=True)


def tells_all_the_same(expected: str, text: str) -> bool:
    """Returns whether the expected answer is that it is not known, and the one that came claims to know."""
    return says_unknown(expected) and bool(text.strip()) and _UNKNOWN.search(text) is None
