#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/base/log.h"
#include "storage/open_storage.h"
#include "storage/whole_file.h"

// gcs_copy SRC DST
// gcs_copy --list FOLDER
//
// Copies one object between two URIs with berth's storage, using the server that
// STORAGE_EMULATOR_HOST names. Prints "SIZE CRC32C" of the bytes that it read. --list prints the
// URIs of the objects in a folder instead. Used by tests/peers/check_storage.py and by the scripts
// of tests/jobs.

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gcs_copy SRC DST | --list FOLDER\n");
    return 2;
  }
  berth::set_log_sink([](berth::LogLevel level, const std::string& line) {
    if (level <= berth::LogLevel::kWarning) std::fprintf(stderr, "gcs_copy: %s\n", line.c_str());
  });
  try {
    const char* host = std::getenv("STORAGE_EMULATOR_HOST");
    const auto storage = berth::open_storage({.emulator_host = host != nullptr ? host : ""});
    if (std::string_view(argv[1]) == "--list") {
      for (const berth::Stat& stat : storage->list(berth::Uri::parse(argv[2]))) {
        std::printf("%s\n", stat.name.c_str());
      }
      return 0;
    }
    const auto from = berth::Uri::parse(argv[1]), to = berth::Uri::parse(argv[2]);
    uint64_t size = 0;
    uint32_t crc = 0;
    std::vector<std::byte> buffer(size_t{1} << 20);
    const auto copy = [&](berth::ByteSink& sink) {
      const auto source = storage->open(from);
      size = crc = 0;
      while (const size_t count = source->read(buffer)) {
        const berth::Bytes piece(buffer.data(), count);
        crc = berth::crc32c(piece, crc);
        size += count;
        sink.write(piece);
      }
    };
    const auto stat = storage->stat(from);
    berth::WriteOptions about;
    if (stat) about.size_hint = stat->size;
    store_object(*storage, to, copy, about);
    std::printf("%llu %08x\n", static_cast<unsigned long long>(size), crc);
  } catch (const berth::Error& error) {
    std::fprintf(stderr, "gcs_copy: %s\n", error.what());
    return berth::exit_code(error.code());
  }
}
