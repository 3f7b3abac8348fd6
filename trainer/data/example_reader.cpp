#include "trainer/data/example_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/json_rows.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/utf8.h"
#include "trainer/data/example_table.h"
#include "trainer/data/odd_texts.h"

namespace berth {
namespace {

using Numbers = std::vector<int64_t>;
using RecordFeatures = std::vector<TfFeature>;

// The first of the named features that the record has. null if it has none of them.
const TfFeature* find(const RecordFeatures& features,
                      std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::find_if(features.begin(), features.end(),
                                    [name](const TfFeature& each) { return each.name == name; });
    if (found != features.end()) return &*found;
  }
  return nullptr;
}

const TfFeature* label_of(const RecordFeatures& features) {
  return find(features, {"label_ids", "label_id", "label"});
}

// The integers of a feature. Empty if the feature is absent.
Numbers integers(const TfFeature* feature) {
  if (feature == nullptr) return {};
  if (const auto* numbers = std::get_if<Numbers>(&feature->values)) return *numbers;
  throw Error(Code::kBadData, cat("feature ", quoted(feature->name), " does not hold integers"));
}

float single_number(const TfFeature& feature) {
  if (const auto* reals = std::get_if<std::vector<float>>(&feature.values)) {
    if (reals->size() == 1 && std::isfinite((*reals)[0])) return (*reals)[0];
  }
  if (const auto* integers = std::get_if<Numbers>(&feature.values)) {
    if (integers->size() == 1) return static_cast<float>((*integers)[0]);
  }
  throw Error(Code::kBadData, cat("feature ", quoted(feature.name), " is not one number"));
}

// The numbers that the mask keeps. Each must be below `size`, unless `size` is 0. `what` is the
// name of such a number in messages.
std::vector<int32_t> kept(const Numbers& numbers, const Numbers& mask, int64_t size,
                          const char* what) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (mask[i] == 0) continue;
    if (numbers[i] < 0 || numbers[i] > std::numeric_limits<int32_t>::max()) {
      throw Error(Code::kBadData, cat(numbers[i], " is not a ", what));
    }
    if (size > 0 && numbers[i] >= size) {
      throw Error(Code::kBadData, cat(what, " ", numbers[i], " is too large: the model has ", size),
                  "", "were the records made with this model's vocabulary?");
    }
    ids.push_back(static_cast<int32_t>(numbers[i]));
  }
  return ids;
}

// The tokens that create_pretraining_data.py of google-research/bert masked.
struct MaskedFeatures {
  Numbers places{}, ids{};
  std::vector<float> weights{};
};

bool has_masked(const RecordFeatures& features) {
  return find(features, {"masked_lm_positions"}) != nullptr;
}

MaskedFeatures masked_of(const RecordFeatures& features) {
  MaskedFeatures masked{.places = integers(find(features, {"masked_lm_positions"})),
                        .ids = integers(find(features, {"masked_lm_ids"}))};
  const TfFeature* weights = find(features, {"masked_lm_weights"});
  if (weights == nullptr) {
    throw Error(Code::kBadData, "there are no masked_lm_weights beside masked_lm_positions");
  }
  const auto* reals = std::get_if<std::vector<float>>(&weights->values);
  if (reals == nullptr) {
    throw Error(Code::kBadData, "feature \"masked_lm_weights\" does not hold floats");
  }
  masked.weights = *reals;
  if (masked.ids.size() != masked.places.size() || reals->size() != masked.places.size()) {
    throw Error(Code::kBadData,
                cat("there are ", masked.places.size(), " masked_lm_positions, but ",
                    masked.ids.size(), " masked_lm_ids and ", reals->size(), " masked_lm_weights"));
  }
  return masked;
}

LabelKind kind_of_label(const RecordFeatures& features) {
  const TfFeature* label = label_of(features);
  if (label == nullptr) return LabelKind::kClass;
  if (std::holds_alternative<std::vector<float>>(label->values)) return LabelKind::kNumber;
  return integers(label).size() > 1 ? LabelKind::kTagPerWord : LabelKind::kClass;
}

class RecordReader final : public ExampleReader {
 public:
  RecordReader(std::unique_ptr<ByteSource> source, RecordRules rules)
      : records_(std::move(source)),
        label_names_(std::move(rules.label_names)),
        ignores_labels_(rules.need == LabelNeed::kIgnored),
        limits_(rules.limits) {
    has_first_ = read(first_);
    labelled_ = !ignores_labels_ && has_first_ && label_of(first_) != nullptr;
    const LabelKind told = has_first_ ? kind_of_label(first_) : LabelKind::kClass;
    task_ = rules.task.value_or(usual_task(told));
    is_masked_ = has_first_ && has_masked(first_);
    const TaskTraits& task = traits(task_);
    if (is_masked_ &&
        (!rules.task || task.labels != LabelKind::kMaskedId || task.rows == HeadRows::kReplaced)) {
      throw Error(
          Code::kBadData,
          "holds masked tokens to pre-train on (masked_lm_positions), and no labels of texts", "",
          "give --task mlm, or --task mlm_nsp to learn next_sentence_labels, too");
    }
  }

