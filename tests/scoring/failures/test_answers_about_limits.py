"""An answer about a limit in its subject is no timeout, and a bare notice that something timed out is one.

Of 24 such answers one was called a timeout and of 12 notices three were not. Of 12 and 6 written after the change it was none and
one, which is mended, too.
"""

from __future__ import annotations

import pytest

from minions_evals_mcp.scoring.classification.classify import classify
from tests.scoring.failures.failed_outputs import saying

ANSWERS = [
    "Your session expires after 15 minutes of inactivity. Log in again to continue.",
    "The request limit of the free plan is 100 calls a day.",
    "The kitchen closes at 22:00, so the last order is at 21:30.",
    "The gateway times out if the upstream does not answer within 30 seconds. Raise proxy_read_timeout.",
    "Your warranty ran out on 3 May, so the repair costs 80 euros.",
    "The maximum number of guests per room is four.",
    "The build was stopped because it exceeded its memory limit of 2 GB. Split it into two jobs.",
    "A marathon has a time limit of six hours.",
    "The offer expired yesterday; the new price is 49 euros.",
    "You can try your PIN three times, after that the card is blocked.",
    "The job took 45 minutes, which is longer than the 30 minutes that we allow, so the scheduler ended it.",
    "Die Sitzung läuft nach 20 Minuten ab.",
    "Das Zeitlimit der Prüfung beträgt 90 Minuten.",
    "La sesión caduca a los diez minutos.",
    "Le délai de rétractation est de 14 jours.",
    "The parking ticket ran out at noon, therefore the fine is valid.",
    "Postgres cancels the statement when statement_timeout is reached.",
    "The loop stops after ten iterations because range(10) ends there.",
    "The API returns 504 when the service behind it is too slow.",
    "He stopped reading after 200 pages because he ran out of time.",
    "The bus did not wait: it left on time at 8:04.",
    "Set max_turns to 20 if your agent stops too early.",
    "The deadline for applications is 31 March; late ones are not accepted.",
    "The download was interrupted after 10 minutes. Start it again with --resume.",
    "She left the exam early because she ran out of time on question nine.",
    "He has not replied within the 48 hours that the contract allows.",
    "If the connection timed out, check the firewall on port 5432.",
    "The call timed out because the proxy closes idle connections after 60 seconds. Set a keepalive of 30 seconds.",
    "The report lists 12 jobs that timed out last night: billing, search and ten exports.",
    "Your last payment attempt failed: the card expired in March.",
    "He says the team did not finish the sprint in time.",
    "Requests that time out are retried three times.",
    "The operator stopped the pump after 90 seconds because the tank was full.",
    "An HTTP 408 means that the server gave up waiting for the client.",
    "The trial ran out on Friday, so reports are locked.",
    "The timer is over when the bell rings.",
]
NOTICES = [
    "I ran out of time before I could finish the report.",
    "Agent stopped due to iteration limit or time limit.",
    "Maximum number of steps reached; no final answer was produced.",
    "I have reached the maximum number of turns and must stop here.",
    "Request timed out after 60 seconds.",
    "The operation timed out before I could complete it.",
    "Agent stopped due to max iterations.",
    "Time limit exceeded. Partial results: 3 of 10 files checked.",
    "I was not able to finish within the allotted time.",
    "Zeitüberschreitung: Die Aufgabe wurde nach 60 Sekunden abgebrochen.",
    "Error: deadline exceeded",
    "I've hit the step limit, so I couldn't complete the remaining items.",
    "The request timed out.",
    "Sorry, the operation timed out after two minutes.",
    "Error: context deadline exceeded while calling search",
    "TimeoutError: agent did not finish in 120 s",
    "Query timed out before any result came back.",
    "I had to stop after 25 steps, so this is only the first half.",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_about_a_limit_in_its_subject_is_no_timeout(text: str) -> None:
    assert classify(saying(text)).failure_type != "timeout"


@pytest.mark.parametrize("text", NOTICES)
def test_a_notice_that_a_run_timed_out_or_reached_its_limit_is_a_timeout(text: str) -> None:
    assert classify(saying(text)).failure_type == "timeout"
