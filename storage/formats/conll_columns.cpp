#include "storage/formats/conll_columns.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace {

constexpr std::string_view kPhrases = "NP VP PP ADVP SBAR ADJP PRT INTJ CONJP LST";

bool is_outside_tag(std::string_view tag) { return tag == "O" || tag == "o"; }

bool is_fraction_of(std::string_view text) {
  const size_t point = text.find('.');
  return point != std::string_view::npos && parse_number(text.substr(point + 1)) &&
         (point == 0 || parse_number(text.substr(0, point)));
}

// Whether so few of `all` cells are unlike the others in a column of numbers that they must be
// errors.
bool are_few(size_t odd, size_t all) { return odd * 10 <= all; }

// A cell such as "1_1", "s1.w1", "[1]" or "T0". nullopt: it has no number.
struct NumberedCell {
  std::string marks;      // the cell with "#" in place of each number
  size_t numbers = 0;     // how many
  uint64_t last = 0;      // the last one
  bool has_name = false;  // whether letters stand around the numbers
};

std::optional<NumberedCell> numbered_cell(std::string_view text) {
  NumberedCell cell;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      cell.has_name = cell.has_name || is_word_byte(text[at]);
      cell.marks += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const auto number = parse_number(text.substr(at, end - at));
    if (!number) return std::nullopt;
    cell.last = *number;
    ++cell.numbers;
    cell.marks += '#';
    at = end;
  }
  return cell.numbers > 0 ? std::optional(std::move(cell)) : std::nullopt;
}

// Looks at one column line by line.
class ColumnLooker {
 public:
  explicit ColumnLooker(size_t column) : column_(column) {}

  void add(const ConllLines& sentence) {
    ++sentences_;
    begins_ = true;
    previous_.reset();
    BracketTags brackets;
    bool varies = false;
    for (const ConllFields& fields : sentence) {
      const std::string_view text = fields[column_];
      ++lines_;
      varies = varies || text != sentence[0][column_];
      add_tag(text);
      has_bracket_ = has_bracket_ || text.starts_with('(');
      no_brackets_ += !brackets.next(text);
      add_id(text, &fields == &sentence.front());
      add_number(text);
    }
    varying_ += varies;
    no_brackets_ += brackets.is_open();
  }

  ColumnLook take() const {
    const bool is_place = lines_ > 1 && are_few(lines_ - places_, lines_);
    const bool runs = !is_place && are_few(breaks_, lines_) && has_plain_ && lines_ > 0;
    const bool is_iob = are_most_tags(entities_, others_);
    return {.counts = runs && steps_ > 0,
            .may_count = runs && steps_ == 0,
            .is_place = is_place,
            .is_id = id_steps_ > 0 && id_marks_ != "#" && are_few(no_ids_, lines_),
            .is_number = lines_ > 0 && are_few(lines_ - wholes_, lines_),
            .is_fraction = fractions_ > 0 && are_few(lines_ - fractions_ - wholes_, lines_),
            .is_constant = are_few(varying_, sentences_) && lines_ >= 2 * sentences_ &&
                           (sentences_ > 1 || lines_ > 2),
            .numbers_sentences = wholes_ == lines_ && grows_ && has_step_ && has_repeat_,
            .is_iob = is_iob,
            .is_chunk = is_iob && are_most_tags(phrases_, entities_ - phrases_),
            .is_brackets = has_bracket_ && are_few(no_brackets_, lines_),
            .is_outside = lines_ > 0 && outside_ == lines_,
            .has_outside = outside_ > 0 && outside_ < lines_,
            .is_filler = is_filler_};
  }

 private:
  void add_tag(std::string_view text) {
    const bool is_entity = is_entity_tag(text);
    outside_ += is_outside_tag(text);
    is_filler_ = is_filler_ && is_filler_tag(text);
    entities_ += is_entity;
    others_ += !is_entity && !is_filler_tag(text);
    phrases_ += is_entity && is_one_of(kPhrases, text.substr(2));
  }

