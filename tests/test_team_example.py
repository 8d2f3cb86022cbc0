"""The compose file of a team: it fits the Compose schema, and its three commands work over one folder."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from minions_evals_mcp.engine.people.persons import add_person
from tests.hang import HANG_S
from tests.shared.cli.installed import installed
from tests.shared.cli.terminal import ROOT, Terminal, inherited
from tests.workshop import config_in, opened

FILE = ROOT / "examples" / "team" / "compose.yaml"
TOKEN = "a-token-of-some-length"
STARTED_S = 30.0


def services() -> dict[str, dict[str, Any]]:
    """The services of the file."""
    return cast("dict[str, dict[str, Any]]", yaml.safe_load(FILE.read_text("utf-8"))["services"])


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def test_the_file_fits_the_schema_of_compose() -> None:
    schema = get_builtin_schema("vendor.compose-spec")
    kind = validator_for(schema, Draft202012Validator)
    assert [error.message for error in kind(schema).iter_errors(yaml.safe_load(FILE.read_text("utf-8")))] == []
    assert [error.message for error in kind(schema).iter_errors({"services": {"page": {"comand": []}}})] != []


def test_no_port_is_open_to_the_network_and_no_secret_stands_in_the_file() -> None:
    for service in services().values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert all(
            value.startswith("$") for name, value in service["environment"].items() if name.endswith(("TOKEN", "KEY"))
        )


@contextmanager
def working(name: str, folder: Path, programs: Path, port: int) -> Generator[subprocess.Popen[bytes]]:
    """The command of that service on a port of this machine, in place of its container; ended as Compose ends it."""
    service = services()[name]
    command = [
        part.replace("/data", str(folder)).replace("${EVALS_HOST:-localhost}", "localhost")
        for part in service["command"]
    ]
    command = [f"127.0.0.1:{port}" if part.startswith("0.0.0.0:") else part for part in command]
    environment = {
        **Terminal(folder).environment, "PATH": f"{programs}:{inherited()['PATH']}",
        "MINIONS_EVALS_DB": str(folder / "evals.db"), "MINIONS_EVALS_HTTP_TOKEN": TOKEN,
    }  # fmt: skip
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=HANG_S)[1]
            assert process.returncode in {0, -signal.SIGTERM}, said


async def answered(client: httpx2.AsyncClient, url: str) -> httpx2.Response:
    """The answer of a service that is still starting."""
    with anyio.fail_after(STARTED_S):
        while True:
            try:
                return await client.get(url)
            except httpx2.TransportError:
                await anyio.sleep(0.1)


async def test_its_three_commands_work_over_one_folder(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        token = await add_person(engine, "anna", "judge")
    ports = {name: free_port() for name in services()}
    home = f"http://127.0.0.1:{ports['page']}"
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with installed() as programs, ExitStack() as held:
        for name, port in ports.items():
            held.enter_context(working(name, tmp_path, Path(programs), port))
        name = f"localhost:{ports['page']}"
        async with httpx2.AsyncClient(headers={"host": name, "origin": f"https://{name}"}) as browser:
            assert (await answered(browser, f"{home}/sign-in")).status_code == 200
            signed = await browser.post(f"{home}/sign-in", data={"personToken": token})
            assert signed.status_code == 303
            assert "Secure" in signed.headers["set-cookie"]
        async with httpx2.AsyncClient() as client:
            assert (await answered(client, f"http://127.0.0.1:{ports['server']}/health")).status_code == 200
            agents = f"http://127.0.0.1:{ports['agent']}/v1/traces"
            await answered(client, agents)
            span = {
                "traceId": "0" * 31 + "1",
                "spanId": "0" * 15 + "1",
                "name": "chat",
                "startTimeUnixNano": "1",
                "endTimeUnixNano": "2",
            }
            taken = await client.post(
                agents, json={"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, headers=bearer
            )
            assert taken.status_code == 200, taken.text
            assert (await client.post(agents, json={})).status_code == 401
