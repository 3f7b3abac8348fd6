#include "trainer/weights/upload_tensors.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "storage/base/thread_pool.h"
#include "storage/formats/converted_tensors.h"

namespace berth {
namespace {

// What a thread holds of a target: it stays in a core's own cache between being read and uploaded,
// and 64 rows of the longest matrices of BERT-large fit.
constexpr int64_t kBlockElements = int64_t{256} << 10;
constexpr int64_t kElementsPerThread = int64_t{1} << 20;  // fewer are not worth one

// Some rows of an upload.
struct Block {
  const TensorUpload* upload;
  int64_t first_row, rows;
};

std::vector<Block> blocks_of(std::span<const TensorUpload> uploads) {
  std::vector<Block> blocks;
  for (const TensorUpload& upload : uploads) {
    const int64_t rows = upload.target.rows(), columns = upload.target.columns();
    const int64_t height = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, columns));
    for (int64_t row = 0; row < rows; row += height) {
      blocks.push_back({&upload, row, std::min(height, rows - row)});
    }
  }
  return blocks;
}

// F32 goes straight from the file's bytes, where they are in order, to the target.
void upload_block(const TensorReader& file, const Block& block, std::vector<std::byte>& memory,
                  Kernels& kernels) {
  const NamedTensor& source = block.upload->source;
  const Tensor target = block.upload->target.slice(block.first_row, block.rows);
  const Bytes bytes = file.read_rows(source, block.first_row, block.rows, memory);
  if (source.dtype == DType::kF32) {
    kernels.upload(target, bytes.data());
    return;
  }
  const NamedTensor part{.name = {}, .dtype = source.dtype, .shape = {}, .data = bytes};
  kernels.upload(target, floats_of(part).data());
}

// Hands out blocks in order, and keeps the failure of the first that has one. Those before it were
// handed out before it, and are done by the end: so it does not depend on timing.
class Work {
 public:
  explicit Work(size_t blocks) : blocks_(blocks) {}

  // The number of blocks: no more.
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
                    Kernels& kernels) {
  const std::vector<Block> blocks = blocks_of(uploads);
  int64_t elements = 0;
  for (const TensorUpload& upload : uploads) elements += upload.target.elements();
  const int64_t threads =
      std::clamp<int64_t>(elements / kElementsPerThread, 1, available_threads());
  ThreadPool pool(static_cast<int>(threads));
  Work work(blocks.size());
  pool.parallel_for(threads, 1, [&](int64_t, int64_t, int) {
    std::vector<std::byte> memory;
    for (size_t block; (block = work.take()) < blocks.size();) {
      try {
        upload_block(file, blocks[block], memory, kernels);
      } catch (...) {
        work.fail(block, std::current_exception());
      }
    }
  });
  work.rethrow();
}

}  // namespace berth
