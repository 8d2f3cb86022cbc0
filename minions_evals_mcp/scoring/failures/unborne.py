"""The names in a judge's words that the answer has and its material has not, beside words of absence: whatever the words are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pydantic import JsonValue

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.failed import FailedOutput
from minions_evals_mcp.scoring.failures.given import ASKING_KEYS
from minions_evals_mcp.scoring.failures.mentions import ORDINARY, WORD, stem
from minions_evals_mcp.scoring.failures.texts import flat, straight

READ = 100_000
SEVERAL = 2
_LITTLE = 3
"""A word of so many letters names nothing."""
_EMPTY = ORDINARY.union(
    """
    eine einen einem einer aller alle sind wird aber oder noch sich para pour avec dans sono dell della dello como pero
    mais uma dois
    """.split()  # noqa: SIM905  words
)
"""Words that name nothing."""
_ABSENT = late(
    r"\b(?:not?|never|nothing|none|neither|nor|without|nowhere|nobody|empty|silent|only|absent|lacks?|lacking|unknown|added|adds"
    r"|adding|embellish\w*|beyond"
    r"|nicht|nichts|keine?\w*|nie|weder|noch|ohne|leer|nirgend\w*|hinzu\w*|ergänz\w*|lediglich|nur|pas|aucune?|rien|jamais|ni|sans"
    r"|vide|ajout\w*|seulement|nulle"
    r"|nada|ningun\w*|ningún|sin|nunca|tampoco|añad\w*|vací\w+|sólo|solo|non|nessun\w*|niente|né|senza|mai|aggiun\w*|vuot\w+"
    r"|não|nenhum\w*|nem|sem|acrescent\w*|vazi\w+|apenas)\b|n't\b",
    re.IGNORECASE,
)
_SOURCE = late(
    r"\b\w*(?:source|context|document|text|article|passage|memo|report|leaflet|policy|results?|tools?|data|sheet|input|records?"
    r"|file|logs?|manual|page"
    r"|table|list|catalog\w*|database|contract|notes?|transcript|letter|ticket|material|excerpt|brief|chart|cv|invoice|minutes"
    r"|protocol|profile|review|rapport|reseña|nota|relevé|avis"
    r"|quellen?|protokoll\w*|unterlagen?|dokument\w*|bericht\w*|system\w*|daten\w*|verzeichnis\w*|werkzeug\w*|eintrag\w*|akten?"
    r"|vertrag\w*|blatt|beleg\w*|mail"
    r"|fiche|contrat|dossier|outil|base|système|procès-verbal|compte rendu|registre|notice|catalogue"
    r"|informe|contrato|documento|registro|ficha|herramienta|fuente|sistema|acta|hoja|recensione|contratto|scheda|fonte|strumento|verbale"
    r"|relatório|ata|ferramenta|page|página|pagina|testo|texto)\b",
    re.IGNORECASE,
)
_LEAVES_OUT = late(
    r"\b(?:omit\w*|omission|le(?:ft|aves?) out|missing|lack\w*|forg[eo]t\w*|fehl\w*|vergess\w*|ausgelassen|unterschlag\w*"
    r"|omet\w*|omis\w*|manqu\w*|oubli\w*|falta\w*|olvid\w*|manca\w*|dimentic\w*|esquec\w*)\b",
    re.IGNORECASE,
)
_MENTIONS = late(
    r"\b(?:mention\w*|erwähnt|genannt|nicht vor|absent|disparu\w*|desaparec\w*|mencion\w*|menzion\w*)\b", re.IGNORECASE
)
_FIGURE = late(r"\d[\d.,:]*\d|\d")
_SENTENCE = late(r"[^.!?\n]+")


@lru_cache(maxsize=1024)  # what a rule says of one output it says of many
def _speaks_of_absence(rationale: str, keys: frozenset[str]) -> bool:
    """Returns whether a sentence has a word of absence and one for a source: one of many, or the name that the input gives it."""
    sentences = [part[0] for part in _SENTENCE.finditer(rationale) if _ABSENT.search(part[0])]
    return any(_SOURCE.search(sentence) or keys & _stems([sentence]) for sentence in sentences)


def _keys(failed: FailedOutput) -> frozenset[str]:
    """Returns what the input calls its parts, but for the task."""
    return _stems([key for key in failed.inputs if key.casefold() not in ASKING_KEYS])


def names_unborne(failed: FailedOutput, rationale: str) -> bool:
    """Returns whether the judge names several words that only the answer has, or one and something absent from a source."""
    named = _own(failed) & _stems([rationale])
    return len(named) >= SEVERAL or (bool(named) and _speaks_of_absence(rationale, _keys(failed)))


def names_absent(failed: FailedOutput, rationale: str) -> bool:
    """Returns whether the judge speaks of something absent from a source, and of a word that only the answer has."""
    return _speaks_of_absence(rationale, _keys(failed)) and bool(_own(failed) & _stems([rationale]))


def names_omitted(failed: FailedOutput, rationale: str) -> bool:
    """Returns whether the judge speaks of something left out, and names what the material has and the answer has not."""
    return _LEAVES_OUT.search(rationale) is not None and _names_unsaid(failed, rationale)


def names_only_omitted(failed: FailedOutput, rationale: str) -> bool:
    """Returns whether the judge names something of the material that the answer leaves out, and nothing that only the answer has."""
    if not (_LEAVES_OUT.search(rationale) or _MENTIONS.search(rationale)) or not _names_unsaid(failed, rationale):
        return False
    return not _terms([rationale]) & _terms([failed.text]) - _terms(_source_values(failed))


def _names_unsaid(failed: FailedOutput, rationale: str) -> bool:
    """Returns whether it names something of the material that the answer does not say."""
    return bool(_terms([rationale]) & _terms(_source_values(failed)) - _terms([failed.text]))


def _own(failed: FailedOutput) -> frozenset[str]:
    """Returns what only the answer says."""
    return _stems([failed.text]) - _stems(_source_values(failed))


def _source_values(failed: FailedOutput) -> list[JsonValue]:
    return [failed.inputs, *(value for call in failed.tool_calls for value in (call.result, call.arguments, call.tool))]


def _terms(values: Sequence[JsonValue]) -> frozenset[str]:
    """The stems and the figures."""
    return _stems(values) | frozenset(_FIGURE.findall(_text(values)))


def _text(values: Sequence[JsonValue]) -> str:
    return straight("\n".join(value if isinstance(value, str) else flat(value) for value in values))[:READ]


def _stems(values: Sequence[JsonValue]) -> frozenset[str]:
    words = (word for word in WORD.findall(_text(values).replace("-", " ").replace("_", " ")) if len(word) > _LITTLE)
    return frozenset(stem(word) for word in words if word.casefold() not in _EMPTY)
