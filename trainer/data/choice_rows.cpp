#include "trainer/data/choice_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

constexpr std::string_view kChoiceLetters = "abcdefghijklmnop";

// A name that ends with the number or the letter of a choice.
struct NumberedColumn {
  size_t number = 0, column = 0;
  bool is_letter = false;
};

// The number behind `stem` in a name: 3 in "ending3" and "ending_3", 0 in "optionA".
std::optional<NumberedColumn> numbered(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  name.remove_prefix(stem.size());
  if (!name.empty() && std::string_view("_- .").find(name.front()) != name.npos) {
    name.remove_prefix(1);
  }
  if (name.size() <= 2 && is_digits(name)) {
    size_t number = 0;
    for (const char digit : name) number = 10 * number + static_cast<size_t>(digit - '0');
    return NumberedColumn{.number = number};
  }
  const size_t letter = name.size() == 1 ? kChoiceLetters.find(name.front()) : name.npos;
  if (letter == name.npos) return std::nullopt;
  return NumberedColumn{.number = letter, .is_letter = true};
}

// All columns with one stem, in the order of their numbers.
std::vector<NumberedColumn> all_numbered(std::span<const Column> columns, std::string_view stem,
                                         bool are_letters) {
  std::vector<NumberedColumn> found;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = lower_ascii(columns[i].name);
    // A column "a" is a text of any kind; "A" is a choice.
    if (stem.empty() && name == columns[i].name) continue;
    auto one = numbered(name, stem);
    if (!one || one->is_letter != are_letters) continue;
    one->column = i;
    found.push_back(*one);
  }
  std::ranges::stable_sort(found, {}, &NumberedColumn::number);
  return found;
}

// The members of a list of texts or numbers.
std::optional<std::vector<std::string>> texts_in(const Json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return std::nullopt;
  for (const Json& member : list) {
    if (!member.is_string() && !member.is_number()) return std::nullopt;
    texts.push_back(member.is_string() ? member.get<std::string>() : to_text(member));
  }
  return texts;
}

Json value_at(const Json& object, const char* key) { return object.value(key, Json()); }

// The choices of {"A": ..., "B": ...}, whose keys are all letters from A on, or numbers from 0 or 1
// on; nullopt: the object has another form.
std::optional<Choices> choices_by_name(const Json& object) {
  Choices choices;
  size_t first = 0;
  for (const auto& [key, value] : object.items()) {
    const auto name = numbered(lower_ascii(key), "");
    if (!name || key.size() != 1 || !value.is_string()) return std::nullopt;
    if (choices.texts.empty()) first = name->number;
    if (name->number != first + choices.texts.size() || first > (name->is_letter ? 0 : 1)) {
      return std::nullopt;
    }
    choices.texts.push_back(value.get<std::string>());
    choices.names.push_back(key);
  }
  return choices.texts.empty() ? std::nullopt : std::optional(std::move(choices));
}

// The choices of objects; nullopt: the value has another form.
std::optional<Choices> choices_in(const Json& value) {
  Choices choices;
  if (value.is_object()) {
    const auto texts = texts_in(value_at(value, "text"));
    if (!texts) return choices_by_name(value);
    choices = {.texts = *texts,
               .names = texts_in(value_at(value, "label")).value_or(choices.names)};
  } else {
    for (const Json& choice : value) {
      const bool is_keyed = choice.is_object() && !choice.contains("text");
      const Json text = choice.is_object() ? value_at(choice, is_keyed ? "value" : "text") : Json();
      if (!text.is_string()) return std::nullopt;
      choices.texts.push_back(text.get<std::string>());
      const Json name = value_at(choice, is_keyed ? "key" : "label");
      if (name.is_string()) choices.names.push_back(name.get<std::string>());
    }
  }
  const bool are_all_named = choices.names.size() == choices.texts.size();
  if (!are_all_named && !choices.names.empty()) return std::nullopt;
  return choices;
}

}  // namespace

