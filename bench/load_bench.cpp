// Measures how long a job takes to load a model of BERT-large's size: open, map, checksum, check,
// and copy into the parameters' memory. The process has used that memory before. The cost of new
// memory has its own row, because it depends on the system and not on the file.
//
//   load_bench DIRECTORY [THREADS]
//
// Writes DIRECTORY/model.safetensors (1.3 GB) if it is absent. Then it loads this file and the
// other formats in DIRECTORY, which bench/peer/save_torch.py makes.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "bench/bench_table.h"
#include "storage/base/checksum.h"
#include "storage/base/text.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/parameters.h"
#include "trainer/inputs/parameter_files.h"
#include "trainer/model/benchmark_step.h"
#include "trainer/weights/initial_values.h"
#include "trainer/weights/pretrained.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

class Bench {
 public:
  Bench(const std::string& directory, int threads)
      : pool_(threads),
        kernels_(make_cpu_kernels(pool_)),
        parameters_(parameter_table(bert_of_size("large")), false, *kernels_),
        directory_(Uri::parse(directory)) {
    print_head(cat("loading BERT-large, ", parameters_.size(), " parameters, ", threads,
                   threads == 1 ? " thread" : " threads"));
  }

  void make_file() {
    const Uri file = directory_ / "model.safetensors";
    if (storage_->stat(file)) return;
    initialize(values_, 0.02, 1, pool_.size());
    store_object(*storage_, file, [&](ByteSink& sink) {
      write_tensors(sink, saved_tensors(values_), DType::kF32, {{"format", "pt"}});
    });
  }

  void measure_memcpy() {
    const std::vector<std::byte> from(parameters_.values().size_bytes());
    const Timing timing = measure([&] { copy_in(parameters_.values(), from.data()); });
    memcpy_s_ = timing.median_s;
    row("memcpy", from.size(), timing, memcpy_s_, "memcpy");
  }

  // The cost of memory that the process has never used. The system clears such pages. A virtual
  // machine may also have to get them from its host, which takes a varying time.
  void measure_new_pages() {
    const size_t size_bytes = parameters_.values().size_bytes();
    const Timing timing = measure([&] {
      const std::unique_ptr<Memory> fresh = std::make_unique<Memory>(size_bytes);
      Tensor all = parameters_.values();
      all.data = fresh->data();
      kernels_->zero(all);
    });
    row("new pages", size_bytes, timing, memcpy_s_, "memcpy");
  }

  // Loads a file that is in the system's cache.
  void load_warm(const std::string& name) {
    if (!exists(name)) return;
    uint64_t size_bytes = 0;
    const Timing timing = measure([&] { size_bytes = load(name); }, 0);
    row(name, size_bytes, timing, memcpy_s_, "memcpy");
  }

  // Measures with no byte of the file `data` in the system's cache: how long read() takes for the
  // whole file, and how long loading takes. The two alternate. Each follows itself as often as it
  // follows the other, because the speed of a disk depends on its previous requests.
  void load_cold(const std::string& name, const std::string& data) {
    constexpr int kRounds = 12;
    if (!exists(name)) return;
    uint64_t size_bytes = 0;
    std::vector<double> reads, loads;
    for (int turn = 0; turn < 2 * kRounds; ++turn) {
      forget(data);
      if (turn % 4 == 0 || turn % 4 == 3) {
        reads.push_back(seconds_of([&] { read_through(data); }));
      } else {
        loads.push_back(seconds_of([&] { size_bytes = load(name); }));
      }
    }
    const Timing read = timing_of(std::move(reads));
    row(cat(name, ", read()"), size_bytes, read, memcpy_s_, "memcpy");
    row(cat(name, ", cold"), size_bytes, timing_of(std::move(loads)), read.median_s, "read()");
  }

 private:
  std::string path(const std::string& name) const { return (directory_ / name).to_string(); }

  bool exists(const std::string& name) const {
    const Uri file = directory_ / name;
    return storage_->stat(file) || names_checkpoint(*storage_, file);
  }

  // Loads a file and computes the checksum that job.json records. Returns the number of bytes
  // opened.
  uint64_t load(const std::string& name) {
    const Uri file = directory_ / name;
    Checksum checksum;
    const auto opened = [&](const Uri&, Bytes bytes) { checksum.add(bytes); };
    const ModelParameters found =
        names_checkpoint(*storage_, file)
            ? open_tensorflow_model(*storage_, file, opened)
            : open_parameters(*storage_, file, directory_.to_string(), opened);
    load_parameters(*found.tensors, values_, pool_.size());
    return checksum.size;
  }

  void read_through(const std::string& name) {
    const int fd = ::open(path(name).c_str(), O_RDONLY | O_CLOEXEC);
    while (::read(fd, buffer_.data(), buffer_.size()) > 0) {
    }
    ::close(fd);
  }

  void forget(const std::string& name) const {
    const int fd = ::open(path(name).c_str(), O_RDONLY | O_CLOEXEC);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  }

  void row(const std::string& name, uint64_t size_bytes, const Timing& timing, double of_s,
           const char* of) const {
    print_row(name,
              cat(human_bytes(size_bytes), ", least ", std::lround(timing.least_s * 1e3), " ms"),
              timing, static_cast<double>(size_bytes) / timing.median_s * 1e-9, "GB/s",
              timing.median_s / of_s, of);
  }

  ThreadPool pool_;
  std::unique_ptr<Kernels> kernels_;
  Parameters parameters_;
  CpuTensors values_{parameters_};
  std::unique_ptr<Storage> storage_ = make_local_storage();
  Uri directory_;
  std::vector<char> buffer_ = std::vector<char>(size_t{16} << 20);
  double memcpy_s_ = 0;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: load_bench DIRECTORY [THREADS]\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  berth::Bench bench(argv[1], argc > 2 ? std::atoi(argv[2]) : 1);
  bench.make_file();
  bench.measure_memcpy();
  bench.measure_new_pages();
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json", "legacy.bin", "bert_model.ckpt"}) {
    bench.load_warm(name);
  }
  for (const char* name : {"model.safetensors", "pytorch_model.bin", "legacy.bin"}) {
    bench.load_cold(name, name);
  }
  bench.load_cold("bert_model.ckpt", berth::shard_name("bert_model.ckpt", 0, 1));
}
