#include "entrypoint/inspect/inspect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/inspect/column_summary.h"
#include "storage/archive.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/event_file.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/parameter_files.h"
#include "trainer/inputs/peeked_source.h"
#include "trainer/inputs/split_folder.h"
#include "trainer/model/config.h"

namespace berth {
namespace {

std::string with_commas(int64_t number) { return grouped(static_cast<uint64_t>(number)); }

std::string labels_text(const ModelConfig& config) {
  if (config.labels.empty()) return "none";
  const std::string names = joined(config.labels, ", ");
  return cat(config.labels.size(), ": ", cut_text(names, 200));
}

// "  NAME      TEXT\n": one line of the summary of a model.
std::string summary_line(const std::string& name, const std::string& text) {
  constexpr size_t kWidth = 14;
  return cat("  ", name, std::string(kWidth - std::min(name.size(), kWidth - 1), ' '), text, "\n");
}

// What a configuration says of its model, for people: architecture, size, positions, vocabulary,
// task and labels.
std::string model_lines(const ModelConfig& config) {
  const std::string task = config.saved_task ? std::string(traits(*config.saved_task).names[0])
                                             : "an encoder without a head";
  return summary_line("architecture", std::string(model_type_name(config.type))) +
         summary_line("task", task) + summary_line("labels", labels_text(config)) +
         summary_line("size", cat(counted(config.num_hidden_layers, "layer"), ", hidden size ",
                                  with_commas(config.hidden_size), ", ",
                                  counted(config.num_attention_heads, "head"),
                                  ", intermediate size ", with_commas(config.intermediate_size))) +
         summary_line("positions", with_commas(config.max_sequence_length())) +
         summary_line("vocabulary", with_commas(config.vocab_size));
}

bool is_event_file(const std::string& name) { return name.find("tfevents") != std::string::npos; }

bool names_rows(std::string_view name) {
  const std::string_view plain = without_compression_suffix(name);
  if (describes_data_set(last_part(plain))) return false;
  return (is_table(plain) && !is_plain_text(plain)) || names_records(plain) ||
         names_token_shard(plain);
}

// Whether rows lie in a folder, or in an archive, and no parameters, which are a model then.
bool holds_rows_alone(Storage& storage, const Uri& uri) {
  bool has_rows = false;
  for (const Stat& file : storage.list(uri)) {
    const std::string_view name = last_part(file.name);
    if (names_parameters(name) || name == "config.json") return false;
    has_rows = has_rows || names_rows(name);
  }
  return has_rows;
}

// Looks into each file of a folder or an archive.
Inspection inspect_files(Storage& storage, const Uri& uri, const TextForm& form) {
  Inspection all;
  for (const Uri& file : expand(storage, uri, names_rows)) {
    try {
      const Inspection one = inspect(storage, file.to_string(), form);
      all.text += cat(all.text.empty() ? "" : "\n", one.text);
      all.json += cat(all.json.empty() ? "" : "\n", one.json);
    } catch (const Error& error) {
      throw error.in(file.to_string());
    }
  }
  return all;
}

constexpr size_t kFirst = 5;           // how many rows are shown
constexpr size_t kWholeCell = 200;     // the characters of a cell for machines
constexpr size_t kShownCell = 60;      // the characters of a cell for people
constexpr size_t kShownElements = 12;  // the elements of an array for people
// Rows that take next to no bytes are counted, and not read: a file of 300 bytes may say that it
// has 2^62 rows of nulls.
constexpr uint64_t kReadRows = 1'000'000, kReadRowsOfByte = 64;

OrderedJson to_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return cut_text(*text, kWholeCell);
  if (const auto* number = std::get_if<int64_t>(&cell)) return *number;
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag;
  if (const auto* real = std::get_if<double>(&cell); real != nullptr && std::isfinite(*real)) {
    return *real;
  }
  return nullptr;
}

// The object for machines. Each row is an array in the order of the columns. `counted` rows of
// `rows` were not read.
std::string json_text(const std::string& format, uint64_t rows,
                      const std::vector<std::string>& columns, const OrderedJson& first,
                      uint64_t counted = 0) {
  OrderedJson object = {{"format", format}, {"rows", rows}, {"columns", columns}, {"first", first}};
  if (counted > 0) object["rows_read"] = rows - counted;
  return to_text(object);
}

std::string heading(const Uri& uri, const std::string& format, uint64_t rows, size_t columns) {
  return cat(uri.to_string(), ": ", format, ", ", grouped(rows), rows == 1 ? " row, " : " rows, ",
             columns, columns == 1 ? " column" : " columns", "\n");
}

std::string column_lines(const std::vector<std::string>& names,
                         const std::vector<ColumnSummary>& summaries) {
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += cat("  ", names[i], std::string(width - names[i].size() + 2, ' '), summaries[i].text(),
                "\n");
  }
  return text;
}