  // Ids count the words of a sentence or of the file behind marks that all of them share.
  void add_id(std::string_view text, bool begins) {
    const auto cell = numbered_cell(text);
    places_ += cell && cell->numbers > 1 && !cell->has_name;
    if (!id_ && cell) id_marks_ = cell->marks;
    const bool is_alike = cell && cell->marks == id_marks_;
    const bool goes_on = is_alike && id_ && cell->last == *id_ + 1;
    const bool is_first = is_alike && begins && (cell->last <= 1 || !id_);
    id_steps_ += goes_on && !begins;
    no_ids_ += !goes_on && !is_first;
    if (is_alike) id_ = cell->last;
  }

  void add_number(std::string_view text) {
    bool is_pair = false;
    const auto number = running_number(text, is_pair);
    const bool goes_on =
        number && last_ && (*number == *last_ + 1 || (breaks_here_ && *number == *last_ + 2));
    const bool is_first = number && begins_ && *number <= 1;
    breaks_here_ = !number || !(is_pair || goes_on || is_first);
    breaks_ += breaks_here_;
    steps_ += goes_on && !begins_ && !is_pair;
    const bool is_whole = number && !is_pair;
    has_plain_ = has_plain_ || is_whole;
    wholes_ += is_whole;
    fractions_ += is_fraction_of(text);
    if (is_whole) {
      if (previous_) {
        const bool is_repeat = *number == *previous_, is_step = *number == *previous_ + 1;
        grows_ = grows_ && (is_repeat || is_step);
        has_step_ = has_step_ || is_step;
        has_repeat_ = has_repeat_ || is_repeat;
      }
      previous_ = last_ = number;
    }
    begins_ = begins_ && is_pair;
  }

  const size_t column_;
  size_t sentences_ = 0, varying_ = 0;  // varying_: whose cells are not all alike
  size_t lines_ = 0, steps_ = 0, breaks_ = 0, wholes_ = 0, fractions_ = 0, places_ = 0;
  size_t outside_ = 0, entities_ = 0, phrases_ = 0, others_ = 0, no_brackets_ = 0;
  size_t id_steps_ = 0, no_ids_ = 0;
  bool breaks_here_ = false, has_plain_ = false, begins_ = true;
  bool grows_ = true, has_step_ = false, has_repeat_ = false;
  bool is_filler_ = true, has_bracket_ = false;
  std::optional<uint64_t> last_, previous_;  // the number before; previous_: in the sentence
  std::string id_marks_;                     // of the first cell
  std::optional<uint64_t> id_;               // the number of the last cell that has these marks
};

}  // namespace

bool is_entity_tag(std::string_view tag) {
  return tag.size() > 2 && tag[1] == '-' &&
         std::string_view("BIESLUMbieslum").find(tag[0]) != std::string_view::npos;
}

bool is_filler_tag(std::string_view tag) { return is_outside_tag(tag) || tag == "_" || tag == "-"; }

bool is_iob_tag(std::string_view tag) { return tag == "O" || is_entity_tag(tag); }

bool are_tags_of_sentence(std::string_view cell) {
  const std::vector<std::string> tags = parted(cell, " ");
  return tags.size() > 1 && std::ranges::all_of(tags, is_iob_tag);
}

std::optional<uint64_t> running_number(std::string_view text, bool& is_pair) {
  const size_t end = std::min(text.find_first_of("-."), text.size());
  is_pair = end < text.size();
  if (is_pair && !parse_number(text.substr(end + 1))) return std::nullopt;
  return parse_number(text.substr(0, end));
}

std::optional<std::string> BracketTags::next(std::string_view cell) {
  const bool begins = cell.starts_with('('), ends = cell.ends_with(')');
  std::string_view inner =
      cell.substr(begins, cell.size() - begins - (ends && cell.size() > begins));
  const bool has_star = inner.ends_with('*');
  if (has_star) inner.remove_suffix(1);
  const bool is_tag = begins ? !inner.empty() && (has_star || ends) && name_.empty()
                             : inner.empty() && has_star && (!ends || !name_.empty());
  if (!is_tag || inner.find_first_of("()*") != std::string_view::npos) return std::nullopt;
  std::string tag = begins ? cat("B-", inner) : name_.empty() ? "O" : cat("I-", name_);
  if (begins) name_ = inner;
  if (ends) name_.clear();
  return tag;
}

