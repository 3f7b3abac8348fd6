#include "trainer/xla/pjrt/buffer.h"

#include <array>
#include <utility>

#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"

namespace berth {
namespace {

struct BufferTest : WithFakePlugin {
  PjrtPlugin plugin{BERTH_FAKE_PLUGIN};
  PjrtClient client{plugin};
};

TEST_F(BufferTest, ComesBackAsItWas) {
  const PjrtBuffer buffer = upload(client, {1, 2, 3});
  EXPECT_EQ(buffer.dimensions(), (std::vector<int64_t>{3}));
  EXPECT_EQ(buffer.dtype(), DType::kF32);
  EXPECT_EQ(buffer.size_bytes(), 12u);
  EXPECT_EQ(download(buffer), (std::vector<float>{1, 2, 3}));
}

TEST_F(BufferTest, HasTheTypesOfTraining) {
  const std::array<std::byte, 8> values = {};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kU32, DType::kBool}) {
    const int64_t dimensions[] = {2, 1};
    const PjrtBuffer buffer = client.upload(std::span(values).first(2 * size_of(dtype)), dtype,
                                            dimensions, client.devices()[1]);
    EXPECT_EQ(buffer.dtype(), dtype);
    EXPECT_EQ(buffer.dimensions(), (std::vector<int64_t>{2, 1}));
  }
}

TEST_F(BufferTest, AScalarHasNoDimensions) {
  const std::array<std::byte, 4> value = {};
  EXPECT_EQ(client.upload(value, DType::kU32, {}, client.devices()[0]).size_bytes(), 4u);
}

TEST_F(BufferTest, WrongSizesAreRefused) {
  const std::array<std::byte, 4> value = {};
  const int64_t dimensions[] = {3};
  EXPECT_THAT([&] { client.upload(value, DType::kF32, dimensions, client.devices()[0]); },
              ThrowsCode(Code::kInternal, "a tensor of 12 bytes was to be made of 4"));
  std::array<std::byte, 4> out;
  const PjrtBuffer buffer = upload(client, {1, 2});
  EXPECT_THAT([&] { buffer.download(out); },
              ThrowsCode(Code::kInternal, "a buffer of 8 bytes was to be copied to 4"));
}

TEST_F(BufferTest, StartedUploadOwnsItsEvent) {
  const std::vector<float> values = {4, 5};
  const int64_t dimensions[] = {2};
  PjrtUpload started = client.start_upload(std::as_bytes(std::span(values)), DType::kF32,
                                           dimensions, client.devices()[0]);
  started.host_done.await();
  started.host_done.await();  // that of work that is done
  EXPECT_EQ(download(started.buffer), values);
}

TEST_F(BufferTest, FailedCopiesAreThrownByTheEvent) {
  control->event_fails = "Client_BufferFromHostBuffer";
  EXPECT_THAT([&] { upload(client, {1}); }, ThrowsCode(Code::kInternal, "Event_Await failed"));
  control->event_fails = "Buffer_ToHostBuffer";
  control->code = PJRT_Error_Code_RESOURCE_EXHAUSTED;
  const PjrtBuffer buffer = upload(client, {1});
  EXPECT_THAT([&] { download(buffer); }, ThrowsCode(Code::kMemory, "take a smaller batch"));
}

TEST_F(BufferTest, MovesLeaveAnEmptyOne) {
  PjrtBuffer a = upload(client, {1}), b = upload(client, {2});
  a = std::move(b);
  PjrtBuffer c = std::move(a);
  EXPECT_TRUE(a.handle() == nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(b.handle() == nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(download(c), (std::vector<float>{2}));
}

TEST_F(BufferTest, CodesOfThePluginBecomeOurs) {
  const PjrtBuffer buffer = upload(client, {1});
  const std::vector<std::pair<PJRT_Error_Code, Code>> cases = {
      {PJRT_Error_Code_RESOURCE_EXHAUSTED, Code::kMemory},
      {PJRT_Error_Code_UNAVAILABLE, Code::kUnavailable},
      {PJRT_Error_Code_ABORTED, Code::kUnavailable},
      {PJRT_Error_Code_PERMISSION_DENIED, Code::kNotPermitted},
      {PJRT_Error_Code_UNIMPLEMENTED, Code::kUsage},
      {PJRT_Error_Code_INTERNAL, Code::kInternal},
      {PJRT_Error_Code_INVALID_ARGUMENT, Code::kInternal}};
  for (const auto& [theirs, ours] : cases) {
    fail("Buffer_Dimensions", theirs);
    EXPECT_THAT([&] { buffer.dimensions(); }, ThrowsCode(ours, "Buffer_Dimensions failed"));
  }
  fail("Buffer_Dimensions");
  control->message = "while allocating: RESOURCE_EXHAUSTED: 12 bytes";
  EXPECT_THAT([&] { buffer.dimensions(); }, ThrowsCode(Code::kMemory));
}

}  // namespace
}  // namespace berth