// "df.csv.gz" -> "csv".
std::string table_format(const Uri& uri) {
  const std::string name = lower_ascii(without_compression_suffix(uri.file_name()));
  const std::string suffix = name.substr(std::min(name.rfind('.') + 1, name.size()));
  if (suffix == "pkl") return "pickle";
  if (suffix == "pq") return "parquet";
  return suffix == "ndjson" ? "jsonl" : suffix;
}

std::string elements_text(const OrderedJson& array) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(array.size(), kShownElements); ++i) {
    text += (i == 0 ? "" : ", ") + to_text(array[i]);
  }
  return text + (array.size() > kShownElements ? ", ...]" : "]");
}

OrderedJson to_json(const TfFeature& feature) {
  OrderedJson array = OrderedJson::array();
  if (const auto* texts = std::get_if<std::vector<std::string>>(&feature.values)) {
    for (const std::string& text : *texts) array.push_back(cut_text(text, kWholeCell));
  } else if (const auto* reals = std::get_if<std::vector<float>>(&feature.values)) {
    for (const float real : *reals) {
      array.push_back(std::isfinite(real) ? OrderedJson(static_cast<double>(real)) : OrderedJson());
    }
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&feature.values)) {
    array = *numbers;
  }
  return array;
}

// The same for one kind of file. `uri` is a file of that kind.
Inspection inspect_table(Storage& storage, const Uri& uri, const TextForm& form) {
  const std::unique_ptr<RowReader> reader = DataSource(storage, uri.url()).open_table(uri, form);
  std::vector<std::string> names;
  for (const Column& column : reader->columns()) names.push_back(column.name);
  std::vector<ColumnSummary> summaries(names.size());
  OrderedJson first = OrderedJson::array();
  std::string shown;
  const uint64_t bytes = storage.stat(uri).value_or(Stat()).size;
  uint64_t rows = 0, counted = 0;
  for (Row row; reader->next(row); ++rows) {
    for (size_t i = 0; i < row.size(); ++i) summaries[i].add(row[i]);
    if (rows >= kReadRows && (rows - kReadRows) / kReadRowsOfByte >= bytes) {
      if (const auto left = reader->rows_left(); left && *left > 0) {
        counted = *left;
        rows += counted + 1;
        break;
      }
    }
    if (rows >= kFirst) continue;
    OrderedJson cells = OrderedJson::array();
    for (const Cell& cell : row) {
      cells.push_back(to_json(cell));
      shown += cat(cells.size() == 1 ? "  " : " | ", cell_text(cell, kShownCell));
    }
    shown += "\n";
    first.push_back(cells);
  }
  const std::string format = table_format(uri);
  const std::string unread = cat("only the first ", grouped(rows - counted), " rows were read\n");
  return {.text = cat(heading(uri, format, rows, names.size()), counted > 0 ? unread : "",
                      column_lines(names, summaries), rows > 0 ? "first rows\n" : "", shown),
          .json = json_text(format, rows, names, first, counted)};
}

