"""The test whether a short notice says that a limit was reached or that something was ended for it, told from how its words go together.

One sentence must hold two of them: what was limited (time, or something counted, or an allowance) and that it was reached; an end
and how long it had taken; something counted, how many, and an end or no answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.first_look import first_look

LONGEST = 600
"""A longer text is no notice."""


def _any_of(*words: str) -> re.Pattern[str]:
    return late(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_TIME = _any_of(
    r"time|timer|(?:half )?hours?|duration|run-?time|wall[ -]?clock|deadline|time ?(?:slot|window|frame)|\d+[ -]?(?:second"
    r"|minute|hour|s|min"
    r"|h)s? (?:slot|window)",
    r"zeit|\w*dauer|\w*laufzeit|\w*frist|\w*zeitraum|rechenzeit|bearbeitungszeit", "temps|durée|délai|tiempo|duración|plazo|tempo|durata",
    "tempo|duração|prazo",
)  # fmt: skip
_COUNTED = _any_of(
    r"turns?|steps?|iterations?|rounds?|loops?|iters?|recursions?|actions?|(?:tool|function|api|llm|model)[ _-]?(?:calls?|invocations?"
    r"|uses?)|calls|invocations?"
    r"|attempts|cycles|hops|retries|exchanges|messages|repl(?:y|ies)",
    r"(?:\w*schritte?n?|schritt\w+|\w*runden|\w*durchg[äa]nge?n?|\w*durchläufe?n?|iterationen|rekursion\w*|aktionen|\w*aufrufe?n?"
    r"|versuche?n?"
    r"|werkzeugaufrufe?n?)",
    "étapes?|tours?|itérations?|récursions?|recursión|acciones|appels?|essais|tentatives|pasos?|turnos?|iteraciones|llamadas|intentos|vueltas|rondas",
    "passi|passaggi|turni|iterazioni|chiamate|tentativi|giri|passos|etapas|rodadas|iterações|chamadas|tentativas",
)  # fmt: skip
_ALLOWED = _any_of(
    r"budget|allowance|allotment|allotted|allowed|permitted|given|granted|assigned|quota|cap|ceiling|limit|limits|max|maximum|maximal"
    r"|specified|configured",
    r"\w*kontingent|\w*limit|\w*budget|höchst\w*|maximal\w*|obergrenze|grenze|zulässig\w*|erlaubt\w*|vorgesehen\w*",
    r"limite|plafond|autorisée?s?|impartie?s?|allouée?s?|prévue?s?|límite|máxim\w+|tope|permitid\w+|asignad\w+",
    r"massim\w+|consentit\w+|assegnat\w+|previst\w+|disponibil\w+",
)  # fmt: skip
_REACHED = _any_of(
    r"exceed\w*|overr[au]n\w*|over-?ran|reached|hit|exhaust\w*|us(?:ed|ing)(?: up)?|spent|expired|elapsed|ran out|run out"
    r"|runs out|(?:is|was|are|were) (?:up|over|gone)",
    r"surpass\w*|passed|consumed|blown|überschritten|überschreit\w*|erreicht|erschöpft|aufgebraucht|verbraucht|ausgeschöpft"
    r"|abgelaufen|vorbei|(?:war|ist|waren|sind) (?:\w+ ){0,3}um|ablauf",
    r"dépass\w+|atteinte?s?|épuisée?s?|écoulée?s?|expirée?s?|superad\w+|superó|alcanzad\w+|alcanzó|agotad\w+|agotó|acabó|vencid\w+"
    r"|venció|excedid\w+",
    r"superat\w+|raggiunt\w+|esaurit\w+|scadut\w+|finit\w+|atingid\w+|esgotad\w+|ultrapassad\w+|acabou|terminou|esgotou",
)  # fmt: skip
_ENDED = _any_of(
    r"killed|abort\w*|cancell?(?:ed\w*|ing|ations?)|stopp(?:ed|ing)|terminated|interrupted|closed|gave up|given up|giving up|cut"
    r" (?:off|short|when|after|at)|ended"
    r"|halted|sig(?:kill|term|alrm)|shut down|torn down|evicted|dropped|restarted",
    r"beendet|abgebrochen|gestoppt|geschlossen|unterbrochen|abgeschaltet|getrennt|tuée?s?|redémarrée?s?|neu gestartet"
    r"|reiniciad\w+|riavviat\w+|stoppée?s?|interromp\w+|arrêtée?s?|coupée?s?|annulée?s?|fermée?s?|abandonnée?s?",
    r"interrumpid\w+|detenid\w+|cancelad\w+|abortad\w+|cerrad\w+|cortad\w+|terminad\w+|finalizad\w+|terminat\w+|uccis\w+"
    r"|interrott\w+|fermat\w+|annullat\w+|chius\w+|interrompid\w+|parad\w+|encerrad\w+",
)  # fmt: skip
_NO_ANSWER = _any_of(
    r"(?:no|without|before|never) (?:\w+ ){0,3}(?:answer|reply|result|response|output|conclusion|tokens?|heartbeat|progress"
    r"|activity|sign of life)",
    r"(?:keine?|ohne|vor einer) (?:\w+ )?\w*(?:antwort|ergebnis|ausgabe|token|lebenszeichen|fortschritt)",
    r"(?:aucune?|sans|pas de|avant) (?:\w+ )?(?:réponse|résultat)|(?:sin|ninguna?|antes de) (?:\w+ )?(?:respuesta|resultado)",
    r"(?:senza|nessuna?|prima di) (?:\w+ )?(?:risposta|risultato)|(?:sem|nenhuma?|antes de) (?:\w+ )?(?:resposta|resultado)",
)  # fmt: skip
_LASTED = late(
    r"\b\d+(?:[.,]\d+)? ?(?:ms|s|secs?|seconds?|min|mins|minutes?|h|hours?|sekunden|minuten|stunden|secondes?|heures?"
    r"|segundos?|minutos?|horas?"
    r"|secondi|minuti|ore)\b",
    re.IGNORECASE,
)
_LONGER = _any_of(
    r"longer than|more than|länger als|mehr als|plus (?:longtemps )?que|más de|más (?:tiempo )?que|più (?:a lungo )?d\w+|mais do que"
)
_NOT = _any_of(r"not?|only|just|cannot|nicht|nur|keine?\w*|pas|seulement|sólo|solo|non|não|apenas|\w+n't")
_NUMBER = late(r"\d")
_OF_SOMETHING_ELSE = late(
    r"\b(?:tokens?|rate|memory|size|context|disk|file|depth|characters?|upload|storage|credit|payload|length|speicher|zeichen"
    r"|mémoire|memoria)"
    r"[ _-](?:limit|quota|budget|window|cap|allowance)|\bfailed (?:steps?|attempts?|calls?)",
    re.IGNORECASE,
)
_JOINT = late(r"[A-Z_-](?:(?<=[a-z][A-Z])|(?<=\w[_-])(?=\w))")
"""Where an identifier is put together; it begins with the sign itself, which is found in a fifth of the time."""
_SENTENCE = late(r"[^.;\n]+(?:\.\d[^.;\n]*)*")


_OF_ITSELF = frozenset(("expired", "deadline", "budget exceeded", "budget exhausted"))
"""Stop reasons that name a limit in no more than these words."""


def says_limit_reached(text: str) -> bool:
    """Returns whether one sentence of a short text says that time, turns or an allowance ran out, or that something was ended for it."""
    return bool(limit_sentence(text))


def names_limit(reason: str) -> bool:
    """Returns whether a stop reason names a limit of time or of something counted: `iteration_cap`, `maxTurnsReached`."""
    words = _spaced(reason)
    return words.casefold() in _OF_ITSELF or bool(
        (_TIME.search(words) or _COUNTED.search(words)) and any(p.search(words) for p in (_ALLOWED, _REACHED, _ENDED))
    )


def limit_sentence(text: str) -> str:
    """The first such sentence, or nothing."""
    if len(text) > LONGEST or not _may_speak_of_it()(text := _spaced(text)):
        return ""
    return next((match[0] for match in _SENTENCE.finditer(text) if _is_notice(match[0])), "")


@cache
def _may_speak_of_it() -> Callable[[str], bool]:
    return first_look([_ALLOWED, _REACHED, _ENDED, _NO_ANSWER], ignore_case=True)


def _spaced(text: str) -> str:
    """The text with the words of its identifiers apart."""
    return _JOINT.sub(lambda joint: f" {joint[0].strip('_-')}", text)


@lru_cache(maxsize=4096)  # many outputs have sentences in common
def _is_notice(sentence: str) -> bool:
    if _OF_SOMETHING_ELSE.search(sentence):
        return False
    reached, ended = _REACHED.search(sentence), _ENDED.search(sentence)
    unanswered, allowed = _NO_ANSWER.search(sentence), _ALLOWED.search(sentence)
    if allowed and (
        _LONGER.search(sentence) or (_NOT.search(sentence) and (_TIME.search(sentence) or _COUNTED.search(sentence)))
    ):
        return True
    if (reached and _TIME.search(sentence)) or (unanswered and _LASTED.search(sentence)):
        return True
    if ended and (_LASTED.search(sentence) or (allowed and _TIME.search(sentence))):
        return True
    limited = allowed or _NUMBER.search(sentence)
    return bool(limited and _COUNTED.search(sentence) and (reached or ended or unanswered))
