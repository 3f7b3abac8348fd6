#include "trainer/weights/upload_tensors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// Tensors in memory. A test may set a function that is called before rows are read.
class WatchedTensors final : public TensorReader {
 public:
  template <typename T>
  const NamedTensor& add(DType dtype, std::vector<int64_t> shape) {
    NamedTensor tensor{.name = cat("tensor ", tensors_.size()), .dtype = dtype, .shape = shape};
    std::vector<T> values(static_cast<size_t>(tensor.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 16001);
    std::vector<std::byte>& data = data_.emplace_back(values.size() * sizeof(T));
    if (!data.empty()) std::memcpy(data.data(), values.data(), data.size());
    tensor.data = data;
    return tensors_.emplace_back(tensor);
  }
  std::span<const NamedTensor> tensors() const override { return tensors_; }
  Bytes read_rows(const NamedTensor& tensor, int64_t first_row, int64_t count,
                  std::vector<std::byte>& memory) const override {
    if (watch) watch(tensor, first_row, count);
    const Bytes bytes = TensorReader::read_rows(tensor, first_row, count, memory);
    memory.assign(bytes.begin(), bytes.end());  // as if the file stored the tensor transposed
    return memory;
  }

  std::function<void(const NamedTensor&, int64_t first_row, int64_t count)> watch;

 private:
  std::deque<std::vector<std::byte>> data_;
  std::vector<NamedTensor> tensors_;
};

class UploadTensors : public testing::Test {
 protected:
  void upload() {
    std::vector<ParameterSpec> specs;
    std::vector<TensorUpload> uploads;
    for (const NamedTensor& source : file_.tensors()) {
      uploads.push_back({source, specs.size()});
      specs.push_back({.name = source.name, .shape = source.shape});
    }
    target_.emplace(std::move(specs));
    upload_tensors(file_, uploads, *target_, available_threads());
  }

  WatchedTensors file_;
  std::optional<HostTensors> target_;
};

TEST_F(UploadTensors, EveryElementArrivesWhateverItsTensorsShape) {
  file_.add<float>(DType::kF32, {1700, 1300});
  file_.add<double>(DType::kF64, {5});
  file_.add<float>(DType::kF32, {3, 4, 7});
  file_.add<float>(DType::kF32, {2, 600'000});  // a row is larger than a block
  file_.add<float>(DType::kF32, {0, 4});
  file_.add<double>(DType::kF64, {200'001});
  file_.add<float>(DType::kF32, {1});
  upload();
  for (size_t index = 0; index < target_->specs().size(); ++index) {
    const std::vector<float> values = target_->read(index);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], static_cast<float>(i % 16001))
          << target_->specs()[index].name << " at " << i;
    }
  }
}

TEST_F(UploadTensors, AThreadHoldsFewMegabytesOfALargeTensor) {
  file_.add<float>(DType::kF32, {4000, 1000});
  std::atomic<int64_t> most{0}, rows{0};
  file_.watch = [&](const NamedTensor&, int64_t, int64_t count) {
    rows += count;
    for (int64_t seen = most; count > seen && !most.compare_exchange_weak(seen, count);) {
    }
  };
  upload();
  EXPECT_EQ(rows, 4000);
  EXPECT_LE(most * 1000 * 4, 1 << 20);
}

// Several tensors fail. The first of them in order takes longest to fail.
TEST_F(UploadTensors, ThrowsTheErrorOfTheFirstTensorInOrder) {
  for (int i = 0; i < 12; ++i) file_.add<float>(DType::kF32, {400'000});
  file_.watch = [](const NamedTensor& tensor, int64_t first_row, int64_t) {
    const bool is_first = tensor.name == "tensor 5";
    if (tensor.name < "tensor 5" || first_row != 0) return;
    if (is_first) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    throw Error(Code::kCorrupt, "cannot be read", tensor.name);
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT([&] { upload(); }, ThrowsCode(Code::kCorrupt, "tensor 5"));
  }
}

}  // namespace
}  // namespace berth
