"""A path in a store answers as any path does."""

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import Misuse
from antecede.files import aside, path_of, refuse_stored, within, write_whole
from antecede.stores import StoredPath
from tests.stores.server import names_in


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b"),
        ("s3a://bucket/a", "s3://bucket/a"),
        ("S3:/bucket/a", "s3://bucket/a"),  # as `Path` has it
        ("gcs://bucket", "gs://bucket"),
        ("abfs://box@account.dfs.core.windows.net/a", "abfs://box@account.dfs.core.windows.net/a"),
        ("hdfs://host:9000/a", "hdfs://host:9000/a"),
    ],
)
def test_addresses(written: str, meant: str) -> None:
    path = path_of(written)
    assert isinstance(path, StoredPath)
    assert str(path) == str(path_of(Path(written))) == str(path.absolute()) == meant
    assert pickle.loads(pickle.dumps(path)) == path
    assert isinstance(pickle.loads(pickle.dumps(path / "x")), StoredPath)


@pytest.mark.parametrize("fine", ["out", "/tmp/a:b", "C:/out", "a b/c", "file:///tmp/out"])
def test_paths_of_this_machine(fine: str) -> None:
    assert not isinstance(path_of(fine), StoredPath)
    assert str(path_of(fine)) == fine.removeprefix("file://")
    refuse_stored(fine, "it is here")


def test_refusals() -> None:
    with pytest.raises(Misuse, match=r"no kind of store 'ftp'; write a path, or .* s3://, gs://"):
        path_of("ftp://host/file")
    with pytest.raises(Misuse, match="names no bucket; write s3://BUCKET/NAME"):
        path_of("s3://")
    with pytest.raises(Misuse, match="s3://b/x is in a store, but logs need locks; name a path"):
        refuse_stored("s3://b/x", "logs need locks")
    with pytest.raises(Misuse, match="where a file cannot grow"):
        path_of("s3://b/x").open("ab")


def test_names_within_files() -> None:
    assert str(within("s3://b/c/file.toml", "graph.csv")) == "s3://b/c/graph.csv"
    assert str(within("here/file.toml", "s3://b/graph.csv")) == "s3://b/graph.csv"
    assert within("here/file.toml", "graph.csv") == Path("here/graph.csv")
    assert within("here/file.toml", "/graph.csv") == Path("/graph.csv")


def test_files(store: str, tmp_path: Path) -> None:
    folder = path_of(f"{store}/paths")
    file = folder / "run=a%20b" / "odd ?#&.txt"
    assert not file.exists()
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        file.read_bytes()
    write_whole(file, "two\nlines\n")
    assert (file.is_file(), file.is_dir(), file.parent.is_dir()) == (True, False, True)
    assert file.stat().st_size == 10
    assert file.read_text("utf-8") == "two\nlines\n"
    with file.open("rb") as content:
        assert [content.readline(), content.tell(), content.seek(0)] == [b"two\n", 4, 0]
    assert [*folder.glob("run=*")] == [file.parent]
    assert [*folder.rglob("*.txt")] == [file]
    with aside(folder / "b"):
        pass

    def fail() -> None:
        with aside(folder / "b") as partial:
            partial.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert names_in(folder) == {"run=a%20b/odd ?#&.txt"}
    with aside(folder / "b") as partial:
        partial.write_text("all")
    file.rename(folder / "c")
    assert names_in(folder) == {"b", "c"}
    (folder / "b").unlink()
    (folder / "b").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        (folder / "b").unlink()


def test_pyarrow_finds_them(store: str) -> None:
    file = path_of(f"{store}/arrow/run=a%2Fb +c/part.parquet")
    pq.write_table(pa.table({"a": [1, 2]}), file)
    assert names_in(file.parent) == {"part.parquet"}
    assert pq.read_table(file)["a"].to_pylist() == pq.ParquetFile(file).read()["a"].to_pylist()
