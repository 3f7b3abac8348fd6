#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "entrypoint/explain/explain.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kImports = R"(
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
)";
constexpr std::string_view kFilms = R"(
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
)";
constexpr std::string_view kTraining =
    "\nTrainer(model, TrainingArguments('out'), train_dataset=films['train']).train()\n";

Explanation explain_program(const std::string& program, const std::string& flags = "") {
  const auto read_file = [&](const std::string&) { return std::optional(program); };
  const std::vector<std::string> words = {"python films.py " + flags};
  return explain(words, {.devices = {}, .read_file = read_file});
}

// Code behind the model of a program, flags of its line, and a part of its explanation.
struct Row {
  std::string code, refusal, flags{};
  bool trains = true;  // false: the code has its own training
};

void check_refused(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::string program =
        cat(kImports, kFilms, row.code, row.trains ? kTraining : std::string_view());
    const Explanation explanation = explain_program(program, row.flags);
    EXPECT_FALSE(explanation.refused.empty()) << row.code;
    EXPECT_THAT(explanation.text, HasSubstr(row.refusal)) << row.code;
  }
}

std::string options_program(const std::string& code) {
  return cat(
      "parser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float, "
      "default=3e-5)\nparser.add_argument('--quick', action='store_const', const=True, "
      "default=False)\n"
      "parser.add_argument('--half', action=argparse.BooleanOptionalAction, default=True)\n",
      code,
      "\nTrainer(model, TrainingArguments('out', learning_rate=args.lr, fp16=args.half, "
      "bf16=args.quick), train_dataset=films['train']).train()\n");
}

TEST(PythonPrograms, OptionsThatAreSetOtherwiseAreUnknown) {
  std::vector<Row> rows;
  for (const char* code :
       {"args = parser.parse_args(['--lr', '1e-3'])", "args = parser.parse_args('--lr 1'.split())",
        "args = parser.parse_args(namespace=argparse.Namespace(lr=1))",
        "args = parser.parse_args()\nargs.lr, other = 1e-3, 2",
        "args = parser.parse_args()\nfor args.lr in (1e-3,): pass",
        "args = parser.parse_args()\nargs.__dict__.update(lr=1e-3)",
        "args = parser.parse_args()\nvars(args)['lr'] = 1e-3",
        "args = parser.parse_args()\nvars(args).update(lr=1e-3)",
        "for args in [argparse.Namespace(lr=1e-3)]: pass"}) {
    rows.push_back({options_program(code), "learning_rate is computed in the program", "", false});
  }
  const std::string below =
      "def run(args):\n  Trainer(model, TrainingArguments('o', learning_rate=args.lr), "
      "train_dataset=films['train']).train()\nparser.add_argument('--lr', type=float, "
      "default=1e-5)\nargs = parser.parse_args()\nargs.lr = args.lr * 8\nrun(args)\n";
  rows.push_back({below, "learning_rate is computed in the program", "", false});
  check_refused(rows);
}

TEST(PythonPrograms, SwitchesHaveTheValuesOfTheirActions) {
  const std::string program = cat(kImports, kFilms, options_program("args = parser.parse_args()"));
  EXPECT_THAT(explain_program(program, "--quick").text,
              HasSubstr("bf16 is computed in the program"));
  EXPECT_THAT(explain_program(program).text, HasSubstr("--fp16"));
  EXPECT_THAT(explain_program(program, "--no-half").text, Not(HasSubstr("--fp16")));
  EXPECT_THAT(explain_program(program, "--no-half").text, HasSubstr("--learning-rate 3e-5"));
}

TEST(PythonPrograms, TrainingsThatPythonStartsAreCounted) {
  const std::string run = cat("        ", kTraining.substr(1));
  check_refused({
      {cat("class Run:\n    def __init__(self):\n", run, "for i in range(5):\n    Run()\n"),
       "trains many models in a loop", "", false},
      {cat("class Run:\n    def __call__(self):\n", run, "job = Run()\n[job() for i in x]\n"),
       "belongs to __call__", "", false},
      {cat("def go(n):\n    run(n)\ndef run(n):\n        if n > 0:\n            go(n - 1)\n", run,
           "run(3)\n"),
       "trains many models in a loop", "", false},
      {cat("def run(n):\n        if n > 0:\n            run(n - 1)\n", run, "run(3)\n"),
       "trains many models in a loop", "", false},
  });
  const std::string once = cat("class Run:\n    def __init__(self):\n", run, "Run()\n");
  EXPECT_TRUE(explain_program(cat(kImports, kFilms, once)).refused.empty());
}

