#include "trainer/weights/upload_tensors.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "storage/base/thread_pool.h"
#include "storage/formats/converted_tensors.h"

namespace berth {
namespace {

// The elements that a thread handles at a time. They stay in its core's own cache between being
// read and being uploaded, and 64 rows of the longest matrices of BERT-large fit.
constexpr int64_t kBlockElements = int64_t{256} << 10;
constexpr int64_t kElementsPerThread = int64_t{1} << 20;  // fewer are not worth a thread

// Some rows of one upload.
struct Block {
  const TensorUpload* upload;
  int64_t first_row, rows, columns;
};

std::vector<Block> blocks_of(std::span<const TensorUpload> uploads,
                             const ParameterTensors& target) {
  std::vector<Block> blocks;
  for (const TensorUpload& upload : uploads) {
    const ParameterSpec& spec = target.specs()[upload.parameter];
    const int64_t rows = spec.shape[0], columns = spec.columns();
    const int64_t height = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, columns));
    for (int64_t row = 0; row < rows; row += height) {
      blocks.push_back({&upload, row, std::min(height, rows - row), columns});
    }
  }
  return blocks;
}

// Uploads F32 without a copy if the file has the bytes in order.
void upload_block(const TensorReader& file, const Block& block, std::vector<std::byte>& memory,
                  ParameterTensors& target) {
  const TensorUpload& upload = *block.upload;
  const int64_t first = block.first_row * block.columns;
  const Bytes bytes = file.read_rows(upload.source, block.first_row, block.rows, memory);
  if (upload.source.dtype == DType::kF32) {
    target.write(upload.parameter, first, bytes);
    return;
  }
  const NamedTensor part{.name = {}, .dtype = upload.source.dtype, .shape = {}, .data = bytes};
  target.write(upload.parameter, first, std::as_bytes(std::span<const float>(floats_of(part))));
}

// Hands out blocks in order and keeps the failure of the first block that fails. The blocks before
// it were handed out earlier and are done by the end, so the reported failure does not depend on
// timing.
class Work {
 public:
  explicit Work(size_t blocks) : blocks_(blocks) {}

  // Returns the number of blocks when no block is left.
  size_t take() { return failed_ ? blocks_ : std::min(next_.fetch_add(1), blocks_); }

  void fail(size_t block, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    if (failure_ && failed_block_ < block) return;
    failed_block_ = block;
    failure_ = std::move(failure);
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const size_t blocks_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  size_t failed_block_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void upload_tensors(const TensorReader& file, std::span<const TensorUpload> uploads,
                    ParameterTensors& target, int threads) {
  const std::vector<Block> blocks = blocks_of(uploads, target);
  int64_t elements = 0;
  for (const TensorUpload& upload : uploads) {
    elements += target.specs()[upload.parameter].elements();
  }
  const int64_t parts = std::clamp<int64_t>(elements / kElementsPerThread, 1, threads);
  ThreadPool pool(static_cast<int>(parts));
  Work work(blocks.size());
  pool.parallel_for(parts, 1, [&](int64_t, int64_t, int) {
    std::vector<std::byte> memory;
    for (size_t block; (block = work.take()) < blocks.size();) {
      try {
        upload_block(file, blocks[block], memory, target);
      } catch (...) {
        work.fail(block, std::current_exception());
      }
    }
  });
  work.rethrow();
}

}  // namespace berth
