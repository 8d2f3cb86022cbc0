"""The choice of production traces to judge, and by what."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.errors import BadInputError

_SHARES = 1 << 56


@dataclass(frozen=True, slots=True)
class TraceJudging:
    """The choice of traces to judge, and by what: a share of all (by their id, the same share everywhere), at most so many a UTC day.

    `rubric_id`: judges each; without one a trace is judged by the cases that ask the same. `alert_below`: the pass rate of
    the newest verdicts under which somebody is told, once a day.
    """

    rate: float = 1.0
    daily: int = 1000
    rubric_id: str | None = None
    alert_below: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1 or self.daily < 1 or not 0 <= (self.alert_below or 0) <= 1:
            raise BadInputError(
                "--otlp-rate, --otlp-daily or --otlp-alert is out of range.",
                remedy="A rate over 0 up to 1, one trace a day or more, an alert from 0 to 1.",
            )

    def set_options(self) -> list[str]:
        """The options that say otherwise than the default."""
        usual = TraceJudging()
        options = {
            "--otlp-rate": self.rate != usual.rate,
            "--otlp-daily": self.daily != usual.daily,
            "--otlp-rubric": self.rubric_id is not None,
            "--otlp-alert": self.alert_below is not None,
        }
        return [name for name, is_given in options.items() if is_given]

    def takes(self, trace_id: str) -> bool:
        """Returns whether the trace is in the share: its id's last seven bytes decide, as OpenTelemetry's own samplers do."""
        try:
            place = int(trace_id[-14:], 16)
        except ValueError:
            place = int(digest(trace_id)[:14], 16)
        return place >= (1 - self.rate) * _SHARES
