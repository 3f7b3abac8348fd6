// Loading a model of BERT-large's size, as a job does at its start: open, map, checksum, check,
// copy into the parameters' memory.
//   load_bench DIRECTORY [THREADS]
// Writes DIRECTORY/model.safetensors (1.3 GB) if it is not there, then loads it and what else lies
// beside it of other forms: bench/peer/save_torch.py makes those.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "bench/bench_table.h"
#include "storage/base/checksum.h"
#include "storage/base/text.h"
#include "storage/formats/tensor_bundle.h"
#include "storage/local_storage.h"
#include "storage/store_object.h"
#include "trainer/kernels/cpu/cpu_kernels.h"
#include "trainer/loop/parameter_files.h"
#include "trainer/loop/tensorflow_files.h"
#include "trainer/model/config.h"
#include "trainer/model/pretrained.h"

namespace berth {
namespace {

ModelConfig bert_large() {
  ModelConfig config;
  config.vocab_size = 30522;
  config.hidden_size = 1024;
  config.num_hidden_layers = 24;
  config.num_attention_heads = 16;
  config.intermediate_size = 4096;
  config.max_position_embeddings = 512;
  config.labels = {"no", "yes"};
  return config;
}

class Bench {
 public:
  Bench(const std::string& directory, int threads)
      : pool_(threads),
        kernels_(make_cpu_kernels(pool_)),
        parameters_(parameter_table(bert_large()), false, *kernels_),
        directory_(Uri::parse(directory)) {
    print_head(cat("loading BERT-large, ", parameters_.size(), " parameters, ", threads,
                   threads == 1 ? " thread" : " threads"));
  }

  void make_file() {
    const Uri file = directory_ / "model.safetensors";
    if (storage_->stat(file)) return;
    std::vector<size_t> all(parameters_.specs().size());
    std::iota(all.begin(), all.end(), size_t{0});
    initialize(parameters_, all, 0.02, 1, *kernels_);
    store_object(*storage_, file, [&](ByteSink& sink) {
      save_parameters(parameters_, *kernels_, DType::kF32, sink);
    });
  }

  void measure_memcpy() {
    const std::vector<std::byte> from(parameters_.values().size_bytes());
    const Timing timing = measure([&] { kernels_->upload(parameters_.values(), from.data()); });
    memcpy_s_ = timing.median_s;
    row("memcpy", from.size(), timing);
  }

  // What any program pays for memory of its own: the system clears pages that were never used, and
  // a virtual machine may have to ask its host for them, which takes longer on one call than on
  // another.
  void measure_new_pages() {
    const size_t size_bytes = parameters_.values().size_bytes();
    row("new pages", size_bytes, measure([&] {
          const std::unique_ptr<Memory> fresh = kernels_->allocate(size_bytes);
          Tensor all = parameters_.values();
          all.data = fresh->data();
          kernels_->zero(all);
        }));
  }

  // What the disk gives: the file's bytes by read(), none of them in the system's cache.
  void measure_disk(const std::string& name) {
    std::vector<char> buffer(size_t{16} << 20);
    uint64_t read = 0;
    const auto all = [&] {
      read = 0;
      std::ifstream file(path(name), std::ios::binary);
      while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount()) {
        read += static_cast<uint64_t>(file.gcount());
      }
    };
    const Timing timing = measure(all, 0, [&] { forget(name); });
    row("read(), cold", read, timing);
  }

  // `data`: the file whose bytes are first dropped from the system's cache.
  void load(const std::string& name, const std::string& data = "") {
    const Uri file = directory_ / name;
    if (!storage_->stat(file) && !names_checkpoint(*storage_, file)) return;
    Checksum read;  // as job.json records it
    const auto load_once = [&] {
      read = {};
      const auto opened = [&](const Uri&, Bytes bytes) { read.add(bytes); };
      const ModelParameters found =
          names_checkpoint(*storage_, file)
              ? open_tensorflow_model(*storage_, file, opened)
              : open_parameters(*storage_, file, directory_.to_string(), opened);
      Parameters fresh(parameter_table(bert_large()), false, *kernels_);
      load_parameters(*found.tensors, fresh, *kernels_);
    };
    const Timing timing = measure(load_once, 0, [&] {
      if (!data.empty()) forget(data);
    });
    row(cat(name, data.empty() ? "" : ", cold"), read.size, timing);
  }

 private:
  std::string path(const std::string& name) const { return (directory_ / name).to_string(); }
  void forget(const std::string& name) const {
    const int fd = ::open(path(name).c_str(), O_RDONLY | O_CLOEXEC);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  }
  void row(const std::string& name, uint64_t size_bytes, const Timing& timing) const {
    print_row(name,
              cat(human_bytes(size_bytes), ", least ", std::lround(timing.least_s * 1e3), " ms"),
              timing, static_cast<double>(size_bytes) / timing.median_s * 1e-9, "GB/s",
              timing.median_s / memcpy_s_, "memcpy");
  }

  ThreadPool pool_;
  std::unique_ptr<Kernels> kernels_;
  Parameters parameters_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  Uri directory_;
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
    bench.load(name);
  }
  const std::string shard = berth::shard_name("bert_model.ckpt", 0, 1);
  bench.measure_disk("model.safetensors");
  bench.load("model.safetensors", "model.safetensors");
  bench.load("pytorch_model.bin", "pytorch_model.bin");
  bench.load("bert_model.ckpt", shard);
}
