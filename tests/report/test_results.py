"""Reading a campaign's tables, and saying what is wrong with them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.campaigns.tables import HISTOGRAMS, RUNS, SUMMARY
from antecede.errors import BadFile
from antecede.report.results import Facet, Results, Setting, natural, read_results
from tests.report.campaigns import Row, make_campaign, write


def test_settings_and_estimates(tmp_path: Path) -> None:
    results = read_results(make_campaign(tmp_path, ("vector", "none"), sizes=(4, 8), ks=(2,)))
    assert list(results.series) == ["bounded k=2", "none", "vector"]
    assert results.facets == [Facet("lan", "uniform")]
    assert results.name(results.facets[0]) == ""
    assert len(results.settings_in(results.facets[0])) == 6
    estimate = results.estimate(Setting("vector", results.facets[0], 8), "stamp_entries_mean")
    assert estimate is not None
    assert 7.5 < estimate.low < estimate.mean < estimate.high < 8.5
    assert estimate.runs == 5
    assert results.ordered == {"vector", "bounded k=2"}


def test_a_failed_run_breaks_no_promise(tmp_path: Path) -> None:
    def fail_one(row: Row) -> None:
        if row["seed"] == 1:
            row |= {"status": "failed", "promised": None, "violations": None}

    results = read_results(make_campaign(tmp_path, ("vector", "fifo"), change=fail_one))
    assert results.ordered == {"vector"}


def test_facets_are_named_by_what_differs(tmp_path: Path) -> None:
    results = read_results(make_campaign(tmp_path, ("vector",), networks=("lan", "wan")))
    assert [results.name(facet) for facet in results.facets] == ["lan", "wan"]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        ("2n", 16),
        ("n", 8),
        ("1.5n", 12),
        ("n^2", 64),
        ("n/2", 4),
        ("7", 7),
        ("many", None),
        (True, None),
    ],
)
def test_options_as_numbers(tmp_path: Path, value: object, number: float | None) -> None:
    results = read_results(make_campaign(tmp_path, ("vector",)))
    results.options = {"bounded": {"k": value}}
    assert results.option("bounded", "k", 8) == number
    assert results.option("bounded", "other", 8) is None


def test_natural_order() -> None:
    assert sorted(["k=16", "k=2", "a 10", "a 9"], key=natural) == ["a 9", "a 10", "k=2", "k=16"]
    grown = sorted(["k=n^2", "k=10n", "k=2n", "k=n"], key=natural)
    assert grown == ["k=n", "k=2n", "k=10n", "k=n^2"]


def test_the_campaign_file_gives_name_and_question(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "folder", ("vector",))
    assert read_results(folder).title == "folder"
    (folder / "campaign.toml").write_text('name = "Daisies"\nquestion = "How many?"\n')
    results: Results = read_results(folder)
    assert (results.title, results.question) == ("Daisies", "How many?")
    assert "How many?" in results.file
    (folder / "campaign.toml").write_text("not toml")
    assert read_results(folder).title == "folder"


def complaint(folder: Path) -> str:
    with pytest.raises(BadFile) as error:
        read_results(folder)
    return str(error.value)


def test_no_folder(tmp_path: Path) -> None:
    assert "no such folder" in complaint(tmp_path / "nowhere")


def test_a_campaign_that_is_not_finished(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",))
    (folder / "campaign.json").unlink()
    message = complaint(folder)
    assert "no finished campaign is there" in message
    assert "`antecede campaign run`" in message


def test_missing_tables_are_all_named(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",))
    (folder / "summary" / "part-0.parquet").unlink()
    (folder / "histograms" / "part-0.parquet").rename(folder / "histograms" / ".part.partial")
    message = complaint(folder)
    assert "2 mistakes" in message
    assert "summary/: no Parquet file there" in message
    assert "histograms/: no Parquet file there" in message
    assert "campaign run" in message


def test_a_table_without_rows(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ())
    assert "runs: has no rows" in complaint(folder)


def test_a_broken_file(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",))
    (folder / "runs" / "part-1.parquet").write_bytes(b"PAR1 and then nothing")
    assert "runs/part-1.parquet: not a readable Parquet file" in complaint(folder)


def test_another_version(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",))
    path = folder / "runs" / "part-0.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["promised", "queue_max"]), path)
    summary = folder / "summary" / "part-0.parquet"
    place = SUMMARY.schema.get_field_index("n")
    old = pq.read_table(summary)
    pq.write_table(old.set_column(place, "n", old["n"].cast(pa.float64())), summary)
    message = complaint(folder)
    assert "runs/part-0.parquet: written by another version of Antecede" in message
    assert "no column `promised`, `queue_max`" in message
    assert "column `n` is double, not int64" in message


def test_columns_that_a_later_version_added_do_no_harm(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",))
    path = folder / "histograms" / "part-0.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("colour", pa.array(["red"] * len(table))), path)
    assert read_results(folder).histograms.schema.names == HISTOGRAMS.schema.names


def test_several_files_make_one_table(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",), sizes=(4,), seeds=(1, 2))
    rows: list[Row] = pq.read_table(folder / "runs" / "part-0.parquet").to_pylist()
    write(folder, RUNS, rows[:1])
    pq.write_table(
        pa.Table.from_pylist(rows[1:], schema=RUNS.schema), folder / "runs" / "part-1.parquet"
    )
    assert len(read_results(folder).runs) == 2