ColumnLook look_at_column(const std::vector<ConllLines>& sentences, size_t column) {
  ColumnLooker looker(column);
  for (const ConllLines& sentence : sentences) looker.add(sentence);
  return looker.take();
}

namespace {

constexpr size_t kConlluFields = 10;
constexpr const char* kNameTags = "name the column of tags with --label-column N, counted from 1";

// "2, 3 and 4", counted from 1.
std::string numbers_of(const std::vector<size_t>& columns) {
  std::vector<std::string> numbers;
  for (const size_t column : columns) numbers.push_back(std::to_string(column + 1));
  return enumerated(numbers);
}

// Finds the columns of words and of tags by what the first lines of a file show. Columns count
// from 0; find_conll_layout() says which one is which.
class ConllFinder {
 public:
  // Each line of `sentences` has `fields` fields.
  ConllFinder(const std::vector<ConllLines>& sentences, size_t fields) : fields_(fields) {
    for (size_t i = 0; i < fields; ++i) looks_.push_back(look_at_column(sentences, i));
    sentences_ = sentences.size();
    for (size_t i = 0; fields > 1 && i < fields; ++i) {
      if (looks_[i].is_tag()) tags_.push_back(i);
    }
    if (tags_.size() == fields) tags_.erase(tags_.begin());
  }

  // Ids with marks, such as "t1", may be words if too few other columns are left for the words and
  // the tags. `tag` is known not to be the word.
  void settle_ids(std::optional<size_t> tag, bool ignores_tags) {
    size_t texts = 0;
    for (size_t i = 0; i < fields_; ++i) texts += i != tag && is_text(i);
    if (texts >= (ignores_tags || tag || has_tags() ? 1u : 2u)) return;
    for (ColumnLook& look : looks_) look.is_id = false;
  }

  const ColumnLook& look(size_t column) const { return looks_[column]; }
  bool has_tags() const { return !tags_.empty(); }  // of entities
  bool counts_words() const { return looks_[0].counts || looks_[0].may_count; }

  bool is_conllu() const {
    const bool counts = looks_[0].counts || looks_[0].may_count;
    return counts && fields_ == kConlluFields;
  }

  // Whether a column is a text, as words are: no tags, no numbers and not the same in a sentence.
  bool is_text(size_t column) const {
    const ColumnLook& look = looks_[column];
    return !is_taken(column) && !look.counts && !look.is_place && !look.is_id &&
           !look.is_constant && !look.is_number && !look.is_fraction && !look.is_filler;
  }

  // Whether a column, or one of those before it, may have tags.
  bool may_be_tag(size_t column) const { return is_text(column) || is_taken(column); }

  bool may_have_tag_before(size_t column) const {
    for (size_t i = 0; i < column; ++i) {
      if (may_be_tag(i)) return true;
    }
    return false;
  }

  // Whether a column has no tags of entities, and another one has.
  bool is_worse_tag(size_t column) const { return has_tags() && !is_taken(column); }

