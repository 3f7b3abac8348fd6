#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/example_reader.h"
#include "trainer/data/example_table.h"

namespace berth {
namespace {

constexpr uint64_t kLimitBytes = uint64_t{4} << 30;
// A table keeps a context once for kRowsOfBlock questions. All texts together may have this many
// times the bytes of the file, so that a small file does not fill the disk. The rows of other
// tables have the same limit.
constexpr uint64_t kTextFactor = 128, kTextOfRow = 1024;

// `Value` is Json or const Json.
template <typename Value>
Value& member(Value& object, const char* name, const std::string& where) {
  if (object.is_object() && object.contains(name)) return object[name];
  throw Error(Code::kBadData, cat("there is no ", quoted(name)), where,
              "SQuAD's files are {\"data\": [{\"paragraphs\": [{\"context\", \"qas\"}]}]}");
}

template <typename Value>
Value& list(Value& object, const char* name, const std::string& where) {
  Value& found = member(object, name, where);
  if (!found.is_array()) throw Error(Code::kBadData, cat(quoted(name), " is not a list"), where);
  return found;
}

template <typename Value>
auto& text(Value& object, const char* name, const std::string& where) {
  Value& found = member(object, name, where);
  if (!found.is_string()) throw Error(Code::kBadData, cat(quoted(name), " is not a text"), where);
  return found.template get_ref<
      std::conditional_t<std::is_const_v<Value>, const std::string&, std::string&>>();
}

// An object that is one article, or one paragraph, as an article. Other values stay as they are.
Json as_article(Json value) {
  if (!value.is_object() || !value.contains("qas")) return value;
  Json article = Json::object();
  article["paragraphs"] = Json::array();
  article["paragraphs"].push_back(std::move(value));
  return article;
}

// SQuAD's file of what may be a list of articles or of paragraphs, or one of them, alone.
Json with_articles(Json file) {
  Json whole = Json::object();
  if (file.is_object() && (file.contains("paragraphs") || file.contains("qas"))) {
    whole["data"] = Json::array();
    whole["data"].push_back(as_article(std::move(file)));
    return whole;
  }
  if (!file.is_array() || file.empty() || !file[0].is_object()) return file;
  if (file[0].contains("paragraphs")) return {{"data", std::move(file)}};
  if (!file[0].contains("qas")) return file;
  Json article = Json::object();
  article["paragraphs"] = std::move(file);
  whole["data"] = Json::array();
  whole["data"].push_back(std::move(article));
  return whole;
}

// The articles of a file, one after the other: the articles of its list "data", or of its lines.
class Articles {
 public:
  explicit Articles(std::vector<std::byte> bytes) {
    Json file = parse_json(as_text(bytes));
    if (file.is_discarded()) {
      bytes_ = std::move(bytes);
      left_ = as_text(bytes_);
      // What is neither a value nor an object in its first line is no JSON at all.
      if (!parse_json(take_line()).is_object()) throw Error(Code::kBadData, "is not JSON");
      left_ = as_text(bytes_);
      line_ = 0;
      return;
    }
    file_ = with_articles(std::move(file));
    data_ = &list(file_, "data", "");
  }

  // Goes to the next article; false at the end. Throws kBadData on a line that is not an article.
  // The next call passes over it.
  bool next() {
    if (data_ != nullptr) {
      if (next_ == data_->size()) return false;
      where_ = cat("data[", next_, "]");
      article_ = &(*data_)[next_++];
      return true;
    }
    const std::string_view line = take_line();
    if (line.empty()) return false;
    where_ = cat("line ", line_);
    Json value = parse_json(line);
    if (value.is_discarded()) throw Error(Code::kBadData, "is not JSON", where_);
    value = as_article(std::move(value));
    list(value, "paragraphs", where_);
    line_article_ = std::move(value);
    article_ = &line_article_;
    return true;
  }

  Json& article() { return *article_; }
  const std::string& where() const { return where_; }

 private:
  // The next line that is not blank; empty at the end.
  std::string_view take_line() {
    while (!left_.empty()) {
      const size_t end = std::min(left_.find('\n'), left_.size());
      const std::string_view line = left_.substr(0, end);
      left_.remove_prefix(std::min(end + 1, left_.size()));
      ++line_;
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) return line;
    }
    return {};
  }

