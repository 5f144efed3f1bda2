"""Projections of users are found by file, module and entry point; mistakes are one line."""

import re
from pathlib import Path

import pytest

from arbor.events.base import Recorded
from arbor.events.errors import InvalidInputError
from arbor.replay.database import CampaignDatabase
from arbor.replay.projections import SHIPPED
from arbor.replay.projections.base import Projection, SqlProjection, title_of
from arbor.replay.projections.finding import all_projections
from tests.fakes.files import MemoryFiles

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "projections").iterdir())

COUNTER = '''
from typing import ClassVar
from arbor.replay.projections.base import PythonProjection

class Kinds(PythonProjection):
    """How many kinds there are."""
    name: ClassVar[str] = "kinds"
    columns: ClassVar[dict[str, str]] = {"num": "BIGINT"}

    def __init__(self):
        self._kinds = set()

    def apply(self, recorded):
        self._kinds.add(recorded.event.kind)

    def rows(self):
        yield (len(self._kinds),)
'''


def own(*named: Path | str) -> list[Projection]:
    """Return what is beyond the shipped ones."""
    shipped = {projection.name for projection in SHIPPED}
    return [p for p in all_projections([str(n) for n in named]) if p.name not in shipped]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.suffix in {".sql", ".py"}])
def test_examples_run(path: Path, history: tuple[Recorded, ...]) -> None:
    [projection] = own(path)
    assert title_of(projection).endswith(".")
    half = len(history) // 2
    source = MemoryFiles(history, half)
    query = f"select * from {projection.name}"  # noqa: S608 - our own names
    with CampaignDatabase(source, all_projections([str(path)])) as grown:
        grown.query(query)
        source.num_visible = len(history)
        grown.catch_up()
        rows = grown.query(query).rows
    assert rows
    whole = MemoryFiles(history, len(history))
    with CampaignDatabase(whole, all_projections([str(path)])) as rebuilt:
        assert sorted(rebuilt.query(query).rows) == sorted(rows)


def _blocks(language: str) -> list[str]:
    """Return the code blocks of the page on projections."""
    text = (Path(__file__).parents[3] / "docs" / "projections.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_page_runs(history: tuple[Recorded, ...], tmp_path: Path) -> None:
    [sql], [python] = _blocks("sql"), _blocks("python")
    head = "from arbor.replay.projections.base import PythonProjection\n\n"
    named = [
        str(write(tmp_path / "kept_by_layer.sql", sql)),
        str(write(tmp_path / "silence.py", head + python)),
    ]
    source = MemoryFiles(history, len(history))
    with CampaignDatabase(source, all_projections(named)) as database:
        for name in ("kept_by_layer", "longest_silence"):
            query = f"select * from {name}"  # noqa: S608 - our own names
            assert database.query(query).rows


def test_sql_may_use_what_python_folds(history: tuple[Recorded, ...], tmp_path: Path) -> None:
    fold = write(tmp_path / "fold.py", COUNTER)
    query = write(tmp_path / "doubled.sql", "-- Twice.\nselect 2 * num as twice from kinds;\n")
    found = all_projections([str(query), str(fold)])
    with CampaignDatabase(MemoryFiles(history, len(history)), found) as database:
        num = len({recorded.event.kind for recorded in history})
        assert database.query("select twice from doubled").rows == ((2 * num,),)


def test_modules_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "my_arbor_tables.py", COUNTER)
    monkeypatch.syspath_prepend(tmp_path)
    assert [projection.name for projection in own("my_arbor_tables")] == ["kinds"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a package that brings an entry point."""
    folder = tmp_path / "site"
    meta = folder / "tables-1.0.dist-info"
    meta.mkdir(parents=True)
    write(meta / "METADATA", "Metadata-Version: 2.1\nName: tables\nVersion: 1.0\n")
    write(meta / "entry_points.txt", "[arbor.projections]\nkinds = installed_tables:Kinds\n")
    write(folder / "installed_tables.py", COUNTER)
    monkeypatch.syspath_prepend(folder)
    return folder


def test_installed_packages_bring_theirs(installed: Path) -> None:
    assert installed.is_dir()
    assert [projection.name for projection in own()] == ["kinds"]


def test_a_broken_package_is_named(installed: Path) -> None:
    write(
        installed / "tables-1.0.dist-info" / "entry_points.txt",
        "[arbor.projections]\nkinds = no_such_module:Kinds\n",
    )
    with pytest.raises(InvalidInputError, match="entry point kinds"):
        own()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("Bad Name.sql", "select 1", "no name of a table"),
        ("nodes.sql", "select 1", "Arbor has a table of this name"),
        ("action_kept.sql", "select 1", "Arbor has a table of this name"),
        ("empty.py", "x = 1", "has no projection"),
        ("broken.py", "1 / 0", "ZeroDivisionError"),
        ("nameless.py", COUNTER.replace('name: ClassVar[str] = "kinds"', ""), "has no 'name'"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as caught:
        own(write(tmp_path / name, text))
    assert "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path: Path) -> None:
    for name in (tmp_path / "none.sql", tmp_path / "none.py", "no_such_module_of_mine"):
        with pytest.raises(InvalidInputError, match=r"none|no_such_module_of_mine"):
            own(name)


def test_wrong_sql_names_the_file(history: tuple[Recorded, ...], tmp_path: Path) -> None:
    path = write(tmp_path / "wrong.sql", "select nothing from nowhere")
    source = MemoryFiles(history, len(history))
    with pytest.raises(InvalidInputError, match=r"wrong\.sql.*nowhere"):
        CampaignDatabase(source, all_projections([str(path)]))


def test_a_fold_that_fails_leaves_everything_as_it_was(
    history: tuple[Recorded, ...], tmp_path: Path
) -> None:
    text = COUNTER.replace(
        "self._kinds.add", "assert recorded.position < 100\n        self._kinds.add"
    )
    found = all_projections([str(write(tmp_path / "failing.py", text))])
    source = MemoryFiles(history, 60)
    with CampaignDatabase(source, found) as database:
        before = database.query("select * from kinds").rows
        source.num_visible = len(history)
        with pytest.raises(AssertionError):
            database.catch_up()
        assert database.query("select position from head").rows == ((60,),)
        assert database.query("select count(*) from events").rows == ((60,),)
        # It is folded anew, up to the position of the events.
        assert database.query("select * from kinds").rows == before


def test_shipped_ones_say_what_they_show() -> None:
    for projection in SHIPPED:
        assert title_of(projection).endswith(".")
        assert isinstance(projection, SqlProjection) or projection.columns
