#include "storage/formats/arrow/arrow_schema.h"

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/columnar/schema_metadata.h"
#include "storage/formats/damage.h"

namespace berth::arrow {
namespace {

using columnar::CellMaker;
using Names = std::vector<std::string>;

constexpr std::string_view kDurations = "durations";
constexpr int kDeepestField = 64;
constexpr size_t kMostNameBytes = size_t{64} << 20;

std::string metadata_of(const FlatTable& table, int field, std::string_view key) {
  const FlatVector pairs = table.vector(field, 4);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const FlatTable pair = pairs.table(i);
    if (pair.text(0) == key) return std::string(pair.text(1));
  }
  return "";
}

DictionaryKey read_key(const FlatTable& encoding) {
  DictionaryKey key{.id = encoding.number<int64_t>(0, 0)};
  if (const auto index = encoding.table(1)) {
    const auto bits = index->number<int32_t>(0, 0);
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) fail_damaged("an index of no width");
    key.width = static_cast<size_t>(bits) / 8;
    key.is_signed = index->boolean(1);
  }
  return key;
}

// Reads fields. Offsets may lead to one table many times. So the number of fields and the size of
// their names are limited to what an honest writer needs.
class FieldReader {
 public:
  explicit FieldReader(size_t metadata_size) : most_fields_(metadata_size / 8) {}

  Field read(const FlatTable& table, const std::map<std::string, Names>* names, int depth) {
    if (depth > kDeepestField) {
      throw Error(Code::kBadData, cat("a column nests deeper than ", kDeepestField, " levels"));
    }
    Field field{.name = std::string(table.text(0))};
    name_bytes_ += field.name.size();
    if (++fields_ > most_fields_ || name_bytes_ > kMostNameBytes) {
      fail_damaged("the schema has more fields than fit into it");
    }
    if (names != nullptr) {  // a column, whose names hold for all below it
      const auto found = names->find(field.name);
      names_ = found == names->end() ? Names() : found->second;
    }
    set_type(static_cast<TypeId>(table.number<uint8_t>(2, 0)), table.table(3), field);
    if (metadata_of(table, 6, "ARROW:extension:name") == "arrow.uuid" && field.width == 16) {
      field.leaf.meaning = columnar::Meaning::kUuid;
    }
    if (const auto encoding = table.table(4)) field.dictionary = read_key(*encoding);
    if (field.leaf.type) field.maker.emplace(field.leaf, names_);
    const FlatVector children = table.vector(5, 4);
    for (size_t i = 0; i < children.size(); ++i) {
      field.children.push_back(read(children.table(i), nullptr, depth + 1));
    }
    check_children(field);
    return field;
  }

 private:
  static void check_children(const Field& field) {
    const bool is_list = field.layout == Layout::kList32 || field.layout == Layout::kList64 ||
                         field.layout == Layout::kListView32 ||
                         field.layout == Layout::kListView64 || field.layout == Layout::kFixedList;
    const size_t wanted = is_list ? 1 : field.layout == Layout::kRuns ? 2 : field.children.size();
    if (field.children.size() != wanted || (field.leaf.type && !field.children.empty())) {
      fail_damaged(cat("a field ", quoted(field.name), " of ", field.children.size(), " children"));
    }
  }

  const size_t most_fields_;
  size_t fields_ = 0, name_bytes_ = 0;
  Names names_;
};

void add_dictionaries(const std::vector<Field>& fields, std::map<int64_t, const Field*>& found) {
  for (const Field& field : fields) {
    if (field.dictionary) found.emplace(field.dictionary->id, &field);
    add_dictionaries(field.children, found);
  }
}

}  // namespace

Schema read_schema(const FlatTable& table, size_t metadata_size) {
  if (table.number<int16_t>(0, 0) != 0) {
    throw Error(Code::kBadData, "has numbers in big-endian byte order, which berth does not read");
  }
  Schema schema;
  schema.pandas = metadata_of(table, 2, "pandas");
  schema.hugging_face = metadata_of(table, 2, "huggingface");
  const auto names = columnar::class_names(schema.hugging_face);
  FieldReader reader(metadata_size);
  const FlatVector fields = table.vector(1, 4);
  for (size_t i = 0; i < fields.size(); ++i) {
    schema.fields.push_back(reader.read(fields.table(i), &names, 1));
  }
  return schema;
}

