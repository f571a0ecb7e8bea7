"""What every serving process has besides its server: an event loop, a log, and a last sentence when it cannot start."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

TERMINATION_LOG_BYTES: Final = 4096
"""The kubelet reads no more."""


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the loop factory of uvloop, or `None` (asyncio's own) where uvloop is not installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def import_from_working_folder() -> None:
    """Let graphs be imported from the working folder, too: an image may have copied modules instead of a package.

    It comes last, so that a file there hides no installed module.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)


def log_to_stderr(level: str) -> None:
    """Send all logs of the process to standard error."""
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    if level != "debug":
        logging.getLogger("uvicorn").setLevel(logging.WARNING)


def report_failure(program: str, sentence: str, termination_log: Path) -> None:
    """Tell people and the kubelet why the program cannot start.

    The kubelet copies the termination log into the pod's status; the operator puts it into a condition.

    Args:
        program: The command, such as `lgos serve`.
        sentence: What is wrong and what to do.
        termination_log: Written when it exists: outside a container there is none.
    """
    sys.stderr.write(f"{program}: {sentence}\n")
    if not termination_log.exists():
        return
    try:
        with termination_log.open("wb") as log:
            log.write(sentence.encode(errors="replace")[:TERMINATION_LOG_BYTES])
    except OSError as error:
        logger.warning("cannot write %s: %s", termination_log, error.strerror)
