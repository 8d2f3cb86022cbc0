"""The test whether a run ran out of time, turns or steps: by its limit, its stop reason, its error, its last calls, or what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.limits import limit_sentence, names_limit, says_limit_reached
from minions_evals_mcp.scoring.failures.referrals import refers_on
from minions_evals_mcp.scoring.failures.texts import cut, flat
from minions_evals_mcp.scoring.first_look import first_look

OVER, LIMITED, SILENT, SAYS_SO, LAST_CALL, CUT_SHORT, NO_LOG, GOES_ON, ENDED, SEEN_BY_JUDGE, PASSED_OVER = (
    1.0, 0.95, 0.9, 0.85, 0.85, 0.8, 0.7, 0.55, 0.55, 0.55, 0.4,
)  # fmt: skip

"""Confidence by evidence: the case's limit, a limit of turns, an error where nothing came, the answer's own words, a last
call that took too long with an answer that speaks of it, an error beside an answer that gives up, an answer that speaks of it
where there is no log, one that says that work goes on, and a call or an error that the answer passes over."""
RECORDED = frozenset(("timeout", "stop reason", "last call"))
"""The kinds of signal that something other than words of the answer or of a judge shows."""
_NOTICE = 400
"""A longer result is no notice that a call took too long."""
SHORT = 500
"""So many characters are no answer beside a notice that time ran out."""
_LIMIT = late(
    r"max(?:imum)?[ _-]?(?:number[ _]of[ _])?(?:agent[ _])?(?:turns?|steps?|iterations?|rounds?|calls|tool[ _]calls|execution[ _]time)"
    r"|max(?:imum)? of \d+ (?:turns|steps|iterations|rounds|tool calls)"
    r"|(?:after|exceeded|used) (?:all )?\d+ (?:turns|steps|iterations|rounds)"
    r"|MaxTurns|MaxIterations|TimeLimit|UsageLimitExceeded|request[ _]limit of \d+|(?:turns?|steps?|iterations?|recursion|rounds?"
    r"|budget)[ _-]?limit"
    r"|recursion[ _]limit|GraphRecursionError"
    r"|(?:ran|run|running) out of (?:\w+ ){0,3}(?:steps|turns|calls|iterations|rounds|attempts)|(?:after|all) \d+ (?:tool |api )?calls\b"
    r"|(?:budget|allowance|quota|allotment|zeitbudget|schrittbudget|kontingent) (?:\w+ ){0,2}(?:used up|exhausted|spent|gone"
    r"|aufgebraucht|erschöpft|verbraucht)"
    r"|(?:quedé|quedado|quedamos|quedó) sin (?:más )?(?:pasos|turnos|tiempo|intentos|llamadas)|à court de (?:temps|tours|étapes)"
    r"|plus (?:de |d')(?:temps|tours|étapes|essais|appels)|keine (?:schritte|runden|zeit|versuche|aufrufe) (?:mehr|übrig)"
    r"|épuisé (?:le|mon|tout|mes|les) (?:\w+ ){0,3}(?:appels?|étapes|tours|essais|temps|budget)|agot(?:é|ado) (?:los|el|mis"
    r"|todos) (?:\w+ ){0,3}(?:pasos|intentos|llamadas|turnos)"
    r"|esaurit\w (?:i|il|le|tutti) (?:\w+ ){0,3}(?:passi|tentativi|chiamate|turni)|esgot(?:ei|ado) (?:as|os"
    r"|o) (?:\w+ ){0,3}(?:tentativas|passos|chamadas|turnos)"
    r"|(?:turns?|steps?|iterations?)[ _](?:exceeded|exhausted|used up)|(?:wall[ -]?clock|time|step|turn|iteration|tool[ -]call) budget"
    r"|(?:maximale?n?|höchst)\s?(?:anzahl|zahl)?(?: (?:von|der|an))? ?(?:schritte\w*|runden|iterationen|durchläufe\w*)"
    r"|schrittlimit|rundenlimit"
    r"|limit von \d+ (?:schritten|runden)|(?:limite|nombre maxim\w+) d(?:e |')(?:itérations?|étapes|tours)"
    r"|(?:límite|número máximo) de (?:pasos|iteraciones|turnos)|(?:limite|numero massimo) di (?:passi|passaggi|iterazioni|turni)"
    r"|(?:limite|número máximo) de (?:passos|etapas|iterações|turnos)",
    re.IGNORECASE,
)
"""A limit of turns, steps or iterations."""
_TIME = late(
    r"timed?[ -]?out|time-?out|deadline[ _]?exceeded|(?:time|deadline)[ _]limit|took too long|gateway time"
    r"|(?:^|\b(?:http|status|code|error)\W{0,3})(?:408|504)\b|\b(?:408|504) (?:request|gateway)"
    r"|(?:did not|didn't|never|not|nothing|no) (?:answer|respond|repl|finish|complete|return|came back|response|reply)\w*"
    r" (?:received )?(?:in|within|after) (?:time|the|\d+)|(?:ran|run|running) out of time|out of time\b"
    r"|\btime\b[^.]{0,25}\b(?:is|was) (?:up|over|used up)\b|kept (?:me|us) waiting|keeps (?:me|us) waiting|no (?:answer|reply"
    r"|response) (?:at all )?(?:from|by)\b"
    r"|(?:killed|cancell?ed|aborted|terminated|interrupted|stopped|gave up) (?:\w+ ){0,4}(?:after|at) (?:\d+|\w+) ?(?:ms|s|secs?"
    r"|seconds?|min|minutes?|hours?)\b"
    r"|exceeded (?:the )?(?:\w+ ){0,2}\d+ ?(?:ms|s|secs?|seconds?|min|minutes?)\b|wall[ -]?clock|watchdog|sigalrm"
    r"|cancell?ederror|context cancell?ed|operation was aborted|(?:lease|session|deadline|ticket|request|run|job|task|execution"
    r"|status)\W{1,3}(?:is |has |was )?expired"
    r"|signal is aborted|exit (?:code|status) 124\b"
    r"|took \d+ ?(?:ms|s|secs?|seconds?|min|minutes?)\b[^.]{0,30}"
    r"\b(?:limit|allowed|budget|max\w*|of)\b|\b(?:hung|stalled|unresponsive|hanging)\b|(?:never|not) (?:came|come|got|get"
    r"|heard) (?:a |an |any )?(?:back|answer|reply|response)"
    r"|(?:time|turn|step)s? (?:\w+ )?(?:elapsed|expired|exhausted)|(?:elapsed|exceeds?) (?:the )?(?:\w+ )?time"
    r"|zeitüberschreitung|zeitlimit|zeit (?:ist )?abgelaufen|(?:nicht )?rechtzeitig|maximale (?:laufzeit|dauer)"
    r"|zu lange gedauert|nach (?:\w+ ){1,2}(?:sekunden|minuten|stunden) (?:\w+ )?(?:abbrechen|abgebrochen|beendet)"
    r"|(?:antwortet|reagiert)\w*[^.]{0,40}\bnicht\b|nicht (?:geantwortet|reagiert)|(?:keine|ohne) (?:antwort|rückmeldung)"
    r"|nach (?:\d+|\w+) (?:sekunden|minuten|stunden) (?:\w+ )?(?:abgebrochen|beendet)"
    r"|délai\b.{0,30}\b(?:dépassé|expiré|imparti|écoulé)|délai d'attente|temps (?:maximal|limite|imparti|d'exécution)|hors délai"
    r"|n(?:e |')(?:a|ont|est|sont)? ?(?:toujours |encore )?(?:pas|jamais|plus) répond|sans réponse|trop de temps|à temps\b"
    r"|(?:interrompu|arrêté|coupé)\w* (?:\w+ )?(?:après|au bout de) (?:\d+|\w+) (?:secondes|minutes|heures)"
    r"|tiempo (?:de espera|límite|máximo)|se (?:me )?(?:agotó|acabó) el tiempo|tardó demasiado|no (?:ha )?respond(?:ió|ido|ieron|e)\b"
    r"|non (?:ha |hanno )?rispo(?:sto|nde)|não respond|tempo (?:scaduto|limite|massimo|a disposizione|esaurito)|tempo limite"
    r"|tempo (?:esgotado|máximo)|demorou demais|troppo tempo",
    re.IGNORECASE,
)
"""Time that ran out."""

_OWN = late(
    r"\btime\b[^.]{0,25}\bis (?:up|over)\b|\b(?:my|mon|mes|mein\w*|mi|mis) (?:\w+ ){0,2}(?:budget|steps|turns|time|calls)\b"
    r"|\bse me (?:acabó|agotó)\b"
    r"|\b(?:budget|zeitbudget|kontingent)\b|\bj'ai épuisé\b|\bho esaurito\b|\besgotei\b|\b(?:job|task|process|suite|search"
    r"|recherche|suche)\b.{0,40}"
    r"\b(?:killed|interrompue?|abgebrochen|abbrechen)\b|\btempo a disposizione\b"
    r"|\b(?:agent|run|i|i've|execution)\b.{0,40}\b(?:stopped|reached|ran out|gave up|had to (?:give up|stop)|cancel\w+|abort\w+)"
    r"|\b(?:abgebrochen|nicht (?:mehr )?(?:fertig|abschließen|beenden)|weiter kam ich|interromp\w+|pas pu (?:terminer|finir)|inachev\w+"
    r"|no pude terminar|interrumpid\w+|non sono riuscit\w+|interrott\w+|não consegui terminar|interrompid\w+)\b",
    re.IGNORECASE,
)
"""An agent that speaks of its own end."""
_FIRST_PERSON = late(
    r"\b(?:i|i'm|i've|i'd|my|me|ich|mich|mir|mein\w*|je|j'|mon|mes|moi|he (?!l)\w+(?:ado|ido)|mis|yo|ho|mio|mie|io|eu|meu|minhas?)\b",
    re.IGNORECASE,
)
_OF_A_RUN = late(
    r"\b(?:agent|run|job|session|process|task|crawl\w*|search|execution|tool|steps?|turns?|calls?|iterations?|budget|ausführung"
    r"|\w*lauf|suche|\w*schritt\w*|aufrufe?|exécution|étapes?|appels?"
    r"|ejecución|rastreo|pasos|llamadas|esecuzione|passi|chiamate|execução|passos|chamadas)(?:'s)?\b",
    re.IGNORECASE,
)
_ASKED = late(
    r"\b(?:server|backend|service|api|endpoint|database|tool|dienst|datenbank|serveur|servidor|servicio|servizio|serviço)s?\b",
    re.IGNORECASE,
)
"""What an agent waits for."""
_SLOW = late(
    r"\b(?:slow\w*|long(?:er)?|lange|langsam\w*|longtemps|lente?s?|lent[oa]s?|tarda\w*|demora\w*)\b", re.IGNORECASE
)
_AGAIN = late(
    r"\b(?:try|check|come|ask) (?:\w+ ){0,2}(?:again|back|later)|noch einmal|erneut|später|réessay\w+|plus tard|inténtel\w+"
    r"|más tarde|riprov\w+|più tardi|tente novamente|mais tarde",
    re.IGNORECASE,
)
_SO_FAR = late(r"\b\d+ (?:of|out of|von|sur|de|su|di) (?:the |den |les |las |los |le )?\d+\b", re.IGNORECASE)
_STILL = late(
    r"\b(?:still (?:running|loading|waiting|searching|processing|working|in progress)|(?:läuft|lädt|arbeite|suche"
    r"|warte) (?:\w+ )?noch|est (?:toujours|encore) en cours"
    r"|(?:sigo|sigue|seguimos|continú\w+|continuamos|estoy|está) (?:en curso|esperando|cargando|buscando|procesando|consultando"
    r"|revisando|trabajando)|j'attends|je patiente"
    r"|(?:warte|warten) (?:\w+ )?auf|è ancora in corso|ainda (?:está|em) (?:\w+ )?(?:andamento"
    r"|curso|processamento)|loading|(?:is|are) taking (?:its|their|a long|longer|some) time|(?:i'll|i will"
    r"|we'll) (?:let you know|get back|report back|follow up)"
    r"|as soon as|one moment|hold on|(?:currently|in the middle of) \w+ing|next,? i(?:'ll|'m| will| am)|now i(?:'ll|'m| will"
    r"| am)|sobald|(?:einen )?moment bitte"
    r"|bitte (?:\w+ )?(?:dran|warten)|als nächstes|melde mich|un instant|patientez|dès que|je continue|je vous tiens"
    r"|un momento|en cuanto|sigo con|a continuación"
    r"|un attimo|non appena|proseguo|um momento|assim que|em seguida)\b",
    re.IGNORECASE,
)
"""Work that was not at its end when the answer came."""
UNFINISHED = 160
"""So many characters are no answer beside a word that work goes on."""
_MACHINE = late(
    r"\A\W*(?:<html|<!doctype|error\b|exception\b|traceback\b|http/|\w+(?:timeout|exceeded)\w*:)"
    r"|\A\W*(?:\w+ ){0,3}(?:gateway time-?out|upstream (?:request )?timeout|request time-?out|e(?:socket)?timedout|(?:read"
    r"|connect|request)timeout)\W*\Z|\A\W*upstream connect error"
    r"|\A\W*(?:(?:the|this|your|my|sorry, the) )?(?:\w+ )?(?:request|operation|task|call|run|job|query|execution|connection|process)"
    r" (?:has |was |had )?timed[ -]?out\b[^.!?\n]{0,60}\W*\Z",
    re.IGNORECASE,
)
"""A machine's notice in the place of an answer."""
_PUTS_THROUGH = late(
    r"\b(?:transfer|connect|forward|escalat)\w*\b[^.!?\n]{0,40}"
    r"\b(?:human|agent|person|representative|specialist|supervisor|colleague|support)\b",
    re.IGNORECASE,
)
_SETTING = late(r"time-?out\w*[\"']?\s*[:=]\s*[\"']?\d", re.IGNORECASE)
"""A limit that is set somewhere: not one that was reached."""
_NOT_DONE = late(
    r"\b(?:cannot|can't|couldn't|could not|cancell?ed|aborted|there (?:is|are|was|were) no|wasn't|isn't|unable|not able|didn't"
    r"|did not|don't have|do not have|haven't|have not|not yet|no"
    r" (?:answer|reply|result|response)|(?:try|ask|check|come back) (?:\w+ )?(?:again|later|shortly)|retry|incomplete|unfinished"
    r"|nicht|kein\w*|später|erneut|noch einmal|pas|aucune?|plus tard|réessay\w+|relanc\w+|no (?:pude|puedo|he|se|pudo|hay"
    r"|tengo|fue|está|dispongo|\w+ó)|nothing|no \w+ to (?:show|give|report)"
    r"|más tarde|non|più tardi|riprov\w+|não|mais tarde)\b",
    re.IGNORECASE,
)
"""An answer that says that something is not there, or not yet."""


