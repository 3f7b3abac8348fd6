"""Trains BERT-family encoders with berth, from a notebook or a script.

    import berth_trainer

    result = berth_trainer.train(df, model="bert-base-uncased", epochs=3, job_dir="runs/a")
    berth_trainer.predict(new_df, job=result)

Each function writes its data to a temporary file and starts the program berth, which computes everything. Keyword arguments are the
program's flags with `_` in place of `-`; None means that a flag is not given. The package is called berth-trainer, because the name
berth on PyPI belongs to another project.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from typing import Any

from berth_trainer._display import Display
from berth_trainer._rows import ROW_COLUMN, BerthError, hides_written_files, place_of, read_predictions, write_rows

__version__ = "0.1.0"
__all__ = ["BerthError", "Result", "embed", "evaluate", "predict", "program", "train"]

_OWN_FLAGS = {"mode", "log-format", "help", "version", "predictions-file", "embeddings-format"}  # which the functions set


@dataclass(repr=False)
class Result:
    """A finished training. `metrics` is what its metrics.json holds, and `report` is a page for a browser."""

    metrics: dict[str, Any]
    job_dir: str
    model_dir: str
    report: str

    def __repr__(self) -> str:
        scores = self.metrics.get("eval") or self.metrics.get("train") or {}
        shown = "".join(f"{name}={value:.4g}, " for name, value in scores.items() if isinstance(value, (int, float)))
        return f"Result({shown}job_dir={self.job_dir!r})"


def train(data: Any, *, eval_data: Any = None, job_dir: Any = None, progress: bool = True, **flags: Any) -> Result:
    """Trains on a DataFrame, the path of a file, or a list of dicts.

    Results go to `job_dir`; without it, to a new folder below runs/, which is printed. The same call with the same `job_dir` resumes a
    job that was interrupted. `progress=False` shows warnings only.
    """
    asked = _with(flags, train_data_file="", job_dir="", **({} if eval_data is None else {"eval_data_file": ""}))
    _arguments(asked)  # refuses wrong flags before a folder is made
    place = asked["job_dir"] = _new_folder() if job_dir is None else place_of(job_dir)
    # A job is resumed by the same command, so its files of rows have the same names, which tell their contents.
    folder = os.path.join(tempfile.gettempdir(), f"berth-{os.getuid()}-{zlib.crc32(place.encode()):08x}") if "://" in place else place
    written = []
    try:
        os.makedirs(folder, mode=0o700 if "://" in place else 0o777, exist_ok=True)
        for name, rows in (("train", data), ("eval", eval_data)):
            if rows is not None or name == "train":
                asked[f"{name}_data_file"], index = write_rows(rows, folder, name)
                written += [] if index is None else [asked[f"{name}_data_file"]]
        print(_run(asked, progress, f"train() with the same arguments and job_dir={place!r} goes on"), end="")  # of dry_run
        metrics = {} if flags.get("dry_run") else _read_metrics(place, flags)
    except OSError as error:
        raise BerthError(4, error.strerror or str(error), str(error.filename or folder), "name another job_dir") from error
    finally:
        with contextlib.suppress(OSError):
            for path in written:
                os.remove(path)
            os.rmdir(folder)  # if it is empty
    model_dir = place_of(flags["export_dir"]) if flags.get("export_dir") else place.rstrip("/") + "/model"
    return Result(metrics, place, model_dir, place.rstrip("/") + "/report.html")


def predict(data: Any, job: Any = None, *, progress: bool = True, **flags: Any) -> Any:
    """Labels the rows of a DataFrame, of a file, or of a list of texts or dicts with the model of `job`: a Result, or a job's folder.

    Returns a DataFrame with the index of the given one, or a list of dicts where pandas is absent. Labels that are all integers are
    returned as int, True and False as bool, and others as str.
    """
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        numbers = not isinstance(data, (str, os.PathLike)) and flags.get("id_column") is None
        asked, index = _rows_of(data, job, flags, folder, numbers)
        output = os.path.join(folder, "predictions.tsv")
        _run(asked, progress, mode="predict", predictions_file=output)
        return read_predictions(output, index if numbers else None, bool(flags.get("predictions_with_text")))


def embed(data: Any, job: Any = None, *, progress: bool = True, **flags: Any) -> Any:
    """Turns a list of texts, a DataFrame or a file into vectors, by `model=...` or the model of `job`.

    Returns a float32 array [rows, hidden size], or a list of lists where NumPy is absent.
    """
    try:
        import numpy
    except ImportError:
        numpy = None
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        asked, _ = _rows_of(data, job, flags, folder)
        output = os.path.join(folder, "embeddings")
        _run(asked, progress, mode="embed", predictions_file=output, embeddings_format="npy" if numpy else "jsonl")
        if numpy:
            return numpy.load(output)
        with open(output, encoding="utf-8") as lines:
            return [json.loads(line)["embedding"] for line in lines]


def evaluate(data: Any, job: Any = None, *, progress: bool = True, **flags: Any) -> dict[str, Any]:
    """Scores the model of `job` on labelled rows. Returns the number of examples, the loss and the metrics of the task."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        metrics = json.loads(_run(_rows_of(data, job, flags, folder, flag="eval_data_file")[0], progress, mode="eval"))
    if os.path.isfile(metrics.get("details", "")):  # of many classes the program prints a summary
        with open(metrics["details"], encoding="utf-8") as file:
            metrics = json.load(file)
    return {**metrics["eval"], **{name: value for name, value in metrics.items() if name == "eval_mm"}}


def program() -> str:
    """The path of the program; BERTH_PROGRAM names another one."""
    return os.environ.get("BERTH_PROGRAM") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "dist", "bin", "berth")


