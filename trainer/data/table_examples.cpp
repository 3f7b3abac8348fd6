#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/choice_rows.h"
#include "trainer/data/example_reader.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/group_texts.h"
#include "trainer/data/label_reader.h"
#include "trainer/data/odd_labels.h"
#include "trainer/data/odd_rows.h"
#include "trainer/data/odd_texts.h"
#include "trainer/data/span_rows.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

constexpr const char* kFillIn = "fill it in, or leave such rows out with --skip-bad-rows N";

class TableExamples final : public ExampleReader {
 public:
  TableExamples(std::unique_ptr<RowReader> rows, const FoundColumns& columns, Task task,
                const LabelForm& form, AnswerPlaces places)
      : rows_(std::move(rows)),
        columns_(columns),
        task_(task),
        form_(form),
        places_(places),
        labels_(*rows_, columns, form),
        groups_(columns.max_negatives,
                !columns.keeps_missing_texts && traits(task).labels == LabelKind::kPlaceInBatch),
        odd_texts_(rows_->is_of_texts()),
        odd_seconds_(rows_->is_of_texts()),
        classes_(rows_->is_of_texts()) {}

  bool next(Example& example, LabelDictionary& labels) override {
    if (!has_begun_ && traits(task_).has_classes) labels_.begin(labels);
    has_begun_ = true;
    left_out_ = 0;
    is_repeated_ = groups_.repeat(example);
    if (is_repeated_) {
      look_at_pair(example);
      return true;
    }
    while (rows_->next(cells_)) {
      example = {};
      try {
        if (!is_left_out()) {
          read_texts(example);
          if (columns_.weight) read_weight(example);
          if (!labelled() || read_label(example, labels)) {
            look_at_pair(example);
            look_for_total(example);
            return true;
          }
        }
      } catch (const Error& error) {
        throw error.at(position());
      }
      ++left_out_;
    }
    return false;
  }

