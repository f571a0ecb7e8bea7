"""The reference page of the last full run."""

from __future__ import annotations

from typing import Any

HEAD = """# Performance

What LGOS adds to LangGraph, measured as CPU time of the server process against a floor in the same run: `floor_http`, the
least Starlette code that answers with the same shapes, without validation, errors or metrics. Contenders take turns in
short slices; each figure is the low decile of the slices. A ratio below 1 means that LGOS is cheaper than the floor.
Absolute times belong to the machine and are here only to show what a ratio is of.

Written by `nox -s bench -- --page docs/reference/performance.md`.

"""
TABLE = """
| workload | floor | LGOS | ratio | target | first token, p50: floor | LGOS |
| --- | --- | --- | --- | --- | --- | --- |
"""


def page(result: dict[str, Any]) -> str:
    """Return the page."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    text = HEAD + (
        f"Conditions: Python {result['python']}, {versions}; {result['cores']} cores, load average "
        f"{result['load_average']:.1f} at the end, {result['slices']} slices, run metrics on.\n"
    )
    text += TABLE + "".join(_row(row) for row in result["rows"])
    missed = [
        f"{row['workload']} ({row['ratio']:.2f})"
        for row in result["rows"]
        if row["target"] and round(row["ratio"], 2) > row["target"]
    ]
    if missed:
        text += f"\nAbove their target in this run: {', '.join(missed)}.\n"
    text += (
        f"\n| other | ratio | target |\n| --- | --- | --- |\n"
        f"| CPU time from start to the first answer | {result['boot_cpu_ratio']:.2f} | 1.25 |\n"
        f"| resident memory, idle | {result['rss_idle_ratio']:.2f} | |\n"
    )
    if result["open_stream_kib"]:
        floor, ours = result["open_stream_kib"]
        text += f"| resident memory of an open stream ({floor:.0f} → {ours:.0f} KiB) | {ours / floor:.2f} | 1.05 |\n"
    if result["alone_first_ms"]:
        text += f"\n500 runs in LangGraph alone, without a server: first token after {result['alone_first_ms']:.0f} ms.\n"
    return text + NOTES


def _row(row: dict[str, Any]) -> str:
    target = f"{row['target']:.2f}" if row["target"] else ""
    first = ["", ""]
    if "first_ours_ms" in row:
        first = [f"{row[key]:.0f} ms" for key in ("first_floor_ms", "first_ours_ms")]
    return (
        f"| {row['workload']}, per {row['unit']} | {row['floor_us']:.0f} µs | {row['ours_us']:.0f} µs "
        f"| {row['ratio']:.2f} | {target} | {first[0]} | {first[1]} |\n"
    )


NOTES = """
The workload: an echo; a model whose 200 chunks are there at once (burst) or one turn of the event loop apart (paced); and
50 chunks 20 ms apart on 1, 100 and 500 streams. Every answer is verified. 1, 100 and 500 streams begin in the same moment;
"500 slow streams in 2 s" begin 4 ms apart.

500 streams that begin together ask for more than one core gives, and what their first token waits for is LangGraph, which
starts 500 runs side by side: that alone takes it 40 to 55 % of the floor's time, without a server. A target of 0.3 for their
first token is out of reach here and is not met. Streams 4 ms apart show how soon a new one is answered beside others.

What makes it so:

- Text is taken by a callback inside the graph's own tasks and pushed into a synchronous encoder. Going through LangGraph's
  `messages` stream instead costs a task switch a token; graphs that show status pay that for the order of what they say.
- A text event is assembled from parts encoded once a message, and all events that are ready leave in one ASGI message.
- The API's routes are answered before FastAPI's layers, as long as no middleware is added.
- Usage is read by a callback handler that ignores everything but model calls and runs inline.

Tried and left out:

- starting each send by hand outside of a task gained nothing (0.67 against 0.64 at 500 streams);
- letting runs start in the order of arrival, 8 to 64 in a turn of the event loop: the median first token of 500 that begin
  together came 2 to 10 % earlier, the last one no earlier, and a token cost the same.
"""
