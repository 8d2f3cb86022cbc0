"""Production traces in the terminal: once, as lines for a program while they come in, and until Ctrl-C."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import httpx2

from tests.hang import HANG_S
from tests.shared.agent.desk import EVALS, Desk
from tests.shared.agent.production import RUBRIC, judged, place_rubric, receiving, shop_trace
from tests.shared.cli.standby import Asked, Forked


def test_live_shows_rates_causes_and_the_newest_failing_and_runs_name_no_trace(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.imported(*place_rubric())
    assert desk.ran(EVALS, "live", "--once").out.startswith(
        "No production trace has been judged yet. Next: minions-eval-agent run"
    )
    judged(desk, *(shop_trace(number, passes=number > 1, tags=("eu",) * (number < 3)) for number in range(1, 5)))
    told = desk.ran(EVALS, "live", "--once")
    assert told.code == 0, told.err
    assert told.out.splitlines()[:2] == [
        "Last 24 hours: 3 of 4 judged traces passed, 75 % (95 % CI 19–99 %)",
        "  desk by Says where the parcel is: 3 of 4 judged traces passed, 75 % (95 % CI 19–99 %) (wrong-output 1)",
    ]
    assert "desk: Where is parcel 1?" in told.out
    assert "Says where (0 of 1)" in told.out
    assert "1 of 2 judged traces passed" in desk.ran(EVALS, "live", "--once", "--tag", "eu").out
    listed = desk.ran(EVALS, "runs").out
    assert "Not listed: 4 runs that judged production traces. `minions-evals live --once` shows them." in listed
    assert "otel:" not in listed
    assert len(json.loads(desk.ran(EVALS, "runs", "--json").out)["runs"]) == 4


def test_live_tells_a_program_of_each_change_until_ctrl_c(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.imported(*place_rubric())
    asked = Asked(["live", "--json"], str(tmp_path), desk.environment(), EVALS)
    with (
        receiving(desk, "--otlp-rubric", RUBRIC) as (_, url),
        Forked(asked, stdin=DEVNULL, stdout=PIPE, stderr=None) as process,
    ):
        assert process.stdout is not None
        first: dict[str, Any] = json.loads(process.stdout.readline())
        assert first["counts"]["judged"] == 0
        assert httpx2.post(url, json=shop_trace(7, passes=False)).status_code == 200
        now = first
        while now["counts"]["judged"] == 0:
            now = json.loads(process.stdout.readline())
        assert (now["counts"]["passed"], now["causes"]) == (0, {"wrong-output": 1})
        assert now["series"][0]["newestFailing"]["title"] == "desk: Where is parcel 7?"
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_S) == 0