  Json file_;
  Json* data_ = nullptr;  // null: the articles are lines
  size_t next_ = 0;
  std::vector<std::byte> bytes_;
  std::string_view left_;  // of the lines
  uint64_t line_ = 0;
  Json line_article_;
  Json* article_ = nullptr;
  std::string where_ = "data[0]";
};

class SquadReader final : public ExampleReader {
 public:
  SquadReader(std::unique_ptr<ByteSource> source, LabelNeed need, AnswerPlaces places)
      : places_(places), articles_(read(*source)) {
    // The first question shows whether the file has answers. A file to predict on has none.
    while ((has_article_ = articles_.next())) {
      for (const Json& paragraph : list(articles_.article(), "paragraphs", articles_.where())) {
        const std::string where = cat(articles_.where(), ".paragraphs[0]");
        for (const Json& question : list(paragraph, "qas", where)) {
          labelled_ = need != LabelNeed::kIgnored &&
                      (question.contains("answers") || question.contains("is_impossible"));
          return;
        }
      }
    }
  }

  bool next(Example& example, LabelDictionary&) override {
    while (has_article_) {
      Json& paragraphs = list(articles_.article(), "paragraphs", articles_.where());
      if (paragraph_ == paragraphs.size()) {
        position_.clear();
        has_article_ = articles_.next();
        paragraph_ = 0;  // after next(), which throws on a line that cannot be read
        continue;
      }
      const std::string where = cat(articles_.where(), ".paragraphs[", paragraph_, "]");
      Json& paragraph = paragraphs[paragraph_];
      const Json& questions = list(paragraph, "qas", where);
      if (question_ == questions.size()) {
        ++paragraph_, question_ = 0;
        continue;
      }
      position_ = cat(where, ".qas[", question_, "]");
      const Json& question = questions[question_++];
      example = {};
      std::string& context = text(paragraph, "context", where);
      example.texts = {text(question, "question", position_), {}};
      // The last question takes the context, which may be long, from the JSON value.
      example.texts[1] = question_ == questions.size() ? std::move(context) : context;
      limit_text(example.texts[0], example.texts[1]);
      const Json& id = member(question, "id", position_);
      example.id = id.is_number_integer() ? to_text(id) : text(question, "id", position_);
      if (labelled_) example.answers = answers(question);
      try {
        settle_answers(example, places_);
      } catch (const Error& error) {
        throw error.at(position_);
      }
      return true;
    }
    return false;
  }

  std::string position() const override {
    return position_.empty() ? articles_.where() : position_;
  }
  bool labelled() const override { return labelled_; }

 private:
  std::vector<std::byte> read(ByteSource& source) {
    std::vector<std::byte> bytes = read_all(source, kLimitBytes, "the SQuAD file");
    text_left_ = kTextFactor * bytes.size();
    return bytes;
  }

  void limit_text(const std::string& question, const std::string& context) {
    text_left_ += kTextOfRow;
    const uint64_t kept = question.size() + context.size() / ExampleTable::kRowsOfBlock;
    if (kept > text_left_) {
      throw Error(Code::kBadData, "repeats its contexts to many times the file's size");
    }
    text_left_ -= kept;
  }

  bool is_impossible(const Json& question) const {
    const Json value = question.value("is_impossible", Json());
    if (value.is_boolean() || value.is_null()) return value == true;
    if (value == 0 || value == 1) return value == 1;
    throw Error(Code::kBadData, "\"is_impossible\" is neither true nor false", position_,
                "write true or false without quotes");
  }

  std::vector<Answer> answers(const Json& question) const {
    std::vector<Answer> answers;
    if (is_impossible(question)) return answers;
    for (const Json& answer : list(question, "answers", position_)) {
      const bool needs_place = places_ == AnswerPlaces::kExact;
      const Json start = needs_place ? member(answer, "answer_start", position_)
                                     : answer.value("answer_start", Json());
      if (!needs_place && !start.is_number_unsigned()) {
        answers.push_back({text(answer, "text", position_), 0});
        continue;
      }
      if (!start.is_number_unsigned()) {
        throw Error(Code::kBadData, "\"answer_start\" is not a whole number from 0", position_);
      }
      answers.push_back(
          {text(answer, "text", position_), answer_start(start.get<uint64_t>(), position_)});
    }
    return answers;
  }

  const AnswerPlaces places_;
  uint64_t text_left_ = 0;  // bytes of text that the questions to come may have
  Articles articles_;
  bool has_article_ = false;
  size_t paragraph_ = 0, question_ = 0;
  std::string position_;  // of the question; empty between two articles
  bool labelled_ = false;
};

}  // namespace

std::unique_ptr<ExampleReader> make_squad_examples(std::unique_ptr<ByteSource> source,
                                                   LabelNeed need, AnswerPlaces places) {
  return std::make_unique<SquadReader>(std::move(source), need, places);
}

}  // namespace berth