  // The word; `tag` is known not to be it.
  size_t word(std::optional<size_t> tag, bool ignores_tags) const {
    std::vector<size_t> texts, open;
    bool has_tag = ignores_tags || tag || has_tags();
    for (size_t i = 0; i < fields_; ++i) {
      has_tag = has_tag || is_taken(i);
      if (is_taken(i) || i == tag) continue;
      open.push_back(i);
      if (is_text(i)) texts.push_back(i);
    }
    for (const size_t i : open) {
      const ColumnLook& look = looks_[i];
      if (is_text(i)) return i;
      if (look.counts || look.is_place || look.is_id) continue;
      // Numbers, and cells that are alike, are words where no other column is left for the words.
      const bool has_needed_tag = has_tag || (look.may_count && sentences_ > 2);
      const auto behind = std::ranges::count_if(texts, [&](size_t text) { return text > i; });
      if (behind < (has_needed_tag ? 1 : 2)) return i;
      if (ignores_tags && fields_ == 2 && looks_[1].has_outside) return i;
    }
    const auto last = std::ranges::find_if(open, [&](size_t i) {
      return !looks_[i].counts && !looks_[i].is_place && !looks_[i].is_id;
    });
    if (last != open.end()) return *last;
    if (!open.empty()) return open.back();
    return tag == 0 && fields_ > 1 ? 1 : 0;
  }

  // The job's column of words, unless this file has numbers or tags there; then it is `seen`.
  // Throws kBadData where an earlier column may have the words, too.
  size_t usual_word(size_t usual, size_t seen) const {
    if (usual == seen || !is_text(usual)) return seen;
    for (size_t i = 0; i < usual; ++i) {
      if (!is_text(i)) continue;
      throw Error(Code::kBadData,
                  cat("the job's words were in column ", usual + 1, ", but here column ", i + 1,
                      " may have them, too"),
                  "", "name the column of words with --text-column N, counted from 1");
    }
    return usual;
  }

  // Throws kBadData where a column before the word says that a block of lines has many sentences.
  void require_blank_lines(size_t word) const {
    for (size_t i = 0; i < word; ++i) {
      if (!looks_[i].numbers_sentences || looks_[i].is_constant) continue;
      throw Error(
          Code::kBadData,
          cat("column ", i + 1, " numbers the sentences, but no blank lines stand between them"),
          "",
          "put a blank line after each sentence, or write a line sentence_id, word, tag "
          "first and let the file's name end in .tsv");
    }
  }

  // The column of entities or phrases; nullopt: there is none. The tag where no column has tags of
  // entities. `wanted` is what the tags say. Both throw kBadData where no column is better than
  // another, unless "any" is wanted.
  std::optional<size_t> iob_tag(size_t word, std::string_view wanted) const {
    if (tags_.size() < 2) return tags_.empty() ? std::nullopt : std::optional(tags_[0]);
    std::vector<size_t> entities;
    for (const size_t tag : tags_) {
      if (!looks_[tag].is_chunk) entities.push_back(tag);
    }
    if (entities.size() == 1) return entities[0];
    const std::vector<size_t>& found = entities.empty() ? tags_ : entities;
    const bool is_next = std::ranges::find(found, word + 1) != found.end();
    if (looks_[0].counts && is_next) return word + 1;
    if (found.back() == fields_ - 1 && looks_[found.back()].is_iob) return found.back();
    if (wanted == "any") return found.back();
    throw Error(Code::kBadData, cat("columns ", numbers_of(found), " may hold the tags"), "",
                kNameTags);
  }

  // Whether entities have tags in another column than this one. Chunks are no entities.
  bool has_other_entities(size_t tag) const {
    return std::ranges::any_of(
        tags_, [&](size_t other) { return other != tag && !looks_[other].is_chunk; });
  }

  size_t other_tag(size_t word, std::string_view wanted) const {
    std::vector<size_t> others, outside, with_outside;
    for (size_t i = 0; i < fields_; ++i) {
      const ColumnLook& look = looks_[i];
      if (look.is_outside && i != word) outside.push_back(i);
      const bool is_number_before = i < word && !is_text(i);
      if (i == word || look.is_filler || look.is_fraction || is_number_before) continue;
      others.push_back(i);
      if (look.has_outside) with_outside.push_back(i);
    }
    if (!outside.empty() && outside.back() + 1 == fields_) return outside.back();
    if (wanted != "ner") {
      if (is_conllu() && wanted != "any") {
        throw Error(Code::kBadData, "is CoNLL-U, whose lines have several kinds of tags", "",
                    "pass --task pos, or name a column with --label-column N, counted from 1");
      }
      if (others.empty() && !outside.empty()) return outside.back();
      return others.empty() ? fields_ - 1 : others.back();
    }
    if (outside.size() == 1) return outside[0];
    if (with_outside.size() == 1) return with_outside[0];
    if (others.size() == 1) return others[0];
    if (fields_ == 2) return 1 - word;
    throw Error(Code::kBadData, "no column has the tags of entities (B-NAME, I-NAME, O)", "",
                kNameTags);
  }