// TFRecords of tf.Example
Inspection inspect_records(Storage& storage, const Uri& uri) {
  TfRecordReader records(plain_records(DataSource(storage, uri.url()).open(uri)));
  std::vector<std::string> names;
  std::vector<ColumnSummary> summaries;
  std::vector<std::vector<OrderedJson>> first;  // by row and column
  uint64_t rows = 0;
  for (std::vector<std::byte> record; records.next(record); ++rows) {
    std::vector<TfFeature> features;
    try {
      features = parse_tf_example(record);
    } catch (const Error& error) {
      throw error.at(cat("record at byte ", records.offset()));
    }
    if (rows < kFirst) first.emplace_back();
    for (const TfFeature& feature : features) {
      size_t column =
          static_cast<size_t>(std::find(names.begin(), names.end(), feature.name) - names.begin());
      if (column == names.size()) {
        names.push_back(feature.name);
        summaries.emplace_back();
      }
      const OrderedJson array = to_json(feature);
      summaries[column].add_array(array.size());
      if (rows >= kFirst) continue;
      first.back().resize(std::max(first.back().size(), column + 1));
      first.back()[column] = array;
    }
  }
  std::string shown;
  OrderedJson rows_json = OrderedJson::array();
  for (std::vector<OrderedJson>& row : first) {
    row.resize(names.size());
    for (size_t i = 0; i < row.size(); ++i) {
      shown += cat(i == 0 ? "  " : "    ", names[i], " ",
                   row[i].is_null() ? "-" : elements_text(row[i]), "\n");
    }
    rows_json.push_back(row);
  }
  return {.text = cat(heading(uri, "tfrecord", rows, names.size()), column_lines(names, summaries),
                      rows > 0 ? "first rows\n" : "", shown),
          .json = json_text("tfrecord", rows, names, rows_json)};
}

using Points = std::vector<std::pair<int64_t, double>>;  // step and value

// Prints the value as the float that the file holds.
std::string shown(double value) { return cat(static_cast<float>(value)); }

