"""Manifests are read from files and folders, and each mistake names file, document and field."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from langgraph_openai_serve.cli.manifests import read_manifests
from langgraph_openai_serve.errors import ConfigurationError

HEAD = "apiVersion: lgos.dev/v1alpha1\nkind: LanggraphModel\n"


def manifest(name: str, spec: str = "") -> str:
    return f"{HEAD}metadata: {{name: {name}}}\nspec:\n  image: team/agent:1\n  graph: team:config\n{spec}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mistake(*paths: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_manifests(paths)
    return caught.value.message


def test_files_and_folders_are_read_in_order_each_once(folder: Path) -> None:
    (folder / "models").mkdir()
    (folder / "models/b.yaml").write_text(manifest("b"))
    (folder / "models/a.yml").write_text(manifest("a"))
    (folder / "models/notes.txt").write_text("not a manifest")
    (folder / "models/deeper.yaml").mkdir()
    (folder / "c.yaml").write_text(manifest("c"))
    found = read_manifests([Path("c.yaml"), Path("models"), Path("models/b.yaml")])
    assert [m.model.model_id for m in found.models] == ["c", "a", "b"]
    assert found.notes == ()


def test_documents_of_a_file_are_read_and_other_kinds_are_told(folder: Path) -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
    nameless = "apiVersion: v1\nkind: List\n"
    foreign = "apiVersion: example.com/v1\nkind: LanggraphModel\n"
    (folder / "all.yaml").write_text(
        "---\n".join([manifest("a"), other, nameless, "", foreign, manifest("b")])
    )
    found = read_manifests([Path("all.yaml")])
    assert [m.place for m in found.models] == ["all.yaml, document 1", "all.yaml, document 6"]
    assert found.notes == (
        "skipped: ConfigMap settings (all.yaml, document 2) is no LanggraphModel",
        "skipped: List (all.yaml, document 3) is no LanggraphModel",
        "skipped: LanggraphModel (all.yaml, document 5) is no LanggraphModel",
    )


def test_a_date_in_the_settings_stays_text_as_in_the_kubernetes_api(folder: Path) -> None:
    (folder / "a.yaml").write_text(manifest("a", "  settings: {since: 2026-01-02, ratio: 1.5}\n"))
    [found] = read_manifests([Path("a.yaml")]).models
    assert found.model.spec.settings == {"since": "2026-01-02", "ratio": 1.5}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("  grap: x\n", "spec.grap: there is no such field; did you mean 'graph'?"),
        ("  zzz: x\n", "spec.zzz: there is no such field"),
        ("  api: {replica: 2}\n", "spec.api.replica: there is no such field; did you mean 'replicas'?"),
        ("  api: {replicas: -1}\n", "spec.api.replicas: input should be greater than or equal to 0"),
        ("  api: {drainSeconds: 50}\n", "spec.api: terminationGracePeriodSeconds must exceed drainSeconds"),
        ("  modelName: ' x'\n", "spec.modelName: ' x' is not valid; use letters, digits and . _ : / -, beginning with a letter or digit"),
        ("  env: [{name: LGOS_PORT}]\n", "spec.env.0.name: the prefix LGOS_ is reserved"),
    ],
)  # fmt: skip
def test_mistake_in_a_field_is_named(folder: Path, spec: str, sentence: str) -> None:
    (folder / "a.yaml").write_text(manifest("a", spec))
    assert mistake(Path("a.yaml")) == f"a.yaml: {sentence}"


def test_all_mistakes_of_a_manifest_are_told_with_their_document(folder: Path) -> None:
    broken = f"{HEAD}metadata: {{name: Agent}}\nspec: {{graph: team}}\n"
    (folder / "a.yaml").write_text(f"{manifest('a')}---\n{broken}")
    assert mistake(Path("a.yaml")).splitlines() == [
        "a.yaml, document 2: metadata.name: 'Agent' is not valid; use lower-case letters, digits and '-', beginning with a letter, at most 52 characters",
        "a.yaml, document 2: spec.image: this field is required",
        "a.yaml, document 2: spec.graph: 'team' is not valid; write it as package.module:attribute",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\nb: 2\n", "a.yaml is not valid YAML: line 2: "),
        ("a: \x00\n", "a.yaml is not valid YAML: "),
        ("- 1\n", "a.yaml: a manifest is a mapping with apiVersion, kind, metadata and spec"),
        ("kind: LanggraphModel\n", "a.yaml: apiVersion: this field is required"),
        ("spec: {}\n", "a.yaml: kind: this field is required"),
        (
            "",
            "there is no LanggraphModel in a.yaml; a manifest has `apiVersion: lgos.dev/v1alpha1`",
        ),
    ],
)
def test_file_that_is_no_manifest_is_told(folder: Path, text: str, words: str) -> None:
    (folder / "a.yaml").write_text(text)
    assert words in mistake(Path("a.yaml"))


def test_file_in_another_encoding_is_told(folder: Path) -> None:
    (folder / "a.yaml").write_bytes(b"\xff\xfe\x00")
    assert mistake(Path("a.yaml")).startswith("a.yaml cannot be read: ")


def test_absent_file_is_told_with_the_current_folder(folder: Path) -> None:
    assert mistake(Path("x.yaml")) == (
        f"there is no file or folder 'x.yaml' (seen from {os.fspath(folder)}); correct the argument of -f"
    )


def test_model_name_that_is_used_twice_is_told_with_both_places(folder: Path) -> None:
    (folder / "a.yaml").write_text(manifest("a"))
    (folder / "b.yaml").write_text(manifest("b", "  modelName: a\n"))
    assert mistake(folder) == (
        f"the model 'a' is in {folder}/a.yaml and in {folder}/b.yaml;"
        " give one of them another metadata.name or spec.modelName"
    )