 private:
  // By tags.
  bool is_taken(size_t column) const {
    if (has_tags()) return std::ranges::find(tags_, column) != tags_.end();
    return looks_[column].is_outside && fields_ > 1;
  }

  const size_t fields_;
  size_t sentences_ = 0;
  std::vector<ColumnLook> looks_;
  std::vector<size_t> tags_;  // the columns with tags of entities
};

constexpr size_t kMostTags = 10'000;
constexpr size_t kConlluTag = 3;

// The lines of the sentences as fields, without comments and the header.
std::vector<ConllLines> split_lines(const std::deque<ConllSentence>& sentences,
                                    const ConllLayout& layout) {
  std::vector<ConllLines> parts;
  for (const ConllSentence& sentence : sentences) {
    ConllLines lines;
    for (size_t i = 0; i < sentence.lines.size(); ++i) {
      ConllFields fields = conll_fields(sentence.lines[i]);
      if (lines.empty() && layout.is_comment(sentence.lines[i], fields)) continue;
      if (layout.header == sentence.numbers[i]) continue;
      if (fields.size() == layout.fields) lines.push_back(std::move(fields));
    }
    if (!lines.empty()) parts.push_back(std::move(lines));
  }
  return parts;
}

// Whether the fields are names of columns. One of them must mean words, and another one tags.
bool names_columns(std::span<const std::string_view> fields) {
  constexpr std::string_view kWords = "token tokens word words form text";
  constexpr std::string_view kTags =
      "tag tags ner ner_tag ner_tags ne label labels pos upos xpos bio pos_tag pos_tags chunk iob "
      "entity";
  bool has_word = false, has_tag = false;
  for (const std::string_view field : fields) {
    const std::string name = lower_ascii(field);
    has_word = has_word || is_one_of(kWords, name);
    has_tag = has_tag || is_one_of(kTags, name) || name.starts_with("ne-");  // of HIPE
  }
  return has_word && has_tag;
}

size_t named_column(const std::string& name, uint64_t number, const ConllLayout& layout,
                    const char* flag) {
  if (number >= 1 && number <= layout.fields) return number - 1;
  throw Error(Code::kBadData, cat("there is no column ", name, " (", flag, "); the lines have ",
                                  layout.fields, layout.fields == 1 ? " column" : " columns"));
}

void refuse_other_formats(const std::deque<ConllSentence>& sentences) {
  const std::string& first = sentences.front().lines.front();
  if (first.starts_with("#FORMAT=WebAnno")) {
    throw Error(Code::kBadData, "is WebAnno's TSV, which berth does not read", "",
                "export the project from INCEpTION or WebAnno as CoNLL 2002 or CoNLL 2003");
  }
  const auto is_of_brat = [](const std::string& line) {
    const ConllFields fields = conll_fields(line);
    bool is_pair = false;
    return fields.size() == 3 && line.find('\t') != std::string::npos && fields[0].size() > 1 &&
           fields[0][0] == 'T' && running_number(fields[0].substr(1), is_pair) &&
           parted(fields[1], " ").size() >= 3;
  };
  if (is_of_brat(first)) {
    throw Error(Code::kBadData, "is an annotation of brat, whose text is in another file", "",
                "convert both to CoNLL with brat's tools/anntoconll.py");
  }
}

// Whether a cell is a tag as `look` says of its column.
bool fits_tag(const ColumnLook& look, std::string_view cell) {
  return look.is_brackets ? BracketTags().next(cell).has_value()
                          : is_entity_tag(cell) || is_filler_tag(cell);
}

// A first line that is unlike all others is asked about.
void require_no_header(const std::vector<ConllLines>& parts, const ConllLayout& layout,
                       const std::deque<ConllSentence>& sentences) {
  std::vector<ConllLines> rest = parts;
  rest.front().erase(rest.front().begin());
  if (rest.front().empty()) rest.erase(rest.begin());
  if (rest.empty() || (rest.size() == 1 && rest.front().size() < 2)) return;
  const ConllFinder without(rest, layout.fields);
  const ConllFields& first = parts.front().front();
  for (size_t i = 0; i < layout.fields; ++i) {
    if (without.look(i).is_tag() && fits_tag(without.look(i), first[i])) return;
  }
  if (!without.has_tags()) return;
  throw Error(Code::kBadData, "the first line has no tag of entities as all others have",
              line_position(sentences.front().number),
              "take it out if it names the columns, or correct its tag");
}

// Where several columns may hold the tags that the task names, none is better than another.
size_t tag_of_task(const ConllFinder& finder, const ConllLayout& layout, std::string_view wanted) {
  if (wanted == "pos" && finder.is_conllu()) return kConlluTag;
  std::vector<size_t> others, chunks;
  for (size_t i = 0; i < layout.fields; ++i) {
    if (finder.look(i).is_chunk) chunks.push_back(i);
    if (i > layout.word || (i < layout.word && finder.may_be_tag(i))) others.push_back(i);
  }
  if (wanted == "chunk" && chunks.size() == 1) return chunks[0];
  if (others.size() == 1) return others[0];
  throw Error(Code::kBadData,
              cat("has ", others.size(), " columns that may hold the ", wanted, " tags"), "",
              "name one with --label-column N, counted from 1");
}

// The number from 1 of a column that `name` names by its number or as the header does.
std::optional<uint64_t> number_of(const std::string& name, const std::vector<std::string>& header,
                                  bool is_kind) {
  if (const auto number = parse_number(name)) return number;
  std::vector<std::string> names = {name};
  if (is_kind) names = {name + "_tags", name + "_tag", name, "u" + name, "x" + name};
  for (const std::string& wanted : names) {
    for (size_t i = 0; i < header.size() && !wanted.empty(); ++i) {
      if (lower_ascii(header[i]) == lower_ascii(wanted)) return i + 1;
    }
  }
  return std::nullopt;
}

// A column that the job has used, where the file has it; see TextForm.
std::optional<size_t> usual_column(const std::string& name, const ConllLayout& layout) {
  const auto number = parse_number(name);
  if (!number || layout.fields == 1) return std::nullopt;
  if (*number >= 1 && *number <= layout.fields) return *number - 1;
  throw Error(
      Code::kBadData,
      cat("the job read column ", name, ", but the lines have ", layout.fields, " columns"), "",
      "give the columns that the job was trained with, or name them with --text-column N and "
      "--label-column N");
}

// Takes the number of columns from the first line, and the tags that occur.
void read_widths(const std::deque<ConllSentence>& sentences, ConllLayout& layout,
                 std::vector<std::string>& header) {
  for (const bool may_be_comments : {false, true}) {  // a file may have the word "#" alone
    for (const ConllSentence& sentence : sentences) {
      bool has_begun = false;  // behind the first word, no line is a comment
      for (size_t i = 0; i < sentence.lines.size(); ++i) {
        const bool is_mark = sentence.lines[i].starts_with('#') && !has_begun;
        if (is_mark != may_be_comments) continue;
        const ConllFields fields = conll_fields(sentence.lines[i]);
        if (layout.fields == 0) {
          layout.fields = fields.size();
          if (names_columns(fields)) {
            layout.header = sentence.numbers[i];
            header.assign(fields.begin(), fields.end());
            continue;
          }
        }
        has_begun = true;
        const bool is_word = !may_be_comments && fields.size() == layout.fields;
        if (is_word && layout.tags.size() < kMostTags) layout.tags.emplace(fields.back());
      }
    }
    if (layout.fields > 0) break;
  }
}

// Whether the field is a word with its tag, as in "Ida/B-PER" and "runs/VBZ".
bool is_tagged_word(std::string_view field) {
  const size_t bar = field.rfind('/');
  if (bar == std::string_view::npos || bar == 0) return false;
  const std::string_view tag = field.substr(bar + 1);
  const bool is_name = !tag.empty() && tag[0] >= 'A' && tag[0] <= 'Z';
  return is_iob_tag(tag) ||
         (is_name && std::ranges::none_of(tag, [](char c) { return c >= 'a' && c <= 'z'; }));
}

// Refuses lines that are sentences of such words.
void refuse_tagged_words(const std::deque<ConllSentence>& sentences) {
  size_t fields = 0, tagged = 0;
  std::string_view example;
  for (const ConllSentence& sentence : sentences) {
    for (const std::string& line : sentence.lines) {
      for (const std::string_view field : conll_fields(line)) {
        ++fields;
        if (!is_tagged_word(field)) continue;
        ++tagged;
        example = field;
      }
    }
  }
  if (tagged < 3 || tagged * 4 < fields * 3) return;
  throw Error(Code::kBadData, cat("has words with their tags, as in ", quoted(example)), "",
              "write a line with the word, a tab and the tag for each word, and a blank line after "
              "each sentence");
}

// Refuses lines with tabs that are sentences, with tags or ids beside them. Only the words and the
// tags are looked at, and where there are no tags, all columns. `is_named`: a flag names the words.
void refuse_sentences(const std::vector<ConllLines>& parts, const ConllLayout& layout,
                      bool is_named) {
  for (size_t column = 0; column < layout.fields; ++column) {
    const bool is_looked_at = column == layout.tag || column == layout.word || !layout.tag;
    if (!is_looked_at || (is_named && column != layout.tag)) continue;
    size_t lines = 0, sentences = 0;
    std::string_view example;
    for (const ConllLines& part : parts) {
      for (const ConllFields& fields : part) {
        ++lines;
        const bool is_sentence = parted(fields[column], " ").size() > 2;
        if (!is_sentence && !are_tags_of_sentence(fields[column])) continue;
        ++sentences;
        example = fields[column];
      }
    }
    if (sentences * 2 <= lines) continue;
    throw Error(Code::kBadData,
                cat("column ", column + 1, " has several words in a line, as in ", quoted(example)),
                "", kOfSentences);
  }
}

void say_columns(bool is_choice, bool is_plain, ConllLayout& layout) {
  if (layout.header) {
    layout.findings.push_back(
        {"header line of CoNLL", "the first line names the columns and is no word"});
  }
  if (layout.has_brackets) {
    layout.findings.push_back({"tags in brackets", "tags in brackets become B-NAME, I-NAME and O"});
  }
  if (!is_choice) return;
  std::string text = cat("of ", layout.fields, " columns, the word is column ", layout.word + 1);
  if (layout.tag) text += cat(" and the tag column ", *layout.tag + 1);
  if (layout.has_other_tags) text += "; another column has tags of entities, too";
  text += "; --text-column and --label-column choose others by their numbers";
  std::string rule;
  if (!is_plain) {
    rule = cat("columns ", layout.word + 1, " and ", layout.tag.value_or(layout.fields - 1) + 1,
               " of CoNLL");
  }
  layout.findings.push_back({rule, text, /*is_warning=*/layout.has_other_tags});
}

}  // namespace

