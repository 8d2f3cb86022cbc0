"""The part of an input that asks, and what of it is there to answer from."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.scoring.failures.texts import leaves

CONTEXT_KEYS = frozenset(
    (
        "context", "documents", "document", "passages", "passage", "retrieved", "sources", "source", "knowledge", "article", "report",
        "transcript", "excerpt", "content", "policy", "notes", "kontext", "dokument", "quelle", "quellen", "auszug", "bericht",
        "contexte", "texte", "extrait", "rapport", "contexto", "documento", "fuente", "contesto", "fonte", "testo", "texto",
    )
)  # fmt: skip
ASKING_KEYS = frozenset(
    (
        "question", "query", "prompt", "instruction", "instructions", "task", "input", "goal", "request", "message", "ask", "q", "frage",
        "aufgabe", "auftrag", "anfrage", "eingabe", "demande", "tache", "tâche", "entree", "entrée", "pregunta", "tarea", "consulta",
        "domanda", "compito", "richiesta", "pergunta", "tarefa", "pedido", "system", "user", "tools", "ticket", "code",
    )
)  # fmt: skip
PASSAGE_WORDS = 4
"""So many words beside a question are a text to answer from, whatever their key is called."""


def has_context(inputs: Json) -> bool:
    """Returns whether the inputs carry a context: a key of `CONTEXT_KEYS` at any depth, with something under it."""
    pending: list[JsonValue] = [inputs]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if any(key.casefold() in CONTEXT_KEYS and _says_something(value) for key, value in value.items()):
                return True
            if len(value) > 1 and any(_is_passage(key, value) for key, value in value.items()):
                return True
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return False


def _is_passage(key: str, value: JsonValue) -> bool:
    """Returns whether the value is something to answer from: a passage, or data of several parts."""
    if key.casefold() in ASKING_KEYS:
        return False
    if isinstance(value, str):
        return len(value.split()) >= PASSAGE_WORDS
    return isinstance(value, (dict, list)) and len(value) > 1


def _says_something(value: JsonValue) -> bool:
    return any(leaf not in (None, "") for _, leaf in leaves(value))