TEST(PythonPrograms, ChoicesByExpressionsAreRefused) {
  const std::string trains = "\nTrainer(model, args, train_dataset=films['train']).train()\n";
  check_refused({
      {"args = TrainingArguments('a') if wide else TrainingArguments('b')" + trains,
       "TrainingArguments have several cases", "", false},
      {"def make():\n    return TrainingArguments('a') if wide else TrainingArguments('b')\n"
       "args = make()" +
           trains,
       "TrainingArguments have several cases", "", false},
      {"other = AutoModelForSequenceClassification.from_pretrained('bert-large-uncased')\n"
       "model = other if wide else model",
       "is the model of one case"},
      {"def make():\n    if wide:\n        return AutoModelForSequenceClassification"
       ".from_pretrained('bert-large-uncased', num_labels=2)\n    return "
       "AutoModelForSequenceClassification.from_pretrained('bert-base-uncased', num_labels=2)\n"
       "model = make()",
       "make (line 11) is the model of one case"},
  });
}

TEST(PythonPrograms, ParametersOfOtherCallsAreUnknown) {
  const std::string train =
      "    Trainer(model, TrainingArguments('o', learning_rate=lr), "
      "train_dataset=films['train']).train()\n";
  std::vector<Row> rows;
  for (const std::string& code :
       {"def run(out, /, lr=1e-5):\n" + train + "run('x', 3e-5)\n",
        "def run(out, *rest, lr=1e-5):\n" + train + "run('x', 2e-5, 3)\n",
        "@click.option('--lr', default=3e-5)\ndef run(lr=1e-5):\n" + train + "run()\n",
        "class Job(Base):\n  def __init__(self, lr):\n    super().__init__(1e-2)\n" + train +
            "Job(3e-5)\n",
        "def run(lr=1e-5):\n    def change():\n        nonlocal lr\n        lr = 1\n" + train +
            "run()\n",
        "lr = 1e-5\nfrom settings import lr\nif True:\n" + train,
        "lr = 1e-5\nfrom settings import *\nif True:\n" + train}) {
    rows.push_back({code, "learning_rate is computed in the program", "", false});
  }
  check_refused(rows);
}

std::string scored(const std::string& code) {
  return cat("metric = evaluate.load('accuracy')\ndef score(p):\n    ", code,
             "\n    return metric.compute(predictions=best, references=p.label_ids)\n"
             "Trainer(model, TrainingArguments('out', eval_strategy='epoch'), "
             "train_dataset=films['train'], eval_dataset=films['validation'], "
             "compute_metrics=score).train()\n");
}

TEST(PythonPrograms, ScoresOfChangedClassesAreRefused) {
  std::vector<Row> rows;
  for (const char* code :
       {"best = 1 - p.predictions[0].argmax(-1)", "best = 1 - (p.predictions).argmax(-1)",
        "best = np.argmax(-p.predictions, axis=1)", "best = np.argmax(p.predictions[:, ::-1], 1)",
        "best = np.logical_not(np.argmax(p.predictions, axis=1))",
        "best = np.argmax(p.predictions, axis=1); best = 1 - best",
        "best = np.argmax(p.predictions, axis=1) ^ 1",
        "best = np.argmax(p.predictions[:, [1, 0]], axis=1)",
        "best = np.argmax(p.predictions[:, 1:], axis=1)",
        "best = (np.argmax(p.predictions, axis=1) + 1)"}) {
    rows.push_back({scored(code), "chooses classes in another way", "", false});
  }
  std::string before = scored("best = p.predictions");
  before.replace(before.find("compute_metrics"), 0, "preprocess_logits_for_metrics=first, ");
  rows.push_back({"def first(scores, labels):\n    return (-scores).argmax(-1)\n" + before,
                  "chooses classes in another way", "", false});
  check_refused(rows);
  const std::string plain = scored("best = np.argmax(p.predictions, axis=-1)");
  EXPECT_TRUE(explain_program(cat(kImports, kFilms, plain)).refused.empty());
}

TEST(PythonPrograms, SwappedSplitsAreRefused) {
  check_refused({
      {"films['train'], films['test'] = films['test'], films['train']", "gets the name train"},
      {"films = DatasetDict(train=films['test'])", "the split test (line 8) gets the name train"},
      {"films.set_format('torch', columns=films['train'].column_names)",
       "keeps columns that the program computes"},
  });
}