  bool next(Example& example, LabelDictionary& labels) override {
    RecordFeatures features = std::move(first_);
    if (!std::exchange(has_first_, false) && !read(features)) return false;
    example = {};
    try {
      const Numbers mask = read_tokens(features, example);
      const TfFeature* weight = find(features, {"weight"});
      if (weight != nullptr && !ignores_labels_) example.weight = single_number(*weight);
      if (weight != nullptr && traits(task_).labels == LabelKind::kMaskedId) {
        throw Error(Code::kBadData, "feature \"weight\" is not for pre-training");
      }
      read_masked(features, mask, example);
      if (traits(task_).inputs == InputKind::kSentences) read_next(features, example);
      if (labelled_) read_label(features, mask, example, labels);
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

  std::string position() const override { return cat("record at byte ", records_.offset()); }
  bool labelled() const override { return labelled_; }
  Task task() const { return task_; }
  bool is_empty() const { return !has_first_; }  // may be called before the first next()
  std::vector<Finding> findings() const override {
    std::vector<Finding> found;
    if (has_other_names_) {
      found.push_back({"attention_mask of records",
                       "attention_mask and token_type_ids of the records are read as input_mask "
                       "and segment_ids"});
    }
    if (filled_ * 2 > read_) {
      found.push_back(
          warning(cat(filled_, " of ", counted(read_, "record"),
                      " end in one token several times, as where input_mask has a 1 also for "
                      "what fills the record up; write a 0 there")));
    }
    return found;
  }

 private:
  // Reads the next record that is a real example.
  bool read(RecordFeatures& features) {
    for (std::vector<std::byte> record; records_.next(record);) {
      try {
        features = parse_tf_example(record);
        const Numbers real = integers(find(features, {"is_real_example"}));
        if (real.empty() || real[0] != 0) return true;
      } catch (const Error& error) {
        throw error.at(position());
      }
    }
    return false;
  }

  // The tokens that the mask keeps become neighbours. TensorFlow's models would leave a gap between
  // the positions of tokens around a hole.
  static void require_one_run(const Numbers& mask) {
    const auto is_mark = [](int64_t mark) { return mark == 0 || mark == 1; };
    const auto odd = std::ranges::find_if_not(mask, is_mark);
    if (odd != mask.end()) {
      throw Error(Code::kBadData, cat("input_mask holds ", *odd, ", which is neither 0 nor 1"), "",
                  "write a 1 for each token of the text, and a 0 where the record is filled up");
    }
    const auto begin = std::ranges::find(mask, 1), end = std::find(begin, mask.end(), 0);
    if (std::find(end, mask.end(), 1) == mask.end()) return;
    throw Error(Code::kBadData,
                cat("input_mask leaves out token ", end - mask.begin(), ", between other tokens"),
                "",
                "take such tokens out of input_ids, or leave such records out with "
                "--skip-bad-rows N");
  }

  // Reads the tokens that the mask keeps, and returns the mask.
  Numbers read_tokens(const RecordFeatures& features, Example& example) {
    const Numbers ids = integers(find(features, {"input_ids", "input_word_ids"}));
    const TfFeature* const given = find(features, {"input_mask", "attention_mask"});
    Numbers mask = integers(given);
    Numbers types = integers(find(features, {"segment_ids", "input_type_ids", "token_type_ids"}));
    has_other_names_ |= given != nullptr && given->name == "attention_mask";
    if (mask.empty() && ids.size() > 2 && ids.back() == ids[ids.size() - 2]) {
      throw Error(Code::kBadData,
                  cat("ends in the token ", ids.back(),
                      " several times, as where it is filled up, and there is no input_mask"),
                  "", "write an input_mask, with a 1 for each token of the text");
    }
    if (mask.empty()) mask.assign(ids.size(), 1);
    if (types.empty()) types.assign(ids.size(), 0);
    if (mask.size() != ids.size() || types.size() != ids.size()) {
      throw Error(Code::kBadData, cat("there are ", ids.size(), " input_ids, but ", mask.size(),
                                      " input_mask and ", types.size(), " segment_ids"));
    }
    require_one_run(mask);
    example.token_ids = kept(ids, mask, limits_.vocab_size, "token id");
    const std::span<const int32_t> last =
        std::span(example.token_ids).last(std::min<size_t>(example.token_ids.size(), 3));
    filled_ += last.size() == 3 && last[0] == last[1] && last[1] == last[2];
    ++read_;
    example.token_types = kept(types, mask, limits_.type_vocab_size, "token type");
    if (example.token_ids.empty()) {
      throw Error(Code::kBadData, "there are no input_ids", "",
                  "give TFRecords as run_classifier.py writes them");
    }
    return mask;
  }

  // Reads the masked tokens that have a weight. Their places count the tokens that the mask keeps.
  void read_masked(const RecordFeatures& features, const Numbers& mask, Example& example) const {
    if (has_masked(features) != is_masked_) {
      throw Error(Code::kBadData,
                  is_masked_ ? "there are no masked_lm_positions, which the first record has"
                             : "there are masked_lm_positions, which the first record lacks");
    }
    if (!is_masked_) return;
    const MaskedFeatures masked = masked_of(features);
    const Numbers all(masked.ids.size(), 1);
    const std::vector<int32_t> ids = kept(masked.ids, all, limits_.vocab_size, "masked_lm_ids");
    std::vector<std::pair<int32_t, int32_t>> found;  // place and id
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t place = masked.places[i];
      if (masked.weights[i] == 0) continue;  // it fills up the record
      if (masked.weights[i] != 1) {
        throw Error(Code::kBadData,
                    cat("the weight ", masked.weights[i], " of a masked token is neither 0 nor 1"));
      }
      if (place < 0 || place >= std::ssize(mask) || mask[static_cast<size_t>(place)] == 0) {
        throw Error(Code::kBadData,
                    cat("masked_lm_positions names ", place, ", where no token is"));
      }
      const auto end = mask.begin() + place;
      const auto before = end - mask.begin() - std::count(mask.begin(), end, 0);
      found.emplace_back(static_cast<int32_t>(before), ids[i]);
    }
    std::ranges::sort(found);
    for (size_t i = 0; i < found.size(); ++i) {
      const auto [place, id] = found[i];
      if (i > 0 && place == found[i - 1].first) {
        throw Error(Code::kBadData, cat("masked_lm_positions names token ", place, " twice"));
      }
      example.masked.insert(example.masked.end(), {place, id});
    }
    if (found.empty()) {
      throw Error(Code::kBadData, "no masked token has a weight, so there is nothing to predict");
    }
  }

  // Reads whether the second text does not follow the first one.
  void read_next(const RecordFeatures& features, Example& example) const {
    const Numbers next = integers(find(features, {"next_sentence_labels"}));
    if (next.size() != 1 || next[0] < 0 || next[0] > 1) {
      throw Error(Code::kBadData,
                  next.empty() ? "there are no next_sentence_labels"
                               : "next_sentence_labels is not one number that is 0 or 1",
                  "", "--task mlm learns masked tokens alone");
    }
    if (!example.masked.empty() && example.masked.front() == 0) {
      throw Error(Code::kBadData,
                  "masked_lm_positions names the first token, which predicts the next sentence");
    }
    example.labels = {static_cast<int32_t>(next[0])};
  }

  void read_label(const RecordFeatures& features, const Numbers& mask, Example& example,
                  LabelDictionary& labels) const {
    const TfFeature* label = label_of(features);
    if (label == nullptr)
      throw Error(Code::kBadData, "there are no label_ids, which the first record has");
    const LabelKind kind = traits(task_).labels;
    if (kind == LabelKind::kNumber) {
      example.score = single_number(*label);
      return;
    }
    if (std::holds_alternative<std::vector<float>>(label->values)) {
      throw Error(
          Code::kBadData,
          cat("feature ", quoted(label->name), " holds floats, which are labels of a regression"),
          "", "pass --task regression");
    }
    const Numbers numbers = integers(label);
    if (kind == LabelKind::kSet) return read_marks(numbers, example, labels);
    const bool is_of_tokens = kind == LabelKind::kTagPerWord;
    const size_t wanted = is_of_tokens ? mask.size() : 1;
    if (numbers.size() != wanted) {
      throw Error(Code::kBadData,
                  cat("feature ", quoted(label->name), " holds ", counted(numbers.size(), "label"),
                      is_of_tokens ? " for " + counted(wanted, "token") : " for one text"));
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (is_of_tokens && mask[i] == 0) continue;
      // A token without a label is marked with -1 by the Model Garden and with -100 by Hugging
      // Face.
      const bool has_none = is_of_tokens && numbers[i] < 0;
      example.labels.push_back(has_none ? -1 : labels.entry(label_name(numbers[i])));
    }
  }

  void read_marks(const Numbers& marks, Example& example, LabelDictionary& labels) const {
    if (!label_names_.empty() && marks.size() != label_names_.size()) {
      throw Error(Code::kBadData, cat("label_ids holds ", counted(marks.size(), "mark"), " for ",
                                      counted(label_names_.size(), "label")));
    }
    for (size_t label = 0; label < marks.size(); ++label) {
      if (marks[label] != 0 && marks[label] != 1) {
        throw Error(Code::kBadData, cat("the mark ", marks[label], " is neither 0 nor 1"));
      }
      if (marks[label] == 1) {
        example.labels.push_back(labels.entry(label_name(static_cast<int64_t>(label))));
      }
    }
  }

  std::string label_name(int64_t label) const {
    if (label_names_.empty()) return std::to_string(label);
    if (label >= 0 && label < static_cast<int64_t>(label_names_.size())) {
      return label_names_[static_cast<size_t>(label)];
    }
    throw Error(Code::kBadData, cat("label ", label, " is not one of the ", label_names_.size(),
                                    " labels of the meta data"));
  }

  TfRecordReader records_;
  const std::vector<std::string> label_names_;
  const bool ignores_labels_;
  const TokenLimits limits_;
  RecordFeatures first_;
  bool has_first_ = false, labelled_ = false;
  bool has_other_names_ = false;  // as transformers calls them
  size_t read_ = 0, filled_ = 0;  // records; the filled ones end in one token several times
  bool is_masked_ = false;        // tokens are masked already
  Task task_ = kDefaultTask;
};

}  // namespace

