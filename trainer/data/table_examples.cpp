#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/base/code_points.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/example_reader.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

constexpr const char* kFillIn = "fill it in, or leave such rows out with --skip-bad-rows N";

class TableExamples final : public ExampleReader {
 public:
  TableExamples(std::unique_ptr<RowReader> rows, const FoundColumns& columns, Task task)
      : rows_(std::move(rows)), columns_(columns), task_(task) {}

  bool next(Example& example, LabelDictionary& labels) override {
    if (!has_begun_) begin(labels);
    if (!rows_->next(cells_)) return false;
    example = {};
    try {
      read_texts(example);
      if (columns_.weight) read_weight(example);
      if (labelled()) read_label(example, labels);
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

  std::string position() const override { return rows_->position(); }
  bool labelled() const override { return !columns_.labels.empty(); }

 private:
  const std::string& name(size_t column) const { return rows_->columns()[column].name; }
  bool has_label_columns() const { return columns_.labels.size() > 1; }

  void begin(LabelDictionary& labels) {
    has_begun_ = true;
    for (const size_t column : columns_.labels) {
      labels.add_categories(rows_->columns()[column].categories);
    }
    if (!has_label_columns()) return;
    std::vector<std::string> names;
    for (const size_t column : columns_.labels) names.push_back(name(column));
    labels.add_categories(names);
  }

  std::optional<double> number(size_t column) const {
    try {
      return cell_number(cells_[column]);
    } catch (const Error& error) {
      throw error.at("column " + quoted(name(column)));
    }
  }

  std::string text(size_t column) const {
    if (auto text = plain_text(cells_[column])) return std::move(*text);
    throw Error(Code::kBadData, "the cell of column " + quoted(name(column)) + " is empty", "",
                kFillIn);
  }

  // The members of a list, or the parts of the text between `separators`.
  std::vector<std::string> text_list(size_t column, std::string_view separators) const {
    const std::string whole = text(column);
    if (auto list = parse_text_list(whole)) return std::move(*list);
    if (is_bracketed(whole)) refuse_list(column, whole);
    return parted(whole, separators);
  }

  // The same for labels. A text that begins with a bracket must be a list here, because a label
  // does not begin with a bracket as a word may.
  std::vector<std::string> label_list(size_t column, std::string_view separators) const {
    const std::string whole = plain_text(cells_[column]).value_or("");
    if (begins_list(whole) && !parse_text_list(whole)) refuse_list(column, whole);
    return text_list(column, separators);
  }

  [[noreturn]] void refuse_list(size_t column, const std::string& cell) const {
    throw Error(Code::kBadData,
                cat("column ", quoted(name(column)), ": ", quoted(cell), " is not a list"), "",
                "write a list of texts or numbers as JSON or Python does");
  }

  void read_texts(Example& example) const {
    if (columns_.id) example.id = plain_text(cells_[*columns_.id]).value_or("");
    const auto text_of = [this](size_t column) {
      if (columns_.keeps_missing_texts && !plain_text(cells_[column])) return std::string();
      return text(column);
    };
    if (traits(task_).inputs == InputKind::kWords) {
      if (columns_.keeps_missing_texts && trimmed(text_of(columns_.text)).empty()) return;
      example.texts = text_list(columns_.text, " \t");
      if (example.texts.empty()) throw Error(Code::kBadData, "the sentence has no words");
      return;
    }
    example.texts.push_back(text_of(columns_.text));
    for (const auto& column : {columns_.text_pair, columns_.negative}) {
      if (column) example.texts.push_back(text_of(*column));
    }
  }

  void read_label(Example& example, LabelDictionary& labels) const {
    const size_t column = columns_.labels[0];
    const auto enter = [&](const std::string& label) {
      example.labels.push_back(labels.entry(label));
    };
    switch (traits(task_).labels) {
      case LabelKind::kNumber: {
        const std::optional<double> score = number(column);
        if (!score) missing_label(column);
        example.score = static_cast<float>(*score);
        return;
      }
      case LabelKind::kSet:
        for (const std::string& label : label_set()) enter(label);
        return;
      case LabelKind::kTagPerWord: {
        const std::vector<std::string> tags = label_list(column, " \t");
        if (tags.size() != example.texts.size()) {
          throw Error(Code::kBadData, counted(example.texts.size(), "word") + ", but " +
                                          counted(tags.size(), "tag"));
        }
        for (const std::string& tag : tags) enter(tag);
        return;
      }
      case LabelKind::kSpan:
        example.answers = answers(text(column));
        require_answers(example);
        return;
      default: {
        const std::optional<std::string> label = label_text(cells_[column]);
        if (!label) missing_label(column);
        enter(*label);
      }
    }
  }

  [[noreturn]] void missing_label(size_t column) const {
    throw Error(Code::kBadData, "label " + quoted(name(column)) + " is missing", "", kFillIn);
  }

  std::vector<std::string> label_set() const {
    if (has_label_columns()) return marked_columns();
    const size_t column = columns_.labels[0];
    const std::string whole = plain_text(cells_[column]).value_or("");
    if (whole.empty()) return {};
    return label_list(column, whole.find('|') != std::string::npos ? "|" : ",");
  }

  // The names of the columns whose cells are 1.
  std::vector<std::string> marked_columns() const {
    std::vector<std::string> marked;
    for (const size_t column : columns_.labels) {
      const std::optional<double> mark = number(column);
      if (!mark || (*mark != 0 && *mark != 1)) {
        throw Error(Code::kBadData, "column " + quoted(name(column)) + " holds neither 0 nor 1");
      }
      if (*mark == 1) marked.push_back(name(column));
    }
    return marked;
  }

  static std::vector<Answer> answers(const std::string& text) {
    const Json object = parse_json(text);
    std::vector<Answer> answers;
    const bool has_both = object.is_object() && object.contains("text") &&
                          object["text"].is_array() && object.contains("answer_start") &&
                          object["answer_start"].is_array() &&
                          object["text"].size() == object["answer_start"].size();
    if (!has_both) {
      throw Error(Code::kBadData, cat(quoted(text), " is not a list of answers"), "",
                  R"(write {"text": [...], "answer_start": [...]})");
    }
    for (size_t i = 0; i < object["text"].size(); ++i) {
      const Json &words = object["text"][i], &start = object["answer_start"][i];
      if (!words.is_string() || !start.is_number_unsigned()) {
        throw Error(Code::kBadData, cat("answer ", i, " lacks its text or its start"));
      }
      answers.push_back({words.get<std::string>(), answer_start(start.get<uint64_t>())});
    }
    return answers;
  }

  void read_weight(Example& example) const {
    const std::optional<double> weight = number(*columns_.weight);
    if (!weight || *weight < 0) {
      throw Error(Code::kBadData,
                  "weight " + quoted(name(*columns_.weight)) + " is missing or below 0");
    }
    example.weight = static_cast<float>(*weight);
  }

  const std::unique_ptr<RowReader> rows_;
  const FoundColumns columns_;
  const Task task_;
  Row cells_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<ExampleReader> make_table_examples(std::unique_ptr<RowReader> rows,
                                                   const FoundColumns& columns, Task task) {
  return std::make_unique<TableExamples>(std::move(rows), columns, task);
}

uint32_t answer_start(uint64_t code_points, const std::string& where) {
  if (code_points <= UINT32_MAX) return static_cast<uint32_t>(code_points);
  throw Error(Code::kBadData, cat("an answer starts at ", code_points, ", outside its context"),
              where, "answer_start counts code points of the context, from 0");
}

void require_answers(const Example& example) {
  const std::string& context = example.texts.at(1);
  for (const Answer& answer : example.answers) {
    const size_t byte = code_point_offset(context, answer.start);
    if (context.compare(byte, answer.text.size(), answer.text) == 0) continue;
    throw Error(Code::kBadData,
                cat("answer ", quoted(answer.text), " does not stand at ", answer.start), "",
                "answer_start counts code points of the context, from 0");
  }
}

std::string split_key(const Example& example, Task task) {
  if (!example.token_ids.empty()) {
    std::string key;
    for (const int32_t id : example.token_ids) key += std::to_string(id) + " ";
    return key;
  }
  const InputKind inputs = traits(task).inputs;
  if (inputs == InputKind::kQuestion) return example.texts.at(1);
  if (inputs != InputKind::kWords) return example.texts.at(0);
  std::string sentence;
  for (const std::string& word : example.texts) sentence.append(word).append(" ");
  return sentence;
}

}  // namespace berth