TEST(PythonPrograms, ModelsWithoutTypesOfTokensNeedNone) {
  const auto program = [](std::string_view model) {
    return cat(kImports, "name = '", model, "'\ntokenizer = AutoTokenizer.from_pretrained(name)\n",
               "pairs = load_dataset('glue', 'mrpc').map(lambda rows: tokenizer(rows['sentence1'], "
               "rows['sentence2'], truncation=True, max_length=64), batched=True)\n"
               "films = pairs.remove_columns(['token_type_ids'])\n"
               "model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=2)",
               kTraining);
  };
  EXPECT_TRUE(explain_program(program("microsoft/deberta-v3-base")).refused.empty());
  EXPECT_THAT(explain_program(program("bert-base-uncased")).text,
              HasSubstr("leaves out token_type_ids, by which the model tells two texts apart"));
}

// A program of explain_files with other code in place of a part.
std::string changed_file(const std::string& name, std::string_view from, std::string_view to,
                         std::string_view code) {
  std::ifstream file(BERTH_TESTDATA "/explain_files/" + name);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = text.find(from), end = text.find(to, begin);
  return text.replace(begin, end - begin, code);
}

TEST(PythonPrograms, TagsThatOtherConditionsKeepAreRefused) {
  const auto program = [](std::string_view condition) {
    return changed_file("tagged_by_items.py", "named(outputs.predictions)", ", references",
                        cat("[[kinds[p] for p, t in zip(row, tags) if ", condition,
                            "] for row, tags in zip(np.argmax(outputs.predictions, axis=2), "
                            "outputs.label_ids)]"));
  };
  for (const char* condition : {"t != -100", "tags[i] != -100"}) {
    EXPECT_TRUE(explain_program(program(condition)).refused.empty()) << condition;
  }
  for (const char* condition : {"t > 0", "kinds[t] != 'O'", "t not in (0, -100)", "t",
                                "t != -100 and t", "not t == 0", "t is not None"}) {
    EXPECT_THAT(explain_program(program(condition)).text, HasSubstr("chooses tags in another way"))
        << condition;
  }
}

TEST(PythonPrograms, LengthsThatAreComputedAreRefused) {
  for (const char* given : {"dict(block_size=32)", "options", "{'block_size': 4 * width}"}) {
    const std::string program = changed_file("shorter_blocks.py", "batched=True)\nmodel", "model",
                                             cat("batched=True, fn_kwargs=", given, ")\n"));
    EXPECT_THAT(explain_program(program).text, HasSubstr("the length of texts is not a number"))
        << given;
  }
}

// Each took minutes, or all memory.
TEST(PythonPrograms, LongProgramsAreReadInTime) {
  const auto times = [](size_t count, std::string_view part) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += part;
    return text;
  };
  std::string parameters;
  for (int i = 0; i < 10'000; ++i) parameters += "p" + std::to_string(i) + "=1,";
  std::string functions =
      "def f0(batch, row):\n  for word_id in batch.word_ids():\n    if word_id != before:\n"
      "      tags.append(row[word_id])\n    before = word_id\n    skip = -100\n";
  for (int i = 1; i < 8; ++i) {
    functions += cat("def f", i, "(batch, row):\n  batch.word_ids()\n",
                     times(40, cat("  f", i - 1, "(batch, row)\n")));
  }
  functions +=
      "def tag(rows):\n  batch = tokenizer(rows['tokens'], truncation=True, "
      "is_split_into_words=True)\n  batch.word_ids()\n  batch['labels'] = f7(batch, "
      "rows['ner_tags'])\n  return batch\n";
  EXPECT_THAT(
      explain_program(changed_file("tagged_by_items.py", "def tag", "entities", functions)).text,
      HasSubstr("--task token_classification"));
  const std::string programs[] = {
      cat("def f(", parameters, "):\n", times(20'000, "  x = y\n")),
      cat("def f():\n", times(4'500, "  TrainingArguments()\n")),
      cat("def f(", parameters, "):\n  pass\n", times(4'500, "f()\n")),
      times(10'000, "def a,\n"),
      times(20'000, "model = model\n"),
      cat(times(4'000, "LoraConfig()\n"), "LoraConfig(", times(50'000, "a,"), ")\n"),
      cat(times(20'000, "a="), times(20'000, "b,"), "b\n"),
  };
  for (const std::string& code : programs) {
    EXPECT_NO_THROW(explain_program(cat(kImports, kFilms, code, kTraining)));
  }
}

}  // namespace
}  // namespace berth