RecordExamples make_record_examples(std::unique_ptr<ByteSource> source, RecordRules rules) {
  const std::optional<Task> task = rules.task;
  auto reader = std::make_unique<RecordReader>(std::move(source), std::move(rules));
  if (reader->is_empty()) return {.reader = nullptr, .task = task};
  const Task settled = reader->task();
  return {.reader = std::move(reader), .task = settled};
}

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

// SQuAD's file of what may be a list of articles or of paragraphs, or one of them, alone. A list
// called "data" may hold paragraphs, too.
Json with_articles(Json file) {
  Json whole = Json::object();
  if (file.is_object() && file.contains("data") && file["data"].is_array()) {
    for (Json& part : file["data"]) part = as_article(std::move(part));
    return file;
  }
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
    refuse_repeated_keys(as_text(bytes));
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
    try {
      refuse_repeated_keys(line);
    } catch (const Error& error) {
      throw error.at(where_);
    }
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
      if (question_ == 1) odd_contexts_.add(context);
      example.texts = {text(question, "question", position_), {}};
      // The last question takes the context, which may be long, from the JSON value.
      example.texts[1] = question_ == questions.size() ? std::move(context) : context;
      limit_text(example.texts[0], example.texts[1]);
      const Json& id = member(question, "id", position_);
      example.id = id.is_number_integer() ? to_text(id) : text(question, "id", position_);
      if (labelled_) example.answers = answers(question);
      try {
        has_trimmed_ = settle_answers(example, places_) || has_trimmed_;
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
  std::vector<Finding> findings() const override {
    std::vector<Finding> found = odd_contexts_.findings("context");
    if (has_trimmed_) found.push_back(trimmed_answers());
    return found;
  }

 private:
  std::vector<std::byte> read(ByteSource& source) {
    std::vector<std::byte> bytes = read_all(source, kLimitBytes, "the SQuAD file");
    if (as_text(bytes).starts_with(kByteOrderMark)) {
      bytes.erase(bytes.begin(), bytes.begin() + std::ssize(kByteOrderMark));
    }
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

  // A question that has no answer may have an empty one.
  void refuse_answers(const Json& question) const {
    const Json given = question.value("answers", Json());
    if (!given.is_array()) return;
    for (const Json& answer : given) {
      const bool has_text = answer.is_object() && answer.contains("text") &&
                            answer["text"].is_string() && answer["text"] != "";
      if (!has_text) continue;
      throw Error(Code::kBadData,
                  cat("\"is_impossible\" is true, but there is the answer ",
                      quoted(answer["text"].get<std::string>())),
                  position_, "correct one of the two; --skip-bad-rows N leaves such rows out");
    }
  }

  std::vector<Answer> answers(const Json& question) const {
    std::vector<Answer> answers;
    if (is_impossible(question)) {
      refuse_answers(question);
      return answers;
    }
    for (const Json& answer : list(question, "answers", position_)) {
      const bool needs_place = places_ == AnswerPlaces::kExact;
      if (!needs_place && answer.is_string()) {
        answers.push_back({answer.get<std::string>(), 0});
        continue;
      }
      if (!answer.is_object()) {
        throw Error(Code::kBadData, cat("the answer ", quoted(to_text(answer)), " is no object"),
                    position_, R"(write {"text": ..., "answer_start": ...})");
      }
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
  OddTexts odd_contexts_{/*are_texts=*/false};
  bool has_trimmed_ = false;  // whether an answer had blanks around it
};

}  // namespace

std::unique_ptr<ExampleReader> make_squad_examples(std::unique_ptr<ByteSource> source,
                                                   LabelNeed need, AnswerPlaces places) {
  return std::make_unique<SquadReader>(std::move(source), need, places);
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
