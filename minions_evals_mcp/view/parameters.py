"""The parameters of a request, parsed once; what does not fit is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.persons import person_with_token
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.view.entrance.signed_in import SignedIn
from minions_evals_mcp.view.entrance.visitors import visitor

MOST_BYTES = 2_000_000
MOST_FIELDS = 200
DIGITS = 9
LAST_PAGE = 1_000_000


def engine_of(request: Request) -> Engine:
    """The engine behind the page, spoken through by whoever signed in."""
    engine, person = request.app.state.engine, visitor()
    assert isinstance(engine, Engine)
    return engine if person is None else engine.speaking(person)


def signed_in(request: Request) -> SignedIn:
    """The people who gave their token to this page."""
    people = request.app.state.signed_in
    assert isinstance(people, SignedIn)
    return people


def named(request: Request, name: str) -> str:
    """The text under that name, empty where there is none."""
    return request.query_params.get(name, "")


def required(request: Request, name: str) -> str:
    """The text under that name; raises `BadInputError` where there is none."""
    value = named(request, name)
    if not value:
        raise BadInputError(f"the address has no {name}=….", remedy="Start from the overview.")
    return value


def page_number(request: Request) -> int:
    """Returns which page of a list is asked for, from 1."""
    text = named(request, "page") or "1"
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= LAST_PAGE:
        raise BadInputError(f"no page {text[:20]!r}.", remedy="Pages start at 1.")
    return int(text)


def step_number(request: Request) -> int:
    """Returns which step of a trajectory is looked at, 0 where none is named."""
    text = named(request, "step") or "0"
    if not text.isascii() or not text.isdecimal() or int(text) > LAST_PAGE:
        raise BadInputError(f"there is no step {text[:20]!r}.", remedy="Steps are counted from 1.")
    return int(text)


def place_of(text: str) -> tuple[int, int]:
    """The position of a unit and its trial, as an address writes them."""
    position, _, trial = text.partition(".")
    if not (position.isdecimal() and trial.isdecimal() and len(position) <= DIGITS and len(trial) <= DIGITS):
        raise BadInputError("the address does not name a case of a run.", remedy="Start from the run's page.")
    return int(position), int(trial)


async def form_of(request: Request) -> dict[str, str]:
    """Returns what a form of ours sent; raises `BadInputError` for what none of them could have."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise BadInputError("the form is too long.", remedy=f"A form may have {MOST_BYTES} bytes.")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise BadInputError("unknown form.", remedy="Start from the overview.") from None
    return dict(pairs)


async def person_of(request: Request, form: Mapping[str, str]) -> tuple[Speaker | None, str]:
    """Who hands the form in: the page's own person, else whose token was given or is held; with the token to hold from now on."""
    speaker = engine_of(request).speaker
    if speaker.is_person:
        return speaker, ""
    token = form.get("personToken", "").strip() or signed_in(request).token(request)
    return await person_with_token(engine_of(request), token), token


async def person_required(request: Request, form: Mapping[str, str], *, to: str) -> tuple[Speaker, str]:
    """As `person_of`; raises `BadInputError` if nobody is identified. `to` is what the form does, as a verb."""
    speaker, token = await person_of(request, form)
    if speaker is None:
        raise BadInputError(
            f"only a person can {to}. Sign in, or start `view` as a person.",
            remedy="Enter your token in the form (minions-evals people add NAME prints one).",
        )
    return speaker, token