def timeout_signals(failed: FailedOutput) -> tuple[Signal, ...]:
    """All that shows that the run was not done when it ended."""
    return tuple(_signals(failed))


def ran_out(text: str) -> bool:
    """Returns whether the text speaks of a limit of time, turns or steps that was reached."""
    return _may_speak_of_it()(text) and (_TIME.search(text) is not None or _LIMIT.search(text) is not None)


@cache
def _may_speak_of_it() -> Callable[[str], bool]:
    return first_look([_TIME, _LIMIT], ignore_case=True)


def _signals(failed: FailedOutput) -> Iterator[Signal]:
    if failed.timed_out:
        yield Signal("timeout", failed.agent_error or "over the time limit of the test case", OVER)
    reason = failed.stop_reason or ""
    if reason and (ran_out(reason.replace("_", " ")) or ran_out(reason) or names_limit(reason)):
        yield Signal("stop reason", reason, LIMITED)
    if failed.agent_error and (ran_out(failed.agent_error) or says_limit_reached(failed.agent_error)):
        limited = failed.is_empty or _LIMIT.search(failed.agent_error)
        unfinished = len(failed.text) <= SHORT and _says_unfinished(failed.text)
        yield Signal("timeout", failed.agent_error, SILENT if limited else CUT_SHORT if unfinished else ENDED)
    yield from _spoken_of(failed)
    for criterion in failed.criteria:
        if criterion.is_opinion and (sentence := limit_sentence(criterion.rationale)) and _OF_A_RUN.search(sentence):
            yield Signal("judge", sentence.strip(), SEEN_BY_JUDGE)


