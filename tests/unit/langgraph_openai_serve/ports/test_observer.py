from __future__ import annotations

from langgraph_openai_serve.ports.observer import Api, Mode, RunInfo, RunStatus, SilentObserver


def test_silent_observer_takes_every_report() -> None:
    observer = SilentObserver()
    run = RunInfo("m", Api.RESPONSES, Mode.STREAM)

    assert observer.run_created(run) is None  # type: ignore[func-returns-value] # that is the point
    assert observer.first_output(run, 1) is None  # type: ignore[func-returns-value] # that is the point
    assert observer.run_ended(run, RunStatus.COMPLETED, 1) is None  # type: ignore[func-returns-value] # that is the point
    assert observer.fields_ignored("m", ["n"]) is None  # type: ignore[func-returns-value] # that is the point
