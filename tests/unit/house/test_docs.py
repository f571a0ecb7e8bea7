"""Links of the documentation lead somewhere, and its code blocks are files that tests run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from house import snippets

ROOT = Path(__file__).parents[3]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
MUST_NAME_A_FILE = {"python", "py", "yaml", "yml"}
PAGES = snippets.pages()
BLOCKS = [block for page in PAGES for block in snippets.blocks(page)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """Targets inside the repository, code left out."""
    found = LINK.findall(CODE.sub("", page.read_text()))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def target_of(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        target, anchor = target_of(page, link)
        assert target.exists(), f"{link} is not there"
        assert target.is_relative_to(ROOT), f"{link} leaves the repository"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: no such heading"


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs/index.md"
    reached, waiting = set(), [index]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        waiting += [target_of(page, link)[0] for link in links(page)]
    assert set((ROOT / "docs").rglob("*.md")) - reached == set()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_code_block_equals_the_file_that_it_names(block: snippets.Block) -> None:
    if block.source is None:
        assert block.language not in MUST_NAME_A_FILE, 'name the file: title="examples/…"'
        return
    assert block.body == snippets.wanted(block), "run `make generate`"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.source], ids=str)
def test_file_of_a_code_block_is_used_by_a_test(block: snippets.Block) -> None:
    assert block.source is not None
    path = ROOT / block.source[0]
    tests = "\n".join(test.read_text() for test in (ROOT / "tests").rglob("*.py"))
    names = {path.name, path.stem, name_of(path.parent)}
    assert any(re.search(rf"\b{re.escape(name)}\b", tests) for name in names)


def page_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    monkeypatch.setattr(snippets, "ROOT", tmp_path)
    (tmp_path / "hello.py").write_text(
        "import sys\n\n\ndef main():\n    # region: body\n    print(1)\n    # endregion: body\n"
    )
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


def test_a_changed_snippet_is_seen_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_with(
        tmp_path, monkeypatch, '- x\n\n  ```python title="hello.py#body"\n  print(2)\n  ```\n'
    )
    (tmp_path / "docs").mkdir()
    assert snippets.main([]) == 1
    assert snippets.main(["--write"]) == 0
    assert page.read_text() == '- x\n\n  ```python title="hello.py#body"\n  print(1)\n  ```\n'
    assert snippets.main([]) == 0


@pytest.mark.parametrize("title", ["hello.py#absent", "absent.py"])
def test_a_snippet_without_its_source_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], title: str
) -> None:
    page_with(tmp_path, monkeypatch, f'```python title="{title}"\n```\n')
    (tmp_path / "docs").mkdir()
    assert snippets.main([]) == 1
    assert title.split("#")[0] in capsys.readouterr().err
