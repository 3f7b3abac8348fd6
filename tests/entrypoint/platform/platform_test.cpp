#include "entrypoint/platform/platform.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string_view>

namespace berth {
namespace {

TEST(Platform, IsReadOnceFromTheEnvironment) {
  const Platform platform = read_platform([](const char* name) -> const char* {
    const std::string_view wanted = name;
    if (wanted == "AIP_MODEL_DIR") return "gs://b/model/";
    if (wanted == "COLUMNS") return "132";
    if (wanted == "BERTH_CLUSTER_SECRET") return "a secret of the workers";
    if (wanted == "XLA_FLAGS") return "--xla_a=1";
    if (wanted == "LIBTPU_INIT_ARGS") return "--xla_b=2";
    if (wanted == "XLA_PYTHON_CLIENT_PREALLOCATE") return "false";
    if (wanted == "XLA_PYTHON_CLIENT_MEM_FRACTION") return ".9";
    return nullptr;
  });
  EXPECT_EQ(platform.accelerators.xla_flags, "--xla_a=1");
  EXPECT_EQ(platform.accelerators.tpu_flags, "--xla_b=2");
  EXPECT_EQ(platform.accelerators.gpu_preallocates, "false");
  EXPECT_EQ(platform.accelerators.gpu_fraction, ".9");
  EXPECT_EQ(platform.model_dir, "gs://b/model/");
  EXPECT_EQ(platform.checkpoint_dir, "");
  EXPECT_EQ(platform.columns, 132);
  EXPECT_EQ(platform.cluster.secret, "a secret of the workers");
  EXPECT_EQ(read_platform([](const char*) { return "wide"; }).columns, std::nullopt);
}

TEST(Platform, KnowsTheHubAsHuggingfaceHubDoes) {
  const auto hub = [](std::map<std::string, const char*, std::less<>> variables) {
    return read_platform([=](const char* name) {
             const auto found = variables.find(name);
             return found == variables.end() ? nullptr : found->second;
           })
        .hub;
  };
  EXPECT_EQ(hub({}).endpoint, "https://huggingface.co");
  EXPECT_EQ(hub({}).cache_dir, "");
  EXPECT_FALSE(hub({}).offline);
  EXPECT_EQ(hub({{"HOME", "/home/a"}}).cache_dir, "/home/a/.cache/huggingface/hub");
  EXPECT_EQ(hub({{"HOME", "/home/a"}}).token_file, "/home/a/.cache/huggingface/token");
  EXPECT_EQ(hub({{"HOME", "/a"}, {"XDG_CACHE_HOME", "/c"}}).cache_dir, "/c/huggingface/hub");
  EXPECT_EQ(hub({{"HOME", "/a"}, {"HF_HOME", "/hf"}}).cache_dir, "/hf/hub");
  EXPECT_EQ(hub({{"HF_HOME", "/hf"}, {"HF_HUB_CACHE", "/c"}}).cache_dir, "/c");
  EXPECT_EQ(hub({{"HF_ENDPOINT", "http://mirror:1/"}}).endpoint, "http://mirror:1");
  EXPECT_EQ(hub({{"HUGGING_FACE_HUB_TOKEN", "hf_x"}}).token, "hf_x");
  EXPECT_TRUE(hub({{"HF_HUB_OFFLINE", "1"}}).offline);
  EXPECT_TRUE(hub({{"TRANSFORMERS_OFFLINE", "yes"}}).offline);
  EXPECT_FALSE(hub({{"HF_HUB_OFFLINE", "0"}}).offline);
}

TEST(Platform, KnowsATrialByItsNumberOrItsCluster) {
  const auto trial = [](std::string_view wanted, const char* value) {
    return read_platform([=](const char* name) { return wanted == name ? value : nullptr; })
        .tuning.trial;
  };
  EXPECT_EQ(trial("CLOUD_ML_TRIAL_ID", "12"), "12");
  EXPECT_EQ(trial("TF_CONFIG", R"({"task": {"type": "chief", "trial": "3"}})"), "3");
  EXPECT_EQ(trial("CLUSTER_SPEC", R"({"task": {"trial": 4}})"), "4");
  EXPECT_EQ(trial("TF_CONFIG", R"({"task": []})"), "");
  EXPECT_EQ(trial("TF_CONFIG", "{"), "");
  EXPECT_EQ(trial("CLOUD_ML_TRIAL_ID", "../x"), "");
  EXPECT_EQ(trial("CLOUD_ML_HP_METRIC_FILE", "1"), "");
}

}  // namespace
}  // namespace berth
