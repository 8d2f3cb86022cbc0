"""Figures for Prometheus at each listener, read by the parser of its own client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from minions_evals_mcp.operations.views.metrics import Metric
from tests.shared.agent.desk import Desk
from tests.shared.agent.production import RUBRIC, judged, receiving, shop_trace
from tests.shared.server.web import TOKEN, served
from tests.shared.view.process import viewing

Sample = tuple[str, tuple[tuple[str, str], ...], float]
PASSED, FAILED = 3, 2
SERIES = (("agent", "desk"), ("rubric", RUBRIC))
WANTED: set[Sample] = {
    ("minions_evals_traces_judged_total", (*SERIES, ("verdict", "passed")), PASSED),
    ("minions_evals_traces_judged_total", (*SERIES, ("verdict", "failed")), FAILED),
    ("minions_evals_traces_unscored_total", SERIES, 0),
    ("minions_evals_trace_failures_total", (*SERIES, ("cause", "wrong-output")), FAILED),
    ("minions_evals_trace_cost_usd_total", SERIES, 0),
    ("minions_evals_traces_waiting", (), 0),
    ("minions_evals_outputs_waiting", (), 0),
}


def samples(text: str) -> Iterator[Sample]:
    """What the parser reads."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield sample.name, tuple(sample.labels.items()), sample.value


def scraped(answer: httpx2.Response) -> set[Sample]:
    """The samples of an answer in the text format."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return set(samples(answer.text))


async def test_every_listener_has_the_same_figures_for_whoever_may_read_them(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    judged(desk, *(shop_trace(number, passes=number > FAILED) for number in range(1, PASSED + FAILED + 1)))
    guarded = Desk(tmp_path, {"MINIONS_EVALS_HTTP_TOKEN": TOKEN})
    with receiving(guarded, "--otlp-rubric", RUBRIC) as (_, url):
        address = url.replace("/v1/traces", "/metrics")
        assert httpx2.get(address).status_code == 401
        assert scraped(httpx2.get(address, headers={"authorization": f"Bearer {TOKEN}"})) == WANTED
    with receiving(desk, "--otlp-rubric", RUBRIC) as (_, url):
        address = url.replace("/v1/traces", "/metrics")
        assert scraped(httpx2.get(address)) == WANTED
        assert httpx2.get(address, headers={"origin": "https://a.example"}).status_code == 403
        assert httpx2.get(address, headers={"host": "a.example"}).status_code == 421
    with viewing(tmp_path) as page:
        token = page.url.rpartition("token=")[2]
        assert httpx2.get(f"{page.home}/metrics").status_code == 401
        assert httpx2.get(f"{page.home}/runs", headers={"authorization": f"Bearer {token}"}).status_code == 401
        assert scraped(httpx2.get(f"{page.home}/metrics", headers={"authorization": f"Bearer {token}"})) == WANTED
    for token in (None, TOKEN):
        async with served(tmp_path, token=token) as door, httpx2.AsyncClient() as client:
            address, given = door.url.replace("/mcp", "/metrics"), {"authorization": f"Bearer {token}"} if token else {}
            assert scraped(await client.get(address, headers=given)) == WANTED
            assert (await client.get(address, headers={**given, "host": "a.example"})).status_code == 421
            assert token is None or (await client.get(address)).status_code == 401


@pytest.mark.parametrize("text", ["plain", 'a "b" c', "back\\slash\\n", "two\nlines", "{},=#", "", "ü 中 🫖"])
def test_any_text_is_a_label(text: str) -> None:
    metric = Metric("minions_evals_x_total", "counter", "About.", [({"agent": text, "rubric": "r"}, 2.5)])
    read = set(samples("".join(f"{line}\n" for line in metric.lines())))
    assert read == {("minions_evals_x_total", (("agent", text), ("rubric", "r")), 2.5)}
