#include "trainer/inputs/data_source.h"

#include <algorithm>
#include <utility>

#include "storage/archive.h"
#include "storage/archived_storage.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "storage/formats/utf8.h"
#include "trainer/inputs/peeked_source.h"
#include "trainer/inputs/table_files.h"

namespace berth {
namespace {

// The names of the objects below a directory or in an archive, relative to it and sorted.
std::vector<std::string> names_below(Storage& storage, const Uri& directory) {
  const size_t prefix = (directory / "x").to_string().size() - 1;
  std::vector<std::string> names;
  for (const Stat& stat : storage.list(directory)) names.push_back(stat.name.substr(prefix));
  return names;
}

// Whether a file of a folder with this name holds rows.
bool holds_rows(std::string_view file_name) {
  const std::string_view plain = without_compression_suffix(file_name);
  if (describes_data_set(plain)) return false;
  // A .txt in a folder of tables is a README or a licence.
  return (is_table(plain) && !is_plain_text(plain)) || names_records(plain) ||
         names_token_shard(plain);
}

// The compression that the first bytes of a file show.
Compression compression_in(std::string_view beginning) {
  using namespace std::string_view_literals;
  if (beginning.starts_with("\x1F\x8B\x08"sv)) return Compression::kGzip;
  if (beginning.starts_with("\x28\xB5\x2F\xFD"sv)) return Compression::kZstd;
  if (beginning.starts_with("\xFD"
                            "7zXZ\0"sv)) {
    return Compression::kXz;
  }
  const bool is_bzip2 = beginning.starts_with("BZh") && beginning.substr(0, 10).ends_with("1AY&SY");
  return is_bzip2 ? Compression::kBzip2 : Compression::kNone;
}

}  // namespace

std::unique_ptr<ByteSource> plain_content(std::unique_ptr<ByteSource> stored, const Uri& file) {
  const std::string name = file.file_name();
  if (const Compression named = compression_of(name); named != Compression::kNone) {
    return decompress(std::move(stored), named);
  }
  auto peeked = std::make_unique<PeekedSource>(std::move(stored), 128);
  if (peeked->beginning().starts_with("version https://git-lfs.github.com/spec/")) {
    throw Error(Code::kBadData, "is a pointer of Git LFS, not the file itself", "",
                "run git lfs pull");
  }
  const Compression shown = is_table(name) || names_text_lines(name)
                                ? compression_in(peeked->beginning())
                                : Compression::kNone;
  if (shown == Compression::kNone) return peeked;
  log_info(cat(file.to_string(), ": is compressed, although its name does not say so"));
  return decompress(std::move(peeked), shown);
}

bool DataSource::is_archived() const {
  const std::lock_guard lock(mutex_);
  if (!is_archived_) is_archived_ = find_archive(storage_, uri_).has_value();
  return *is_archived_;
}

const SplitFolder* DataSource::splits() const {
  const std::lock_guard lock(mutex_);
  return find_splits();
}

const SplitFolder* DataSource::find_splits() const {
  if (!splits_) {
    const bool names_archive = is_archive(uri_.file_name());
    const bool names_table = is_table(without_compression_suffix(uri_.file_name()));
    const bool names_file = (names_table && !names_archive) || has_wildcards(uri_.path()) ||
                            uri_.scheme().starts_with("http");
    if (names_file || (!names_archive && is_object())) {
      splits_.emplace();
    } else {
      if (!names_) names_ = names_below(storage_, uri_);
      splits_.emplace(splits_among(storage_, uri_, *names_));
    }
  }
  return *splits_ ? &**splits_ : nullptr;
}

// Whether the path is the exact name of an object.
bool DataSource::is_object() const {
  if (uri_.path().empty() || uri_.path().ends_with('/')) return false;
  if (!stat_) stat_.emplace(storage_.stat(uri_));
  return stat_->has_value();
}

std::vector<Uri> DataSource::matching(
    const std::function<bool(std::string_view)>& is_wanted) const {
  if (names_) {
    std::vector<Uri> found = files_among(*names_, uri_, is_wanted);
    if (!found.empty()) return found;
  } else if (!is_archive(uri_.file_name()) && is_object()) {
    return {uri_};
  }
  return expand(storage_, uri_, is_wanted);
}

std::vector<Uri> DataSource::files(const std::string& role) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = files_.find(role); known != files_.end()) return known->second;
  std::vector<Uri> files;
  try {
    if (const SplitFolder* const folder = find_splits()) files = files_for(*folder, role);
  } catch (const Error& error) {
    throw error.where().empty() ? error.at(uri_.to_string()) : error;
  }
  if (files.empty()) {
    try {
      files = matching(holds_rows);
    } catch (const Error& error) {
      const bool is_folder = error.code() == Code::kBadData && !is_archive(uri_.file_name());
      if (is_folder) {
        if (!names_) names_ = names_below(storage_, uri_);
        refuse_layout(*names_, uri_.to_string());
      }
      throw;
    }
  }
  if (names_) refuse_logged_table(*names_, uri_.to_string());
  if (names_ && !has_wildcards(uri_.path())) {
    const std::string missing = missing_part(files);
    if (!missing.empty()) log_warning(cat(uri_.to_string(), ": ", missing));
  }
  if (files.size() > 1 && !has_wildcards(uri_.path())) refuse_copies(files, uri_);
  return files_.emplace(role, std::move(files)).first->second;
}

