"""Tests the installed package berth-trainer with the real program: the commands and the module, without any other package."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import berth_trainer
from berth_trainer import BerthError

BIN = Path(sys.executable).parent
ROWS = [{"text": f"the ball number {i} and the goal", "label": "sport"} if i % 2 else {"text": f"salt and {i} spoons of rice", "label": "food"}
        for i in range(60)]


def setUpModule():
    folder = tempfile.mkdtemp(prefix="berth trainer ")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    os.chdir(folder)  # with a blank, and empty


def train(**flags):
    return berth_trainer.train(ROWS, **{"epochs": 2, "batch_size": 4, "learning_rate": 1e-3, "progress": False, **flags})


class CommandsTest(unittest.TestCase):
    def run_command(self, *command):
        return subprocess.run(command, capture_output=True, text=True)

    def test_all_names_run_the_program(self):
        for command in ([BIN / "berth"], [BIN / "berth-trainer"], [sys.executable, "-m", "berth_trainer"]):
            self.assertTrue(self.run_command(*command, "--version").stdout.startswith(f"berth {berth_trainer.__version__} "), command)

    def test_the_exit_code_is_the_programs(self):
        self.assertEqual(self.run_command(BIN / "berth", "--nonsense").returncode, 2)

    def test_a_signal_reaches_the_program(self):
        os.mkfifo("waits.csv")
        process = subprocess.Popen([BIN / "berth", "--train-data-file=waits.csv", "--job-dir=waits"], stderr=subprocess.PIPE)
        while os.path.basename(os.readlink(f"/proc/{process.pid}/exe")) != "berth":
            time.sleep(0.01)
        time.sleep(0.3)
        process.terminate()
        self.assertIn(b'"code":143', process.communicate()[1])
        self.assertEqual(process.returncode, 143)


class ModuleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = train(job_dir=Path("runs") / "a job")

    def test_a_training_returns_its_metrics_and_places(self):
        self.assertEqual(self.result.job_dir, os.path.abspath("runs/a job"))
        self.assertGreater(self.result.metrics["eval"]["accuracy"], 0.5)
        self.assertTrue(os.path.exists(self.result.model_dir + "/model.safetensors"))
        self.assertTrue(os.path.exists(self.result.report))
        self.assertRegex(repr(self.result), r"^Result\(examples=\d+, loss=.*accuracy=.*job_dir='/.*runs/a job'\)$")

    def test_a_finished_job_returns_the_same(self):
        self.assertEqual(train(job_dir="runs/a job").metrics, self.result.metrics)
        self.assertFalse([name for name in os.listdir("runs/a job") if name.endswith("jsonl") or name.startswith("berth-")])

    def test_a_finished_job_refuses_other_rows(self):
        with self.assertRaises(BerthError) as caught:
            berth_trainer.train(ROWS[:-1], job_dir="runs/a job", epochs=2, batch_size=4, learning_rate=1e-3, progress=False)
        self.assertEqual(caught.exception.code, 5)
        self.assertIn("given data #", caught.exception.what)

    def test_a_file_and_its_flags(self):
        result = berth_trainer.train(os.environ["BERTH_SAMPLE"], data_fraction=0.05, max_steps=2, batch_size=4.0, report=False, threads=None,
                                     label_names=["food", "science", "sport", "travel"], export_dir=Path("exported"), progress=False)
        self.assertIn("/runs/", result.job_dir)
        self.assertFalse(os.path.exists(result.report))
        self.assertEqual(result.model_dir, os.path.abspath("exported"))
        self.assertEqual(list(json.loads(Path("exported/config.json").read_text())["id2label"].values())[2], "sport")

    def test_evaluate_scores_rows(self):
        scores = berth_trainer.evaluate(ROWS, self.result, progress=False)
        self.assertEqual(scores["examples"], len(ROWS))
        self.assertGreater(scores["accuracy"], 0.9)

    def test_predict_takes_texts_of_a_job_with_other_columns(self):
        rows = [{"review": row["text"], "stars": row["label"]} for row in ROWS]
        result = berth_trainer.train(rows, text_column="review", label_column="stars", epochs=1, batch_size=4, job_dir="other", progress=False)
        answers = berth_trainer.predict(("a ball", "some rice"), job=result.job_dir, progress=False)
        self.assertEqual(len(answers), 2)
        self.assertEqual(len(berth_trainer.predict(rows[:3], job="other", progress=False)), 3)
        self.assertEqual(len(berth_trainer.predict((row for row in rows[:3]), job="other", progress=False)), 3)

    def test_embed_is_one_vector_for_each_text(self):
        vectors = berth_trainer.embed(["a ball", "some rice", "a ball"], self.result, progress=False)
        # Equal to the last bits alone: on some CPUs, the rows at the end of a product in fp32 are added up in another order.
        apart = [max(abs(a - b) for a, b in zip(vectors[0], other)) for other in vectors[1:]]
        self.assertGreater(apart[0], 0.01)
        self.assertLess(apart[1], 1e-5)

    def test_it_works_in_a_thread_and_leaves_no_process(self):
        done = []
        thread = threading.Thread(target=lambda: done.append(train(job_dir="threaded", epochs=1)))
        thread.start()
        thread.join()
        self.assertEqual(len(done), 1)
        self.assertRaises(ChildProcessError, os.waitpid, -1, os.WNOHANG)

    def test_a_job_that_is_named_by_a_uri(self):
        place = "file://" + os.path.join(os.getcwd(), "remote").replace(" ", "%20")
        result = train(job_dir=place)
        self.assertEqual(result.job_dir, place)
        self.assertEqual(result.metrics, train(job_dir=place).metrics)
        self.assertEqual(len(berth_trainer.predict(["a ball"], place, progress=False)), 1)
        self.assertFalse([name for name in os.listdir(tempfile.gettempdir()) if name.startswith(f"berth-{os.getuid()}-")])

    def test_places_stay_valid_after_chdir(self):
        before = os.getcwd()
        try:
            os.chdir("/")
            self.assertEqual(len(berth_trainer.predict(["a ball"], self.result, progress=False)), 1)
        finally:
            os.chdir(before)

    def test_a_home_that_cannot_be_written(self):
        with mock.patch.dict(os.environ, HOME="/nonexistent"):
            self.assertEqual(len(berth_trainer.predict(["a ball"], self.result, progress=False)), 1)


class PackageTest(unittest.TestCase):
    def test_pip_is_told_where_to_go_on_other_systems(self):
        refusal = Path(__file__).parents[2] / "python" / "sdist" / "refusal.py"
        for system, machine, part in (("Darwin", "arm64", "this is macOS on arm64. Run it in Docker instead:"), ("Windows", "AMD64", "%cd%"),
                                      ("Linux", "x86_64", "pip install --upgrade pip"), ("Linux", "riscv64", "Run it in Docker instead:")):
            names = {}
            exec(refusal.read_text(), names)
            with mock.patch("platform.system", lambda: system), mock.patch("platform.machine", lambda: machine):
                with self.assertRaises(SystemExit) as caught:
                    names["prepare_metadata_for_build_wheel"]("folder", config_settings=None)
            self.assertIn(part, str(caught.exception))
            self.assertIn("docker run", str(caught.exception))


class ErrorsTest(unittest.TestCase):
    def refuses(self, code, part, call, *arguments, **flags):
        with self.assertRaises(BerthError) as caught:
            call(*arguments, **flags)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_flags_are_checked_before_a_folder_is_made(self):
        before = set(os.listdir(".")) | set(os.listdir("runs") if os.path.exists("runs") else ())
        self.assertEqual(self.refuses(2, "epoch", train, epoch=1).hint, "the nearest is epochs")
        self.refuses(2, "there is no such flag", train, mode="eval")
        self.refuses(2, "it means the same as epochs", train, num_train_epochs=3)
        self.refuses(2, "it means the same as output_dir", berth_trainer.train, ROWS, output_dir="x", job_dir="y")
        self.refuses(2, "train_data_file: another argument", train, train_data_file="x.csv")
        self.refuses(2, "eval_data_file: another argument", train, eval_data=ROWS, eval_data_file="x.csv")
        self.refuses(2, "comma", train, label_names=["a,b", "c"])
        self.assertEqual(before, set(os.listdir(".")) | set(os.listdir("runs") if os.path.exists("runs") else ()))

    def test_flags_of_other_programs_are_the_programs_own_matter(self):
        self.assertIn("finished", train(per_device_train_batch_size=4, batch_size=None, job_dir="hf").metrics)

    def test_what_the_program_says_is_raised(self):
        error = self.refuses(4, "no such file", berth_trainer.train, "nowhere.csv", job_dir="x", progress=False)
        self.assertIn("nowhere.csv", error.where)
        self.refuses(2, "no model is given", berth_trainer.predict, ["a"], progress=False)
        bad = ROWS + [{"text": "no label"}]
        error = self.refuses(3, "is missing", berth_trainer.train, bad, job_dir="x", progress=False)
        self.assertRegex(error.where, "^given data #[0-9a-f]{8}: line 61$")
        self.assertFalse(os.path.exists("x"))

    def test_a_folder_that_cannot_be_made(self):
        Path("a file").write_text("")
        self.assertIn("a file", self.refuses(4, "irectory", train, job_dir="a file/job").where)

    def test_values_that_are_no_rows(self):
        for data in (3, [], [1, 2], {"text": "a"}, b"bytes", None):
            self.refuses(2, "these are no rows", berth_trainer.train, data)
        self.refuses(2, "rows, row 1", berth_trainer.predict, [{"text": "a"}, {"text": object()}])

    def test_a_program_that_crashes(self):
        script = Path("crashes")
        for words, ending, code in (("error while loading shared libraries", "exit 127", 127), ("Aborted!", "kill -SEGV $$", 139)):
            script.write_text(f"#!/bin/sh\nseq -f 'not JSON %g' 100000 >&2\necho '{words}' >&2\n{ending}\n")
            script.chmod(0o755)
            with mock.patch.dict(os.environ, BERTH_PROGRAM=str(script.absolute())):
                error = self.refuses(code, words, berth_trainer.embed, ["a"])
                self.assertLess(len(error.what), 5000)
        for place in ("nowhere", "/etc"):
            with mock.patch.dict(os.environ, BERTH_PROGRAM=place):
                self.refuses(127, "cannot be started", berth_trainer.embed, ["a"])


class InterruptTest(unittest.TestCase):
    """A Python process that trains is a program of its own here."""

    LONG = """
        import berth_trainer, sys
        rows = [{"text": f"a ball {i}", "label": "ab"[i % 2]} for i in range(400)]
        try:
            print(berth_trainer.train(rows, job_dir="JOB", max_steps=STEPS, batch_size=2, validation_split=0, save_steps=100000))
        except KeyboardInterrupt:
            sys.exit("interrupted")
    """

    def start(self, job, steps):
        code = textwrap.dedent(self.LONG).replace("JOB", job).replace("STEPS", str(steps))
        # A group of its own, as a terminal and Jupyter make one, which gets the signal as a whole.
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def wait_for_update(self, process):
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "update " in line:
                return
        self.fail(f"it ended: {''.join(lines)}")

    def checkpoints(self, job):
        return [path for path in Path(job, "checkpoints").glob("step-*") if (path / "MANIFEST.json").exists()]

    def test_an_interrupt_saves_and_the_same_call_goes_on(self):
        process = self.start("interrupted", 100000)
        self.wait_for_update(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=240)
        self.assertIn("job_dir='/", err)
        self.assertIn("stopped after update", err)
        self.assertTrue(err.endswith("interrupted\n"), err)
        self.assertEqual(process.returncode, 1)
        saved, = self.checkpoints("interrupted")
        step = int(saved.name.partition("-")[2])
        self.assertGreater(step, 0)
        process = self.start("interrupted", step + 20)
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, err)
        metrics = json.loads(Path("interrupted/metrics.json").read_text())
        self.assertEqual(metrics["train"]["steps"], step + 20)
        self.assertIn("resum", Path("interrupted/report.html").read_text())

    def test_a_second_interrupt_does_not_wait(self):
        process = self.start("twice", 100000)
        self.wait_for_update(process)
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.5)
        _, err = process.communicate(timeout=240)
        self.assertTrue(err.endswith("interrupted\n") or "KeyboardInterrupt" in err, err)
        self.assertNotEqual(process.returncode, 0)

    def test_a_killed_python_lets_the_program_save(self):
        process = self.start("killed", 100000)
        self.wait_for_update(process)
        process.kill()
        process.wait()
        for _ in range(1200):
            if json.loads(Path("killed/heartbeat.json").read_text())["phase"] == "ended":
                break
            time.sleep(0.1)
        self.assertEqual(len(self.checkpoints("killed")), 1)
        process.stdout.close()
        process.stderr.close()


if __name__ == "__main__":
    unittest.main()
