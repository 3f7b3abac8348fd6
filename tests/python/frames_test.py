"""Tests the installed package berth-trainer with pandas and NumPy: DataFrames in and out, and tqdm's bar on a terminal."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from pathlib import Path

import numpy
import pandas

import berth_trainer

SAMPLE = pandas.read_pickle(os.environ["BERTH_SAMPLE"])


def setUpModule():
    folder = tempfile.mkdtemp(prefix="berth trainer ")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    os.chdir(folder)


def train(frame, **flags):
    return berth_trainer.train(frame, **{"max_steps": 20, "batch_size": 8, "learning_rate": 1e-3, "progress": False, **flags})


class FramesTest(unittest.TestCase):
    def test_predictions_have_the_index_and_order_of_the_rows(self):
        result = train(SAMPLE.head(100))
        frame = SAMPLE.tail(30).set_index(pandas.MultiIndex.from_product([["x", "y"], range(15)], names=["a", "b"]))
        frame = frame.assign(id="same", extra=1.5).sample(frac=1, random_state=1)
        answers = berth_trainer.predict(frame, job=result, progress=False)
        self.assertTrue(answers.index.equals(frame.index))
        self.assertEqual(list(answers.columns), ["prediction", "food", "science", "sport", "travel"])
        numpy.testing.assert_allclose(answers.iloc[:, 1:].sum(axis=1), 1, atol=1e-6)
        self.assertEqual(list(answers.iloc[:, 1:].idxmax(axis=1)), list(answers.prediction))
        again = berth_trainer.predict(frame.sort_index(), job=result, progress=False)
        pandas.testing.assert_frame_equal(again.loc[frame.index], answers)
        self.assertNotIn("berth_row", frame.columns)
        # The same rows from a file, whose ids are kept, and texts with what separates fields.
        frame.to_csv("rows.csv")
        self.assertEqual(list(berth_trainer.predict("rows.csv", job=result, progress=False).id), ["same"] * 30)
        texts = ['say "hello"\tto\nthem', "NA", ""]
        shown = berth_trainer.predict(pandas.DataFrame({"text": texts[:2]}), result, predictions_with_text=True, progress=False)
        self.assertEqual(list(shown.text), texts[:2])
        self.assertEqual(len(berth_trainer.predict(SAMPLE.text.head(3), result, progress=False)), 3)

    def test_choices_are_numbers_with_their_texts(self):
        rows = [{"question": f"what is {i}", "choices": ["one", "two", "three"], "label": i % 3} for i in range(24)]
        frame = pandas.DataFrame(rows)
        result = train(frame, task="multiple_choice")
        answers = berth_trainer.predict(frame.drop(columns="label"), result, predictions_with_text=True, progress=False)
        self.assertEqual(list(answers.columns), ["prediction", "0", "1", "2", "text", "choice_0", "choice_1", "choice_2"])
        self.assertEqual(list(answers.iloc[:, 1:4].idxmax(axis=1).astype(int)), list(answers.prediction))
        self.assertEqual(list(answers.choice_2), ["three"] * 24)

    def test_rows_without_a_text_keep_their_place(self):
        result = train(SAMPLE.head(50))
        frame = pandas.DataFrame({"text": ["a", None, "c"]}, index=[10, 20, 30])
        answers = berth_trainer.predict(frame, result, progress=False)
        self.assertEqual(list(answers.index), [10, 20, 30])
        self.assertEqual([bool(answer) for answer in answers.prediction], [True, False, True])
        self.assertTrue(answers.iloc[1, 1:].isna().all())

    def test_labels_keep_their_types(self):
        texts = SAMPLE.text.head(40)
        numbers = pandas.Series([7, -2] * 20, index=texts.index)
        for labels, kind in ((numbers, "i"), (numbers.astype("Int64"), "i"), (numbers > 0, "b")):
            frame = pandas.DataFrame({"text": texts, "label": labels})
            answers = berth_trainer.predict(frame, train(frame), progress=False)
            self.assertEqual(answers.prediction.dtype.kind, kind)
            self.assertLessEqual(set(answers.prediction), set(labels))

    def test_categories_keep_their_order(self):
        frame = SAMPLE.head(60).assign(label=SAMPLE.label.head(60).astype(pandas.CategoricalDtype(["travel", "sport", "science", "food"])))
        answers = berth_trainer.predict(frame, train(frame), progress=False)
        self.assertEqual(list(answers.columns), ["prediction", "travel", "sport", "science", "food"])

    def test_lists_are_sets_of_labels(self):
        frame = SAMPLE.head(60).assign(label=[["a", "b"] if i % 2 else ["b"] for i in range(60)])
        answers = berth_trainer.predict(frame, train(frame), progress=False)
        self.assertEqual(list(answers.columns), ["prediction", "a", "b"])
        self.assertLessEqual(set(answers.prediction), {"", "a", "b", "a|b"})

    def test_words_have_tags(self):
        rows = [{"tokens": ["see", "Rome", "now"], "ner_tags": ["O", "B-LOC", "O"]} for _ in range(40)]
        frame = pandas.DataFrame(rows, index=range(100, 140))
        answers = berth_trainer.predict(frame.head(2)[["tokens"]], train(frame, task="ner"), progress=False)
        self.assertEqual(list(answers.columns), ["word", "prediction", "probability"])
        self.assertEqual(list(answers.index), [100] * 3 + [101] * 3)
        self.assertEqual(list(answers.word), [0, 1, 2] * 2)

    def test_numbers_are_scores(self):
        frame = SAMPLE.head(60).assign(label=numpy.linspace(0, 1, 60))
        answers = berth_trainer.predict(frame.head(5), train(frame), progress=False)
        self.assertEqual(list(answers.columns), ["score"])
        self.assertEqual(answers.score.dtype, float)

    def test_embeddings_are_an_array(self):
        result = train(SAMPLE.head(50))
        vectors = berth_trainer.embed(SAMPLE.head(7), result, progress=False)
        self.assertEqual((vectors.shape[0], vectors.dtype), (7, numpy.float32))
        numpy.testing.assert_array_equal(berth_trainer.embed(list(SAMPLE.text.head(7)), result, progress=False), vectors)

    def test_a_frame_of_its_own_to_evaluate_on(self):
        result = train(SAMPLE.head(50), eval_data=SAMPLE.tail(30))
        self.assertEqual(result.metrics["eval"]["examples"], 30)

    def test_the_lines_of_the_documentation_run(self):
        page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
        block = page[page.index("    import berth_trainer, pandas"):page.index("The package is called")]
        lines = [line.strip() for line in block.splitlines() if "transformers" not in line]
        self.assertGreater(len(lines), 9)
        SAMPLE.head(200).to_csv("reviews.csv")
        names = {}
        exec("\n".join(lines), names)
        self.assertEqual(names["vectors"].shape[0], 2)
        self.assertGreater(names["result"].metrics["eval"]["examples"], 10)

    def test_a_terminal_shows_a_bar(self):
        code = ("import berth_trainer; berth_trainer.train([{'text': f'a ball {i}', 'label': 'ab'[i % 2]} for i in range(40)],"
                " epochs=2, batch_size=4, job_dir='bar')")
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        process = subprocess.Popen([sys.executable, "-c", code], stderr=follower)
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(leader)
        self.assertEqual(process.wait(), 0, shown)
        self.assertIn(b"18/18 [", shown)
        self.assertIn(b"loss=", shown)
        self.assertIn(b"accuracy", shown)


if __name__ == "__main__":
    unittest.main()