std::vector<size_t> find_choices(std::span<const Column> columns) {
  constexpr std::string_view kStems[] = {"ending",      "choice", "option", "answer", "candidate",
                                         "alternative", "sol",    "op",     ""};
  for (const std::string_view stem : kStems) {
    for (const bool are_letters : {false, true}) {
      if (stem.empty() && !are_letters) continue;
      const std::vector<NumberedColumn> found = all_numbered(columns, stem, are_letters);
      if (found.size() < 2) continue;
      std::vector<size_t> choices;
      for (const NumberedColumn& one : found) {
        const size_t expected = found.front().number + choices.size();
        if (one.number != expected || found.front().number > 1) {
          throw Error(
              Code::kBadData,
              cat("the columns of choices have a gap before ", quoted(columns[one.column].name)),
              "", "number them from 0 or 1 on, and give all rows the same number");
        }
        choices.push_back(one.column);
      }
      return choices;
    }
  }
  for (const std::string_view list :
       {"endings", "choices", "options", "answers", "candidates", "alternatives"}) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (lower_ascii(columns[i].name) == list) return {i};
    }
  }
  return {};
}

std::optional<size_t> find_lead(std::span<const Column> columns, size_t context) {
  constexpr std::string_view kLeads[] = {"sent2",         "question", "query",
                                         "question_stem", "stem",     "prompt"};
  const bool is_question =
      std::ranges::find(kLeads, lower_ascii(columns[context].name)) != std::end(kLeads);
  for (const std::string_view lead : std::span(kLeads).first(is_question ? 3 : std::size(kLeads))) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i != context && lower_ascii(columns[i].name) == lead) return i;
    }
  }
  return std::nullopt;
}

Choices listed_choices(std::string_view column, const std::string& cell) {
  if (auto texts = parse_text_list(cell)) return {.texts = std::move(*texts)};
  const Json json = parse_json(cell);
  const Json value = json.is_discarded() ? parse_python(cell) : json;
  if (value.is_structured()) {
    if (auto choices = choices_in(value)) return std::move(*choices);
  }
  throw Error(Code::kBadData,
              cat("column ", quoted(column), ": ", quoted(cell), " is not a list of choices"), "",
              R"(write a list of texts, {"text": [...], "label": [...]} or {"A": ..., "B": ...})");
}

namespace {

// Whether a character may belong to a name of programs, such as "x_max".
bool is_of_name(char c) {
  return c == '_' || (is_word_byte(c) && static_cast<unsigned char>(c) < 0x80);
}

// Whether '_' stand inside a word, or on both sides of it.
bool is_name(std::string_view word) {
  const size_t first = word.find_first_not_of('_'), last = word.find_last_not_of('_');
  if (first == word.npos) return false;
  const bool is_enclosed = first > 0 && last + 1 < word.size();
  return is_enclosed || word.substr(first, last - first).find('_') != word.npos;
}

}  // namespace

std::string text_of_choice(const std::string& lead, const std::string& choice, bool may_have_gap) {
  std::string filled;
  bool has_gap = false;
  constexpr std::string_view kLongGap = "___";  // no name of a program has it
  for (size_t begin = 0; begin < lead.size() && may_have_gap;) {
    const bool is_word = is_of_name(lead[begin]);
    size_t end = std::min(lead.find_first_not_of('_', begin), lead.size());
    if (end - begin < kLongGap.size()) {
      const size_t gap = std::min(lead.find(kLongGap, end), lead.size());
      while (end < gap && is_of_name(lead[end]) == is_word) ++end;
    }
    const std::string part = lead.substr(begin, end - begin);
    begin = end;
    const size_t first = part.find('_'), last = part.find_last_not_of('_');
    if (!is_word || first == part.npos || is_name(part)) {
      filled += part;
      continue;
    }
    has_gap = true;
    // A gap alone, or one before or behind a word.
    const size_t behind = first == 0 ? part.find_first_not_of('_') : part.npos;
    filled += first == 0 ? cat(choice, behind == part.npos ? "" : part.substr(behind))
                         : cat(part.substr(0, last + 1), choice);
  }
  return has_gap ? filled : cat(lead, " ", choice);
}

