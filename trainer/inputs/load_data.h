#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/formats/row_reader.h"
#include "trainer/data/prepared_tokens.h"
#include "trainer/data/table_loader.h"
#include "trainer/inputs/data_source.h"

namespace berth {

// An input that was read, as job.json records it.
struct Source {
  std::string role;  // "train", "eval", "model", ...
  std::string uri;
  Checksum checksum;  // of the bytes as stored
};
// Ends the `uri` of a source that stands for all objects with texts that the rows of a file name.
inline constexpr std::string_view kOfTexts = " (its texts)";

// Which files to read and how to read their rows.
struct DataRequest {
  std::string role;  // the role of the sources
  std::string path;
  LoadRules rules{};
  RowLayout layout = RowLayout::kByName;
  TextForm form{};
  // What flags say of the columns, where rules.columns has what was read of another table. Empty:
  // rules.columns says it.
  std::optional<ColumnChoice> asked{};
  // The tags of a finished model of words. They distinguish lines of words from lines of text.
  std::vector<std::string> known_tags{};
  bool shows_texts = true;  // the log may have texts of the rows
};

struct LoadedTable {
  std::unique_ptr<ExampleTable> table;
  Task task;
  ColumnChoice columns;             // the columns that were read
  std::string name;                 // as the user gave it
  std::vector<Source> sources;      // the files in the order of their rows
  std::string sentence_column{};    // of a table with one word a row
  LabelForm label_form{};           // how the labels were read
  std::vector<Finding> findings{};  // how the rows were read; see TableLoader
  ScoreScale scale{};               // of its scores, if the labels are numbers
  // The classes that the first file declares, and the labels that were accepted (TableLoader).
  std::vector<std::string> declared_classes{}, known_labels{};
};

// Says in the log what was found out about the table of this name, with examples of its texts or
// without.
void log_findings(const std::string& name, std::span<const Finding> findings,
                  bool shows_texts = true);

// A warning where the scores of two tables or files seem to be of different scales; else an empty
// text.
std::string other_scale(const std::string& name, const ScoreScale& scale, const std::string& other,
                        const ScoreScale& other_scale);

// Reads all files of a path as one table, in the order of their names. The suffix of a name says
// how the file is compressed. Logs what was left out or inferred. Errors name the file.
LoadedTable load_table(const DataPaths& paths, const DataRequest& request);

// Calls `use` with the rows of one file, which may be compressed. `role` is the source's. Returns
// the source, whose checksum covers the whole file. Errors name the file. Throws what open_rows()
// and `use` throw.
Source read_rows(const DataSource& data, const Uri& file, const std::string& role,
                 const TextForm& form, RowLayout layout,
                 const std::function<void(RowReader& rows)>& use);

// Loads the shards that --mode prepare --task mlm wrote as one table; `files` are all of them, in
// order. Local files and files in the cache are mapped into memory and stay where they are. Others
// are fetched one after the other, and their sequences are stored as ExampleTable stores rows.
// Throws what TokenShardSet throws, and kBadData where the request is for another task than masked
// language models.
LoadedTable load_token_shards(const DataSource& data, const DataRequest& request,
                              const std::vector<Uri>& files);

// The bytes of one such file: mapped, if it is local or in the cache and not compressed, or else
// read. Their content is not checked. Throws what `storage` throws, and kBadData for more than
// 16 GiB.
TokenShardFile read_token_shard_file(const DataSource& data, const Uri& file);

}  // namespace berth
