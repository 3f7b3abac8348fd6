#include "entrypoint/report/final_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"

namespace berth {
namespace {

template <typename Failure>
FinalReport report_of(const Failure& failure) {
  return failure_report(std::make_exception_ptr(failure), JobProgress(7, "ckpt"));
}

double last_second_of_january() { return 1769903999.125; }

TEST(FinalReport, SuccessIsOneLineWithTheSameKeys) {
  EXPECT_EQ(json_line(success_report(JobProgress(282, "out/checkpoints/step-00000282")),
                      last_second_of_january),
            R"({"code":0,"reason":"finished","what":"all work is done","where":"","hint":"",)"
            R"("step":282,"checkpoint":"out/checkpoints/step-00000282",)"
            R"("time":"2026-01-31T23:59:59.125Z","severity":"INFO","message":"all work is done"})");
}

TEST(FinalReport, ResultsFollowTheCheckpoint) {
  JobProgress progress(282, "a/checkpoints/step-00000282");
  progress.set_results({.model = "a/model",
                        .report = "a/report.html",
                        .next = "berth --job-dir 'a b'",
                        .next_purpose = "predict"});
  EXPECT_EQ(json_line(success_report(progress), last_second_of_january),
            R"({"code":0,"reason":"finished","what":"all work is done","where":"","hint":"",)"
            R"("step":282,"checkpoint":"a/checkpoints/step-00000282","model":"a/model",)"
            R"("report":"a/report.html","next":"berth --job-dir 'a b'",)"
            R"("time":"2026-01-31T23:59:59.125Z","severity":"INFO","message":"all work is done"})");
}

TEST(FinalReport, ACommandThatIsTooLongIsLeftOut) {
  FinalReport report = success_report(JobProgress(1, "ckpt"));
  report.results.next = "berth --job-dir " + std::string(4096, 'x');
  const auto line = parse_json(json_line(report));
  EXPECT_FALSE(line.contains("next"));
  EXPECT_EQ(line["checkpoint"], "ckpt");
}

TEST(FinalReport, PeopleReadTheResultsAsLines) {
  EXPECT_EQ(results_text({}), "");
  EXPECT_EQ(results_text({.model = "a/model",
                          .report = "a/report.html",
                          .next = "berth --job-dir a",
                          .next_purpose = "predict"}),
            "model:  a/model\nreport: a/report.html\nto predict:\n  berth --job-dir a\n");
  EXPECT_EQ(results_text({.predictions = "a/p.tsv", .read = "read(\"a/p.tsv\")"}),
            "predictions: a/p.tsv\nto read them in Python:\n  read(\"a/p.tsv\")\n");
  EXPECT_EQ(results_text({.model = "a\x1b[2J"}), "model:  a\\x1b[2J\n");
}

TEST(FinalReport, ErrorGivesItsCodeAndParts) {
  const FinalReport report = report_of(Error(Code::kNotFound, "no such file", "a.csv", "look"));
  EXPECT_EQ(json_line(report, last_second_of_january),
            R"({"code":4,"reason":"not_found","what":"no such file","where":"a.csv",)"
            R"("hint":"look","step":7,"checkpoint":"ckpt",)"
            R"("time":"2026-01-31T23:59:59.125Z","severity":"ERROR",)"
            R"("message":"a.csv: no such file; look"})");
  EXPECT_EQ(sentence(report), "a.csv: no such file; look");
}

TEST(FinalReport, AStopThatWasAskedForIsNoError) {
  EXPECT_EQ(parse_json(json_line(report_of(Error(Code::kStopped, "stopped"))))["severity"],
            "NOTICE");
}

TEST(FinalReport, OtherFailuresHaveCodesToo) {
  EXPECT_EQ(report_of(Error(Code::kStopped, "stopped")).code, 143);
  EXPECT_EQ(report_of(std::bad_alloc()).code, 14);
  EXPECT_EQ(report_of(std::logic_error("x")).code, 1);
  EXPECT_EQ(report_of(std::logic_error("x")).what, "x");
  EXPECT_EQ(report_of(5).code, 1);
}

TEST(FinalReport, IsJsonThatFitsATerminationMessage) {
  for (const char* text : {"x", "\"", "\x01", "\xff", "\xc3\xa4"}) {
    std::string what;
    while (what.size() < 10000) what += text;
    const std::string line = json_line(report_of(Error(Code::kUsage, what, what, what)));
    EXPECT_LE(line.size(), 4096u);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(parse_json(line)["code"], 2);
  }
}

TEST(FinalReport, TerminationLogIsWrittenOnlyWhereItExists) {
  const std::filesystem::path file = testing::TempDir() + "termination-log";
  std::filesystem::remove(file);
  write_termination_log("{}", file);
  EXPECT_FALSE(std::filesystem::exists(file));

  std::ofstream(file) << "something longer";
  write_termination_log("{}", file);
  std::string text;
  std::getline(std::ifstream(file), text);
  EXPECT_EQ(text, "{}");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace berth