std::string scalar_line(const std::string& tag, const Points& points) {
  const auto [least, most] =
      std::minmax_element(points.begin(), points.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  return cat("  ", tag, ": ", grouped(points.size()), points.size() == 1 ? " point" : " points",
             ", steps ", points.front().first, " to ", points.back().first, ", last ",
             shown(points.back().second), ", from ", shown(least->second), " to ",
             shown(most->second), "\n");
}

Inspection inspect_events(Storage& storage, const Uri& uri) {
  TfRecordReader records(storage.open(uri));
  std::vector<std::string> tags;  // in their order in the file
  std::map<std::string, Points> scalars;
  uint64_t events = 0;
  for (std::vector<std::byte> record; records.next(record); ++events) {
    Event event;
    try {
      event = parse_event(record);
    } catch (const Error& error) {
      throw error.at(cat("record at byte ", records.offset()));
    }
    for (const SummaryValue& value : event.values) {
      if (std::find(tags.begin(), tags.end(), value.tag) == tags.end()) tags.push_back(value.tag);
      if (value.scalar) scalars[value.tag].emplace_back(event.step, *value.scalar);
    }
  }
  std::string text = cat(uri.to_string(), ": TensorBoard events, ", grouped(events),
                         events == 1 ? " record, " : " records, ", tags.size(),
                         tags.size() == 1 ? " tag\n" : " tags\n");
  OrderedJson points = OrderedJson::object();
  for (const std::string& tag : tags) {
    const auto found = scalars.find(tag);
    text += found == scalars.end() ? cat("  ", tag, ": not a scalar\n")
                                   : scalar_line(tag, found->second);
    if (found != scalars.end()) points[tag] = found->second;
  }
  return {.text = text,
          .json = to_text(OrderedJson(
              {{"format", "tensorboard"}, {"rows", events}, {"tags", tags}, {"scalars", points}}))};
}

// One decimal, for people.
std::string mean_length(const TokenShard& shard) {
  if (shard.sequences() == 0) return "0";
  const uint64_t tenths = (shard.ids() * 10 + shard.sequences() / 2) / shard.sequences();
  return cat(tenths / 10, ".", tenths % 10);
}

// storage/formats/token_shard.h
Inspection inspect_shard(Storage& storage, const Uri& uri) {
  const TokenShardFile file = read_token_shard_file(DataSource(storage, uri.url()), uri);
  std::optional<TokenShard> shard;
  try {
    shard.emplace(file.bytes());
  } catch (const Error& error) {
    throw error.at(file.name);
  }
  const TokenShardInfo& info = shard->info();
  OrderedJson json = {{"format", "tokens"},
                      {"rows", shard->sequences()},
                      {"ids", shard->ids()},
                      {"max_seq_length", info.max_seq_length},
                      {"vocab_size", info.vocab_size},
                      {"tokenizer_checksum", info.tokenizer_checksum},
                      {"shard", info.index + 1},
                      {"shards", info.count},
                      {"rows_of_all_shards", info.total_sequences},
                      {"preparation", info.preparation}};
  return {.text = cat(file.name, ": shard ", info.index + 1, " of ", info.count,
                      " of tokens to pre-train on, with right checksums\n", "  ",
                      grouped(shard->sequences()), " sequences of at most ", info.max_seq_length,
                      " ids, ", mean_length(*shard), " on average; ", grouped(info.total_sequences),
                      " in all shards\n", "  ", grouped(shard->ids()), " ids of a vocabulary of ",
                      grouped(info.vocab_size), "; the tokenizer's checksum is ",
                      info.tokenizer_checksum, "\n"),
          .json = to_text(json)};
}

struct OpenedModel {
  std::string format;
  ModelParameters parameters;
  Uri folder;
};

OpenedModel open_file(Storage& storage, const Uri& uri) {
  const std::string name = uri.file_name();
  const bool is_safetensors = name.find(".safetensors") != std::string::npos;
  const Uri folder = folder_of(uri);
  return {.format = is_safetensors ? "safetensors" : "pytorch",
          .parameters = open_parameters(storage, uri, folder.to_string(), [](const Uri&, Bytes) {}),
          .folder = folder};
}

OpenedModel open(Storage& storage, const Uri& uri) {
  if (storage.stat(uri) && names_parameters(uri.file_name())) return open_file(storage, uri);
  for (const Uri& folder : {uri, JobDirectory(uri).model()}) {
    if (const auto file = find_parameters(storage.list(folder), folder))
      return open_file(storage, *file);
  }
  const std::optional<Uri> prefix = find_checkpoint(storage, uri);
  if (!prefix && storage.list(uri).empty()) {
    throw Error(Code::kNotFound, "no such file or directory", uri.to_string(),
                similar_name(storage, uri));
  }
  if (!prefix) {
    throw Error(Code::kBadData, "there is no model here that berth can read", uri.to_string(),
                "berth reads safetensors, PyTorch's .bin and TensorFlow checkpoints");
  }
  return {.format = "tensorflow",
          .parameters = open_checkpoint(storage, *prefix, [](const Uri&, Bytes) {}),
          .folder = folder_of(*prefix)};
}

std::string shape_text(const NamedTensor& tensor) { return "[" + joined(tensor.shape, ", ") + "]"; }

// Lines about the model that the configuration in `folder` describes. Empty without one.
std::string model_lines(Storage& storage, const Uri& folder) {
  for (const char* name : {"config.json", "bert_config.json"}) {
    const std::optional<std::string> json = read_text(storage, folder / name);
    if (!json) continue;
    try {
      return model_lines(parse_config(*json));
    } catch (const Error& error) {
      return cat("  ", name, ": ", error.what(), "\n");
    }
  }
  return "";
}

// The files of a tokenizer that lie beside the parameters.
std::string tokenizer_line(Storage& storage, const Uri& folder) {
  std::string files;
  for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt",
                           "spiece.model", "sentencepiece.bpe.model", "spm.model"}) {
    if (storage.stat(folder / name)) files += cat(files.empty() ? "" : ", ", name);
  }
  return summary_line("tokenizer", files.empty() ? "no files" : files);
}