std::string_view unreadable_part(const Field& field) {
  std::string_view part = field.unreadable;
  for (const Field& child : field.children) {
    if (part.empty()) part = unreadable_part(child);
  }
  return part;
}

std::vector<std::string> duration_columns(const std::string& message) {
  std::vector<std::string> names;
  const auto bytes = decode_base64(message);
  if (!bytes || bytes->empty()) return names;
  try {
    const Messages messages(as_bytes(*bytes));
    for (const Field& field : read_schema(messages.schema(), messages.schema_size()).fields) {
      if (unreadable_part(field) == kDurations) names.push_back(field.name);
    }
  } catch (const Error&) {  // Parquet's own schema says how to read the values
    names.clear();
  }
  return names;
}

std::map<int64_t, const Field*> dictionary_fields(const Schema& schema) {
  std::map<int64_t, const Field*> found;
  add_dictionaries(schema.fields, found);
  return found;
}

namespace {

using columnar::Meaning;
using columnar::PhysicalType;
using columnar::TimeUnit;

[[noreturn]] void fail_type(const Field& field, const char* what, int64_t value) {
  fail_damaged(cat("a field ", quoted(field.name), " of ", what, " ", value));
}

TimeUnit unit_of(int16_t unit, const Field& field) {
  constexpr TimeUnit kUnits[] = {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros,
                                 TimeUnit::kNanos};
  if (unit < 0 || unit > 3) fail_type(field, "time unit", unit);
  return kUnits[unit];
}

void set_integer(size_t width, bool is_signed, Meaning meaning, Field& field) {
  field.layout = Layout::kFixed;
  field.width = width;
  field.leaf.type = width == 8 ? PhysicalType::kInt64 : PhysicalType::kInt32;
  field.leaf.meaning = meaning;
  field.leaf.bit_width = static_cast<int32_t>(8 * width);
  field.leaf.is_signed = is_signed;
}

void set_int(const FlatTable& type, Field& field) {
  const auto bits = type.number<int32_t>(0, 0);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    fail_type(field, "integers of bits", bits);
  set_integer(static_cast<size_t>(bits) / 8, type.boolean(1), Meaning::kInteger, field);
}

void set_float(const FlatTable& type, Field& field) {
  const auto precision = type.number<int16_t>(0, 0);
  if (precision < 0 || precision > 2)
    fail_type(field, "floating point numbers of precision", precision);
  field.layout = Layout::kFixed;
  field.width = size_t{2} << precision;
  if (precision > 0) {
    field.leaf.type = precision == 1 ? PhysicalType::kFloat : PhysicalType::kDouble;
  } else {
    field.leaf.type = PhysicalType::kFixedByteArray;
    field.leaf.meaning = Meaning::kFloat16;
  }
}

void set_bytes(Layout layout, bool is_text, Field& field) {
  field.layout = layout;
  field.leaf.type = PhysicalType::kByteArray;
  field.leaf.meaning = is_text ? Meaning::kText : Meaning::kNone;
}

void set_decimal(const FlatTable& type, Field& field) {
  const auto bits = type.number<int32_t>(2, 128);
  field.leaf.scale = type.number<int32_t>(1, 0);
  if (bits == 32 || bits == 64) {
    return set_integer(static_cast<size_t>(bits) / 8, true, Meaning::kDecimal, field);
  }
  if (bits != 128 && bits != 256) fail_type(field, "decimals of bits", bits);
  field.layout = Layout::kFixed;
  field.width = static_cast<size_t>(bits) / 8;
  field.leaf.type = PhysicalType::kFixedByteArray;
  field.leaf.meaning = Meaning::kDecimal;
}

void set_date(const FlatTable& type, Field& field) {
  const auto unit = type.number<int16_t>(0, 1);
  if (unit != 0 && unit != 1) fail_type(field, "date unit", unit);
  set_integer(unit == 0 ? 4 : 8, true, Meaning::kDate, field);
  if (unit == 1) field.ticks_of_day = 86'400'000;
}

void set_time(const FlatTable& type, Field& field) {
  const auto bits = type.number<int32_t>(1, 32);
  if (bits != 32 && bits != 64) fail_type(field, "times of bits", bits);
  set_integer(static_cast<size_t>(bits) / 8, true, Meaning::kTime, field);
  field.leaf.unit = unit_of(type.number<int16_t>(0, 1), field);
}

void set_timestamp(const FlatTable& type, Field& field) {
  set_integer(8, true, Meaning::kTimestamp, field);
  field.leaf.unit = unit_of(type.number<int16_t>(0, 0), field);
  field.leaf.is_utc = !type.text(1).empty();
}

// Values that have no form as text.
void set_missing(Layout layout, size_t width, Field& field) {
  field.layout = layout;
  field.width = width;
  field.leaf.type = PhysicalType::kInt32;
  field.leaf.meaning = Meaning::kUnknown;
}

void set_interval(const FlatTable& type, Field& field) {
  const auto unit = type.number<int16_t>(0, 0);
  if (unit < 0 || unit > 2) fail_type(field, "interval unit", unit);
  set_missing(Layout::kFixed, unit == 0 ? 4 : unit == 1 ? 8 : 16, field);
  field.unreadable = "intervals";
}

void set_fixed_bytes(const FlatTable& type, Field& field) {
  const auto width = type.number<int32_t>(0, 0);
  if (width < 0) fail_type(field, "bytes of width", width);
  field.layout = Layout::kFixed;
  field.width = static_cast<size_t>(width);
  field.leaf.type = PhysicalType::kFixedByteArray;
  field.leaf.type_length = width;
}

void set_fixed_list(const FlatTable& type, Field& field) {
  field.layout = Layout::kFixedList;
  field.list_size = type.number<int32_t>(0, 0);
  if (field.list_size < 0) fail_type(field, "lists of size", field.list_size);
}

// Types of values that hold other values. Returns false for any other type.
bool set_nested(TypeId id, const FlatTable& type, Field& field) {
  switch (id) {
    case TypeId::kList:
    case TypeId::kMap:
      field.layout = Layout::kList32;
      return true;
    case TypeId::kLargeList:
      field.layout = Layout::kList64;
      return true;
    case TypeId::kListView:
      field.layout = Layout::kListView32;
      return true;
    case TypeId::kLargeListView:
      field.layout = Layout::kListView64;
      return true;
    case TypeId::kFixedSizeList:
      set_fixed_list(type, field);
      return true;
    case TypeId::kStruct:
      field.layout = Layout::kStruct;
      return true;
    case TypeId::kUnion:
      field.layout = type.number<int16_t>(0, 0) == 0 ? Layout::kUnion : Layout::kDenseUnion;
      field.unreadable = "unions";
      return true;
    case TypeId::kRunEndEncoded:
      field.layout = Layout::kRuns;
      field.unreadable = "run-end encoded values";
      return true;
    default:
      return false;
  }
}

}  // namespace

