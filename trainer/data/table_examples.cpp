#include <algorithm>
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
  TableExamples(std::unique_ptr<RowReader> rows, const FoundColumns& columns, Task task,
                const LabelForm& form, AnswerPlaces places)
      : rows_(std::move(rows)), columns_(columns), task_(task), form_(form), places_(places) {}

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
    if (form_.positions > 0 && labelled()) name_positions(labels);
    if (!has_label_columns()) return;
    std::vector<std::string> names;
    for (const size_t column : columns_.labels) names.push_back(name(column));
    labels.add_categories(names);
  }

  // Multi-hot lists have the known labels, or labels that are numbered from 0. All of them count,
  // also those that no row has.
  void name_positions(LabelDictionary& labels) {
    const std::vector<std::string>& known = labels.known();
    if (!known.empty() && known.size() != form_.positions) {
      throw Error(
          Code::kBadData,
          cat("column ", quoted(name(columns_.labels[0])), " has lists of ", form_.positions,
              " numbers 0 and 1, but there are ", counted(known.size(), "label")),
          "", "--label-lists names reads the members of a list as names of labels");
    }
    for (size_t i = 0; i < form_.positions; ++i) {
      positions_.push_back(labels.entry(known.empty() ? std::to_string(i) : known[i]));
    }
  }

  std::optional<double> number(size_t column, bool decimal_comma = false) const {
    try {
      return cell_number(cells_[column], decimal_comma);
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
        const std::optional<double> score = number(column, form_.decimal_comma);
        if (!score) missing_label(column);
        example.score = static_cast<float>(*score);
        return;
      }
      case LabelKind::kSet:
        if (form_.positions > 0) return read_marks(example);
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
        settle_answers(example, places_);
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
    auto labels = label_parts(whole, form_);
    if (!labels) refuse_list(column, whole);
    return std::move(*labels);
  }

  void read_marks(Example& example) const {
    const size_t column = columns_.labels[0];
    const std::optional<std::string> whole = plain_text(cells_[column]);
    if (!whole) missing_label(column);
    const auto marks = label_parts(*whole, form_);
    bool is_read = marks && marks->size() == form_.positions;
    for (size_t i = 0; is_read && i < marks->size(); ++i) {
      const std::optional<bool> mark = parse_mark((*marks)[i]);
      is_read = mark.has_value();
      if (mark.value_or(false)) example.labels.push_back(positions_[i]);
    }
    if (is_read) return;
    throw Error(Code::kBadData,
                cat("label ", quoted(*whole), " is not a list of ", form_.positions,
                    " numbers 0 and 1, as those before it are"),
                "", "--label-lists names reads the members of all lists as names of labels");
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
  const LabelForm form_;
  const AnswerPlaces places_;
  std::vector<int32_t> positions_{};  // the entries of the labels of multi-hot lists
  Row cells_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<ExampleReader> make_table_examples(std::unique_ptr<RowReader> rows,
                                                   const FoundColumns& columns, Task task,
                                                   const LabelForm& form, AnswerPlaces places) {
  return std::make_unique<TableExamples>(std::move(rows), columns, task, form, places);
}

uint32_t answer_start(uint64_t code_points, const std::string& where) {
  if (code_points <= UINT32_MAX) return static_cast<uint32_t>(code_points);
  throw Error(Code::kBadData, cat("an answer starts at ", code_points, ", outside its context"),
              where, "answer_start counts code points of the context, from 0");
}

void settle_answers(Example& example, AnswerPlaces places) {
  const std::string& context = example.texts.at(1);
  for (Answer& answer : example.answers) {
    const size_t byte = code_point_offset(context, answer.start);
    if (context.compare(byte, answer.text.size(), answer.text) == 0) continue;
    if (places == AnswerPlaces::kExact) {
      throw Error(
          Code::kBadData, cat("answer ", quoted(answer.text), " does not stand at ", answer.start),
          "",
          "answer_start counts code points of the context, from 0; --skip-bad-rows N leaves "
          "such rows out");
    }
    const size_t before = context.rfind(answer.text, byte), after = context.find(answer.text, byte);
    size_t nearest = std::min(after, before);
    if (after != std::string::npos && before != std::string::npos) {
      nearest = byte - before <= after - byte ? before : after;
    }
    const std::string_view left = std::string_view(context).substr(0, nearest);
    answer.start = static_cast<uint32_t>(code_point_count(left)) + (nearest == std::string::npos);
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
