#include "entrypoint/report/html/job_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "entrypoint/report/html/compare_page.h"
#include "tests/support/well_formed.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

// What data, labels, paths and settings may hold.
const std::string kHostile =
    "</script></style><script>alert(1)</script><img src=x onerror=\"alert(2)\">' \x1b[2J\x07 "
    "\xE2\x80\xAE"
    "txt.exe \xE2\x81\xA6 שלום 👩‍🚀 \xff\xEF\xBF\xBE ]]> &nbsp; <!--";

TaskScores hostile_scores(Task task) {
  TaskScores scores{.metrics = {{"accuracy", 0.75}, {kHostile, NAN}}, .majority_rate = 0.5};
  for (int i = 0; i < 3; ++i) {
    scores.classes.push_back({kHostile + std::to_string(i), 0.5, 0.25, 0.333, 10});
  }
  if (traits(task).labels == LabelKind::kClass) {
    scores.confusion = {{5, 3, 2}, {0, 10, 0}, {0, 0, 0}};
  }
  Calibration calibration;
  calibration.add(0.9, true);
  calibration.add(0.95, false);
  scores.details.calibration = calibration;
  scores.details.mistakes.assign(20, {.id = kHostile,
                                      .texts = {kHostile, std::string(1 << 20, '<')},
                                      .truth = kHostile,
                                      .prediction = kHostile,
                                      .badness = 0.95});
  scores.details.numbers = {{1, 2}, {NAN, 1}, {3, INFINITY}, {2, 2.5}};
  return scores;
}

JobPage example_page(Task task, const std::string& text) {
  JobPage page{.facts = {.name = text,
                         .task = task,
                         .record = {.settings = {{"model", text}, {"epochs", "2"}, {"seed", "42"}},
                                    .sources = {{"train", text, {123, 0xabcdef01}}},
                                    .labels = {text},
                                    .version = "berth 1",
                                    .machine = text,
                                    .kernels = text},
                         .defaults = {{"model", ""}, {"epochs", "3"}, {"seed", "42"}},
                         .plan = {.train_examples = 900,
                                  .eval_examples = 100,
                                  .total_steps = 60,
                                  .num_labels = 3,
                                  .rows = {{.row = 7,
                                            .texts = {text, std::string(1 << 20, '<')},
                                            .tokens = text,
                                            .token_count = 3,
                                            .label = text,
                                            .cut = text}}},
                         .eval_split = "validation",
                         .lengths = TokenLengths{{5, 7, 200, 12}, 128, false}},
               .history = {.total_steps = 60, .metric = "accuracy"},
               .outcome = {.state = JobOutcome::State::kFailed, .sentence = text, .code = 9},
               .written_s = 1.75e9};
  page.history.begin_attempt(0, 1.75e9 - 100);
  for (int64_t step = 1; step <= 50; ++step) {
    page.history.curve.add({step, 1.0 / static_cast<double>(step), 1e-4, 8, 100, 0.5});
  }
  page.history.add(
      {.step = 25, .epoch = 1, .loss = 0.5, .metrics = {{"accuracy", 0.75}, {text, 2}}});
  page.history.add_probe(ProbeReport{.name = text, .metric = "f1", .metrics = {{"f1", 0.25}}});
  page.history.add_probe(
      ProbeReport{.step = 25, .name = text, .metric = "f1", .metrics = {{"f1", 0.5}}});
  page.history.add_probe(
      ProbeReport{.step = 25, .name = "other", .metric = "mse", .metrics = {{"mse", 7}}});
  page.history.add_checkpoint(25);
  page.history.begin_attempt(25, 1.75e9 - 50);
  page.evaluation =
      ShownEvaluation{.step = 25, .examples = 100, .loss = 0.5, .scores = hostile_scores(task)};
  page.second_evaluation = page.evaluation;
  return page;
}

TEST(JobPage, IsWellFormedAndInertWhateverTheDataHold) {
  for (const TaskTraits& task : task_table()) {
    const std::string page = job_page(example_page(task.task, kHostile));
    EXPECT_EQ(xml_problem(page), "") << task_name(task.task);
    EXPECT_THAT(page, Not(HasSubstr("<script>"))) << task_name(task.task);
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("\x1b")));
    EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xAE")));
    EXPECT_LT(page.size(), size_t{300} << 10);  // a text of a megabyte is cut
  }
}

