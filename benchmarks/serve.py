"""One contender as a server process: `serve.py MODULE PORT`."""

from __future__ import annotations

import gc
import importlib
import sys

import uvicorn


def main() -> None:
    module, port = sys.argv[1], int(sys.argv[2])
    app = importlib.import_module(module).app
    gc.collect()
    gc.freeze()
    gc.set_threshold(20000, 20, 50)
    uvicorn.run(
        app, host="127.0.0.1", port=port, loop="uvloop", http="httptools", access_log=False,
        log_level="warning", lifespan="off", timeout_keep_alive=75,
    )  # fmt: skip


if __name__ == "__main__":
    main()
