"""Where a program that cannot start leaves its one sentence: standard error and the container's termination log.

The kubelet copies the termination log into the pod's status; the operator puts it into a condition.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

TERMINATION_LOG_BYTES: Final = 4096
"""The kubelet reads no more."""


def report_failure(program: str, sentence: str, termination_log: Path) -> None:
    """Tell people and the kubelet why the program cannot start.

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
