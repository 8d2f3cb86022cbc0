"""An honest exporter beside hostile ones, over gRPC: its calls a second and its waits, and the agent's memory. Figures, no verdict.

python -m tests.bench.telemetry.hostile_exporter [--seconds 10] [--attackers 8] [--only ATTACK]

Each attack runs against an agent of its own with 256 descriptors, on this machine only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from h2.connection import H2Connection

from minions_evals_mcp.interop.logs.otlp_requests import LARGEST
from tests.agent.sources.test_otlp import as_protobuf, trace
from tests.shared.agent.grpc_exporter import called, path

DESCRIPTORS = 256
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
TRACES = path("traces")


class Attacker:
    """One connection after another to the endpoint."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=5)
        self.h2 = H2Connection()
        self.h2.initiate_connection()
        self.stream = 0

    def begin(self, *, packed: bool = False) -> None:
        """The headers of a call."""
        self.stream = self.h2.get_next_available_stream_id()
        head = {
            ":method": "POST",
            ":path": TRACES,
            ":scheme": "http",
            ":authority": "a",
            "content-type": "application/grpc",
        }
        more = {"te": "trailers", **({"grpc-encoding": "gzip"} if packed else {})}
        self.h2.send_headers(self.stream, [*head.items(), *more.items()])
        self.flush()

    def flush(self) -> None:
        """Sends what h2 has."""
        self.socket.sendall(self.h2.data_to_send())

    def send(self, data: bytes, *, ends: bool) -> None:
        """The call's bytes, as far as the windows allow, until it is answered."""
        while data:
            room = min(self.h2.local_flow_control_window(self.stream), self.h2.max_outbound_frame_size, len(data))
            if room:
                self.h2.send_data(self.stream, data[:room], end_stream=ends and room == len(data))
                data = data[room:]
                self.flush()
            else:
                self.read()

    def read(self) -> bool:
        """Takes what the endpoint says; whether it is still there."""
        said = self.socket.recv(65536)
        self.h2.receive_data(said)
        self.flush()
        return bool(said)


def _calls(address: str, body: bytes, *, packed: bool, told: int | None = None) -> None:
    """The same call again and again, on a connection for as long as it lasts."""
    framed = bytes([packed]) + (len(body) if told is None else told).to_bytes(4, "big") + body
    while True:
        with suppress(Exception):
            attacker = Attacker(address)
            while True:
                attacker.begin(packed=packed)
                attacker.send(framed, ends=True)
                attacker.read()


def oversized(address: str) -> None:
    """Messages larger than is taken, which do not say so."""
    _calls(address, b"\x00" * (LARGEST + 1_000_000), packed=False, told=1000)


def gzip_bomb(address: str) -> None:
    """300 MB of zeros in 300 KB."""
    _calls(address, gzip.compress(bytes(300_000_000)), packed=True)


