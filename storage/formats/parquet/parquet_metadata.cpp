#include "storage/formats/parquet/parquet_metadata.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/parquet/thrift_compact.h"

namespace berth::parquet {
namespace {

constexpr std::string_view kMagic = "PAR1", kEncryptedMagic = "PARE";
constexpr uint64_t kTailBytes = 8;  // u32 size of the metadata, magic
// A damaged or hostile file may not take more memory than the metadata of a real one.
constexpr size_t kMostSchemaElements = 100'000, kMostColumnChunks = 4'000'000;

[[noreturn]] void fail_encrypted() {
  throw Error(Code::kBadData, "is an encrypted Parquet file", "", "decrypt it first");
}

template <typename Enum>
Enum enum_value(ThriftReader& thrift, ThriftType type, int64_t last, const char* what) {
  const int64_t value = thrift.integer(type);
  if (value < 0 || value > last) thrift.fail(cat("unknown ", what, " ", value));
  return static_cast<Enum>(value);
}

Encoding encoding_value(ThriftReader& thrift, ThriftType type) {
  return enum_value<Encoding>(thrift, type, 9, "encoding");
}

uint32_t size_value(ThriftReader& thrift, ThriftType type) {
  const int32_t value = thrift.int32(type);
  if (value < 0) thrift.fail(cat("a size of ", value));
  return static_cast<uint32_t>(value);
}

void set_integer(SchemaElement& element, int32_t bit_width, bool is_signed) {
  element.meaning = Meaning::kInteger;
  element.bit_width = bit_width;
  element.is_signed = is_signed;
}

void set_time(SchemaElement& element, Meaning meaning, TimeUnit unit, bool is_utc) {
  element.meaning = meaning;
  element.unit = unit;
  element.is_utc = is_utc;
}

// The older way to say what a column means. Times should be in UTC, but not all writers followed
// this. pandas shows such a column without a time zone, and so does this reader.
void read_converted_type(int64_t type, SchemaElement& element) {
  constexpr Meaning kMeanings[] = {Meaning::kText, Meaning::kMap,     Meaning::kMap, Meaning::kList,
                                   Meaning::kText, Meaning::kDecimal, Meaning::kDate};
  if (type >= 0 && type <= 6) {
    element.meaning = kMeanings[type];
  } else if (type == 7 || type == 8) {
    set_time(element, Meaning::kTime, type == 7 ? TimeUnit::kMillis : TimeUnit::kMicros, false);
  } else if (type == 9 || type == 10) {
    set_time(element, Meaning::kTimestamp, type == 9 ? TimeUnit::kMillis : TimeUnit::kMicros,
             false);
  } else if (type >= 11 && type <= 18) {
    set_integer(element, 8 << ((type - 11) % 4), type >= 15);
  } else {
    element.meaning = type == 19 ? Meaning::kText : Meaning::kOther;
  }
}

TimeUnit read_time_unit(ThriftReader& thrift) {
  TimeUnit unit = TimeUnit::kMillis;
  thrift.read_struct([&](ThriftField field) {
    if (field.id == 2) unit = TimeUnit::kMicros;
    if (field.id == 3) unit = TimeUnit::kNanos;
    return false;
  });
  return unit;
}

void read_times(ThriftReader& thrift, Meaning meaning, SchemaElement& element) {
  bool is_utc = false;
  TimeUnit unit = TimeUnit::kMillis;
  thrift.read_struct([&](ThriftField field) {
    if (field.id == 1) is_utc = thrift.boolean(field);
    if (field.id == 2) {
      thrift.require_struct(field.type);
      unit = read_time_unit(thrift);
    }
    return field.id == 1 || field.id == 2;
  });
  set_time(element, meaning, unit, is_utc);
}

void read_logical_integer(ThriftReader& thrift, SchemaElement& element) {
  int32_t bit_width = 64;
  bool is_signed = true;
  thrift.read_struct([&](ThriftField field) {
    if (field.id == 1) bit_width = thrift.int32(field.type);
    if (field.id == 2) is_signed = thrift.boolean(field);
    return field.id == 1 || field.id == 2;
  });
  set_integer(element, bit_width, is_signed);
}

// A union: a struct of which one field is set, whose number is the type.
void read_logical_type(ThriftReader& thrift, SchemaElement& element) {
  constexpr Meaning kMeanings[] = {
      Meaning::kOther,     Meaning::kText,    Meaning::kMap,     Meaning::kList,
      Meaning::kText,      Meaning::kDecimal, Meaning::kDate,    Meaning::kTime,
      Meaning::kTimestamp, Meaning::kOther,   Meaning::kInteger, Meaning::kUnknown,
      Meaning::kText,      Meaning::kOther,   Meaning::kUuid,    Meaning::kFloat16};
  thrift.read_struct([&](ThriftField field) {
    const auto known = static_cast<size_t>(field.id) < std::size(kMeanings);
    element.meaning = known ? kMeanings[field.id] : Meaning::kOther;
    if (field.type != ThriftType::kStruct) return false;
    if (field.id == 7 || field.id == 8) return read_times(thrift, element.meaning, element), true;
    if (field.id == 10) return read_logical_integer(thrift, element), true;
    return false;  // the scale of a decimal stands in the schema element, too
  });
}

SchemaElement read_schema_element(ThriftReader& thrift) {
  SchemaElement element;
  bool has_logical_type = false;
  thrift.read_struct([&](ThriftField field) {
    switch (field.id) {
      case 1:
        element.type = enum_value<PhysicalType>(thrift, field.type, 7, "type");
        return true;
      case 2:
        element.type_length = static_cast<int32_t>(size_value(thrift, field.type));
        return true;
      case 3:
        element.repetition = enum_value<Repetition>(thrift, field.type, 2, "repetition");
        return true;
      case 4:
        element.name = thrift.text(field.type);
        return true;
      case 5:
        element.children = static_cast<int32_t>(size_value(thrift, field.type));
        return true;
      case 6: {
        const int64_t type = thrift.integer(field.type);
        if (!has_logical_type) read_converted_type(type, element);
        return true;
      }
      case 7:
        element.scale = thrift.int32(field.type);
        return true;
      case 10:
        thrift.require_struct(field.type);
        read_logical_type(thrift, element);
        has_logical_type = true;
        return true;
      default:
        return false;
    }
  });
  return element;
}

ColumnChunk read_column_metadata(ThriftReader& thrift) {
  ColumnChunk chunk;
  int64_t data = 0, dictionary = 0;
  thrift.read_struct([&](ThriftField field) {
    switch (field.id) {
      case 1:
        chunk.type = enum_value<PhysicalType>(thrift, field.type, 7, "type");
        return true;
      case 4:
        chunk.codec = enum_value<Codec>(thrift, field.type, 7, "compression");
        return true;
      case 5:
        chunk.values = thrift.integer(field.type);
        return true;
      case 7:
        chunk.size = thrift.integer(field.type);
        return true;
      case 9:
        data = thrift.integer(field.type);
        return true;
      case 11:
        dictionary = thrift.integer(field.type);
        return true;
      default:
        return false;
    }
  });
  chunk.begin = dictionary > 0 ? std::min(dictionary, data) : data;
  return chunk;
}

ColumnChunk read_column_chunk(ThriftReader& thrift) {
  ColumnChunk chunk;
  thrift.read_struct([&](ThriftField field) {
    if (field.id == 1 && !thrift.text(field.type).empty()) {
      throw Error(Code::kBadData, "keeps its columns in other files", "",
                  "write it again as one file");
    }
    if (field.id == 3) {
      thrift.require_struct(field.type);
      chunk = read_column_metadata(thrift);
    }
    if (field.id == 8 || field.id == 9) fail_encrypted();
    return field.id == 1 || field.id == 3;
  });
  return chunk;
}

RowGroup read_row_group(ThriftReader& thrift) {
  RowGroup group;
  thrift.read_struct([&](ThriftField field) {
    if (field.id == 1) {
      thrift.read_list(field.type, [&](ThriftType type) {
        thrift.require_struct(type);
        group.columns.push_back(read_column_chunk(thrift));
      });
    }
    if (field.id == 3) group.rows = thrift.integer(field.type);
    return field.id == 1 || field.id == 3;
  });
  return group;
}

void read_key_value(ThriftReader& thrift, FileMetadata& metadata) {
  std::string_view key, value;
  thrift.read_struct([&](ThriftField field) {
    if (field.id == 1) key = thrift.text(field.type);
    if (field.id == 2) value = thrift.text(field.type);
    return field.id == 1 || field.id == 2;
  });
  if (key == "pandas") metadata.pandas = value;
  if (key == "huggingface") metadata.hugging_face = value;
  if (key == "ARROW:schema") metadata.arrow_schema = value;
  if (key == "org.apache.spark.sql.parquet.row.metadata") metadata.spark = value;
}

FileMetadata parse_metadata(Bytes bytes) {
  ThriftReader thrift(bytes);
  FileMetadata metadata;
  size_t chunks = 0;
  const auto read_element = [&] {
    metadata.schema.push_back(read_schema_element(thrift));
    if (metadata.schema.size() > kMostSchemaElements) thrift.fail("too many columns");
  };
  const auto read_group = [&] {
    metadata.row_groups.push_back(read_row_group(thrift));
    chunks += 1 + metadata.row_groups.back().columns.size();
    if (chunks > kMostColumnChunks) thrift.fail("too many row groups");
  };
  thrift.read_struct([&](ThriftField field) {
    const auto read_structs = [&](const auto& read) {
      thrift.read_list(field.type, [&](ThriftType type) {
        thrift.require_struct(type);
        read();
      });
      return true;
    };
    switch (field.id) {
      case 2:
        return read_structs(read_element);
      case 3:
        metadata.rows = thrift.integer(field.type);
        return true;
      case 4:
        return read_structs(read_group);
      case 5:
        return read_structs([&] { read_key_value(thrift, metadata); });
      case 8:
        fail_encrypted();
      default:
        return false;
    }
  });
  return metadata;
}

void check(const FileMetadata& metadata, uint64_t file_size) {
  const auto is_leaf = [](const SchemaElement& element) { return element.type.has_value(); };
  const auto leaves = std::ranges::count_if(metadata.schema, is_leaf);
  int64_t rows = 0;
  for (const RowGroup& group : metadata.row_groups) {
    if (std::ssize(group.columns) != leaves) {
      throw Error(Code::kCorrupt,
                  cat("a row group has ", group.columns.size(), " columns, the schema ", leaves),
                  "", kFetchAgain);
    }
    if (group.rows < 0 || group.rows > std::numeric_limits<int64_t>::max() - rows) {
      throw Error(Code::kCorrupt, cat("a row group of ", group.rows, " rows"), "", kFetchAgain);
    }
    rows += group.rows;
    for (const ColumnChunk& chunk : group.columns) {
      if (chunk.values == 0) continue;  // its place may be anything
      const bool is_inside =
          chunk.begin >= static_cast<int64_t>(kMagic.size()) && chunk.size >= 0 &&
          static_cast<uint64_t>(chunk.begin) <= file_size &&
          static_cast<uint64_t>(chunk.size) <= file_size - static_cast<uint64_t>(chunk.begin);
      if (!is_inside || chunk.values < 0) {
        throw Error(Code::kCorrupt, "a column lies outside the file", cat("byte ", chunk.begin),
                    kFetchAgain);
      }
    }
  }
  if (rows != metadata.rows) {
    throw Error(Code::kCorrupt,
                cat("claims ", metadata.rows, " rows, but its row groups have ", rows), "",
                kFetchAgain);
  }
}

}  // namespace

FileMetadata read_metadata(Bytes file) {
  const auto text_at = [&](size_t offset) { return as_text(file.subspan(offset, kMagic.size())); };
  if (file.size() < kMagic.size() + kTailBytes || text_at(0) != kMagic) {
    if (file.size() >= kMagic.size() && text_at(0) == kEncryptedMagic) fail_encrypted();
    throw Error(Code::kCorrupt, "does not begin as a Parquet file does", "byte 0", kFetchAgain);
  }
  if (text_at(file.size() - kMagic.size()) != kMagic) {
    throw Error(Code::kCorrupt, "does not end as a Parquet file does; it may be cut short",
                cat("byte ", file.size() - kMagic.size()), kFetchAgain);
  }
  const uint64_t size = Cursor(file.last(kTailBytes)).u32();
  if (size > file.size() - kMagic.size() - kTailBytes) {
    fail_at_byte(file.size() - kTailBytes, cat("metadata of ", size, " bytes"));
  }
  const size_t begin = file.size() - kTailBytes - size;
  try {
    FileMetadata metadata = parse_metadata(file.subspan(begin, size));
    check(metadata, begin);
    return metadata;
  } catch (const Error& error) {
    throw error.at(cat("metadata at byte ", begin));
  }
}

PageHeader read_page_header(Bytes bytes, size_t& size) {
  ThriftReader thrift(bytes);
  PageHeader header;
  const auto read_data_page = [&](ThriftField field) {
    if (field.id == 1) header.values = size_value(thrift, field.type);
    if (field.id == 2) header.encoding = encoding_value(thrift, field.type);
    if (field.id == 3) header.definition_encoding = encoding_value(thrift, field.type);
    if (field.id == 4) header.repetition_encoding = encoding_value(thrift, field.type);
    return field.id >= 1 && field.id <= 4;
  };
  const auto read_dictionary_page = [&](ThriftField field) {
    if (field.id == 1) header.values = size_value(thrift, field.type);
    if (field.id == 2) header.encoding = encoding_value(thrift, field.type);
    return field.id == 1 || field.id == 2;
  };
  const auto read_data_page_v2 = [&](ThriftField field) {
    if (field.id == 1) header.values = size_value(thrift, field.type);
    if (field.id == 4) header.encoding = encoding_value(thrift, field.type);
    if (field.id == 5) header.definition_size = size_value(thrift, field.type);
    if (field.id == 6) header.repetition_size = size_value(thrift, field.type);
    if (field.id == 7) header.is_compressed = thrift.boolean(field);
    return field.id == 1 || (field.id >= 4 && field.id <= 7);
  };
  thrift.read_struct([&](ThriftField field) {
    const auto read = [&](const auto& visit) {
      thrift.require_struct(field.type);
      thrift.read_struct(visit);
      return true;
    };
    switch (field.id) {
      case 1:
        header.type = enum_value<PageType>(thrift, field.type, 3, "kind of page");
        return true;
      case 2:
        header.uncompressed_size = size_value(thrift, field.type);
        return true;
      case 3:
        header.compressed_size = size_value(thrift, field.type);
        return true;
      case 4:
        header.crc32 = static_cast<uint32_t>(thrift.int32(field.type));
        return true;
      case 5:
        return read(read_data_page);
      case 7:
        return read(read_dictionary_page);
      case 8:
        return read(read_data_page_v2);
      default:
        return false;
    }
  });
  size = thrift.offset();
  return header;
}

namespace {

constexpr int kDeepestColumn = 64;

class Builder {
 public:
  explicit Builder(std::span<const SchemaElement> schema) : schema_(schema) {}

