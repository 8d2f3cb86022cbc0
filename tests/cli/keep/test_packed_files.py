"""A log that is packed with gzip is imported as the log inside."""

from __future__ import annotations

import gzip
import json

from tests.shared.cli.terminal import Terminal
from tests.shared.interop.session_shapes import claude_session, plan


def test_a_packed_session_is_explained_and_imported_alone_and_in_a_folder(at: Terminal) -> None:
    folder = at.db.parent / "sessions"
    folder.mkdir()
    lines = "".join(json.dumps(line) + "\n" for line in claude_session(plan(0))).encode()
    file = folder / "s.jsonl.gz"
    file.write_bytes(gzip.compress(lines))
    assert f"{file}: a session of Claude Code" in at.run("import", str(file), "--explain").out
    assert f"{file}: 2 new, 0 changed, 0 unchanged" in at.run("import", str(file)).out
    (folder / "t.jsonl").write_bytes(lines)
    ended = at.run("import", str(folder))
    assert (ended.code, ended.out.count("0 new, 0 changed, 2 unchanged")) == (0, 2)