def _spoken_of(failed: FailedOutput) -> Iterator[Signal]:
    """A call that took too long, and an answer that says so."""
    is_short = not failed.is_empty and len(failed.text) <= SHORT
    hands_over = failed.is_talk and _hands_over(failed.text)  # a policy's time limit is told, and nothing has run out
    says_so = is_short and not hands_over and _speaks_of_limits(failed.text)
    late_calls = [step for step in failed.tool_calls if _ran_out(step)]
    if (says_so or late_calls) and _speaks_of_limits(flat(failed.inputs)):
        says_so, late_calls = False, [step for step in late_calls if step.error is not None]
    last = late_calls[-1] if late_calls and (late_calls[-1] is failed.tool_calls[-1] or says_so) else None
    gives_up = (last is not None or says_so) and is_short and _says_unfinished(failed.text)
    if last is not None:
        confidence = LAST_CALL if failed.is_empty or says_so or gives_up else PASSED_OVER
        yield Signal("last call", f"{last.tool}: {cut(last.error or str(last.result))}", confidence)
    if says_so and (last is not None or _is_notice(failed.text)):
        yield Signal("says", failed.text, SAYS_SO)
    elif len(failed.text) <= UNFINISHED and not failed.is_empty and _goes_on(failed.text) and not hands_over:
        yield Signal("unfinished", failed.text, GOES_ON)
    elif says_so and gives_up and not failed.tool_calls and _of_a_run(failed.text):
        yield Signal("says", failed.text, NO_LOG)