void set_type(TypeId id, const std::optional<FlatTable>& type, Field& field) {
  if (!type) fail_damaged(cat("a field ", quoted(field.name), " without a type"));
  switch (id) {
    case TypeId::kNull:
      return set_missing(Layout::kNothing, 0, field);
    case TypeId::kInt:
      return set_int(*type, field);
    case TypeId::kFloatingPoint:
      return set_float(*type, field);
    case TypeId::kBinary:
    case TypeId::kUtf8:
      return set_bytes(Layout::kTexts32, id == TypeId::kUtf8, field);
    case TypeId::kLargeBinary:
    case TypeId::kLargeUtf8:
      return set_bytes(Layout::kTexts64, id == TypeId::kLargeUtf8, field);
    case TypeId::kBinaryView:
    case TypeId::kUtf8View:
      return set_bytes(Layout::kViews, id == TypeId::kUtf8View, field);
    case TypeId::kBool:
      field.layout = Layout::kBits;
      field.leaf.type = PhysicalType::kBoolean;
      return;
    case TypeId::kDecimal:
      return set_decimal(*type, field);
    case TypeId::kDate:
      return set_date(*type, field);
    case TypeId::kTime:
      return set_time(*type, field);
    case TypeId::kTimestamp:
      return set_timestamp(*type, field);
    case TypeId::kInterval:
      return set_interval(*type, field);
    case TypeId::kDuration:
      field.unreadable = kDurations;
      return set_integer(8, true, Meaning::kInteger, field);
    case TypeId::kFixedSizeBinary:
      return set_fixed_bytes(*type, field);
    default:
      if (set_nested(id, *type, field)) return;
      break;
  }
  throw Error(Code::kBadData,
              cat("the column ", quoted(field.name), " has type ", static_cast<int>(id),
                  ", which berth does not know"),
              "", "leave the column out, or write the table as Parquet");
}

}  // namespace berth::arrow