  std::string position() const override { return rows_->position(); }
  bool labelled() const override { return !columns_.labels.empty(); }
  size_t left_out() const override { return left_out_; }
  bool is_repeated() const override { return is_repeated_; }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = labels_.findings();
    for (const auto& [count, reason] :
         {std::pair(refused_, kRefusedRows), std::pair(unfinished_, kUnfinishedRows)}) {
      if (count == 0) continue;
      found.push_back(
          {cat(kLeftOut, reason),
           cat(counted(count, "row"), count == 1 ? " was " : " were ", kLeftOut, reason),
           /*is_warning=*/true});
    }
    if (has_trimmed_) found.push_back(trimmed_answers());
    if (has_long_numbers_) {
      found.push_back({"all digits of numbers", "numbers in place of texts have all their digits"});
    }
    for (const std::string& column : joined_) {
      found.push_back({"lists of words joined",
                       cat("column ", quoted(column),
                           " holds lists of words, which are joined with blanks to texts")});
    }
    if (has_tuples_) {
      found.push_back({"tuples of words", "tuples and arrays of words or tags are read as lists"});
    }
    if (has_joined_tags_) {
      found.push_back({"joined tags", "tags are split at the marks between them, as in B-PER, O"});
    }
    if (groups_.repeats() > 0) {
      found.push_back({"", cat("lists of several texts to compare with make ",
                               counted(groups_.repeats(), "row"), " more, one for each text")});
    }
    add_odd_rows(found);
    return found;
  }

 private:
  // Of the texts of a column, in a file without types.
  struct Nested {
    size_t texts = 0, lists = 0, objects = 0;
  };

  void add_nested(const Nested& nested, size_t column, std::vector<Finding>& found) const {
    if (nested.texts == 0) return;
    const std::string every = cat("every text of column ", quoted(name(column)));
    if (nested.lists == nested.texts) {
      found.push_back(
          warning(cat(every,
                      " is a list, whose brackets and quotes are read, too; a column called "
                      "tokens is joined to texts")));
    }
    if (nested.objects == nested.texts) {
      found.push_back(
          warning(cat(every,
                      " is JSON or a dict, whose names and quotes are read, too; write the "
                      "text that is meant into a column of its own")));
    }
  }

  // Warnings of rows that seem to be something else than what they are read as.
  void add_odd_rows(std::vector<Finding>& found) const {
    std::ranges::move(odd_words_.findings(), std::back_inserter(found));
    std::ranges::move(choices_.findings(), std::back_inserter(found));
    add_nested(nested_texts_, columns_.text, found);
    if (columns_.text_pair) add_nested(nested_seconds_, *columns_.text_pair, found);
    std::ranges::move(odd_texts_.findings(name(columns_.text)), std::back_inserter(found));
    if (columns_.text_pair) {
      std::ranges::move(odd_seconds_.findings(name(*columns_.text_pair)),
                        std::back_inserter(found));
    }
    std::ranges::move(total_.findings(position()), std::back_inserter(found));
    std::ranges::move(classes_.findings(), std::back_inserter(found));
    std::ranges::move(missing_scores_.findings(), std::back_inserter(found));
    if (empty_ > 0 && !columns_.keeps_missing_texts) {
      found.push_back(warning(cat(counted(empty_, "text"), empty_ == 1 ? " is" : " are",
                                  empty_ == 1 ? " empty, and is read as it stands"
                                              : " empty, and are read as they stand")));
    }
    if (of_other_types_ > 0 && of_text_ > 2 * of_other_types_) {
      found.push_back(
          warning(cat(counted(of_other_types_, "text"), of_other_types_ == 1 ? " is" : " are",
                      " a number, or true or false, by type, and the others are texts")));
    }
    // Few equal pairs of a search are as odd as many labelled ones.
    if (equal_pairs_ * (is_compared() ? 20 : 2) > pairs_ && columns_.text_pair) {
      found.push_back(
          warning(cat("both texts are the same in ", equal_pairs_, " of ", counted(pairs_, "row"),
                      "; take such rows out, or --text-column and "
                      "--text-pair-column name the two texts")));
    }
    std::ranges::move(shared_.findings(), std::back_inserter(found));
    if (equal_negatives_ > 0) {
      found.push_back(
          warning(cat(counted(equal_negatives_, "row"), equal_negatives_ == 1 ? " has" : " have",
                      " a negative that is also the text that belongs to the first one, or the "
                      "first one itself; take such negatives out")));
    }
    if (columns_.source) {
      std::ranges::move(scales_.findings(name(*columns_.source)), std::back_inserter(found));
    }
  }

  const std::string& name(size_t column) const { return rows_->columns()[column].name; }

  // Whether an annotator has not accepted the row.
  bool is_left_out() {
    const bool is_refused = columns_.answer && is_refusal(cells_[*columns_.answer]);
    const bool is_unfinished =
        columns_.leaves_out_unfinished && !plain_text(cells_[columns_.labels.at(0)]);
    refused_ += is_refused;
    unfinished_ += is_unfinished && !is_refused;
    return is_refused || is_unfinished;
  }

  std::optional<double> number(size_t column, const NumberForm& form = {}) const {
    try {
      return cell_number(cells_[column], form);
    } catch (const Error& error) {
      throw error.at("column " + quoted(name(column)));
    }
  }

  std::string text(size_t column) const {
    if (auto text = plain_text(cells_[column])) return std::move(*text);
    const bool may_be_bytes = rows_->columns()[column].holds_bytes;
    throw Error(Code::kBadData,
                cat("the cell of column ", quoted(name(column)), " is empty",
                    may_be_bytes ? ", or holds bytes that are not UTF-8" : ""),
                "",
                may_be_bytes ? "write the column as texts, as decode() of Python does" : kFillIn);
  }

  // The words of a sentence. A cell holds a list, a tuple or array as Python shows it, or words
  // with blanks between them. Where the model was trained on spans, annotated_words() cuts the
  // text.
  std::vector<std::string> words(size_t column) {
    const std::string whole = text(column);
    if (auto list = parse_text_list(whole)) return std::move(*list);
    if (is_bracketed(whole) || is_shortened_list(whole)) refuse_list(name(column), whole);
    auto tuple = whole.find_first_of("'\"") == whole.npos ? std::nullopt : parse_tuple(whole);
    has_tuples_ = has_tuples_ || tuple;
    if (tuple) return std::move(*tuple);
    return columns_.cuts_words ? annotated_words(whole, "[]").words : parted(whole, " \t");
  }

  // The tags of `count` words. A text that begins with a bracket must be a list here, because a tag
  // does not begin with a bracket as a word may.
  std::vector<std::string> tags(size_t column, size_t count) {
    const std::string whole = text(column);
    if (auto list = parse_text_list(whole)) return std::move(*list);
    if (begins_list(whole) || is_shortened_list(whole)) refuse_list(name(column), whole);
    if (auto tuple = parse_tuple(whole)) {
      has_tuples_ = true;
      return std::move(*tuple);
    }
    auto joined = parse_joined_tags(whole);
    if (!joined || joined->size() != count) return parted(whole, " \t");
    has_joined_tags_ = true;
    return std::move(*joined);
  }

  // A text, or what becomes of a list of words where a text is needed.
  std::string whole_text(size_t column) {
    std::string cell = text(column);
    const auto* real = std::get_if<double>(&cells_[column]);
    has_long_numbers_ = has_long_numbers_ || (real != nullptr && cat(*real) != cell);
    const bool are_texts = rows_->is_of_texts();
    if (auto joined = joined_words(rows_->columns()[column], cell, are_texts)) {
      const std::string& of = name(column);
      if (std::ranges::find(joined_, of) == joined_.end()) joined_.push_back(of);
      return std::move(*joined);
    }
    const InputKind inputs = traits(task_).inputs;
    const bool needs_text = inputs == InputKind::kTexts || inputs == InputKind::kQuestion;
    empty_ += needs_text && trimmed(cell).empty();
    const bool is_second = column == columns_.text_pair;
    const bool is_text = std::holds_alternative<std::string>(cells_[column]);
    ++(is_text ? of_text_ : of_other_types_);
    if (column == columns_.text) odd_texts_.add(cell);
    if (is_second) odd_seconds_.add(cell);
    if (are_texts && (is_second || column == columns_.text)) {
      Nested& nested = is_second ? nested_seconds_ : nested_texts_;
      ++nested.texts;
      nested.lists += begins_list(cell) && cell.find_first_of("'\"") != std::string::npos &&
                      parse_text_list(cell);
      nested.objects += trimmed(cell).starts_with('{') && parse_python(cell).is_object();
    }
    return cell;
  }

  void look_at_pair(const Example& example) {
    const LabelKind labels = traits(task_).labels;
    const bool is_labelled = labels == LabelKind::kClass || labels == LabelKind::kNumber;
    const bool is_pair = is_labelled ? example.texts.size() == 2 : is_compared();
    if (!is_pair || example.texts.size() < 2) return;
    ++pairs_;
    equal_pairs_ += trimmed(example.texts[0]) == trimmed(example.texts[1]);
    if (is_compared() && makes_embeddings(task_)) shared_.add(example);
  }

  // Whether each text is compared with the texts of the other rows of its batch.
  bool is_compared() const { return traits(task_).labels == LabelKind::kPlaceInBatch; }

  void look_for_total(const Example& example) {
    if (traits(task_).inputs != InputKind::kTexts || example.texts.empty()) return;
    const bool has_label = columns_.labels.size() == 1;
    const std::string label =
        has_label ? plain_text(cells_[columns_.labels[0]]).value_or("") : std::string();
    const bool is_plain = form_.numbers == NumberForm{};
    total_.add(example.texts.front(), label,
               is_plain ? parse_real(label) : parse_number(label, form_.numbers));
    if (has_label && traits(task_).labels == LabelKind::kClass) classes_.add(example.texts, label);
  }

  void read_texts(Example& example) {
    if (columns_.id) example.id = plain_text(cells_[*columns_.id]).value_or("");
    const auto text_of = [this](size_t column) {
      // A missing cell of a column of bytes may be one that is not UTF-8.
      const bool keeps = columns_.keeps_missing_texts && !rows_->columns()[column].holds_bytes;
      if (keeps && !plain_text(cells_[column])) return std::string();
      return traits(task_).inputs == InputKind::kWords ? text(column) : whole_text(column);
    };
    if (traits(task_).inputs == InputKind::kWords) {
      if (columns_.keeps_missing_texts && trimmed(text_of(columns_.text)).empty()) return;
      example.texts = words(columns_.text);
      for (const std::string& word : example.texts) odd_words_.add(word);
      if (example.texts.empty() && !columns_.keeps_missing_texts) {
        throw Error(Code::kBadData, "the sentence has no words");
      }
      return;
    }
    example.texts.push_back(text_of(columns_.text));
    if (traits(task_).labels == LabelKind::kChoice) return read_choices(example);
    if (!columns_.text_pair) return;
    if (traits(task_).inputs == InputKind::kDocument) {
      const std::string second = text_of(*columns_.text_pair);
      if (!example.texts[0].empty() && !second.empty()) example.texts[0] += "\n";
      example.texts[0] += second;
      return;
    }
    if (traits(task_).inputs != InputKind::kTextGroup) {
      example.texts.push_back(text_of(*columns_.text_pair));
      return;
    }
    const auto texts_of = [&](size_t column) {
      const std::string cell = plain_text(cells_[column]).value_or("");
      auto list = listed_texts(rows_->columns()[column], cell, rows_->is_of_texts());
      return list ? std::move(*list) : std::vector{text_of(column)};
    };
    std::vector<std::string> negatives;
    for (const size_t column : columns_.others) {
      std::ranges::move(texts_of(column), std::back_inserter(negatives));
    }
    const std::vector<std::string> positives = texts_of(*columns_.text_pair);
    equal_negatives_ += std::ranges::any_of(negatives, [&](const std::string& negative) {
      return negative == example.texts.front() ||
             std::ranges::find(positives, negative) != positives.end();
    });
    for (const auto* texts : {&positives, &std::as_const(negatives)}) {
      empty_ += static_cast<size_t>(std::ranges::count(*texts, ""));
    }
    TextScores scores = text_scores(positives.size(), negatives.size());
    groups_.complete(example, positives, std::move(negatives), std::move(scores));
  }

  // The numbers of a cell: a number, or a list of numbers.
  std::vector<float> numbers(size_t column) const {
    const std::string cell = plain_text(cells_[column]).value_or("");
    if (!begins_list(cell)) {
      const std::optional<double> one = number(column);
      return one ? std::vector{static_cast<float>(*one)} : std::vector<float>();
    }
    std::vector<float> found;
    for (const std::string& part : parse_text_list(cell).value_or(std::vector<std::string>())) {
      const std::optional<double> value = parse_real(part);
      if (!value || !std::isfinite(*value)) {
        throw Error(Code::kBadData, cat(quoted(part), " is not a number"),
                    "column " + quoted(name(column)));
      }
      found.push_back(static_cast<float>(*value));
    }
    return found;
  }

  // A teacher's scores of the texts of a group. One column may hold the scores of the positive and
  // the negatives, or how much higher the positive's score is than each negative's.
  TextScores text_scores(size_t positives, size_t negatives) const {
    const std::vector<size_t>& columns = columns_.text_scores;
    if (columns.empty()) return {};
    const auto refuse = [&](size_t column, size_t count, size_t wanted) {
      throw Error(Code::kBadData, cat("column ", quoted(name(column)), " has ",
                                      counted(count, "score"), " for ", counted(wanted, "text")));
    };
    std::vector<float> first = numbers(columns.front());
    if (columns.size() == 2) {
      std::vector<float> second = numbers(columns[1]);
      if (first.size() != positives) refuse(columns[0], first.size(), positives);
      if (second.size() != negatives) refuse(columns[1], second.size(), negatives);
      return {std::move(first), std::move(second)};
    }
    if (positives != 1) {
      throw Error(Code::kBadData,
                  cat("column ", quoted(name(columns[0])),
                      " has the scores of one text that belongs to the first one, and the row has ",
                      positives),
                  "", "write a row for each of them");
    }
    if (first.size() == negatives && negatives > 0) {
      for (float& difference : first) difference = -difference;
      return {{0}, std::move(first)};
    }
    if (first.size() != negatives + 1) refuse(columns[0], first.size(), negatives + 1);
    return {{first[0]}, {first.begin() + 1, first.end()}};
  }

  // The tag -100 is of tokens that count for nothing. They are parts of words, not words.
  void refuse_tokens(const std::vector<std::string>& tags, const LabelDictionary& labels) const {
    constexpr std::string_view kIgnored = "-100";
    if (std::ranges::find(tags, kIgnored) == tags.end() ||
        std::ranges::find(labels.known(), kIgnored) != labels.known().end()) {
      return;
    }
    throw Error(Code::kBadData,
                "has the tag -100, which transformers gives to tokens that count for nothing", "",
                "give the words and tags as they were before a tokenizer cut the words");
  }

  // Adds a text for each choice. It is empty where a part of it is missing, if the rules allow
  // that.
  void read_choices(Example& example) {
    const auto is_absent = [&](size_t column) {
      return columns_.keeps_missing_texts && !plain_text(cells_[column]);
    };
    Choices choices;
    if (columns_.others.size() > 1) {
      for (const size_t column : columns_.others) {
        choices.texts.push_back(is_absent(column) ? std::string() : whole_text(column));
      }
    } else if (const size_t column = columns_.others.at(0); is_absent(column)) {
      choices.texts.resize(choices_.per_row() == 0 ? 2 : choices_.per_row());
    } else {
      choices = listed_choices(name(column), text(column));
    }
    choices_.begin_row(choices);
    const std::optional<size_t> lead = columns_.text_pair;
    const std::string lead_text = lead && !is_absent(*lead) ? whole_text(*lead) : std::string();
    for (std::string& choice : choices.texts) {
      const bool is_missing = choice.empty() && columns_.keeps_missing_texts;
      if (is_missing || !lead) continue;
      choice = is_absent(*lead) ? std::string()
                                : text_of_choice(lead_text, choice, may_have_gap(name(*lead)));
    }
    std::ranges::move(choices.texts, std::back_inserter(example.texts));
  }

  // The names of the columns that have a choice each. A list of choices has no such columns.
  std::vector<std::string> choice_columns() const {
    std::vector<std::string> names;
    if (columns_.others.size() < 2) return names;
    for (const size_t column : columns_.others) names.push_back(name(column));
    return names;
  }

  // Returns false where the row is meant to have no label.
  bool read_label(Example& example, LabelDictionary& labels) {
    const size_t column = columns_.labels[0];
    switch (traits(task_).labels) {
      case LabelKind::kNumber: {
        const bool is_absent = is_missing(cells_[column], rows_->is_of_texts());
        const auto score = is_absent ? std::nullopt : number(column, form_.numbers);
        if (!score) labels_.refuse_missing(cells_, column, /*are_classes=*/false);
        example.score = static_cast<float>(*score);
        missing_scores_.add(*score);
        if (columns_.source) scales_.add(plain_text(cells_[*columns_.source]), *score);
        return true;
      }
      case LabelKind::kSet:
        labels_.read_set(cells_, labels, example);
        return true;
      case LabelKind::kChoice:
        if (is_missing(cells_[column], rows_->is_of_texts())) {
          labels_.refuse_missing(cells_, column, /*are_classes=*/false);
        }
        example.labels = {choices_.right_one(cells_[column], choice_columns())};
        return true;
      case LabelKind::kTagPerWord: {
        const std::vector<std::string> each = tags(column, example.texts.size());
        if (each.size() != example.texts.size()) {
          throw Error(
              Code::kBadData,
              counted(example.texts.size(), "word") + ", but " + counted(each.size(), "tag"), "",
              "write a tag for each word, or give --task multi_label if these are sets of "
              "labels");
        }
        refuse_tokens(each, labels);
        for (const std::string& tag : each) example.labels.push_back(labels.entry(tag));
        return true;
      }
      case LabelKind::kSpan:
        example.answers = answers_of(column);
        if (!example.answers.empty() && has_no_answer()) {
          throw Error(Code::kBadData,
                      cat("has an answer, and column ", quoted(name(columns_.answerable->column)),
                          " says that it has none"),
                      "", "correct one of the two, or leave such rows out with --skip-bad-rows N");
        }
        has_trimmed_ = settle_answers(example, places_) || has_trimmed_;
        return true;
      default:
        return labels_.read_class(cells_, labels, example);
    }
  }

  // The answers in the cell of this column. A question that has none may have an empty one, or a
  // missing cell.
  std::vector<Answer> answers_of(size_t column) const {
    const bool is_missing_cell = !columns_.answer_start && !plain_text(cells_[column]);
    if (is_missing_cell && has_no_answer()) return {};
    if (is_missing_cell && !rows_->columns()[column].holds_bytes) {
      throw Error(Code::kBadData, cat("the cell of column ", quoted(name(column)), " is empty"), "",
                  "write [] for a question without an answer, or leave such rows out with "
                  "--skip-bad-rows N");
    }
    std::vector<Answer> found =
        answers(columns_.answer_start ? paired_answers() : own_answers(text(column)));
    const auto is_empty = [](const Answer& answer) { return trimmed(answer.text).empty(); };
    if (has_no_answer() && std::ranges::all_of(found, is_empty)) found.clear();
    return found;
  }

  // Whether a column says that the question has no answer. Another value than true or false says
  // nothing.
  bool has_no_answer() const {
    if (!columns_.answerable) return false;
    const std::string said =
        lower_ascii(trimmed(plain_text(cells_[columns_.answerable->column]).value_or("")));
    const auto is_any = [&](std::initializer_list<std::string_view> words) {
      return std::ranges::find(words, said) != words.end();
    };
    return columns_.answerable->is_negated ? is_any({"true", "1", "1.0", "yes"})
                                           : is_any({"false", "0", "0.0", "no"});
  }

  [[noreturn]] static void refuse_answers(std::string_view text) {
    throw Error(Code::kBadData, cat(quoted(text), " is not a list of answers"), "",
                R"(write {"text": [...], "answer_start": [...]}, or add a column "answer_start")");
  }

  static Json written_answers(const std::string& text) {
    Json value = parse_json(text);
    return value.is_discarded() ? parse_python(text) : value;
  }

  Json own_answers(const std::string& text) const {
    Json value = written_answers(text);
    const bool is_plain = value.is_discarded() || !value.is_structured();
    if (is_plain && places_ == AnswerPlaces::kAny) return {{"text", Json::array({text})}};
    if (value.is_discarded()) refuse_answers(text);
    return value;
  }

  // The answers of a table with a column for their texts and one for their places. A cell holds one
  // or a list of them.
  Json paired_answers() const {
    const std::string words = plain_text(cells_[columns_.labels[0]]).value_or("");
    if (trimmed(words).empty()) return Json::array();
    const size_t column = *columns_.answer_start;
    const Json texts = is_bracketed(words) ? written_answers(words) : Json();
    const bool is_list = texts.is_array() && (texts.empty() || texts.front().is_string());
    if (texts.is_array() || texts.is_object()) {
      if (!is_list) return texts;  // the places are in it
      const std::string starts = plain_text(cells_[column]).value_or("null");
      return {{"text", texts}, {"answer_start", written_answers(starts)}};
    }
    const std::optional<double> place = number(column);
    const bool is_whole = place && *place == std::floor(*place) && std::abs(*place) < 1e15;
    const Json start = is_whole ? Json(static_cast<int64_t>(*place))
                       : place  ? Json(*place)
                                : Json();
    return {{"text", Json::array({words})}, {"answer_start", Json::array({start})}};
  }

  // {"text": [...], "answer_start": [...]} as `datasets` has it, [{"text", "answer_start"}, ...] as
  // SQuAD has it, or either as Python shows it. Only a training needs the places.
  std::vector<Answer> answers(const Json& value) const {
    std::vector<Answer> answers;
    const bool needs_places = places_ == AnswerPlaces::kExact;
    const auto add = [&](const Json& words, const Json& start) {
      const bool is_whole = start.is_number() && std::floor(start.get<double>()) == start;
      const bool has_place = is_whole && start >= 0 && start <= UINT32_MAX;
      if (words.is_string() && is_whole && start < 0 && needs_places) {
        throw Error(Code::kBadData,
                    cat("answer ", answers.size(), " begins at ", to_text(start),
                        ", so its place is not known"),
                    "",
                    "write where it begins, as context.find(text) of Python says, or leave such "
                    "rows out with --skip-bad-rows N");
      }
      if (!words.is_string() || (!has_place && needs_places)) {
        throw Error(Code::kBadData, cat("answer ", answers.size(), " lacks its text or its start"));
      }
      const uint64_t place = has_place ? start.get<uint64_t>() : 0;
      answers.push_back({words.get<std::string>(), answer_start(place)});
    };
    const auto member = [](const Json& object, const char* key) {
      return object.is_object() ? object.value(key, Json()) : Json();
    };
    const Json words = member(value, "text"), starts = member(value, "answer_start");
    if (words.is_string()) {
      add(words, starts);
      return answers;
    }
    const bool has_places = starts.is_array() && starts.size() == words.size();
    if (words.is_array() && (has_places || !needs_places)) {
      for (size_t i = 0; i < words.size(); ++i) add(words[i], has_places ? starts[i] : Json());
    } else if (value.is_array()) {
      for (const Json& answer : value) {
        const bool is_text = answer.is_string() && !needs_places;
        add(is_text ? answer : member(answer, "text"), member(answer, "answer_start"));
      }
    } else {
      refuse_answers(to_text(value));
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
  LabelReader labels_;
  GroupTexts groups_;
  size_t refused_ = 0, unfinished_ = 0;  // rows that annotators left out
  Row cells_;
  size_t of_text_ = 0, of_other_types_ = 0;  // texts, by the types of their cells
  size_t pairs_ = 0, equal_pairs_ = 0;       // of two texts
  SharedTexts shared_;
  size_t empty_ = 0,
         equal_negatives_ = 0;  // empty texts; rows with a negative that is a right text
  bool has_begun_ = false;
  bool has_trimmed_ = false;                           // whether an answer had blanks around it
  bool has_tuples_ = false, has_joined_tags_ = false;  // of words or tags
  bool has_long_numbers_ = false;    // whether a text is a number that earlier versions cut
  size_t left_out_ = 0;              // before the row last read
  bool is_repeated_ = false;         // whether that row made an earlier example, too
  std::vector<std::string> joined_;  // the names of columns of words that are joined to texts
  Nested nested_texts_, nested_seconds_;
  OddTexts odd_texts_, odd_seconds_;
  RowsOfChoices choices_;
  TotalRow total_;
  ClassesOfTexts classes_;
  MissingScores missing_scores_;
  SourceScales scales_;
  OddWords odd_words_;
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

namespace {

// The bytes of the blank at the beginning of the text, or at its end. 0: another character stands
// there. `invisible`: whether characters that are not seen count, such as U+200B.
size_t blank_bytes(std::string_view text, bool is_at_end, bool invisible) {
  constexpr std::string_view kBlankTexts[] = {" ",      "\t",     "\n",     "\r",
                                              "\v",     "\f",     "\u00A0", "\u2002",
                                              "\u2003", "\u2009", "\u202F", "\u3000"};
  constexpr std::string_view kInvisible[] = {"\u00AD", "\u200B", "\u200C", "\u200D",
                                             "\u200E", "\u200F", "\u2060", "\uFEFF"};
  const auto stands = [&](std::string_view each) {
    return is_at_end ? text.ends_with(each) : text.starts_with(each);
  };
  const auto blank = std::ranges::find_if(kBlankTexts, stands);
  if (blank != std::end(kBlankTexts)) return blank->size();
  const auto unseen = std::ranges::find_if(kInvisible, stands);
  return invisible && unseen != std::end(kInvisible) ? unseen->size() : 0;
}

// Takes blanks from both ends of an answer. No token has them, so no token would begin or end where
// the answer does, and it would be learnt as if there was none. Returns whether there were any.
// SQuAD's script compares answers without the blanks around them.
bool trim_answer(Answer& answer, AnswerPlaces places) {
  const bool invisible = places == AnswerPlaces::kExact;
  std::string_view inner = answer.text;
  while (const size_t bytes = blank_bytes(inner, /*is_at_end=*/true, invisible)) {
    inner.remove_suffix(bytes);
  }
  while (const size_t bytes = blank_bytes(inner, /*is_at_end=*/false, invisible)) {
    inner.remove_prefix(bytes);
    ++answer.start;
  }
  if (inner.size() == answer.text.size()) return false;
  answer.text = std::string(inner);
  return true;
}

}  // namespace

Finding trimmed_answers() {
  return {"blanks around answers are left out", "blanks around answers are no part of them"};
}

bool settle_answers(Example& example, AnswerPlaces places) {
  const std::string& context = example.texts.at(1);
  bool has_trimmed = false;
  for (Answer& answer : example.answers) {
    has_trimmed = trim_answer(answer, places) || has_trimmed;
    if (answer.text.empty() && places == AnswerPlaces::kExact) {
      throw Error(Code::kBadData, "an answer is empty", "",
                  "a question without an answer has an empty list of answers; --skip-bad-rows N "
                  "leaves such rows out");
    }
    const size_t byte = code_point_offset(context, answer.start);
    if (context.compare(byte, answer.text.size(), answer.text) == 0) continue;
    if (places == AnswerPlaces::kExact) {
      const size_t place = context.find(answer.text);
      const std::string stands =
          place == std::string::npos
              ? ", nor elsewhere in the context"
              : cat(", but at ", code_point_count(std::string_view(context).substr(0, place)));
      throw Error(
          Code::kBadData,
          cat("answer ", quoted(answer.text), " does not stand at ", answer.start, stands), "",
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
  return has_trimmed;
}

}  // namespace berth