std::vector<Uri> DataSource::text_files(
    const std::function<bool(std::string_view)>& is_wanted) const {
  const std::lock_guard lock(mutex_);
  const SplitFolder* const folder = find_splits();
  if (names_) refuse_logged_table(*names_, uri_.to_string());
  return folder != nullptr ? files_for(folder->splits, "train") : matching(is_wanted);
}

std::unique_ptr<ByteSource> DataSource::open_stored(const Uri& file) const {
  ReadOptions options;
  std::optional<Stat> known;
  {
    const std::lock_guard lock(mutex_);
    if (stat_ && file.url() == uri_.url()) known = *stat_;
  }
  if (known) options.known = &*known;
  return storage_.open(file, options);
}

std::unique_ptr<ByteSource> DataSource::open(const Uri& file) const {
  return plain_content(open_stored(file), file);
}

std::unique_ptr<RowReader> DataSource::open_table(const Uri& file, TextForm form) const {
  form.tags = "any";
  return open_rows(open(file), without_compression_suffix(file.file_name()), RowLayout::kByName,
                   form);
}

const DataSource& DataPaths::at(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return sources_.try_emplace(Uri::parse(path).url(), storage_, path).first->second;
}

bool names_text_lines(std::string_view file_name) {
  return lower_ascii(file_name).ends_with(".txt") || file_name.find('.') == std::string_view::npos;
}

TextRows::TextRows(const DataSource& source, std::vector<Uri> files, TextRules rules)
    : source_(source), files_(std::move(files)), rules_(std::move(rules)) {}

void TextRows::open(const Uri& file) {
  const std::string file_name = file.file_name();
  const std::string_view name = without_compression_suffix(file_name);
  number_ = 0;
  lines_ = nullptr;
  const bool is_of_records = names_records(name) && !names_text_lines(name);
  if (is_of_records && !find_tfds_folder(source_.storage(), file)) {
    throw Error(Code::kBadData, "holds token ids, not texts", "", "give the texts themselves");
  }
  if (is_of_records) {
    rows_ = make_tf_example_rows(plain_records(source_.open(file)), ClassNames());
  } else if (is_table(name) && !is_plain_text(name)) {
    rows_ = source_.open_table(file, rules_.form);
  } else {
    auto lines = std::make_unique<LinesReader>(as_utf8(source_.open(file), rules_.form.encoding),
                                               rules_.malformed);
    lines_ = lines.get();
    rows_ = std::move(lines);
  }
  columns_ = find_columns(rows_->columns(), lines_ != nullptr ? ColumnChoice() : rules_.columns,
                          LabelNeed::kIgnored);
}

// Reads the next row of the open file. Returns false at its end.
bool TextRows::next_of_file() {
  while (true) {
    try {
      if (!rows_->next(row_)) return false;
      number_ = lines_ != nullptr ? lines_->line() : number_ + 1;
      return true;
    } catch (const Error& error) {
      if (error.code() != Code::kBadData || skipped_ >= rules_.skip_bad_rows) throw;
      ++skipped_;
      ++number_;
    }
  }
}

bool TextRows::next() {
  while (rows_ || next_file_ < files_.size()) {
    const Uri& file = files_[rows_ ? next_file_ - 1 : next_file_];
    try {
      if (!rows_) {
        ++next_file_;
        open(file);
      }
      if (next_of_file()) return true;
    } catch (const Error& error) {
      if (error.where().starts_with(file.to_string())) throw;  // storage's errors name the file
      throw error.at(file.to_string());
    }
    rows_.reset();
  }
  return false;
}

Checksum stored_checksum(Storage& storage, const Uri& uri, uint64_t size) {
  Checksum checksum;
  const std::unique_ptr<ByteSource> source = storage.open(uri);
  std::vector<std::byte> buffer(size_t{1} << 20);
  while (checksum.size < size) {
    const auto wanted = std::min<uint64_t>(buffer.size(), size - checksum.size);
    const size_t count = source->read(std::span(buffer).first(wanted));
    if (count == 0) break;
    checksum.add(Bytes(buffer).first(count));
  }
  return checksum;
}

}  // namespace berth
