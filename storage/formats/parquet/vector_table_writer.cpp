#include <array>
#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/formats/parquet/parquet_file.h"
#include "storage/formats/vector_writer.h"

namespace berth {
namespace {

using parquet::ColumnPages;
using parquet::Repetition;
using parquet::ThriftWriter;

constexpr int32_t kAnnotatedAsList = 3;

// Columns: the ids, and the embeddings as lists.
class VectorTableWriter final : public VectorWriter {
 public:
  VectorTableWriter(ByteSink& sink, const VectorTable& table)
      : file_(sink), table_(table), ids_(0), vectors_(table.width) {
    assert(table.numbers == VectorNumbers::kFloat32);
  }

  void add(const VectorRow& row) override {
    assert(row.vector.size() == table_.width);
    add_id(row);
    vectors_.add(std::as_bytes(row.vector));
    ++group_rows_;
    if (ids_.size() + vectors_.size() >= parquet::ParquetFile::kGroupBytes) end_group();
  }

  void finish() override {
    constexpr size_t kSchemaNodes = 5;
    end_group();
    file_.finish(kSchemaNodes, [this](ThriftWriter& out) { write_schema(out); });
  }

 private:
  void add_id(const VectorRow& row) {
    if (!table_.has_ids) {
      const auto number = static_cast<int64_t>(row.number);
      return ids_.add(std::as_bytes(std::span(&number, 1)));
    }
    const std::string id = row.id.empty() ? std::to_string(row.number) : std::string(row.id);
    ids_.add(as_bytes(parquet::text_value(id)));
  }

  void end_group() {
    if (group_rows_ == 0) return;
    const auto id_type = table_.has_ids ? parquet::kByteArrayType : parquet::kInt64Type;
    const std::array pages = {&ids_, &vectors_};
    file_.end_group({{.type = id_type, .path = {"id"}},
                     {.type = parquet::kFloatType, .path = {"embedding", "list", "element"}}},
                    pages, group_rows_);
    group_rows_ = 0;
  }

  // The nodes of the schema in the order of a walk that visits parents first.
  void write_schema(ThriftWriter& out) const {
    const auto node = [&](std::string_view name, Repetition repetition, const auto& before,
                          const auto& behind) {
      out.root([&] {
        before();
        out.integer(3, static_cast<int32_t>(repetition));
        out.text(4, name);
        behind();
      });
    };
    const auto nothing = [] {};
    const auto of_type = [&](parquet::PhysicalNumber type) {
      return [&out, type] { out.integer(1, static_cast<int32_t>(type)); };
    };
    out.root([&] {
      out.text(4, "schema");
      out.integer(5, int32_t{2});
    });
    if (table_.has_ids) {
      parquet::write_text_node(out, "id");
    } else {
      node("id", Repetition::kRequired, of_type(parquet::kInt64Type), nothing);
    }
    node("embedding", Repetition::kRequired, nothing, [&] {
      out.integer(5, int32_t{1});
      out.integer(6, kAnnotatedAsList);
      out.structure(10, [&] { out.structure(3, nothing); });
    });
    node("list", Repetition::kRepeated, nothing, [&] { out.integer(5, int32_t{1}); });
    node("element", Repetition::kRequired, of_type(parquet::kFloatType), nothing);
  }

  parquet::ParquetFile file_;
  const VectorTable table_;
  ColumnPages ids_, vectors_;
  int64_t group_rows_ = 0;
};

}  // namespace

std::unique_ptr<VectorWriter> make_vector_table_writer(ByteSink& sink, const VectorTable& table) {
  return std::make_unique<VectorTableWriter>(sink, table);
}

}  // namespace berth