def _hands_over(text: str) -> bool:
    """Whether the agent refers the user to a person or transfers them to one."""
    return refers_on(text) or _PUTS_THROUGH.search(text) is not None


def _ran_out(step: ToolCall) -> bool:
    """Returns whether the call took too long: its error says so, or a result that is no setting."""
    if step.error is not None:
        return len(step.error) < _NOTICE and (_TIME.search(step.error) is not None or says_limit_reached(step.error))
    result_text = step.result if isinstance(step.result, str) else ""
    return len(result_text) < _NOTICE and _TIME.search(result_text) is not None and not _SETTING.search(result_text)


def _speaks_of_limits(text: str) -> bool:
    return ran_out(text) or (says_limit_reached(text) and _of_its_run(text))


def _goes_on(text: str) -> bool:
    """Returns whether work goes on, or something is slow and should be tried again."""
    return _STILL.search(text) is not None or (_SLOW.search(text) is not None and _AGAIN.search(text) is not None)


def _of_its_run(text: str) -> bool:
    """Returns whether the text is about how far the agent came."""
    return any(pattern.search(text) for pattern in (_OWN, _FIRST_PERSON, _SO_FAR))


def _says_unfinished(text: str) -> bool:
    return _NOT_DONE.search(text) is not None or _STILL.search(text) is not None


def _of_a_run(text: str) -> bool:
    """Whether the text is about a run or what a run waits for: a seller who did not reply within 48 hours is neither."""
    return _of_its_run(text) or any(pattern.search(text) for pattern in (_OF_A_RUN, _ASKED))


def _is_notice(text: str) -> bool:
    """Returns whether the text is about the run, not about its subject: its steps, what it could not finish, an error page."""
    if _MACHINE.search(text):
        return True
    if says_limit_reached(text):
        return _of_its_run(text) or _LIMIT.search(text) is not None
    return _OWN.search(text) is not None
