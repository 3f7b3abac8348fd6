#include "entrypoint/modes/fetching.h"

#include <algorithm>
#include <optional>
#include <set>

#include "entrypoint/job/preflight.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/store_object.h"

namespace berth {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// The path of `file` below what `place` names: a folder, an archive, or the part of a pattern
// before its first wildcard.
std::string path_below(const Uri& place, const Uri& file) {
  if (file == place) return file.file_name();
  const std::string inside = (place / "x").path();
  const std::string folder = inside.substr(0, inside.size() - 1);
  if (file.path().starts_with(folder)) return file.path().substr(folder.size());
  const size_t slash = place.path().rfind('/', place.path().find_first_of("*?["));
  return slash == std::string::npos ? file.path() : file.path().substr(slash + 1);
}

// Objects may have any name. Only a path of plain parts stays in the directory that it is put into.
void require_inside(const std::string& name, const Uri& file) {
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      throw Error(Code::kBadData, "the name is no path of a file", file.to_string(),
                  "give the file another name, or name it alone");
    }
    begin = end + 1;
  }
}

uint64_t copy(const Job& job, const Uri& from, const Uri& to, std::vector<std::byte>& piece) {
  const std::optional<Stat> known = job.storage.stat(from);
  WriteOptions options;
  if (known) options.size_hint = known->size;
  uint64_t size_bytes = 0;
  store_object(
      job.storage, to,
      [&](ByteSink& sink) {
        const auto source = job.storage.open(from, {.known = known ? &*known : nullptr});
        size_bytes = 0;
        while (const size_t count = source->read(piece)) {
          job.stop_point();
          sink.write(Bytes(piece.data(), count));
          size_bytes += count;
        }
      },
      options);
  return size_bytes;
}

}  // namespace

std::vector<FileToFetch> files_to_fetch(Storage& storage, std::span<const std::string> places) {
  std::vector<FileToFetch> files;
  std::set<std::string> names;
  for (const std::string& text : places) {
    const Uri place = Uri::parse(text);
    for (const Uri& file : expand(storage, place, [](std::string_view) { return true; })) {
      const std::string name = path_below(place, file);
      require_inside(name, file);
      if (!names.insert(name).second) {
        throw Error(Code::kUsage, cat("there are two files ", quoted(name)), file.to_string(),
                    "fetch them into two directories");
      }
      files.push_back({file, name});
    }
  }
  return files;
}

void run_fetch(Job& job) {
  const ToolOptions& tool = job.command_line.tool;
  const Settings& settings = job.command_line.settings;
  std::vector<std::string> places = {tool.input};
  places.insert(places.end(), tool.further_inputs.begin(), tool.further_inputs.end());
  const std::vector<FileToFetch> files = files_to_fetch(job.storage, places);
  preflight(job.storage, settings);
  const Uri directory = Uri::parse(settings.output.export_dir);
  std::vector<std::byte> piece(kPieceBytes);
  uint64_t size_bytes = 0;
  for (const FileToFetch& file : files) {
    size_bytes += copy(job, file.from, directory / file.name, piece);
  }
  log_info(cat("fetched ", counted(files.size(), "file"), " of ", counted(size_bytes, "byte"),
               " to ", directory.to_string()));
}

}  // namespace berth
