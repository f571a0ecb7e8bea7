"""The command line's own answers: arguments, missing extras, closed pipes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from langgraph_openai_serve.cli.main import CommandError, main, needs_extra

REFERENCE = Path(__file__).parents[4] / "docs/reference/cli.md"


def test_missing_library_names_the_extra() -> None:
    with pytest.raises(CommandError) as caught, needs_extra("operator", "operator"):
        raise ModuleNotFoundError(name="kopf.on")
    assert str(caught.value) == (
        "lgos operator needs the extra 'operator' (kopf is not installed):"
        " pip install 'langgraph-openai-serve[operator]'"
    )


def test_missing_module_of_our_own_is_a_bug_and_not_an_extra() -> None:
    with pytest.raises(ModuleNotFoundError), needs_extra("operator", "operator"):
        raise ModuleNotFoundError(name="lgos_operator.absent")


@pytest.mark.parametrize(
    "arguments", [[], ["dev"], ["dev", "-f", "x", "--port", "70000"], ["check"], ["fly"]]
)
def test_wrong_arguments_are_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: lgos" in capsys.readouterr().err


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("lgos 0.")


def test_check_tells_facts_and_leaves_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "lgos_examples.echo:config", "--path", "examples"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("lgos_examples.echo:config is a GraphConfig that can be served.\n")
    assert (
        'settings     prefix: string = "You said: "\n               shout: boolean = false\n' in out
    )


def test_check_tells_what_is_wrong_and_leaves_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "lgos_examples.echo:konfig", "--path", "examples"]) == 1
    assert capsys.readouterr().err == (
        "lgos check: module 'lgos_examples.echo' has no attribute 'konfig'; did you mean 'config'?\n"
    )


def test_render_prints_the_operators_objects(capsys: pytest.CaptureFixture[str]) -> None:
    yaml = pytest.importorskip("yaml")
    assert main(["render", "-f", "examples/models"]) == 0
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    names = sorted(path.stem for path in Path("examples/models").glob("*.yaml"))
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in objects] == [
        *((kind, name) for model in names
          for kind, name in (("ServiceAccount", model), ("Service", f"{model}-api"), ("Deployment", f"{model}-api"))),
        ("ConfigMap", "lgos-model-registry"),
    ]  # fmt: skip
    assert sorted(objects[-1]["data"]) == [f"{name}.json" for name in names]


def test_render_tells_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "-f", "absent.yaml"]) == 1
    assert "there is no file or folder 'absent.yaml'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["dev", "check", "render", "keys", "sweep", "serve", "gateway", "operator", "version"],
)
def test_reference_names_every_command_and_option(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", capsys.readouterr().out)) - {
        "-h",
        "--help",
    }
    page = REFERENCE.read_text()
    assert f"`lgos {command}`" in page
    assert [option for option in options if f"`{option}`" not in page] == []


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = set(re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE))
    assert shown == set(re.findall(r"^\| `lgos (\w+)` \|", REFERENCE.read_text(), re.MULTILINE))
