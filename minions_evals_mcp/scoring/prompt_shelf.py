"""Prompts, their versions and their test cases: which version a name stands for, and which cases it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.prompts.version_chain import Link, chains
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.errors import BadInputError, NotFoundError


@dataclass(frozen=True, slots=True)
class ShelfPrompt:
    """One version of a prompt; `chain_id` is the prompt that it is a version of, itself where it stands alone."""

    id: str
    content: str
    chain_id: str
    number: int = 1


@dataclass(frozen=True, slots=True)
class ShelfCase:
    """The inputs, what should come out, and what it is worth. `expected` is None where an evaluator must decide."""

    id: str
    variables: Json
    expected: Json | None
    max_score: float
    names: frozenset[str] = frozenset()
    is_active: bool = True

    def documented(self) -> Json:
        """The case as an evaluator sees it: the documented keys, whatever the case was read from."""
        (expected,) = (
            self.expected.values() if self.expected is not None and len(self.expected) == 1 else (self.expected,)
        )
        return deepcopy(
            {"id": self.id, "input": self.variables, "expectedOutput": expected, "maxScore": self.max_score}
        )


@dataclass(frozen=True, slots=True)
class Shelf:
    """The prompts and cases that a storage holds, in its order, each prompt under its chain."""

    prompts: tuple[ShelfPrompt, ...]
    cases: tuple[ShelfCase, ...]
    latest: Mapping[str, str]

    def prompt(self, prompt_id: str) -> ShelfPrompt:
        """The version under that id, else the latest of the chain of that name; raises `NotFoundError`."""
        by_id = {prompt.id: prompt for prompt in self.prompts}
        named = by_id.get(prompt_id) or by_id.get(self.latest.get(prompt_id, ""))
        if named is None:
            raise NotFoundError("prompt", prompt_id)
        return named

    def cases_of(self, prompt: ShelfPrompt) -> tuple[ShelfCase, ...]:
        """The active cases that name the version or its chain."""
        return self._active({prompt.id, prompt.chain_id})

    def shared_cases(self, a: ShelfPrompt, b: ShelfPrompt) -> tuple[ShelfCase, ...]:
        """The active cases that both versions run: those of their common chain, else those that name either."""
        common = self._active({a.chain_id}) if a.chain_id == b.chain_id else ()
        return common or self._active({a.id, a.chain_id, b.id, b.chain_id})

    def _active(self, names: set[str]) -> tuple[ShelfCase, ...]:
        return tuple(case for case in self.cases if case.is_active and not case.names.isdisjoint(names))


def shelved(prompts: Sequence[ShelfPrompt], cases: Sequence[ShelfCase], follows: Sequence[Relation]) -> Shelf:
    """The shelf of these; raises `BadInputError` for an id that is there twice, and for versions in a ring."""
    _vet_distinct(prompts, "prompts")
    _vet_distinct(cases, "test cases")
    older = {relation.source_id: relation.target_id for relation in follows}
    links = [Link(prompt.id, prompt.chain_id, prompt.number, older.get(prompt.id)) for prompt in prompts]
    chains_by_name = chains(links)
    names = {version_id: chain.prompt_id for chain in chains_by_name.values() for version_id in chain.version_ids}
    latest = {prompt_id: chain.latest.id for prompt_id, chain in chains_by_name.items()}
    return Shelf(tuple(replace(prompt, chain_id=names[prompt.id]) for prompt in prompts), tuple(cases), latest)


def _vet_distinct(given: Sequence[ShelfPrompt] | Sequence[ShelfCase], what: str) -> None:
    seen: set[str] = set()
    for prompt_or_case in given:
        if (ident := prompt_or_case.id) in seen:
            raise BadInputError(
                f"two {what} have the id {ident!r}.", remedy="Rename one, so that results can be told apart."
            )
        seen.add(ident)
