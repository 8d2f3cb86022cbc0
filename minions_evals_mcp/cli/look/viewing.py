"""Looking at everything in the browser."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, run, say, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.view.app import listening, serve

Port = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65_535))]


def view(*, port: Port | None = None, browser: bool = True, by: str = "", common: Common = DEFAULTS) -> int:
    """Browse benchmarks, runs in progress, history, failures and the outbox, and judge outputs that wait, in the
    browser.

    It answers on this machine alone, to whoever holds the token in the address that is printed. Ctrl-C ends it.
    Example: minions-evals view --by anna

    Parameters
    ----------
    port
        Port (default 8427, or a free port if that is taken). 0 takes any free port.
    browser
        Open the browser (--no-browser prints the address only).
    by
        Who judges on the page: a person, as in `judge`. Else the page asks for a person's token.
    """
    try:
        return run(partial(_view, port, browser, by, common))
    except KeyboardInterrupt:
        return 0  # the way in which looking ends


async def _view(port: int | None, browser: bool, by: str, common: Common) -> int:
    with listening(port) as bound:
        async with session(common, makes=common.db is None) as engine:
            speaking = engine.speaking(await speaker_at(engine, by))
            await serve(speaking, bound, browse=browser, opened=partial(_opened, as_json=common.json))
    return 0


def _opened(url: str, *, as_json: bool) -> None:
    if as_json:
        say({"url": url})
    else:
        tell(f"{url}\nThe address holds the key to this page: keep it to yourself. Ctrl-C ends it.\n")
    sys.stdout.flush()
