"""Looking at everything in the browser."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, run, say, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.network_address import NetworkAddress, bound
from minions_evals_mcp.view.app import listening, serve, serve_team
from minions_evals_mcp.view.entrance.team import page_address

Port = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65_535))]
Hosts = Annotated[tuple[str, ...], Parameter(name="--allowed-host", negative=(), consume_multiple=False)]


def view(
    *,
    port: Port | None = None,
    browser: bool = True,
    by: str = "",
    http: str | None = None,
    allowed_hosts: Hosts = (),
    behind_tls: bool = False,
    common: Common = DEFAULTS,
) -> int:
    """Browse benchmarks, runs in progress, history, failures and the outbox, and judge outputs that wait, in the
    browser.

    Only this machine can open the pages, with the token in the printed address. --http serves a team: each person
    signs in with a token (`people add`) and may do what their role allows. Ctrl-C stops it.
    Example: minions-evals view --by anna
    Example: minions-evals view --http 0.0.0.0:8427 --allowed-host evals.example.org --behind-tls

    Parameters
    ----------
    port
        Port (default 8427, or a free port if that is taken). 0 takes any free port.
    browser
        Open the browser (--no-browser prints the address only).
    by
        The person who judges in the browser, as in `judge`. Without it, the page asks for a person's token.
    http
        HOST:PORT at which a team signs in.
    allowed_hosts
        A name under which browsers reach the page through a proxy (repeatable).
    behind_tls
        A proxy in front of --http terminates TLS. Required at an address that other machines can reach.
    """
    try:
        if http is None:
            if allowed_hosts or behind_tls:
                option = "--allowed-host" if allowed_hosts else "--behind-tls"
                raise BadInputError(f"{option} applies to the team page only.", remedy="Give --http HOST:PORT with it.")
            return run(partial(_view, port, browser, by, common))
        if port is not None or by:
            option = "--port" if port is not None else "--by"
            other = "--http names the port" if port is not None else "with --http, each person signs in"
            raise BadInputError(f"{option}: {other}.", remedy=f"Leave {option} out.")
        address = page_address(http, allowed_hosts=allowed_hosts, behind_tls=behind_tls)
        return run(partial(_view_of_a_team, address, behind_tls, common))
    except KeyboardInterrupt:
        return 0  # the way in which looking ends


async def _view(port: int | None, browser: bool, by: str, common: Common) -> int:
    with listening(port) as socket:
        async with session(common, makes=common.db is None) as engine:
            speaking = engine.speaking(await speaker_at(engine, by))
            await serve(speaking, socket, browse=browser, opened=partial(_opened, as_json=common.json))
    return 0


async def _view_of_a_team(address: NetworkAddress, behind_tls: bool, common: Common) -> int:
    with bound(address) as socket:
        async with session(common, makes=common.db is None) as engine:
            said = partial(_opened_to_a_team, behind_tls=behind_tls, as_json=common.json)
            await serve_team(engine, socket, address, behind_tls=behind_tls, opened=said)
    return 0


def _opened(url: str, *, as_json: bool) -> None:
    if as_json:
        say({"url": url})
    else:
        tell(f"{url}\nThe address contains the key to this page. Do not share it. Press Ctrl-C to stop.\n")
    sys.stdout.flush()


def _opened_to_a_team(address: NetworkAddress, people: int, *, behind_tls: bool, as_json: bool) -> None:
    named = address.allowed_hosts[:1] if behind_tls else ()
    url = f"https://{named[0]}/" if named else f"http://{address.authority}/"
    if as_json:
        say({"url": url, "listens": address.authority, "people": people})
    else:
        tell(f"{url}\nPeople sign in with their tokens. Listening on {address.authority}. Press Ctrl-C to stop.\n")
        if not people:
            tell(as_typed("Nobody can sign in yet: minions-evals people add NAME --role editor\n"), aside=True)
    sys.stdout.flush()