def _new_folder() -> str:
    """Makes runs/DATE-TIME-XXXX below the working directory, or a temporary folder where that is not writable."""
    try:
        os.makedirs("runs", exist_ok=True)
        path = tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=os.path.abspath("runs"))
    except OSError:
        path = tempfile.mkdtemp(prefix="berth-job-")
    print(f"berth: the job is in {path}", file=sys.stderr)
    return path


def _rows_of(data: Any, job: Any, flags: dict[str, Any], folder: str, numbers: bool = False,
             flag: str = "predict_data_file") -> tuple[dict[str, Any], Any]:
    """The flags that name the data and the job, and the index of the rows."""
    if hasattr(data, "__iter__") and not hasattr(data, "__len__"):
        data = list(data)  # what a generator yields
    path, index = write_rows(data, folder, "rows", numbers)
    is_texts = index is not None and not hasattr(data, "columns") and not isinstance(next(iter(data)), dict)
    own = {flag: path, **({"id_column": ROW_COLUMN} if numbers else {})}
    if job is not None:
        own["job_dir"] = job.job_dir if isinstance(job, Result) else place_of(job)
    # The job may have been trained on another column than the one of plain texts.
    return {"text_column": "text" if is_texts else None, **_with(flags, **own)}, index


def _with(flags: dict[str, Any], **own: Any) -> dict[str, Any]:
    for key in own:
        if flags.get(key) is not None:
            raise BerthError(2, "another argument of the function means the same", key, "leave one of them out")
    return {**flags, **own}


def _read_metrics(job_dir: str, flags: dict[str, Any]) -> dict[str, Any]:
    path = job_dir.rstrip("/") + "/metrics.json"
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        if "://" in path:  # the program knows how to reach it
            storage = {name: value for name, value in flags.items() if _flag_table()[name.replace("_", "-")][1] == "Storage"}
            _run({**storage, "input": path, "export_dir": folder}, False, mode="fetch")
            path = os.path.join(folder, "metrics.json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)


@functools.lru_cache(maxsize=None)
def _flag_table() -> dict[str, tuple[str, str]]:
    """The program's own table: each name that it accepts, with the name and the group of the flag that it means."""
    table = json.loads(_run({}, False, help_json="true"))
    known = {name: (same or name, "") for name, same in table["translated"].items()}
    for flag in table["flags"]:
        known.update(dict.fromkeys([flag["name"], *flag["aliases"]], (flag["name"], flag["group"])))
    return {name: means for name, means in known.items() if means[0] not in _OWN_FLAGS}


def _arguments(flags: dict[str, Any]) -> list[str]:
    arguments, given = [], {}
    for key, value in flags.items():
        name = key.replace("_", "-")
        if value is None:
            continue
        if name not in _flag_table():
            near = difflib.get_close_matches(name, _flag_table(), 1)
            hint = f"the nearest is {near[0].replace('-', '_')}" if near else "`berth --help` lists all flags"
            raise BerthError(2, "there is no such flag here", key, hint)
        if given.setdefault(_flag_table()[name][0], key) != key:
            raise BerthError(2, f"it means the same as {given[_flag_table()[name][0]]}", key, "leave one of them out")
        if isinstance(value, (list, tuple)):
            if any("," in str(item) for item in value):
                raise BerthError(2, "an item of the list has a comma", key, "the program separates the items by commas")
            value = ",".join(map(str, value))
        # Switches take True and False, too.
        arguments.append(f"--{name}={os.path.expanduser(value) if isinstance(value, os.PathLike) else value}")
    return arguments


def _run(flags: dict[str, Any], progress: bool, resume: str = "", **own: str) -> str:
    """Runs the program and returns what it prints. KeyboardInterrupt lets it save and stop, and is raised again when it has ended."""
    arguments = [*_arguments(flags), *(f"--{name.replace('_', '-')}={value}" for name, value in own.items())]
    hide = hides_written_files(flags.values())
    display, process, stops, last, words = Display(progress), None, 0, {}, b""
    with tempfile.TemporaryFile() as output:
        try:
            # The program has a session of its own, so that Ctrl-C reaches Python alone. It ends when Python does.
            command = [program(), "--log-steps=10", *arguments, "--log-format=json", f"--owner-process={os.getpid()}"]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, start_new_session=True)
            while process.returncode is None:
                try:
                    for text in process.stderr:
                        try:
                            line = json.loads(text) if text.startswith(b"{") else None
                        except ValueError:
                            line = None
                        if line is None:
                            words = (words + text)[-4000:]
                            continue
                        line = {key: hide(value) if isinstance(value, str) else value for key, value in line.items()}
                        if "code" in line:
                            last = line
                        else:
                            display.show(line)
                    process.wait()
                except KeyboardInterrupt:
                    stops += 1
                    process.send_signal(signal.SIGINT)  # the second one ends it at once
                    display.say("berth: stopping; interrupt again to stop without saving")
        except OSError as error:
            if process is None:
                raise BerthError(127, f"the program cannot be started: {error}", program(), "install berth-trainer again") from None
            raise
        finally:
            if process is not None:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
                process.stderr.close()
            display.close()
        if stops:
            display.say(f"berth: stopped after update {last.get('step', '?')}; {resume}" if resume else "berth: stopped")
            raise KeyboardInterrupt
        if (status := process.returncode) != 0 and last:
            raise BerthError(last["code"], last["what"], last["where"], last["hint"])
        if status != 0:  # it has no last words, because the system ended it or could not start it
            how = f"signal {-status}" if status < 0 else f"exit code {status}"
            raise BerthError(status if status > 0 else 128 - status, f"ended by {how}. {words.decode(errors='replace').strip()}", program())
        output.seek(0)
        return output.read().decode(errors="replace")
