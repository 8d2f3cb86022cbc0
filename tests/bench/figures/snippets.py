"""Snippets a second in each language: a score card of a hundred rows, and a check of one output.

python -m tests.bench.figures.snippets [--calls 500]
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from time import perf_counter

import anyio
from pydantic import JsonValue

from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import Language, Ran

ROWS: list[JsonValue] = [
    {"question": f"Question {n} about the order?", "correct": n % 3 != 0, "tone": n % 5 + 1, "latency": 120.5 + n}
    for n in range(100)
]
CARDS: dict[Language, str] = {
    "python": "right = [row for row in data if row['correct']]\ntone = mean([row['tone'] for row in data])\n"
    "return {'score': 100 * len(right) / len(data), 'score_matrix': [[['Tone', 1, 2], ['mean', tone, len(right)]]]}",
    "javascript": "const right = data.filter((row) => row.correct);\n"
    "const tone = data.reduce((sum, row) => sum + row.tone, 0) / data.length;\n"
    "return {score: 100 * right.length / data.length, score_matrix: [[['Tone', 1, 2], ['mean', tone, right.length]]]};",
}
CHECKS: dict[Language, str] = {
    "python": "len(output) > 3 and 'a' in output",
    "javascript": "output.length > 3 && output.includes('a')",
}


async def rate(snippets: Snippets, language: Language, code: str, variables: dict[str, JsonValue], calls: int) -> float:
    """Calls a second, as many at once as there are processes."""
    room = anyio.CapacityLimiter(8)

    async def one() -> None:
        async with room:
            assert isinstance(await snippets.run(language, code, variables), Ran)

    await one()
    began = perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(calls):
            tasks.start_soon(one)
    return calls / (perf_counter() - began)


async def figures(calls: int) -> None:
    """Tells the rates, and how long the first call of each language takes."""
    for trusted in (False, True):
        name, number = ("trusted", calls // 20) if trusted else ("sandbox", calls)
        async with Snippets(trusted=trusted) as snippets:
            for language, card in CARDS.items():
                began = perf_counter()
                await snippets.run(language, "1", {})
                first = perf_counter() - began
                cards = await rate(snippets, language, card, {"data": ROWS}, number)
                checks = await rate(snippets, language, CHECKS[language], {"output": "Paris"}, number)
                sys.stdout.write(
                    f"{name} {language}: {cards:,.0f} hundred-row score cards/s, {checks:,.0f} checks/s, "
                    f"first call {first * 1000:.0f} ms\n"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=500)
    anyio.run(partial(figures, parser.parse_args().calls))


if __name__ == "__main__":
    main()
