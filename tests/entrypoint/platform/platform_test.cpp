#include "entrypoint/platform/platform.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string_view>

namespace berth {
namespace {

std::string describe(const ClusterPlace& place) {
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? std::to_string(*value) : std::string("-");
  };
  return number(place.rank) + " of " + number(place.size) + " at " + place.leader_host + ":" +
         number(place.leader_port) + (place.other_role.empty() ? "" : " as " + place.other_role);
}

std::string by_tf_config(const std::string& json) {
  return describe(cluster_of({.tf_config = json}));
}

const std::string kCluster =
    R"("cluster":{"chief":["c-0:2222"],"worker":["w-0:2222","w-1:2222"],"ps":["p-0:2222"],)"
    R"("evaluator":["e-0:2222"]})";

TEST(ClusterEnvironment, ReadsTensorFlowsClusters) {
  const auto as = [](const std::string& task) {
    return by_tf_config("{" + kCluster + ",\"task\":" + task + "}");
  };
  EXPECT_EQ(as(R"({"type":"chief","index":0})"), "0 of 3 at c-0:2222");
  EXPECT_EQ(as(R"({"type":"worker","index":0})"), "1 of 3 at c-0:2222");
  EXPECT_EQ(as(R"({"type":"worker","index":"1"})"), "2 of 3 at c-0:2222");
  EXPECT_EQ(as(R"({"type":"ps","index":0})"), "- of - at c-0:2222 as ps");
  EXPECT_EQ(as(R"({"type":"evaluator","index":0})"), "- of - at c-0:2222 as evaluator");
  EXPECT_EQ(
      by_tf_config(R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":1}})"),
      "1 of 2 at a:1");
  EXPECT_EQ(by_tf_config(
                R"({"cluster":{"master":["[::1]:9"],"worker":["b:2"]},"task":{"type":"master"}})"),
            "0 of 2 at ::1:9");
}

TEST(ClusterEnvironment, ReadsVertexPools) {
  const auto as = [](const std::string& task) {
    return describe(cluster_of(
        {.cluster_spec =
             R"({"cluster":{"workerpool0":["a-0:2222"],"workerpool1":["b-0:2222","b-1:2222"],)"
             R"("workerpool2":["r:2222"]},"environment":"cloud","task":)" +
             task + "}"}));
  };
  EXPECT_EQ(as(R"({"type":"workerpool0","index":0,"trial":"7"})"), "0 of 3 at a-0:2222");
  EXPECT_EQ(as(R"({"type":"workerpool1","index":1})"), "2 of 3 at a-0:2222");
  EXPECT_EQ(as(R"({"type":"workerpool2","index":0})"), "- of - at a-0:2222 as workerpool2");
}

TEST(ClusterEnvironment, ReadsLaunchers) {
  EXPECT_EQ(
      describe(cluster_of(
          {.rank = "2", .world_size = "4", .master_addr = "job-master-0", .master_port = "23456"})),
      "2 of 4 at job-master-0:23456");
  EXPECT_EQ(describe(cluster_of({.node_rank = "1",
                                 .nodes = "2",
                                 .node_master_addr = "job-node-0-0.job",
                                 .node_master_port = "29500"})),
            "1 of 2 at job-node-0-0.job:29500");
  EXPECT_EQ(describe(cluster_of({.mpi_rank = "3", .mpi_size = "8"})), "3 of 8 at :-");
  EXPECT_EQ(describe(cluster_of({.completion_index = "5"})), "5 of - at :-");
  EXPECT_EQ(describe(cluster_of({})), "- of - at :-");
}

TEST(ClusterEnvironment, CountsThePodsOfAPyTorchJob) {
  // nprocPerNode: "2" makes WORLD_SIZE 4, and RANK stays the number of the pod.
  LauncherVariables pod{.rank = "1",
                        .world_size = "4",
                        .master_addr = "job-master-0",
                        .master_port = "23456",
                        .node_rank = "1",
                        .nodes = "2"};
  EXPECT_EQ(describe(cluster_of(pod)), "1 of 2 at job-master-0:23456");
  pod.node_master_addr = "other";
  EXPECT_EQ(describe(cluster_of(pod)), "1 of 2 at other:23456");
  for (std::string LauncherVariables::*const of_torchrun :
       {&LauncherVariables::local_rank, &LauncherVariables::torchrun_id}) {
    LauncherVariables process = pod;
    process.*of_torchrun = "0";
    EXPECT_EQ(describe(cluster_of(process)), "1 of 4 at job-master-0:23456");
  }
  pod.rank = "2";  // of a process, which another launcher started
  EXPECT_EQ(describe(cluster_of(pod)), "2 of 4 at job-master-0:23456");
}

TEST(ClusterEnvironment, KeepsARangeOfWorkers) {
  EXPECT_EQ(cluster_of({.nodes = "1:3"}).size_range, "1:3");
  EXPECT_EQ(cluster_of({.rank = "0", .world_size = "2", .nodes = "1:3"}).size_range, "");
  for (const char* nodes : {"", "1:1", "3", ":", "a:3", "1:b"}) {
    EXPECT_EQ(cluster_of({.nodes = nodes}).size_range, "") << nodes;
  }
}

TEST(ClusterEnvironment, PassesOverWhatIsNoCluster) {
  for (const char* json :
       {"", "{", "[]", "{}", R"({"task":{"type":"worker","index":0}})",
        R"({"cluster":{"worker":"a:1"},"task":{"type":"worker"}})", R"({"cluster":[],"task":{}})",
        R"({"cluster":{"worker":[1]},"task":{"type":3}})",
        R"({"environment":"cloud","task":{"trial":"7"}})"}) {
    EXPECT_EQ(by_tf_config(json), "- of - at :-") << json;
  }
  EXPECT_EQ(describe(cluster_of({.rank = "x", .world_size = "4"})), "- of - at :-");
  EXPECT_EQ(describe(cluster_of({.rank = "1", .world_size = "0"})), "- of - at :-");
  EXPECT_EQ(describe(cluster_of({.rank = "1"})), "- of - at :-");
  EXPECT_EQ(describe(cluster_of({.node_rank = "0", .nodes = "1:4"})), "- of - at :-");
}

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
  EXPECT_EQ(hub({{"HOME", "/a"}, {"HF_HOME", "~/x"}}).cache_dir, "/a/x/hub");
  EXPECT_EQ(hub({{"HOME", "/a"}, {"HF_HUB_CACHE", "$HOME/x${HOME}$NONE$"}}).cache_dir,
            "/a/x/a$NONE$");
  EXPECT_EQ(hub({{"HOME", "/a"}, {"HF_TOKEN_PATH", "~"}}).token_file, "/a");
  EXPECT_EQ(hub({{"HF_HOME", "${HOME/~"}}).token_file, "${HOME/~/token");
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
