"""Prompts as chains of their versions: which versions belong together, in which order, and which is the latest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class Link:
    """One version in its chain. `follows` is the version before it; `prompt_id` is "" where the version names no prompt.

    A hidden version ties others together and is listed nowhere.
    """

    id: str
    prompt_id: str
    number: int
    follows: str | None = None
    hidden: bool = False


@frozen_type
class Chain:
    """A prompt: its id and its versions, oldest first."""

    prompt_id: str
    links: tuple[Link, ...]

    @property
    def latest(self) -> Link:
        """The newest version that nothing follows."""
        return self.links[-1]

    @property
    def version_ids(self) -> tuple[str, ...]:
        """The ids of the versions, oldest first."""
        return tuple(link.id for link in self.links)

    def numbered(self, number: int) -> tuple[Link, ...]:
        """The versions that bear the number: one, unless siblings share it."""
        return tuple(link for link in self.links if link.number == number)


def chains(links: Sequence[Link]) -> dict[str, Chain]:
    """Every prompt that those versions make up, by its id. The versions are given in the order in which they were kept.

    A prompt's versions are those with its `promptId` and those that `follows` ties to them; one that names another prompt
    begins that prompt. Without any `promptId` the prompt goes by the id of its first version. The order is that of
    `follows`, then the number, then the order given. Raises `BadInputError` for versions that follow each other in a ring.
    """
    by_id = {link.id: link for link in links}
    names = _prompt_ids(links, by_id)
    members: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        members[names[link.id]].append(link)
    ordered = {name: _ordered(chain_links) for name, chain_links in members.items()}
    shown = {name: tuple(link for link in links if not link.hidden) for name, links in ordered.items()}
    return {name: Chain(name, links) for name, links in shown.items() if links}


def chain_named(by_name: Mapping[str, Chain], name: str) -> Chain | None:
    """The chain that one of its versions names, else the one that the prompt's id names."""
    return next((chain for chain in by_name.values() if name in chain.version_ids), by_name.get(name))


def _prompt_ids(links: Sequence[Link], by_id: Mapping[str, Link]) -> dict[str, str]:
    """The prompt that each version belongs to: the one it names, else the nearest named before it, else after it."""
    newer: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        if link.follows is not None:
            newer[link.follows].append(link)
    names: dict[str, str] = {}
    for link in links:
        first = _first_named(link, by_id)
        names[link.id] = first.prompt_id or _named_after(first, newer) or first.id
    return names


def _first_named(link: Link, by_id: Mapping[str, Link]) -> Link:
    """The version itself or the nearest before it that names its prompt, else the first before it."""
    seen = {link.id}
    while not link.prompt_id:
        before = by_id.get(link.follows or "")
        if before is None:
            return link
        if before.id in seen:
            raise BadInputError(f"the versions of the prompt {link.id!r} follow each other in a ring.")
        seen.add(before.id)
        link = before
    return link


def _named_after(first: Link, newer: Mapping[str, Sequence[Link]]) -> str:
    """The prompt that the nearest versions after it name, the lowest number of them first."""
    level: list[Link] = [first]
    while level := [link for older in level for link in newer.get(older.id, ())]:
        named = [link for link in level if link.prompt_id]
        if named:
            return min(named, key=lambda link: link.number).prompt_id
    return ""


def _ordered(members: Sequence[Link]) -> list[Link]:
    """The versions, older before newer; built from the newest one that nothing follows."""
    places = {link.id: place for place, link in enumerate(members)}
    followers = Counter(link.follows for link in members if link.follows in places)
    ends = [(-link.number, -places[link.id]) for link in members if not followers[link.id]]
    heapify(ends)
    ordered: list[Link] = []
    while ends:
        link = members[-heappop(ends)[1]]
        ordered.append(link)
        if link.follows in places:
            followers[link.follows] -= 1
            if not followers[link.follows]:
                older = places[link.follows]
                heappush(ends, (-members[older].number, -older))
    ring = set(places).difference(link.id for link in ordered)
    ordered += sorted((link for link in members if link.id in ring), key=lambda link: -link.number)
    return ordered[::-1]


def listed_numbers(links: Iterable[Link]) -> str:
    """The numbers of those versions in words."""
    return ", ".join(dict.fromkeys(str(link.number) for link in links))
