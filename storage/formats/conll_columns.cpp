#include "storage/formats/conll_columns.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/conll_finder.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace {

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
  constexpr std::string_view kWords[] = {"token", "tokens", "word", "words", "form", "text"};
  constexpr std::string_view kTags[] = {
      "tag",  "tags", "ner", "ner_tag", "ner_tags", "ne",    "label", "labels", "pos",
      "upos", "xpos", "bio", "pos_tag", "pos_tags", "chunk", "iob",   "entity"};
  bool has_word = false, has_tag = false;
  for (const std::string_view field : fields) {
    const std::string name = lower_ascii(field);
    has_word = has_word || std::ranges::find(kWords, name) != std::end(kWords);
    has_tag = has_tag || std::ranges::find(kTags, name) != std::end(kTags) ||
              name.starts_with("ne-");  // of HIPE
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

// A first line that is unlike all others is asked about.
void require_no_header(const std::vector<ConllLines>& parts, const ConllLayout& layout,
                       const std::deque<ConllSentence>& sentences) {
  std::vector<ConllLines> rest = parts;
  rest.front().erase(rest.front().begin());
  if (rest.front().empty()) rest.erase(rest.begin());
  if (rest.empty() || (rest.size() == 1 && rest.front().size() < 2)) return;
  const ConllFinder whole(parts, layout.fields), without(rest, layout.fields);
  if (whole.has_tags() || !without.has_tags()) return;
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
      for (size_t i = 0; i < sentence.lines.size(); ++i) {
        if (sentence.lines[i].starts_with('#') != may_be_comments) continue;
        const ConllFields fields = conll_fields(sentence.lines[i]);
        if (layout.fields == 0) {
          layout.fields = fields.size();
          if (names_columns(fields)) {
            layout.header = sentence.numbers[i];
            header.assign(fields.begin(), fields.end());
            continue;
          }
        }
        if (layout.tags.size() < kMostTags && !may_be_comments) layout.tags.emplace(fields.back());
      }
    }
    if (layout.fields > 0) break;
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
  text += "; --text-column and --label-column choose others by their numbers";
  std::string rule;
  if (!is_plain) {
    rule = cat("columns ", layout.word + 1, " and ", layout.tag.value_or(layout.fields - 1) + 1,
               " of CoNLL");
  }
  layout.findings.push_back({rule, text});
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
  const ConllFinder finder(parts, layout.fields);
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
    if (!tag) tag = finder.iob_tag(layout.word, form.tags);
    if (!tag) tag = finder.other_tag(layout.word, form.tags);
    if (tag == layout.word) tag.reset();  // a flag names this column as the word
  }
  layout.tag = tag;
  layout.has_brackets = tag && finder.look(*tag).is_brackets;
  const bool is_plain = layout.word == 0 && layout.tag.value_or(last) == last;
  if (!is_plain || word_number) layout.word_name = std::to_string(layout.word + 1);
  if (layout.tag && (!is_plain || tag_number)) layout.tag_name = std::to_string(*layout.tag + 1);
  const bool is_choice = layout.fields > 2 || !is_plain;
  say_columns(is_choice && !(word_number && tag_number), is_plain, layout);
  return layout;
}

}  // namespace berth