  std::vector<SchemaNode> columns() {
    const SchemaElement& root = take();
    std::vector<SchemaNode> columns = children(root.children, /*definition=*/0, /*repetition=*/0);
    if (next_ != schema_.size()) fail();
    return columns;
  }

 private:
  [[noreturn]] static void fail() {
    throw Error(Code::kCorrupt, "the schema is not a tree of columns", "", kFetchAgain);
  }

  const SchemaElement& take() {
    if (next_ == schema_.size()) fail();
    return schema_[next_++];
  }

  std::vector<SchemaNode> children(int32_t count, int32_t definition, int32_t repetition) {
    if (++depth_ > kDeepestColumn) {
      throw Error(Code::kBadData, cat("a column nests deeper than ", kDeepestColumn, " levels"));
    }
    std::vector<SchemaNode> nodes;
    for (int32_t i = 0; i < count; ++i) nodes.push_back(node(definition, repetition));
    --depth_;
    return nodes;
  }

  SchemaNode node(int32_t definition, int32_t repetition) {
    SchemaNode node;
    node.element = take();
    if (node.is_leaf() && node.element.children > 0) fail();
    node.definition = definition + (node.element.repetition != Repetition::kRequired);
    node.repetition = repetition + (node.element.repetition == Repetition::kRepeated);
    node.first_leaf = leaves_;
    if (node.is_leaf()) {
      ++leaves_;
    } else {
      node.children = children(node.element.children, node.definition, node.repetition);
    }
    node.leaves = leaves_ - node.first_leaf;
    return node;
  }

  const std::span<const SchemaElement> schema_;
  size_t next_ = 0, leaves_ = 0;
  int depth_ = 0;
};

void append_leaves(std::span<const SchemaNode> nodes, std::vector<const SchemaNode*>& leaves) {
  for (const SchemaNode& node : nodes) {
    if (node.is_leaf()) {
      leaves.push_back(&node);
    } else {
      append_leaves(node.children, leaves);
    }
  }
}

}  // namespace

std::vector<SchemaNode> make_columns(std::span<const SchemaElement> schema) {
  return Builder(schema).columns();
}

std::vector<const SchemaNode*> leaves_of(std::span<const SchemaNode> columns) {
  std::vector<const SchemaNode*> leaves;
  append_leaves(columns, leaves);
  return leaves;
}

}  // namespace berth::parquet