TEST(JobPage, RunsAndLoadsNothing) {
  const std::string page = job_page(example_page(Task::kSequenceClassification, "plain"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* loads : {"<script src", "http-equiv=\"refresh\"", "<link", "@import", "url(",
                            " src=\"", " href=\""}) {
    EXPECT_THAT(page, Not(HasSubstr(loads)));
  }
}

TEST(JobPage, SaysHowItWent) {
  const std::string page = job_page(example_page(Task::kSequenceClassification, "plain"));
  EXPECT_THAT(page, HasSubstr("Failed at update 25 of 60, exit code 9"));
  EXPECT_THAT(page,
              HasSubstr("<dt>accuracy</dt><dd>0.7500<small>majority class 0.5000, 100 held-out "
                        "examples, update 25</small>"));
  EXPECT_THAT(page, HasSubstr("best by accuracy, update 25"));
  EXPECT_THAT(page, HasSubstr("resumed here"));
  EXPECT_THAT(page, HasSubstr("--max-seq-length 128, which cuts 25.0 %"));
  EXPECT_THAT(page, HasSubstr("<code>abcdef01</code>"));
  EXPECT_THAT(page, HasSubstr("plain, f1"));
  EXPECT_THAT(page, HasSubstr("Probe other, mse"));
  const size_t changed = page.find("--epochs"), same = page.find("--seed");
  EXPECT_LT(changed, page.find("Settings at their defaults"));
  EXPECT_GT(same, page.find("Settings at their defaults"));
}

TEST(JobPage, ShowsBothSetsOfMnliSideBySide) {
  JobPage page = example_page(Task::kSequenceClassification, "plain");
  page.second_evaluation->scores.metrics = {{"accuracy", 0.625}};
  page.second_evaluation->loss = 0.875;
  EXPECT_THAT(job_page(page), HasSubstr("<bdi>accuracy</bdi></th><td>0.7500</td><td>0.6250</td>"));
  EXPECT_THAT(job_page(page), HasSubstr("<bdi>loss</bdi></th><td>0.5000</td><td>0.8750</td>"));
  page.second_evaluation.reset();
  EXPECT_THAT(job_page(page), Not(HasSubstr("mismatched")));
}

TEST(JobPage, BeforeAnyNewsIsWellFormed) { EXPECT_EQ(xml_problem(job_page({})), ""); }

TEST(JobPage, OfManyClassesListsThoseThatAreConfused) {
  JobPage page = example_page(Task::kSequenceClassification, "plain");
  TaskScores& scores = page.evaluation->scores;
  scores.classes.assign(150, {"class", 1, 1, 1, 1});
  scores.confusion.assign(150, std::vector<int64_t>(150, 0));
  scores.confusion[7][9] = 5;
  const std::string text = job_page(page);
  EXPECT_EQ(xml_problem(text), "");
  EXPECT_THAT(text, HasSubstr("taken for others most often"));
}

TEST(ComparePage, IsWellFormedAndInertAndMarksTheBest) {
  ComparedJob job{.name = kHostile,
                  .settings = {{"seed", "1"}, {"model", kHostile}},
                  .task = kHostile,
                  .metrics = {{{"accuracy", 0.75}, {kHostile, 1}}},
                  .loss = 0.5,
                  .history = example_page(Task::kSequenceClassification, kHostile).history};
  ComparedJob better = job;
  better.name = "better";
  better.settings[0].value = "2";
  better.metrics = {{{"accuracy", 0.875}}};
  const std::string page = compare_page({job, better, {.name = "empty"}}, 1.75e9);
  EXPECT_EQ(xml_problem(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, HasSubstr("<strong>0.8750 ★</strong>"));
  EXPECT_THAT(page, HasSubstr("Probe other, mse"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\"><bdi>--seed</bdi></th>"));
  EXPECT_EQ(xml_problem(compare_page(std::vector<ComparedJob>(kMostCompared, job), 0)), "");
}

TEST(ComparePage, MarksNoScoreOfOtherRows) {
  const ComparedJob job{.name = "a",
                        .evaluation_data = "00000001",
                        .metrics = {{{"accuracy", 0.75}}},
                        .loss = 0.5,
                        .examples_per_second = 7};
  ComparedJob other = job;
  other.evaluation_data = "00000002";
  other.metrics = {{{"accuracy", 0.875}}};
  const std::string page = compare_page({job, other}, 0);
  EXPECT_EQ(xml_problem(page), "");
  EXPECT_THAT(page, HasSubstr("evaluated on different rows"));
  EXPECT_THAT(page, Not(HasSubstr("0.8750 ★")));
  EXPECT_THAT(page, HasSubstr("★"));  // of the speed
  other.evaluation_data = job.evaluation_data;
  EXPECT_THAT(compare_page({job, other}, 0), HasSubstr("0.8750 ★"));
}

}  // namespace
}  // namespace berth
