"""`view` as a user starts it: it prints the address with the token, answers this machine alone, and ends with Ctrl-C."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.shared.cli.terminal import Terminal
from tests.shared.view.process import viewing


def test_the_page_opens_with_the_address_that_is_printed_and_ends_cleanly(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    with viewing(tmp_path, "--json", browser=f"{browser} %s") as started, httpx2.Client() as client:
        assert urlsplit(started.url).hostname == "127.0.0.1"
        assert client.get(started.home).status_code == 401
        assert client.get(f"{started.home}/?token=wrong").status_code == 401
        opened = client.get(started.url, follow_redirects=True)
        assert opened.status_code == 200
        assert "token" not in str(opened.url)
        assert "minions-evals demo" in opened.text
        assert client.get(started.home, headers={"host": "example.org"}).status_code == 421
        assert client.post(f"{started.home}/judge", headers={"origin": "http://example.org"}).status_code == 403
        assert "color-scheme" in client.get(f"{started.home}/page.css").text
    assert started.code == 0
    assert (tmp_path / "opened").read_text().strip() == started.url


def test_a_port_that_is_taken_is_told_with_a_remedy(at: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = at.run("view", "--no-browser", "--port", str(taken.getsockname()[1]))
    assert said.code == 2
    assert "cannot listen" in said.err
    assert "another --port" in said.err


def test_a_link_lasts_over_a_restart(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with httpx2.Client() as client:
        with viewing(tmp_path, "--port", port) as started:
            assert client.get(started.url, follow_redirects=True).status_code == 200
        with viewing(tmp_path, "--port", port) as again:
            assert again.url == started.url
            assert client.get(f"{again.home}/runs").status_code == 200, "the browser's cookie still opens it"
    (kept,) = tmp_path.glob("*.view-keys.json")
    assert kept.stat().st_mode & 0o777 == 0o600