std::vector<std::string_view> conll_fields(std::string_view line) {
  const char separator = line.find('\t') != std::string_view::npos ? '\t' : ' ';
  std::vector<std::string_view> fields;
  while (true) {
    const size_t end = std::min(line.find(separator), line.size());
    if (end > 0) fields.push_back(line.substr(0, end));
    if (end == line.size()) return fields;
    line.remove_prefix(end + 1);
  }
}

bool ConllLayout::is_comment(std::string_view line, std::span<const std::string_view> parts) const {
  if (!line.starts_with('#')) return false;
  if (counts || parts.size() != fields) return true;
  return fields > 1 && !is_iob_tag(parts.back()) && !tags.contains(parts.back());
}

bool ConllLayout::is_no_word(std::span<const std::string_view> parts) const {
  bool is_pair = false;
  return counts && !parts.empty() && running_number(parts[0], is_pair) && is_pair;
}

ConllLayout find_conll_layout(const std::deque<ConllSentence>& sentences, const TextForm& form,
                              bool ignores_tags) {
  refuse_other_formats(sentences);
  refuse_tagged_words(sentences);
  ConllLayout layout;
  std::vector<std::string> header;
  read_widths(sentences, layout, header);
  const auto parts = split_lines(sentences, layout);
  if (parts.empty()) throw Error(Code::kBadData, "has no words");
  const bool is_kind = form.tags == "ner" || form.tags == "pos" || form.tags == "chunk";
  const auto word_number = number_of(form.words, header, false),
             tag_number = number_of(form.tags, header, is_kind);
  const bool asks = !tag_number && !ignores_tags && form.tags != "any";
  if (!layout.header && asks) require_no_header(parts, layout, sentences);
  ConllFinder finder(parts, layout.fields);
  const size_t last = layout.fields - 1;

  // The word.
  const bool is_first = form.words == "tokens";
  const auto usual_word = word_number ? std::nullopt : usual_column(form.usual_words, layout);
  std::optional<size_t> tag;
  if (tag_number && !ignores_tags) {
    tag = named_column(form.tags, *tag_number, layout, "--label-column");
  } else if (tag_number && *tag_number >= 1 && *tag_number <= layout.fields) {
    tag = *tag_number - 1;
  }
  finder.settle_ids(tag, ignores_tags);
  layout.word = is_first ? 0 : finder.word(tag, ignores_tags);
  if (usual_word && !is_first) layout.word = finder.usual_word(*usual_word, layout.word);
  if (word_number) layout.word = named_column(form.words, *word_number, layout, "--text-column");
  layout.counts = layout.word > 0 && finder.counts_words();
  if (!word_number) finder.require_blank_lines(layout.word);

  // The tag.
  const bool is_alone =
      layout.fields == 1 || (layout.word == last && !finder.may_have_tag_before(last));
  if (ignores_tags || (!tag && is_alone)) {
    tag.reset();
  } else {
    const auto usual_tag = usual_column(form.usual_tags, layout);
    if (!tag && form.tags == "tags" && layout.word != last) tag = last;
    if (!tag && (form.tags == "pos" || form.tags == "chunk")) {
      tag = tag_of_task(finder, layout, form.tags);
    }
    const bool is_worse = usual_tag && finder.is_worse_tag(*usual_tag);
    if (!tag && usual_tag != layout.word && !is_worse) tag = usual_tag;
    if (!tag) {
      tag = finder.iob_tag(layout.word, form.tags);
      layout.has_other_tags = tag && !layout.counts && finder.has_other_entities(*tag);
    }
    if (!tag) tag = finder.other_tag(layout.word, form.tags);
    if (tag == layout.word) tag.reset();  // a flag names this column as the word
  }
  layout.tag = tag;
  refuse_sentences(parts, layout, word_number.has_value());
  layout.has_brackets = tag && finder.look(*tag).is_brackets;
  const bool is_plain = layout.word == 0 && layout.tag.value_or(last) == last;
  if (!is_plain || word_number) layout.word_name = std::to_string(layout.word + 1);
  if (layout.tag && (!is_plain || tag_number)) layout.tag_name = std::to_string(*layout.tag + 1);
  if (!form.word_name.empty()) layout.word_name = form.word_name;
  if (!form.tag_name.empty()) layout.tag_name = form.tag_name;
  const bool is_choice = layout.fields > 2 || !is_plain;
  say_columns(is_choice && !(word_number && tag_number), is_plain, layout);
  return layout;
}

}  // namespace berth