bool may_have_gap(std::string_view column) { return lower_ascii(column) != "sent2"; }

namespace {

// The place of the only text that is `wanted`, or is so without regard to case.
std::optional<size_t> only_place(std::span<const std::string> texts, std::string_view wanted,
                                 bool ignores_case) {
  std::optional<size_t> place;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = trimmed(texts[i]);
    if (text != wanted && !(ignores_case && lower_ascii(text) == lower_ascii(wanted))) continue;
    if (place) return std::nullopt;
    place = i;
  }
  return place;
}

// The place that a number from 0 or a letter from A means.
std::optional<size_t> counted_place(const std::string& label, const Choices& choices) {
  const size_t count = choices.texts.size();
  const auto is_number = [](const std::string& name) {
    return parse_real(std::string_view(name)).has_value();
  };
  const std::optional<double> number = parse_real(std::string_view(label));
  // Where the choices have names, a number may also be the text of one.
  const bool counts = std::ranges::none_of(choices.names, is_number) &&
                      (choices.names.empty() || !only_place(choices.texts, label, false));
  for (size_t i = 0; i < count && counts && number; ++i) {
    if (*number == static_cast<double>(i)) return i;
  }
  const size_t letter = label.size() == 1 && choices.names.empty()
                            ? kChoiceLetters.find(lower_ascii(label).front())
                            : std::string::npos;
  return letter < count ? std::optional(letter) : std::nullopt;
}

}  // namespace

int32_t number_of_choice(const Cell& cell, const Choices& choices,
                         std::span<const std::string> columns) {
  const std::string label(trimmed(plain_text(cell).value_or("")));
  const auto named = std::ranges::find(choices.names, label);
  if (named != choices.names.end()) return static_cast<int32_t>(named - choices.names.begin());
  auto place = only_place(choices.names, label, /*ignores_case=*/true);
  if (!place) place = counted_place(label, choices);
  if (!place) place = only_place(columns, label, /*ignores_case=*/true);
  // A number or a letter that counts in one row must not be a text in another.
  const bool may_be_text = label.size() > 1 && !parse_real(std::string_view(label));
  if (!place && may_be_text) place = only_place(choices.texts, label, /*ignores_case=*/false);
  if (place) return static_cast<int32_t>(*place);
  throw Error(
      Code::kBadData,
      cat("the label ", quoted(label), " means none of the row's ",
          counted(choices.texts.size(), "choice")),
      "",
      choices.names.empty()
          ? "write the number of the right choice from 0 on, or its letter from A on; where the "
            "numbers begin with 1, subtract 1"
          : cat("write the name of the right choice: ", joined(choices.names, ", ", Quoted())));
}

namespace {

class QuestionRows final : public RowReader {
 public:
  explicit QuestionRows(std::unique_ptr<RowReader> articles)
      : articles_(std::move(articles)), id_(find_column(articles_->columns(), "id")) {
    article_ = *find_column(articles_->columns(), "article");
    constexpr std::pair<std::string_view, std::string_view> kLists[] = {
        {"questions", "question"}, {"options", "options"}, {"answers", "answer"}};
    for (const auto& [list, name] : kLists) {
      const auto column = find_column(articles_->columns(), list);
      if (!column) continue;
      lists_.push_back({.name = std::string(list), .column = *column});
      columns_.push_back({std::string(name), {}});
    }
    columns_.push_back({"article", {}});
    columns_.push_back({"id", {}});
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat(articles_->position(), ", question ", next_); }
  std::vector<Finding> findings() const override { return articles_->findings(); }

