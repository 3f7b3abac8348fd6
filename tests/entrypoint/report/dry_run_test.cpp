#include "entrypoint/report/dry_run.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "entrypoint/memory/memory_text.h"
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
                  .kernels = "cpu"},
          .memory = {.program = size_t{40} << 20,
                     .tables = 1024,
                     .engine = {.parameters = 4096,
                                .gradients = 4096,
                                .moments = 8192,
                                .activations = size_t{2} << 30,
                                .scratch = 100},
                     .saving = 12288},
          .limit = MemoryLimit{uint64_t{1} << 30, "the container's limit"}};
}

TEST(DryRunText, HasALineForEachNumber) {
  EXPECT_EQ(to_text(example()),
            "examples      612 to train on, 68 to evaluate on, 4 labels\n"
            "updates       195 of 16 examples\n"
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

TEST(DryRunText, LeavesOutAnAbsentLimit) {
  DryRun dry_run = example();
  dry_run.limit.reset();
  EXPECT_EQ(to_text(dry_run).find("limit"), std::string::npos);
  EXPECT_TRUE(parse_json(to_json(dry_run))["memory"]["limit_bytes"].is_null());
}

TEST(DryRunJson, IsOneObjectOnOneLine) {
  const std::string text = to_json(example());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Json object = parse_json(text);
  EXPECT_EQ(object["train_examples"], 612);
  EXPECT_EQ(object["total_steps"], 195);
  const Json& memory = object["memory"];
  EXPECT_EQ(memory["activations_bytes"], size_t{2} << 30);
  EXPECT_EQ(memory["limit_bytes"], uint64_t{1} << 30);
  size_t sum = 0;
  for (const auto& [name, size_bytes] : memory_parts(example().memory)) sum += size_bytes;
  EXPECT_EQ(memory["total_bytes"], sum);
}

TEST(MemoryText, IsOneSentence) {
  EXPECT_EQ(memory_text(example().memory, example().limit),
            "at most 2.0 GiB of the container's limit, 1.0 GiB (program 40.0 MiB, tables 1.0 KiB, "
            "parameters 4.0 KiB, gradients 4.0 KiB, moments 8.0 KiB, activations 2.0 GiB, scratch "
            "100 B, saving 12.0 KiB)");
}

}  // namespace
}  // namespace berth
