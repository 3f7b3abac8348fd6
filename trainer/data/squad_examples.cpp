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
// A table keeps a context once for kRowsOfBlock questions. So that a small file does not fill the
// disk, all texts together may have this many times the bytes of the file, as the rows of other
// tables may.
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

// SQuAD's file of what may be a list of articles, or of paragraphs, alone.
Json with_articles(Json file) {
  if (!file.is_array() || file.empty() || !file[0].is_object()) return file;
  if (file[0].contains("paragraphs")) return {{"data", std::move(file)}};
  if (!file[0].contains("qas")) return file;
  Json article = Json::object(), whole = Json::object();
  article["paragraphs"] = std::move(file);
  whole["data"] = Json::array();
  whole["data"].push_back(std::move(article));
  return whole;
}

class SquadReader final : public ExampleReader {
 public:
  SquadReader(std::unique_ptr<ByteSource> source, LabelNeed need, AnswerPlaces places)
      : places_(places) {
    {
      const std::vector<std::byte> bytes = read_all(*source, kLimitBytes, "the SQuAD file");
      text_left_ = kTextFactor * bytes.size();
      file_ = parse_json(as_text(bytes));
    }
    if (file_.is_discarded()) throw Error(Code::kBadData, "is not JSON");
    file_ = with_articles(std::move(file_));
    data_ = &list(file_, "data", "");
    // The first question shows whether the file has answers. A file to predict on has none.
    for (const Json& article : *data_) {
      for (const Json& paragraph : list(article, "paragraphs", "data[0]")) {
        for (const Json& question : list(paragraph, "qas", "data[0].paragraphs[0]")) {
          labelled_ = need != LabelNeed::kIgnored &&
                      (question.contains("answers") || question.contains("is_impossible"));
          return;
        }
      }
    }
  }

  bool next(Example& example, LabelDictionary&) override {
    while (article_ < data_->size()) {
      Json& paragraphs = list((*data_)[article_], "paragraphs", cat("data[", article_, "]"));
      if (paragraph_ == paragraphs.size()) {
        ++article_, paragraph_ = 0;
        continue;
      }
      const std::string where = cat("data[", article_, "].paragraphs[", paragraph_, "]");
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

  std::string position() const override { return position_; }
  bool labelled() const override { return labelled_; }

 private:
  void limit_text(const std::string& question, const std::string& context) {
    text_left_ += kTextOfRow;
    const uint64_t kept = question.size() + context.size() / ExampleTable::kRowsOfBlock;
    if (kept > text_left_) {
      throw Error(Code::kBadData, "repeats its contexts to many times the file's size");
    }
    text_left_ -= kept;
  }

  std::vector<Answer> answers(const Json& question) const {
    std::vector<Answer> answers;
    if (question.contains("is_impossible") && question["is_impossible"] == true) return answers;
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
  Json file_;
  Json* data_ = nullptr;
  size_t article_ = 0, paragraph_ = 0, question_ = 0;
  std::string position_ = "data[0]";
  bool labelled_ = false;
  uint64_t text_left_ = 0;  // bytes of text that the questions to come may have
};

}  // namespace

std::unique_ptr<ExampleReader> make_squad_examples(std::unique_ptr<ByteSource> source,
                                                   LabelNeed need, AnswerPlaces places) {
  return std::make_unique<SquadReader>(std::move(source), need, places);
}

}  // namespace berth