def value_bomb(address: str) -> None:
    """Eight million empty messages in 16 KB."""
    _calls(address, gzip.compress(b"\x0a\x00" * (LARGEST // 2)), packed=True)


def malformed(address: str) -> None:
    """A megabyte of noise."""
    _calls(address, random.Random(1).randbytes(1_000_000), packed=False)  # noqa: S311  no secret


def _held(address: str, said: bytes) -> None:
    """As many connections as can be had, with those bytes and no more, each renewed once it is closed."""
    held: list[socket.socket] = []
    while True:
        with suppress(OSError):
            one = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=1)
            one.sendall(said)
            held.append(one)
        if len(held) > 40:
            held.pop(0).close()
        time.sleep(0.01)


def half_handshakes(address: str) -> None:
    """Half a preface."""
    _held(address, PREFACE[:9])


def handshakes(address: str) -> None:
    """A whole handshake, and no call."""
    _held(address, PREFACE)


def half_calls(address: str) -> None:
    """Half a message."""
    client = H2Connection()
    client.initiate_connection()
    head = {
        ":method": "POST",
        ":path": TRACES,
        ":scheme": "http",
        ":authority": "a",
        "content-type": "application/grpc",
    }
    client.send_headers(1, list(head.items()))
    client.send_data(1, b"\x00" + (1000).to_bytes(4, "big") + b"\x0a" * 100)
    _held(address, client.data_to_send())


def slow_streams(address: str) -> None:
    """A hundred calls on a connection, each a byte a second."""
    while True:
        with suppress(Exception):
            attacker = Attacker(address)
            streams: list[int] = []
            for _ in range(100):
                attacker.begin()
                streams.append(attacker.stream)
            while True:
                for stream in streams:
                    attacker.h2.send_data(stream, b"\x00")
                attacker.flush()
                time.sleep(1)


def resets(address: str) -> None:
    """Calls that are given up as soon as they have begun."""
    while True:
        with suppress(Exception):
            attacker = Attacker(address)
            while True:
                attacker.begin()
                attacker.h2.reset_stream(attacker.stream)
                attacker.flush()


def busy(address: str) -> None:
    """Nothing but the machine's time."""
    del address
    while True:
        pass


ATTACKS: dict[str, Callable[[str], None] | None] = {
    "none": None, "busy machine": busy, "oversized": oversized, "gzip bomb": gzip_bomb, "value bomb": value_bomb, "malformed": malformed,
    "half handshakes": half_handshakes, "handshakes": handshakes, "half calls": half_calls, "slow streams": slow_streams,
    "resets": resets,
}  # fmt: skip


@contextmanager
def agent() -> Generator[tuple[str, int]]:
    """An agent's address for gRPC, and its process."""
    with tempfile.TemporaryDirectory() as folder:
        few = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh")
        command = (
            *few,
            sys.executable,
            "-m",
            "agent",
            "run",
            "--db",
            str(Path(folder) / "s.db"),
            "--otlp-grpc",
            "127.0.0.1:0",
        )
        env = {"PATH": os.defpath, "HOME": folder, "PYTHONPATH": str(Path(__file__).parents[3])}
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=env) as process:
            assert process.stderr is not None
            told: dict[str, str] = {}
            while told.get("event") != "otlp-grpc-listening":
                told = json.loads(process.stderr.readline())
            threading.Thread(target=process.stderr.read, daemon=True).start()
            try:
                yield told["address"], process.pid
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def _peak_mb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def honest(address: str, seconds: float) -> tuple[list[float], int]:
    """How long each trace took until it was kept, with its repetitions, and how often it was sent again."""
    waits: list[float] = []
    again = 0
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        began = time.monotonic()
        while called(address, [(TRACES, as_protobuf(trace(number)))])[0].code != "OK":
            again += 1
            time.sleep(0.1)
        waits.append(time.monotonic() - began)
        time.sleep(0.02)
    return waits, again


def measured(name: str, attack: Callable[[str], None] | None, attackers: int, seconds: float) -> str:
    """A row of the table."""
    with agent() as (address, pid):
        processes = [
            multiprocessing.Process(target=attack, args=(address,), daemon=True) for _ in range(attackers) if attack
        ]
        for process in processes:
            process.start()
        time.sleep(1 if processes else 0)
        waits, again = honest(address, seconds)
        peak = _peak_mb(pid)
        for process in processes:
            process.terminate()
            process.join()
    ordered = sorted(waits)
    return (
        f"{name:<16} {len(waits):>6} kept {again:>5} sent again   median {statistics.median(waits):.3f} s"
        f"   95 % {ordered[int(len(ordered) * 0.95)]:.3f} s   longest {ordered[-1]:.3f} s   {peak} MB"
    )


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--attackers", type=int, default=8)
    parser.add_argument("--only", choices=ATTACKS)
    chosen = parser.parse_args()
    for name, attack in ATTACKS.items():
        if chosen.only in (None, name):
            sys.stdout.write(f"{measured(name, attack, chosen.attackers, chosen.seconds)}\n")


if __name__ == "__main__":
    main()
