"""Prompts, their versions and their test cases: which version a name stands for, and which cases it runs (contracts 3, 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeVar

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.errors import BadInputError, NotFoundError


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of a prompt; `chain_id` is the prompt that it is a version of, itself where it stands alone."""

    id: str
    content: str
    chain_id: str
    number: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """What goes in, what should come out, and what it is worth. `expected` is None where an evaluator must decide."""

    id: str
    variables: Json
    expected: Json | None
    max_score: float
    names: frozenset[str] = frozenset()
    is_active: bool = True

    def shown(self) -> Json:
        """The case as an evaluator sees it: the seed's keys, whatever the case was read from."""
        (expected,) = (
            self.expected.values() if self.expected is not None and len(self.expected) == 1 else (self.expected,)
        )
        return deepcopy(
            {"id": self.id, "input": self.variables, "expectedOutput": expected, "maxScore": self.max_score}
        )


@dataclass(frozen=True, slots=True)
class Shelf:
    """The prompts and cases that a storage holds, in its order, each prompt under its chain."""

    prompts: tuple[Prompt, ...]
    cases: tuple[Case, ...]
    followed: frozenset[str] = frozenset()

    def prompt(self, prompt_id: str) -> Prompt:
        """The version under that id, else the latest of the chain of that name; raises `NotFoundError`."""
        for one in self.prompts:
            if one.id == prompt_id:
                return one
        chain = [one for one in self.prompts if one.chain_id == prompt_id]
        if not chain:
            raise NotFoundError("prompt", prompt_id)
        newest = [one for one in chain if one.id not in self.followed] or chain
        return max(newest, key=lambda one: one.number)

    def cases_of(self, prompt: Prompt) -> tuple[Case, ...]:
        """The active cases that name the version or its chain."""
        return self._active({prompt.id, prompt.chain_id})

    def shared_cases(self, a: Prompt, b: Prompt) -> tuple[Case, ...]:
        """The active cases that both versions run: those of their common chain, else those that name either."""
        common = self._active({a.chain_id}) if a.chain_id == b.chain_id else ()
        return common or self._active({a.id, a.chain_id, b.id, b.chain_id})

    def _active(self, names: set[str]) -> tuple[Case, ...]:
        return tuple(one for one in self.cases if one.is_active and not one.names.isdisjoint(names))


N = TypeVar("N", Prompt, Case)


def shelved(prompts: Sequence[Prompt], cases: Sequence[Case], follows: Sequence[Relation]) -> Shelf:
    """The shelf of these; raises `BadInputError` for an id that is there twice, and for versions in a ring."""
    by_id = _by_id(prompts, "prompts")
    _by_id(cases, "test cases")
    older = {one.source_id: one.target_id for one in follows}
    return Shelf(
        tuple(replace(one, chain_id=_chain_id(one, by_id, older)) for one in prompts),
        tuple(cases),
        frozenset(older.values()),
    )


def _by_id(found: Sequence[N], what: str) -> dict[str, N]:
    by_id = {one.id: one for one in found}
    if len(by_id) < len(found):
        twice = next(one.id for one in found if by_id[one.id] is not one)
        raise BadInputError(f"two {what} have the id {twice!r}.", remedy="Results could not be told apart: rename one.")
    return by_id


def _chain_id(prompt: Prompt, by_id: Mapping[str, Prompt], older: Mapping[str, str]) -> str:
    """The promptId that the version or the nearest before it names, else the id of the chain's first version."""
    seen = {prompt.id}
    at = prompt
    while not at.chain_id:
        before = by_id.get(older.get(at.id, ""))
        if before is None:
            return at.id
        if before.id in seen:
            raise BadInputError(f"the versions of the prompt {prompt.id!r} follow each other in a ring.")
        seen.add(before.id)
        at = before
    return at.chain_id
