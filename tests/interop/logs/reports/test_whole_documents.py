"""Documents that are held whole: as large as real reports are in JSON, less in YAML, which is slow to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.whole_documents import LARGEST_YAML, whole_document
from tests.shared.interop.makers import samples
from tests.shared.interop.whole_files import WHOLE

WHOLE_FORMS = (
    "pydantic-evals-report",
    "strands-report",
    "harbor",
    "tau2",
    "claude-plugin-eval",
    "adk-evalset",
    "pydantic-evals",
)


@pytest.mark.parametrize("form", WHOLE_FORMS)
def test_a_report_of_more_than_eight_megabytes_is_read(tmp_path: Path, form: str) -> None:
    file, make = WHOLE[form]
    path = make(tmp_path / file)
    told = len(samples(path, form))
    large = path.read_text("utf-8").rstrip().removesuffix("}") + ', "zz": "' + "x" * LARGEST_YAML + '"}'
    path.write_text(large, "utf-8")
    assert len(samples(path)) == told > 0


def test_yaml_of_more_than_that_says_what_to_write_instead(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_text("a: " + "x" * LARGEST_YAML, "utf-8")
    with pytest.raises(InvalidRecordError, match="Write it as JSON"):
        whole_document(path)
