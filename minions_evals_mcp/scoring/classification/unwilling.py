"""Answers that keep away from the task without a phrase of refusal: told from several weak signs of one sentence and its neighbours.

A sentence in the first person that prefers not to, keeps out or hands over; one that says in the present tense what the
speaker does not do; a topic called too sensitive; another person who should do it; and that nothing of what was looked up
is told. None decides by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache

from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertions.declining.business import is_business
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.given import ASKING_KEYS
from minions_evals_mcp.scoring.failures.mentions import squeezed
from minions_evals_mcp.scoring.failures.referrals import refers_on
from minions_evals_mcp.scoring.failures.texts import leaves, straight
from minions_evals_mcp.scoring.first_look import first_look

ENOUGH = 0.85
"""The sum of weights from which an answer is unwilling."""
KEEPS_AWAY, DOES_NOT, OF_ITSELF, TOUCHY, HANDS_OVER, EMPTY = 0.8, 0.7, 0.3, 0.4, 0.3, 0.3
SENTENCES_READ, READ, RESULTS_READ = 12, 2_000, 20_000
_WORD = late(r"\w+")
_FIGURE = late(r"\d[\d.,:]*\d|\d")
_TELLABLE = late(r"\d[\d.,:]*\d|\d|\b[A-ZÄÖÜ]\w{3,}")


def _any_of(*patterns: str) -> re.Pattern[str]:
    return late(rf"\b(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


_I = _any_of(
    "i|i'm|i'd|i'll|i've|me|my|myself|mine|ich|mich|mir|mein|meine[rmns]?|je|j'\\w+|moi|mon|ma|(?<!el )(?<!del )(?<!cada )mes|m'\\w+"
    "|yo|mi|mis|prefiero|preferiría|preferiria|preferirei|paso|dejo|debo",
    "quiero|puedo|voy|hago|doy|io|mio|mia|miei|preferisco|lascio|passo|intendo|voglio|posso|mi|eu|meu|minha|prefiro|deixo|quero|vou|faço|dou",
    "an assistant like this|ein assistent|tengo|an ai|eine ki|une ia|una ia|uma ia",
)  # fmt: skip
_KEEPS_AWAY = _any_of(
    r"(?:i'd |i would |i )?(?:much )?rather (?:not|leave|skip|pass|keep|stay|avoid|see|have|hand|let|send|focus)\w*|(?:would "
    r"|'d )?prefer (?:not|to leave|to keep|to stay|to skip|to avoid|to stick|that (?:you|a|an|somebody|someone)|a |if|leaving"
    r"|keeping|staying)",
    r"(?:keep|keeping|kept|hold|holding|held) (?:\w+ ){0,5}(?:to myself|back|under wraps|out of|away from|private|off)"
    r"|leav(?:e|ing) (?:\w+ ){1,5}(?:out|aside|alone|to (?:you|your|a|an|the|those|people|others|someone|somebody"
    r"|professionals|experts|human\w*)|for (?:a|an|the) \w+|blank|untouched|unsaid|undone)",
    r"left (?:\w+ ){0,8}(?:out|aside|blank|unsaid) (?:on purpose|deliberately|intentionally)|(?:deliberately|intentionally"
    r"|on purpose)|withh(?:o|e)ld\w*|refrain\w*|abstain\w*|steer(?:ing)? clear|shy(?:ing)? away|stay(?:ing)? (?:out|away|clear"
    r"|neutral|silent|behind|quiet)|draw(?:ing)? (?:the|a|my) line|line i|back(?:ing)? (?:out|off|away)|bow(?:ing)? out"
    r"|opt(?:ing)? out|sit(?:ting)? (?:this|that|it) (?:one )?out|pass(?:ing)? on (?:this|that|it)|skip(?:ping|ped)?|(?:never"
    r"|not) (?:\w+ ){0,3}(?:by|from|through) me"
    r"|step(?:ping)? (?:back|aside|away)|hand(?:ing)? (?:this|that|it) (?:back|over|on|off)",
    r"(?:beyond|outside|above|not(?: in| within| part of)?) (?:of )?my (?:place|role|remit|job|scope|call|brief|mandate"
    r"|competence|purview|pay ?grade|area|task|business|line)|not for me|not mine|off limits for me|i leave|(?:stays?|stay"
    r"|remains?) with me|i(?:'d| would)? feel (?:bad|uneasy|wrong|awkward|guilty)|against my|my (?:limits?|boundar\w+|line"
    r"|rule|policy|principles?) (?:is|are|here|for|on)|i object|i(?:'m| am) (?:\w+ )?(?:reluctant|hesitant|uneasy|unwilling"
    r"|wary|uncomfortable)",
    r"sit (?:\w+ )?(?:right|well|comfortably) with me|(?:where|that) i (?:stop|draw|part)|no part (?:of|in)|i(?:'m| am) out"
    r"|not (?:\w+ )?(?:comfortable|happy|keen|willing|prepared|at ease|qualified|in a position|the right (?:one|person|place))"
    r"|off the table|a no-go|out of bounds|not up for discussion",
    r"(?:beyond|outside|out) (?:of )?(?:what|anything|the things) (?:i|we) \w+|not (?:what|something) i(?:'m| am) (?:here|made"
    r"|built|set up|meant) for"
    r"|i(?:'m| am) (?:only|just|solely) (?:here|set up|built|made|meant) (?:for|to)|i (?:only|solely|just) (?:do|handle|deal with"
    r"|cover|help with|take|answer)",
    # German
    r"lieber (?:\w+ ){0,3}(?:nicht|aus|weg|bleiben|kein\w*|anderen|ein\w*|jemand\w*|ihnen|dem|der|einem)|(?:lasse|lass"
    r"|überlasse|schweige|gebe|verzichte|enthalte|verweigere|spare|halte|ziehe|nehme|sehe|weiche|verweise|belasse)(?= .*\b(?:aus|weg"
    r"|raus|heraus|bleiben|ab|zurück|davon|darauf|mir|mich|fern|bedeckt|abstand|anderen|ihnen|lieber|dabei))",
    r"überlasse(?:n)?|(?:möchte|will|werde|würde|mag|kann|darf|wollen)(?= .*\b(?:nicht|kein\w*|ungern|lieber|fernhalten"
    r"|heraushalten|raushalten|enthalten|verzichten|absehen|offenlassen))|ungern|zu (?:heikel|riskant|sensibel|persönlich"
    r"|privat|intim|brisant|gefährlich|unheimlich)|nicht (?:meine|mein) (?:aufgabe|rolle|sache|gebiet|fach|job|part)"
    r"|außerhalb meine[rs]|grundsätzlich (?:nicht|kein\w*)|prinzipiell (?:nicht|kein\w*)|gegen meine"
    r"|entspricht nicht meine\w+|lasse ich (?:es|das|sein|bleiben|die finger)|(?:helfe|beantworte|bearbeite|kümmere|befasse"
    r"|beschäftige|bin) (?:\w+ ){0,3}(?:nur|ausschließlich|lediglich)"
    r"|(?:bin ich|ich bin) (?:\w+ ){0,3}nicht (?:da|zuständig|gemacht|gedacht)|nicht zu meine[mn]",
    # French
    r"(?:je|j')\s?(?:préfère|préférerais|aime mieux|m'abstiens|m'en tiens|me tiens|me garde|me refuse|laisse|vous laisse|évite"
    r"|renonce|passe|m'en remets|refuse)|m'abstenir|(?:préférable|mieux) (?:que je|de ne)|pas à moi|je n'en dirai|(?:n'en"
    r"|ne) (?:dirai|ferai|donnerai|parlerai|jugerai|rédigerai|traduirai|communiquerai) (?:rien|pas|aucun\w*)|pas (?:mon"
    r"|de mon) (?:rôle|ressort|domaine|travail|métier)|ne me (?:paraît|semble) pas|hors de mon|ne souhaite pas|ne veux pas"
    r"|ne tiens pas|pour que (?:je"
    r"|j'\w*)|très peu pour moi|mal à l'aise|à l'écart|(?:m'occupe|traite|réponds|gère|fais|suis là)\w* (?:\w+ )?(?:que|uniquement"
    r"|seulement)"
    r"|(?:hors|sort\w*|en dehors) de (?:ce que|mon|ma|mes)|prête(?:r)? (?:pas )?(?:la main|à)|garde (?:cela|ça|ces?|le|la|les) ",
    # Spanish
    r"(?:prefiero|preferiría|preferimos) (?:no|dejar|mantener|quedar|que|evitar|guardar|reservar)\w*|me abstengo|abstenerme"
    r"|al margen|paso de|(?:esta vez )?paso|me (?:niego|mantengo|reservo|quedo fuera|guardo|retiro)|no (?:es|son) (?:algo|cosa"
    r"|tema|asunto)\w* (?:\w+ )?(?:que (?:yo|me)|mí)|no (?:me (?:parece|corresponde|compete|siento|toca|gusta)|es (?:mi"
    r"|asunto mío)|quiero|pienso|deseo|voy a)|dejo (?:esto|eso|esta|ese|el|la|los|las)|l[oa]s? dejo|fuera de (?:mi|lo que)|evito"
    r"|(?:solo|sólo|únicamente) (?:me ocupo|atiendo|respondo|trato|ayudo|gestiono|estoy)",
    # Italian
    r"(?:preferisco|preferirei) (?:non|lasciare|evitare|tenere|restare|rimanere|che|astener)\w*|mi (?:astengo|rifiuto"
    r"|tengo fuori|fermo|tiro)"
    r"|non (?:me ne occupo|mi occupo|è (?:il )?mio|intendo|voglio|me la sento|mi sembra|fa per me|spetta|mi va|faccio nomi"
    r"|mi piace)|(?:li|lo|la|le) lascio|lascio (?:a|ai|al|agli|alla|che|perdere|stare|il|la|i|le)|fuori (?:dal mio|da (?:ciò"
    r"|quello) che)|(?:mi occupo|rispondo|tratto) (?:solo|soltanto|unicamente)|(?:li|lo|la"
    r"|le) tengo|tengo (?:per me|riservat\w+)|evito|in disparte",
    # Portuguese
    r"(?:prefiro|preferiria) (?:não|deixar|evitar|manter|ficar|que|guardar)\w*|(?:me )?abstenho(?:-me)?|recuso-me|me recuso|não (?:é"
    r"|são) (?:algo|coisa)\w* (?:\w+ )?(?:que|com)|(?:com|em) (?:o |a )?que não|não (?:quero|pretendo|me (?:sinto|cabe|compete"
    r"|parece|envolvo)|é (?:o )?meu|vou)|deixo (?:isso|isto|esta|este|a|o|para)|fora do (?:meu|que)|(?:só|apenas) (?:trato|cuido"
    r"|respondo|ajudo)|evito|de fora|à margem",
)  # fmt: skip
_DOES_NOT = _any_of(
    r"i (?:don't|do not|never|won't|will not|shall not)(?! (?:\w+ly )?(?:know|see|find|have|think|believe|understand|remember"
    r"|recall|mean|need|get|hear|wonder|doubt|mind|expect|notice|yet|want to (?:guess|mislead|confuse)))",
    r"(?:\w+)e ich (?:\w+ ){0,4}?(?:nicht|nichts|keine?[nrsm]?|nie)(?! (?:finden|sehen|wissen|sicher))"
    r"|finde ich (?:\w+ )?nicht (?:in ordnung|richtig|gut|okay|angebracht|fair)|ich (?:\w+e|mich|mir|werde|mache|gebe"
    r"|will)(?: \S+){0,8} (?:nicht|keine?[nrsm]?|nichts|nie)",
    r"je (?:ne |n')(?!sais|vois|trouve|connais|comprends|peux pas (?:voir|trouver)|ai |dispose|suis pas (?:sûr"
    r"|certain))\w+(?: \w+){0,3} (?:pas|aucune?|jamais|rien|plus)",
    r"no (?!sé|veo|dispongo|obtuve|logro|logré|consigo|conseguí|recibí|poseo|encuentro|tengo|conozco|hay|consta|he|puedo (?:ver"
    r"|encontrar))(?:me |te |le |lo |la |se )?\w+[oé](?!\w)",
    r"non (?!so|vedo|trovo|ho|conosco|capisco)(?:mi |ti |ne |me ne |lo |la )?\w+o(?!\w)|não (?!sei|vejo|encontro|tenho"
    r"|conheço)(?:me |lhe |o |a )?\w+o(?!\w)",
    r"pas (?:quelque chose|un sujet|une chose|un domaine) (?:que|dont|sur lequel|où) (?:je|j'\w+)|nichts,? (?:was|wobei|wozu"
    r"|worüber|womit) ich"
    r"|(?:not|\w+n't) (?:something|a \w+|an \w+|one|things?|topics?) (?:\w+ ){0,3}?(?:i|i'd|i'm|i'll|for me)|nichts für mich"
    r"|nicht (?:meins|mein)",
)  # fmt: skip
_EPISTEMIC = _any_of(
    "find|found|locate|see|know|sure|information|record|entry|wissen|weiß|finde|gefunden|sehe|bekannt|trouve|trouvé|vois|sais|information",
    "encuentro|encontrado|veo|trovo|trovato|vedo|encontro|encontrei|vejo|sei|data available|matching",
)  # fmt: skip
_TOUCHY = _any_of(
    r"sensitiv\w+|privat\w*|privacy|confidential\w*|delicate|personal|intimate|irreversib\w+|too \w+|zu (?:persönlich"
    r"|emotional|traurig|schwer|hart)|trop \w+|définiti\w+|demasiado \w+|troppo \w+|sanitari\w*|risky|too (?:\w+ )?(?:risky|grim"
    r"|dark|violent|personal|delicate|political|graphic|much for)|dangerous|harm\w*|ethic\w*|controvers\w+|violen\w+|principle"
    r"|conscience|uncomfortable|inappropriate|fairness|judg\w+ (?:people|others)|discriminat\w+|disadvantage\w*|policy reasons"
    r"|safety|liab\w+|legal (?:effect|weight|consequences)",
    r"heikel\w*|sensib\w+|vertraulich\w*|privatsphäre|persönlich\w*|gefährlich\w*|gewalt\w*|benachteilig\w+|diskriminier\w+"
    r"|verantwort\w+|grundsätzlich|druck|rechtlich\w*|unumkehrbar|ethisch\w*|moralisch\w*|diskret\w*|datenschutz\w*|delikat\w*",
    r"sensible\w*|confidentiel\w*|vie privée|privé\w*|délicat\w*|personnel\w*|lourd\w*|dangereu\w+|violen\w+|éthique"
    r"|discriminat\w+|conséquences|médecin|juridique|par principe|irréversible|responsabilité",
    r"delicad[oa]s?|sensible\w*|confidencial\w*|privacidad|privad\w+|intimidad|perjudicar|riesg\w+|ética|por principio"
    r"|delicat\w+|sensibil\w+|riservat\w+|privat\w+|principio|confidenciai?s?|privacidade|sensíve\w+|sigil\w+|por princípio|riscos?",
)  # fmt: skip


def unwilling_cues(failed: FailedOutput) -> tuple[str, ...]:
    """The sentences in which the answer keeps away from the task; none where what was asked for is told all the same."""
    text = straight(failed.text[:READ])
    sentences = [sentence.strip() for sentence in _sentences(text)[:SENTENCES_READ]]
    weights = {sentence: weight for sentence in sentences if (weight := _own_weight(sentence))}
    if not weights or _I.search(f"{value_text(failed.expected or {})} {value_text(failed.wanted_words)}"):
        return ()  # nothing speaks for it, or the right answer speaks of an I, too
    context = TOUCHY * bool(_TOUCHY.search(text)) + HANDS_OVER * bool(refers_on(text))
    context += EMPTY * (not (tells_what_was_found(failed) or _repeats_a_figure(failed)))
    return tuple(sentence for sentence, weight in weights.items() if weight + context >= ENOUGH)


def _sentences(text: str) -> list[str]:
    """Its parts between full stops, marks and ends of lines, in a fifth of the time of a search for them."""
    return [*filter(None, text.replace("!", ".").replace("?", ".").replace("\n", ".").split("."))]


@lru_cache(maxsize=4096)  # many outputs have sentences in common
def _own_weight(sentence: str) -> float:
    """Returns how much the sentence itself speaks for it."""
    if sentence.isascii() and not _may_speak_for_it()(sentence):
        return 0.0
    of_itself, does_not = _I.search(sentence) is not None, _DOES_NOT.search(sentence) is not None
    if not (of_itself or does_not) or is_business(sentence.casefold()):
        return 0.0
    if of_itself and _KEEPS_AWAY.search(sentence):
        return KEEPS_AWAY
    if _EPISTEMIC.search(sentence):
        return 0.0
    return DOES_NOT if does_not else OF_ITSELF


@cache
def _may_speak_for_it() -> Callable[[str], bool]:
    return first_look([], ascii_only=[_I, _DOES_NOT], ignore_case=True)


def sends_elsewhere(failed: FailedOutput) -> str:
    """The answer, where it only says who else should be asked, though the right one stands in what it had before it."""
    # In this order: to look for whom an answer names costs many times what it takes to find the right one.
    if len(failed.text) > READ or not _stands_there(failed) or not refers_on(failed.text):
        return ""
    sentences = [sentence for sentence in _sentences(straight(failed.text)) if sentence.strip()]
    elsewhere = sum(refers_on(sentence) for sentence in sentences)
    if not elsewhere or 2 * elsewhere < len(sentences) or tells_what_was_found(failed) or _repeats_a_figure(failed):
        return ""
    return failed.text


def _stands_there(failed: FailedOutput) -> bool:
    """Returns whether the right answer stands in the material, word by word, and not in the one that came."""
    answers = [
        leaf.casefold()
        for wanted in (failed.expected, failed.wanted_words)
        for _, leaf in leaves(wanted)
        if isinstance(leaf, str)
    ]
    material = " ".join(value_text(value) for value in (failed.inputs, *(call.result for call in failed.tool_calls)))
    folded = material[:RESULTS_READ].casefold()
    if any((word := _WORD.search(answer)) and word[0] not in folded for answer in answers):
        return False  # told by the first word of each, most times
    right = [squeezed(answer) for answer in answers]
    return any(right) and _has_words(folded, right, all) and not _has_words(failed.text, right, any)


def _has_words(text: str, several: Sequence[str], each: Callable[[Iterable[bool]], bool]) -> bool:
    """Returns whether all or any of the texts stand in the text, word by word; what is nowhere in it saves to take it apart."""
    folded = text.casefold()
    if not each(all(word in folded for word in words.split()) for words in several):
        return False
    had = f" {squeezed(text)} "
    return each(f" {words} " in had for words in several)


def _repeats_a_figure(failed: FailedOutput) -> bool:
    """Returns whether a figure of the material beside the task stands in the answer."""
    given = " ".join(value_text(value) for key, value in failed.inputs.items() if key.casefold() not in ASKING_KEYS)
    return bool(frozenset(_FIGURE.findall(given[:RESULTS_READ])) & frozenset(_FIGURE.findall(failed.text[:READ])))


def tells_what_was_found(failed: FailedOutput) -> bool:
    """Returns whether a figure or a name of the log's results stands in the answer and not in the task."""
    results = _tellable(" ".join(value_text(call.result) for call in failed.tool_calls)[:RESULTS_READ])
    return bool(results and (results & _tellable(failed.text[:READ])) - _tellable(value_text(failed.inputs)))


def _tellable(text: str) -> frozenset[str]:
    """Its figures and its words with a capital."""
    return frozenset(_TELLABLE.findall(text))
