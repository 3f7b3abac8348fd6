"""What a notebook or a terminal shows while the program runs."""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from typing import Any


class Display:
    """Shows a job's progress on standard error: tqdm's bar on a terminal and in a notebook, else plain lines."""

    def __init__(self, wanted: bool) -> None:
        self.wanted, self.bar, self.scores, self.time_s = wanted, None, {}, 0.0

    def say(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a job goes on where nobody sees it
            if self.bar is not None:
                self.bar.write(text, file=sys.stderr)
            elif sys.stderr is not None:
                print(text, file=sys.stderr, flush=True)

    def show(self, line: dict[str, Any]) -> None:
        """Shows one JSON line of the program."""
        event, waited_s = line.get("event"), time.monotonic() - self.time_s
        if event == "step" and self.bar is not None:
            self.bar.set_postfix({"loss": line["loss"], **self.scores}, refresh=False)
            self.bar.update(line["step"] - self.bar.n)
        elif (event == "log" and line["severity"] in ("WARNING", "ERROR")) or (
                self.wanted and (event in ("start", "evaluation") or (event == "step" and waited_s > 10))):
            self.say(f"berth: {line['message']}")
            self.time_s = time.monotonic()
        if event == "evaluation":
            self.scores = {name: line[name] for name in ("accuracy", "f1", "pearson", "entity_f1", "exact_match") if name in line}
        if event == "start" and self.wanted and sys.stderr and ("ipykernel" in sys.modules or sys.stderr.isatty()):
            self.close()
            with contextlib.suppress(ImportError), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # tqdm's advice to install ipywidgets
                from tqdm.auto import tqdm
                self.bar = tqdm(total=line["total_steps"], initial=line["first_step"], unit="update", file=sys.stderr)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
