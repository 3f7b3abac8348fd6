#include "entrypoint/explain/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/explain/shell_text.h"

namespace berth {
namespace {

using testing::ElementsAre;

Launch launched(const char* text) {
  const std::optional<Launch> launch = find_launch(shell_commands(text)[0].words);
  EXPECT_TRUE(launch) << text;
  return launch.value_or(Launch());
}

TEST(Launch, TheScriptIsFoundBehindEveryLauncher) {
  for (const char* text :
       {"python run_glue.py --x 1", "python3.11 -u -X dev ./a/run_glue.py --x 1",
        "./run_glue.py --x 1", "nohup time python run_glue.py --x 1",
        "torchrun --standalone --nproc_per_node 8 run_glue.py --x 1",
        "python -m torch.distributed.launch --use_env run_glue.py --x 1",
        "python -m torch.distributed.run -m examples.run_glue --x 1",
        "accelerate launch --config_file c.yaml run_glue.py --x 1",
        "deepspeed --num_gpus=2 run_glue.py --x 1", "python -m official.nlp.run_glue --x 1",
        "uv run python run_glue.py --x 1"}) {
    const Launch launch = launched(text);
    EXPECT_EQ(launch.script, "run_glue.py") << text;
    EXPECT_THAT(launch.flags, ElementsAre("--x", "1")) << text;
  }
}

TEST(Launch, ProcessesAreCounted) {
  EXPECT_EQ(launched("python a.py --nproc_per_node 8").processes, "");
  EXPECT_EQ(launched("torchrun --nproc-per-node=8 --nnodes 2 a.py").processes, "8");
  EXPECT_EQ(launched("torchrun --nproc-per-node=8 --nnodes 2 a.py").machines, "2");
  EXPECT_FALSE(launched("torchrun --nproc-per-node=8 a.py").counts_all);
  EXPECT_TRUE(launched("accelerate launch --num_processes 4 a.py").counts_all);
  EXPECT_EQ(launched("python xla_spawn.py --num_cores 8 a.py").device, AskedDevice::kTpu);
  EXPECT_EQ(launched("mpirun -np 4 python a.py").processes, "4");
  EXPECT_EQ(launched("srun -n4 -N 2 python a.py").machines, "2");
  EXPECT_EQ(launched("docker run --gpus=all x python a.py").visible, "all");
  EXPECT_EQ(launched("docker run -e CUDA_VISIBLE_DEVICES=1,2 x python a.py").visible, "2");
  EXPECT_EQ(launched("python xla_spawn.py --num_cores 8 a.py").script, "a.py");
}

TEST(Launch, FlagsMayStandAlone) {
  EXPECT_THAT(launched("--do_train --x").flags, ElementsAre("--do_train", "--x"));
  EXPECT_THAT(launched("berth --do_train").flags, ElementsAre("--do_train"));
  EXPECT_EQ(launched("berth --do_train").script, "");
  EXPECT_THAT(launched("docker run --rm -v a:b image --do_train").flags, ElementsAre("--do_train"));
}

TEST(Launch, OtherCommandsStartNoScript) {
  for (const char* text : {"pip install torch", "cd x", "python", "python -m", "torchrun --a b"}) {
    EXPECT_EQ(find_launch(shell_commands(text)[0].words), std::nullopt) << text;
  }
  EXPECT_EQ(find_launch({}), std::nullopt);
}

}  // namespace
}  // namespace berth
