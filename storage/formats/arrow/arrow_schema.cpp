#include "storage/formats/arrow/arrow_schema.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/arrow/arrow_types.h"
#include "storage/formats/columnar/class_names.h"
#include "storage/formats/damage.h"

namespace berth::arrow {
namespace {

using columnar::CellMaker;
using Names = std::vector<std::string>;

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

std::map<int64_t, const Field*> dictionary_fields(const Schema& schema) {
  std::map<int64_t, const Field*> found;
  add_dictionaries(schema.fields, found);
  return found;
}

}  // namespace berth::arrow
