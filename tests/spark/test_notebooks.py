"""The notebooks of the documentation: their code runs, and finds what it says."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


def execute(name: str, **names: Any) -> dict[str, Any]:
    """All cells of code, in one namespace."""
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}.ipynb", "exec"), names)
    return names


def test_a_campaign_is_analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = execute("campaign")
    growth = found["growth"]
    assert growth["vector"] == pytest.approx(1)
    assert growth["matrix"] == pytest.approx(2)
    assert found["model"]["error"].abs().max() < 0.2


def test_a_trace_is_audited(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = execute("audit-on-spark", spark=spark)
    answers = found["verdicts"]["answer"]
    assert answers.to_dict() == {"none-1": "broken", "vector-1": "kept"}
    assert len(found["early"]) == found["verdicts"]["violations"]["none-1"] > 0
    assert found["waits"]["own_s"]["vector-1"] == 0


@pytest.mark.parametrize("notebook", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_nothing_but_the_source_is_kept(notebook: Path) -> None:
    """Outputs would go stale, and differ from machine to machine."""
    found = json.loads(notebook.read_text("utf-8"))
    for cell in found["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