  bool next(Row& row) override {
    while (next_ == count_) {
      next_ = count_ = 0;
      if (!articles_->next(cells_)) return false;
      read_lists();
    }
    row.clear();
    for (const List& list : lists_) {
      const Json& value = list.values[next_];
      row.emplace_back(value.is_string() ? Cell(value.get<std::string>())
                       : value.is_null() ? Cell()
                                         : Cell(to_text(value)));
    }
    row.push_back(cells_[article_]);
    row.push_back(id_ ? Cell(cat(plain_text(cells_[*id_]).value_or(""), "-", next_)) : Cell());
    ++next_;
    return true;
  }

 private:
  struct List {
    std::string name;
    size_t column = 0;
    Json values{};
  };

  // The most bytes of text that the questions of an article may have for each byte of it.
  static constexpr size_t kMostRepeated = 128;

  void read_lists() {
    const std::string article = plain_text(cells_[article_]).value_or("");
    size_t bytes = article.size();
    for (List& list : lists_) {
      list.values = parse_json(plain_text(cells_[list.column]).value_or(""));
      const size_t count = list.values.size();
      if (!list.values.is_array() || count != lists_.front().values.size()) {
        throw Error(Code::kBadData,
                    cat("the article has ", counted(lists_.front().values.size(), "question"),
                        ", and its member ", quoted(list.name), " is no list with as many members"),
                    articles_->position());
      }
      bytes += plain_text(cells_[list.column])->size();
    }
    const size_t count = lists_.front().values.size();
    if (article.size() * count > kMostRepeated * bytes) {
      throw Error(Code::kBadData, "has too many questions about a long article",
                  articles_->position());
    }
    count_ = count;
  }

  const std::unique_ptr<RowReader> articles_;
  const std::optional<size_t> id_;
  size_t article_ = 0;
  std::vector<List> lists_;
  std::vector<Column> columns_;
  Row cells_;                    // of the article
  size_t next_ = 0, count_ = 0;  // questions of the article
};

}  // namespace

void RowsOfChoices::begin_row(Choices choices) {
  const size_t count = choices.texts.size();
  if (count < 2 || (per_row_ > 0 && count != per_row_)) {
    throw Error(Code::kBadData,
                cat("the row has ", counted(count, "choice"),
                    count < 2 ? "" : cat(", and the first row has ", per_row_)),
                "",
                "give all rows the same number of choices, or leave such rows out with "
                "--skip-bad-rows N");
  }
  per_row_ = count;
  std::vector<std::string> sorted = choices.texts;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  equal_ += twice != sorted.end() && !twice->empty();
  choices_ = std::move(choices);
}

int32_t RowsOfChoices::right_one(const Cell& label, std::span<const std::string> columns) {
  const int32_t right = number_of_choice(label, choices_, columns);
  ++right_;
  first_ += right == 0;
  return right;
}

std::vector<Finding> RowsOfChoices::findings() const {
  constexpr size_t kManyRows = 20;
  std::vector<Finding> found;
  if (equal_ > 0) {
    found.push_back(warning(cat(counted(equal_, "row"), equal_ == 1 ? " has" : " have",
                                " a choice twice, so only one of two equal choices counts as "
                                "right")));
  }
  if (right_ < kManyRows || per_row_ > kManyRows / 4) return found;
  if (first_ == 0) {
    found.push_back(
        warning("no row's right choice is the first one; where the numbers of choices begin with "
                "1, subtract 1"));
  } else if (first_ == right_) {
    found.push_back(
        warning("the right choice is the first one in all rows, which teaches a place and no "
                "texts; shuffle the choices of each row"));
  }
  return found;
}

bool names_articles(std::span<const Column> columns) {
  return find_column(columns, "article") && find_column(columns, "questions") &&
         find_column(columns, "options");
}

std::unique_ptr<RowReader> make_question_rows(std::unique_ptr<RowReader> articles) {
  return std::make_unique<QuestionRows>(std::move(articles));
}

}  // namespace berth
