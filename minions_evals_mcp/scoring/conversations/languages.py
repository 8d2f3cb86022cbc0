"""The language of a message, where its common words tell it."""

from __future__ import annotations

import re
from functools import cache

COMMON_WORDS: dict[str, str] = {
    "en": "the a an i you he she we they is are was were do does did not have has it that this what how when why where who which my"
    " your me can could would will with for from and or but please about so there need want of to in on at be been just",
    "de": "der die das ein eine ich du sie wir ihr er es ist sind war nicht habe hat haben und oder aber mit für von wie was wann warum"
    " wo wer welche mein meine ihre mir mich kann könnte würde bitte auf dem den noch schon auch zu im in zum dass wenn jetzt"
    " so will an also hat man ihnen ihm ihn uns sich kein keine diese dieser dieses nur mehr sehr nach bei aus über einen einem einer"
    " etwas alles doch wieder wird werden muss müssen soll können könnten sein damit hier dann da",
    "fr": "le la les un une je tu il elle nous vous ils est sont était ne pas ai avez a et ou mais avec pour de du des comment quoi"
    " quand pourquoi où qui quel mon ma mes votre me peux pouvez voudrais s'il plaît sur que ce cette cela déjà plus au en y"
    " c'est j'ai n'est qu'il ce ces sa ses leur être avoir fait faire dans par sans très aussi encore pouvez puis moi lui pas",
    "es": "el la los las un una yo tú él ella nosotros usted ustedes es son era no he ha han y o pero con para por de del cómo qué"
    " cuándo dónde quién mi mis su me puede podría quiero favor que este esta eso ya más en al lo le se está tengo hacer"
    " muy sin sobre también hay ahora tiene puedo estoy ese esa esto nada algo desde hasta porque les nos fue",
    "it": "il lo la gli le un una io tu lui lei noi voi è sono era non ho ha hanno e o ma con per di del come cosa quando perché dove"
    " chi mio mia suo mi può vorrei che questo questa già più al nel si sta devo fare",
    "pt": "o a os as um uma eu você ele ela nós é são era não tenho tem e ou mas com para por de do da como que quando onde quem meu"
    " minha seu me pode queria isso este esta já mais no na ao se está fazer",
    "nl": "de het een ik jij u hij zij wij is zijn was niet heb heeft hebben en of maar met voor van hoe wat wanneer waarom waar wie"
    " mijn uw mij kan zou wil dat dit op er nog al ook naar te in",
}  # fmt: skip
"""The most common words of each language, those that another shares among them."""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SCRIPTS = {
    "ru": re.compile("[\u0400-\u04ff]"), "zh": re.compile("[\u4e00-\u9fff]"), "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"), "ar": re.compile("[\u0600-\u06ff]"), "el": re.compile("[\u0370-\u03ff]"),
}  # fmt: skip
LEAST = 3
"""So many common words, and a lead of so many over the next language, tell a language."""
LEAD = 2


@cache
def _known() -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in COMMON_WORDS.items()}


def language_of(text: str) -> str | None:
    """The language that the text is certainly in; None where its words do not tell."""
    letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPTS.items():
        if letters and len(script.findall(text)) > letters / 2:
            return language
    counts = _counts(text)
    (first, most), (_, second) = sorted(counts.items(), key=lambda count: -count[1])[:2]
    return first if most >= LEAST and most - second >= LEAD else None


def speaks(text: str, language: str) -> bool:
    """Whether the text has several of the common words of that language that other languages lack."""
    own = _known().get(language)
    if own is None:
        return False
    others = {word for name, words in _known().items() if name != language for word in words}
    return sum(word in own and word not in others for word in _WORD.findall(text.casefold())) >= LEAD


def _counts(text: str) -> dict[str, int]:
    words = _WORD.findall(text.casefold())
    return {language: sum(word in known for word in words) for language, known in _known().items()}


def own_words(language: str) -> tuple[str, ...]:
    """The common words of a language that no other one has, in their order; none for a language that is told by its script."""
    known = _known().get(language, frozenset[str]())
    others = frozenset[str]().union(*(words for name, words in _known().items() if name != language))
    return tuple(sorted(known - others))