// "BF16 71, F32 2": how many tensors there are of each type.
std::string types_line(std::span<const NamedTensor> tensors) {
  std::map<std::string_view, size_t> counts;
  for (const NamedTensor& tensor : tensors) ++counts[name_of(tensor.dtype)];
  return summary_line("tensors", joined(counts, ", ", [](const auto& type) {
                        return cat(type.second, " of ", type.first);
                      }));
}

// a file of tensors, or a folder
Inspection inspect_tensors(Storage& storage, const Uri& uri) {
  const OpenedModel model = open(storage, uri);
  model.parameters.verify();
  const auto tensors = model.parameters.tensors->tensors();
  // A file may name millions of tensors. One JSON value of all would take a KiB for each.
  std::string lines, list;
  uint64_t elements = 0, bytes = 0;
  size_t widest = 0;
  for (const NamedTensor& tensor : tensors) widest = std::max(widest, shape_text(tensor).size());
  for (const NamedTensor& tensor : tensors) {
    elements += static_cast<uint64_t>(tensor.elements());
    bytes += tensor.data.size();
    list += list.empty() ? "" : ",";
    list += to_text(OrderedJson{{"name", tensor.name},
                                {"dtype", name_of(tensor.dtype)},
                                {"shape", tensor.shape},
                                {"crc32c", crc_text(crc32c(tensor.data))}});
    const std::string shape = shape_text(tensor);
    const std::string_view dtype = name_of(tensor.dtype);
    lines += cat("  ", dtype, std::string(6 - dtype.size(), ' '), shape,
                 std::string(widest - shape.size() + 2, ' '), tensor.name, "\n");
  }
  return {.text = cat(model.parameters.file, ": ", model.format, ", ", tensors.size(),
                      tensors.size() == 1 ? " tensor, " : " tensors, ", grouped(elements),
                      " parameters, ", human_bytes(bytes), "\n", model_lines(storage, model.folder),
                      tokenizer_line(storage, model.folder), types_line(tensors), "\n", lines),
          .json = cat("{\"format\":\"", model.format, "\",\"tensors\":[", list, "]}")};
}

}  // namespace

Inspection inspect(Storage& storage, const std::string& path, TextForm form) {
  const Uri uri = Uri::parse(path);
  const std::string name = uri.file_name();
  const bool is_file = storage.stat(uri).has_value();
  if ((!is_file || is_archive(name)) && holds_rows_alone(storage, uri)) {
    return inspect_files(storage, uri, form);
  }
  if (!is_file) return inspect_tensors(storage, uri);  // a folder, or the prefix of a checkpoint
  if (names_parameters(name) || names_checkpoint(storage, uri))
    return inspect_tensors(storage, uri);
  if (is_event_file(name)) return inspect_events(storage, uri);
  if (names_records(without_compression_suffix(name))) return inspect_records(storage, uri);
  if (names_token_shard(without_compression_suffix(name))) return inspect_shard(storage, uri);
  if (is_table(without_compression_suffix(name))) return inspect_table(storage, uri, form);
  throw Error(Code::kBadData, "berth cannot look into this kind of file", path,
              "it reads .safetensors, .bin, TensorFlow checkpoints, .pickle, .parquet, .arrow, "
              ".npz, .npy, .csv, .tsv, .jsonl, .tfrecord, .tokens and TensorBoard's event files");
}

}  // namespace berth
