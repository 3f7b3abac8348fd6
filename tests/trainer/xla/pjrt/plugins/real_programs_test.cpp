#include <cstdint>

#include "storage/base/dtype.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/xla/pjrt/plugins/real_plugin.h"

namespace berth {
namespace {

class RealPrograms : public WithRealPlugin {};
INSTANTIATE_TEST_SUITE_P(Plugins, RealPrograms, kAllPlugins, version_name);

const char kTranspose[] = R"(module @m {
func.func public @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
})";

const char kSumOverReplicas[] = R"(module @m attributes {mhlo.num_replicas = 2 : i32} {
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
})";

TEST_P(RealPrograms, TellsWhatItIs) {
  EXPECT_EQ(plugin->api_version(), GetParam());
  EXPECT_EQ(client->platform(), "cpu");
  ASSERT_EQ(client->devices().size(), 4u);
  EXPECT_EQ(client->devices()[0].kind, "cpu");
  EXPECT_EQ(client->default_device_ids(2).size(), 2u);
  EXPECT_FALSE(client->memory_of(client->devices()[0]).has_value());
}

TEST_P(RealPrograms, BuffersOfEveryTypeComeBack) {
  const auto check = [&](auto values, DType dtype) {
    using T = typename decltype(values)::value_type;
    const PjrtBuffer buffer = upload(values, dtype, {2, 2});
    EXPECT_EQ(buffer.dtype(), dtype);
    EXPECT_EQ(buffer.dimensions(), (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(download<T>(buffer), values);
  };
  check(std::vector<float>{1, -2, 3.5f, 4}, DType::kF32);
  check(std::vector<uint16_t>{to_bf16(1), to_bf16(2), to_bf16(-3), 0}, DType::kBF16);
  check(std::vector<int32_t>{1, -2, 3, 4}, DType::kI32);
  check(std::vector<uint32_t>{1, 4000000000u, 3, 4}, DType::kU32);
  check(std::vector<uint8_t>{1, 0, 0, 1}, DType::kBool);
  EXPECT_EQ(download(upload(std::vector<float>{7}, DType::kF32, {})), (std::vector<float>{7}));
}

TEST_P(RealPrograms, RunsOnTheDevicesThatItIsGiven) {
  const std::vector<PjrtDevice> chosen = {client->devices()[3], client->devices()[1]};
  const auto program = PjrtExecutable::compile(
      *client, kSumOverReplicas, {.replicas = 2, .device_ids = {chosen[0].id, chosen[1].id}});
  const int64_t dimensions[] = {4};
  std::vector<PjrtBuffer> inputs;
  for (const PjrtDevice& device : chosen) {
    const std::vector<float> values(4, static_cast<float>(device.id) + 1);
    inputs.push_back(
        client->upload(std::as_bytes(std::span(values)), DType::kF32, dimensions, device));
  }
  const std::vector<PjrtArguments> arguments = {{&inputs[0]}, {&inputs[1]}};
  const PjrtResults results = program.execute(arguments);
  const auto sum = static_cast<float>(chosen[0].id + chosen[1].id + 2);
  EXPECT_EQ(download(results.outputs[1][0]), std::vector<float>(4, sum));
}

TEST_P(RealPrograms, StartedUploadAndDownload) {
  const std::vector<float> values(100000, 3);
  const int64_t dimensions[] = {100000};
  PjrtUpload started = client->start_upload(std::as_bytes(std::span(values)), DType::kF32,
                                            dimensions, client->devices()[1]);
  std::vector<float> back(values.size());
  PjrtEvent arrived = started.buffer.start_download(std::as_writable_bytes(std::span(back)));
  arrived.await();
  started.host_done.await();
  EXPECT_EQ(back, values);
}

TEST_P(RealPrograms, ResultsAreRowMajor) {
  const auto program = PjrtExecutable::compile(*client, kTranspose);
  const PjrtBuffer x = upload(std::vector<float>{1, 2, 3, 4, 5, 6}, DType::kF32, {2, 3});
  const PjrtArguments arguments = {&x};
  PjrtResults results = program.execute({&arguments, 1});
  EXPECT_EQ(results.outputs[0][0].dimensions(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(download(results.outputs[0][0]), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  results.done[0].await();
  EXPECT_EQ(download(x).size(), 6u);
}

TEST_P(RealPrograms, AllReduceAddsOverReplicas) {
  const auto program = PjrtExecutable::compile(*client, kSumOverReplicas, {.replicas = 2});
  ASSERT_EQ(program.replicas(), 2u);
  const PjrtBuffer a = upload(std::vector<float>{1, 2, 3, 4}, DType::kF32, {4}, 0);
  const PjrtBuffer b = upload(std::vector<float>{10, 20, 30, 40}, DType::kF32, {4}, 1);
  const std::vector<PjrtArguments> arguments = {{&a}, {&b}};
  for (int i = 0; i < 3; ++i) {
    const PjrtResults results = program.execute(arguments);
    for (const auto& of_replica : results.outputs) {
      EXPECT_EQ(download(of_replica[0]), (std::vector<float>{11, 22, 33, 44}));
    }
  }
}

TEST_P(RealPrograms, FlagsOfXlaAreAcceptedByName) {
  const PjrtCompileOptions known = {.flags = {{"xla_cpu_enable_fast_math", false}}};
  EXPECT_EQ(PjrtExecutable::compile(*client, kTranspose, known).outputs(), 1u);
  const PjrtCompileOptions unknown = {.flags = {{"xla_no_such_flag", true}}};
  EXPECT_THAT([&] { PjrtExecutable::compile(*client, kTranspose, unknown); },
              ThrowsCode(Code::kInternal, "No such compile option"));
}

TEST_P(RealPrograms, WrongProgramIsOneSentence) {
  try {
    PjrtExecutable::compile(*client, "module @m {\n  not an operation\n}");
    ADD_FAILURE() << "it was compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInternal);
    const std::string sentence = error.what();
    EXPECT_EQ(sentence.find('\n'), sentence.npos);
    EXPECT_NE(sentence.find("Client_Compile failed: "), sentence.npos) << sentence;
  }
}

TEST_P(RealPrograms, WrongArgumentsAreRefused) {
  const auto program = PjrtExecutable::compile(*client, kTranspose);
  const PjrtBuffer small = upload(std::vector<float>{1, 2}, DType::kF32, {2});
  const PjrtArguments none, wrong = {&small};
  for (const PjrtArguments* arguments : {&none, &wrong}) {
    EXPECT_THAT(
        [&] {
          PjrtResults results = program.execute({arguments, 1});
          results.done[0].await();
          download(results.outputs[0][0]);
        },
        ThrowsCode(Code::kInternal));
  }
}

}  // namespace
}  // namespace berth
