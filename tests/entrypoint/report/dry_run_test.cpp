#include "entrypoint/report/dry_run.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "entrypoint/memory/memory_budget.h"
#include "storage/base/json.h"

namespace berth {
namespace {

DryRun example() {
  return {.job = {.train_examples = 612,
                  .eval_examples = 68,
                  .parameters = 751876,
                  .total_steps = 195,
                  .batch_size = 16,
                  .num_labels = 4,
                  .peak_learning_rate = 5e-5,
                  .kernels = "cpu"},
          .memory = {.program = size_t{40} << 20,
                     .tables = 1024,
                     .engine = {.parameters = 4096,
                                .gradients = 4096,
                                .moments = 8192,
                                .activations = size_t{2} << 30,
                                .scratch = 100},
                     .saving = 12288},
          .limits = {.host = MemoryLimit{uint64_t{1} << 30, "the container's limit"}}};
}

TEST(DryRunText, HasALineForEachNumber) {
  EXPECT_EQ(to_text(example()),
            "examples      612 to train on, 68 to evaluate on, 4 labels\n"
            "updates       195 of 16 examples\n"
            "learning rate 5e-05\n"
            "parameters    751876\n"
            "kernels       cpu\n"
            "\n"
            "program       40.0 MiB\n"
            "tables        1.0 KiB\n"
            "parameters    4.0 KiB\n"
            "gradients     4.0 KiB\n"
            "moments       8.0 KiB\n"
            "activations   2.0 GiB\n"
            "scratch       100 B\n"
            "saving        12.0 KiB\n"
            "memory        2.0 GiB at most\n"
            "limit         1.0 GiB, the container's limit\n");
}

TEST(DryRunText, ListsTheProbes) {
  DryRun dry_run = example();
  dry_run.job.probes = {{.name = "topics",
                         .task = "sequence_classification",
                         .train_examples = 1000,
                         .scored_examples = 900,
                         .updates = 189},
                        {.name = "ner", .task = "token_classification", .updates = 1}};
  dry_run.job.probed_steps = 5;
  dry_run.memory.probe = 2048;
  const std::string text = to_text(dry_run);
  EXPECT_NE(text.find("probes        topics: sequence_classification, 189 updates on 1000 "
                      "examples, about 900 to score\n"
                      "              ner: token_classification, 1 update on 0 examples, about 0 "
                      "to score\n"
                      "probed        5 times\n\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("probe         2.0 KiB\n"), std::string::npos) << text;
  const Json json = parse_json(to_json(dry_run));
  EXPECT_EQ(json["probes"][0]["name"], "topics");
  EXPECT_EQ(json["probes"][0]["scored_examples"], 900);
  EXPECT_EQ(json["probed_steps"], 5);
  EXPECT_EQ(json["memory"]["probe_bytes"], 2048);
}

// A text with line breaks would look like other lines.
TEST(DryRunText, ShowsRowsWhateverTheyHold) {
  DryRun dry_run = example();
  dry_run.job.rows = {{.row = 3,
                       .texts = {"a\n  label       forged\x1b[1m", "b"},
                       .tokens = "[CLS] a [SEP]",
                       .token_count = 3,
                       .label = "\"x\", class 0",
                       .cut = "2 of 5 tokens at --max-seq-length 3"}};
  const std::string text = to_text(dry_run);
  EXPECT_NE(text.find("row           3\n"
                      "  text        a\\x0a  label       forged\\x1b[1m\n"
                      "  text        b\n"
                      "  tokens      3: [CLS] a [SEP]\n"
                      "  label       \"x\", class 0\n"
                      "  cut         2 of 5 tokens at --max-seq-length 3\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(parse_json(to_json(dry_run))["rows"][0]["row"], 3);
}

TEST(DryRunText, ListsTheDisks) {
  DryRun dry_run = example();
  dry_run.disk.use = {.checkpoint_bytes = 3 << 20, .model_bytes = 1 << 20, .most_checkpoints = 4};
  const Volume volume{.id = 1, .size_bytes = 1 << 30, .free_bytes = 1 << 29, .is_certain = true};
  dry_run.disk.needs.push_back(
      {.place = "runs/a", .least_bytes = 6 << 20, .most_bytes = 13 << 20, .volume = volume});
  dry_run.disk.needs.push_back({.place = "gs://b/m", .least_bytes = 1, .most_bytes = 1 << 20});
  const std::string text = to_text(dry_run);
  EXPECT_NE(text.find("checkpoint    3.0 MiB\n"
                      "model         1.0 MiB\n"
                      "checkpoints   at most 4 at once\n"
                      "disk          13.0 MiB at most, 6.0 MiB at least, in runs/a\n"
                      "disk limit    1.0 GiB, of which 512.0 MiB are free\n"
                      "disk          1.0 MiB at most, 1 B at least, in gs://b/m\n"),
            std::string::npos)
      << text;
  const Json json = parse_json(to_json(dry_run));
  EXPECT_EQ(json["disk"]["most_checkpoints"], 4);
  EXPECT_EQ(json["disk"]["places"][0]["free_bytes"], 1 << 29);
  EXPECT_TRUE(json["disk"]["places"][1]["size_bytes"].is_null());
}

DryRun with_own_memory() {
  DryRun dry_run = example();
  dry_run.memory.engine.has_own_memory = true;
  dry_run.memory.engine.plugin = size_t{500} << 20;
  dry_run.limits.device = MemoryLimit{uint64_t{16} << 30, "the device's limit"};
  return dry_run;
}

TEST(DryRunText, TellsTheMemoryOfTheDeviceApart) {
  const std::string text = to_text(with_own_memory());
  EXPECT_EQ(text.substr(text.find("program")),
            "program       40.0 MiB\n"
            "tables        1.0 KiB\n"
            "plugin        500.0 MiB\n"
            "saving        12.0 KiB\n"
            "memory        540.0 MiB at most\n"
            "limit         1.0 GiB, the container's limit\n"
            "\n"
            "parameters    4.0 KiB\n"
            "gradients     4.0 KiB\n"
            "moments       8.0 KiB\n"
            "activations   2.0 GiB\n"
            "scratch       100 B\n"
            "device memory 2.0 GiB at most, on each device\n"
            "device limit  16.0 GiB, the device's limit\n");
}

TEST(DryRunText, LeavesOutAnAbsentLimit) {
  DryRun dry_run = example();
  dry_run.limits = {};
  EXPECT_EQ(to_text(dry_run).find("limit"), std::string::npos);
  EXPECT_TRUE(parse_json(to_json(dry_run))["memory"]["limit_bytes"].is_null());
}

TEST(DryRunJson, IsOneObjectOnOneLine) {
  const std::string text = to_json(example());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Json object = parse_json(text);
  EXPECT_EQ(object["train_examples"], 612);
  EXPECT_EQ(object["total_steps"], 195);
  EXPECT_EQ(object["peak_learning_rate"], 5e-5);
  const Json& memory = object["memory"];
  EXPECT_EQ(memory["activations_bytes"], size_t{2} << 30);
  EXPECT_EQ(memory["limit_bytes"], uint64_t{1} << 30);
  size_t sum = 0;
  for (const auto& [name, size_bytes] : host_parts(example().memory)) sum += size_bytes;
  EXPECT_EQ(memory["total_bytes"], sum);
}

TEST(DryRunJson, TellsTheMemoryOfTheDeviceApart) {
  const Json memory = parse_json(to_json(with_own_memory()))["memory"];
  EXPECT_FALSE(memory.contains("activations_bytes"));
  EXPECT_EQ(memory["plugin_bytes"], size_t{500} << 20);
  EXPECT_EQ(memory["device"]["activations_bytes"], size_t{2} << 30);
  EXPECT_EQ(memory["device"]["limit_bytes"], uint64_t{16} << 30);
}

TEST(MemoryText, NamesTheMemoryOfTheDevice) {
  EXPECT_EQ(memory_text(with_own_memory().memory, with_own_memory().limits),
            "at most 540.0 MiB of the container's limit, 1.0 GiB (program 40.0 MiB, tables 1.0 "
            "KiB, plugin 500.0 MiB, saving 12.0 KiB); on each device at most 2.0 GiB of the "
            "device's limit, 16.0 GiB (parameters 4.0 KiB, gradients 4.0 KiB, moments 8.0 KiB, "
            "activations 2.0 GiB, scratch 100 B)");
}

TEST(MemoryText, IsOneSentence) {
  EXPECT_EQ(memory_text(example().memory, example().limits),
            "at most 2.0 GiB of the container's limit, 1.0 GiB (program 40.0 MiB, tables 1.0 KiB, "
            "parameters 4.0 KiB, gradients 4.0 KiB, moments 8.0 KiB, activations 2.0 GiB, scratch "
            "100 B, saving 12.0 KiB)");
}

}  // namespace
}  // namespace berth
