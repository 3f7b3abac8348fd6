#include "trainer/loop/retrieval_set.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <unordered_map>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

constexpr const char *kCorpus = "corpus", *kQueries = "queries", *kJudgements = "qrels";
constexpr const char* kLayout =
    "a retrieval set holds corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, or tables of these "
    "names in another format";

// The files of a retrieval set.
struct SetFiles {
  std::vector<Uri> corpus{}, queries{};
  std::map<std::string, std::vector<Uri>> judgements{};  // of each split; "": there are no splits
};

// The name of a table: "corpus" of corpus.jsonl.gz and of corpus-00000-of-00002.parquet.
std::string table_name(const std::string& file) {
  std::string name = file.substr(0, file.find('.'));
  const size_t dash = name.find('-');
  if (dash != std::string::npos && dash + 1 < name.size() && name[dash + 1] >= '0' &&
      name[dash + 1] <= '9') {
    name.resize(dash);
  }
  return name;
}

// The split of judgements that lie beside the corpus: "dev" of qrels.dev.tsv.gz, none of qrels.tsv.
std::string split_of(const std::string& file) {
  const std::string name(without_compression_suffix(file));
  const size_t first = name.find('.'), last = name.rfind('.');
  return first == last ? "" : name.substr(first + 1, last - first - 1);
}

// Adds a file to the set of the folder that it belongs to, if it is one of a retrieval set. `path`
// is its path below the place that the user named.
void add_file(const std::string& path, const Uri& file, std::map<std::string, SetFiles>& sets) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::string name = table_name(std::string(last_part(path)));
  const size_t above = folder.rfind('/');
  const std::string parent = above == std::string::npos ? folder : folder.substr(above + 1);
  const std::string root = above == std::string::npos ? "" : folder.substr(0, above);
  if (parent == kCorpus) {
    sets[root].corpus.push_back(file);
  } else if (parent == kQueries) {
    sets[root].queries.push_back(file);
  } else if (parent == kJudgements) {
    sets[root].judgements[name].push_back(file);
  } else if (name == kCorpus) {
    sets[folder].corpus.push_back(file);
  } else if (name == kQueries) {
    sets[folder].queries.push_back(file);
  } else if (name == kJudgements) {
    sets[folder].judgements[split_of(std::string(last_part(path)))].push_back(file);
  }
}

// The sets below a place, by their folders: all that have a corpus. `found` is what lies there.
std::map<std::string, SetFiles> sets_among(const std::vector<Stat>& found, const Uri& place) {
  std::map<std::string, SetFiles> sets;
  const size_t prefix = (place / "x").to_string().size() - 1;
  for (const Stat& stat : found) {
    if (stat.name.size() < prefix) continue;  // the place is a file
    const std::string path = stat.name.substr(prefix);
    const bool is_file = !path.empty() && !path.ends_with('/') && hidden_by(path) == 0;
    if (!is_file || !is_table(without_compression_suffix(last_part(path)))) continue;
    add_file(path, place / path, sets);
  }
  std::erase_if(sets, [](const auto& set) { return set.second.corpus.empty(); });
  return sets;
}

SetFiles find_files(Storage& storage, const Uri& place) {
  const std::vector<Stat> found = storage.list(place);
  if (found.empty()) {
    const std::string similar = similar_name(storage, place);
    throw Error(Code::kNotFound, "no such folder or archive", "",
                similar.empty() ? kLayout : similar);
  }
  std::map<std::string, SetFiles> sets = sets_among(found, place);
  if (sets.empty()) throw Error(Code::kNotFound, "there is no corpus here", "", kLayout);
  if (sets.size() > 1) {
    throw Error(Code::kBadData, cat("holds ", sets.size(), " retrieval sets"), "",
                cat("name one of their folders, such as ", quoted(sets.begin()->first)));
  }
  SetFiles& files = sets.begin()->second;
  if (files.queries.empty()) throw Error(Code::kNotFound, "there are no queries here", "", kLayout);
  if (!files.judgements.empty()) return files;
  for (const Stat& stat : found) {
    const std::string name(last_part(stat.name));
    const bool may_be = stat.name.find(kJudgements) != std::string::npos && name.find('.') > 0;
    if (!may_be || is_table(without_compression_suffix(name))) continue;
    throw Error(Code::kNotFound, "there are no judgements (qrels) here", "",
                cat("berth reads none from ", quoted(name),
                    "; judgements in TREC's layout are called qrels/SPLIT.tsv or SPLIT.txt"));
  }
  throw Error(Code::kNotFound, "there are no judgements (qrels) here", "", kLayout);
}

// The split to read.
std::string chosen_split(const SetFiles& files, const RetrievalRequest& request) {
  const std::string known = joined(std::views::keys(files.judgements), ", ");
  if (!request.split.empty()) {
    if (files.judgements.contains(request.split)) return request.split;
    throw Error(Code::kNotFound,
                cat("there are no judgements of the split ", quoted(request.split)), "",
                cat("the splits are: ", known));
  }
  for (const std::string& split : request.usual_splits) {
    if (files.judgements.contains(split)) return split;
  }
  if (files.judgements.size() == 1) return files.judgements.begin()->first;
  throw Error(Code::kUsage, cat("has judgements of the splits ", known), "",
              "name one by --eval-retrieval-split");
}

using Names = std::initializer_list<std::string_view>;

// The first column that has one of these names, which are in order of preference.
std::optional<size_t> column_of(std::span<const Column> columns, Names names) {
  for (const std::string_view name : names) {
    for (size_t i = 0; i < columns.size(); ++i) {
      std::string column = lower_ascii(columns[i].name);
      std::ranges::replace(column, '-', '_');
      if (column == name) return i;
    }
  }
  return std::nullopt;
}

size_t required_column(std::span<const Column> columns, const char* what, Names names) {
  if (const auto found = column_of(columns, names)) return *found;
  throw Error(
      Code::kBadData, cat("no column has a usual name for ", what), "",
      cat("call it ", *names.begin(), "; the columns are ",
          joined(columns, ", ", [&](const Column& column) { return quoted(column.name); })));
}

std::string text_of(const Row& row, std::optional<size_t> column) {
  return column ? plain_text(row[*column]).value_or("") : "";
}

const Names kPassages = {"text", "contents", "content", "passage", "document", "body"};

// A passage of which the title is a part.
std::string with_title(const Row& row, std::optional<size_t> title, size_t text) {
  return std::string(trimmed(cat(text_of(row, title), " ", text_of(row, text))));
}

// An id, without blanks around it.
std::string id_of(const Row& row, size_t column) {
  return std::string(trimmed(text_of(row, column)));
}

// Counts the rows of a table that cannot be used.
class BadRows {
 public:
  explicit BadRows(int64_t most) : most_(most) {}

  void add(const std::string& problem, const RowReader& rows,
           const std::string& hint = "correct it, or let --skip-bad-rows N leave such rows out") {
    if (++count_ > most_) throw Error(Code::kBadData, problem, rows.position(), hint);
    if (count_ == 1) first_ = cat(rows.position(), ": ", problem);
  }
  void tell(const std::string& table) const {
    if (count_ == 0) return;
    log_warning(
        cat("left out ", counted(count_, "bad row"), " of ", table, "; the first: ", first_));
  }

 private:
  const int64_t most_;
  int64_t count_ = 0;
  std::string first_;
};

// The columns of judgements.
struct JudgementColumns {
  size_t query = 0, document = 1;
  std::optional<size_t> grade = 2;
};

const Names kQueryIds = {"query_id", "qid", "queryid", "query"};
const Names kDocumentIds = {"corpus_id",  "doc_id", "docid", "document_id",
                            "passage_id", "pid",    "docno", "corpus"};

bool is_whole_number(std::string_view text) {
  const std::optional<double> number = parse_real(text);
  return number && std::floor(*number) == *number;
}

JudgementColumns judgement_columns(std::span<const Column> columns) {
  return {.query = required_column(columns, "the queries of judgements", kQueryIds),
          .document = required_column(columns, "the passages of judgements", kDocumentIds),
          .grade = column_of(columns, {"score", "relevance", "label", "rel", "grade"})};
}

// Cuts a line that is one cell, as TREC's judgements separate their fields by blanks.
void split_at_blanks(Row& row) {
  if (row.size() != 1) return;
  const std::vector<std::string> fields = parted(plain_text(row[0]).value_or(""), " \t");
  if (fields.size() < 3) return;
  row.clear();
  for (const std::string& field : fields) row.emplace_back(field);
}

// Whether the names of the columns are the first judgement, as the file has no header.
bool lacks_header(std::span<const Column> columns) {
  if (column_of(columns, kQueryIds) || column_of(columns, kDocumentIds)) return false;
  return (columns.size() == 3 || columns.size() == 4) && is_whole_number(columns.back().name);
}

}  // namespace

RetrievalSet::RetrievalSet(std::string name, std::vector<RetrievalQuery> queries,
                           ExampleTable corpus, std::vector<Source> sources)
    : name_(std::move(name)),
      sources_(std::move(sources)),
      queries_(std::move(queries)),
      corpus_(std::move(corpus)) {
  places_.resize(corpus_.rows());
  std::iota(places_.begin(), places_.end(), 0u);
}

size_t RetrievalSet::memory_bytes() const {
  size_t bytes = corpus_.memory_bytes() + places_.size() * sizeof places_[0];
  for (const RetrievalQuery& query : queries_) {
    bytes += sizeof query + query.id.size() + query.text.size() +
             query.judgements.size() * sizeof(Judgement);
  }
  return bytes;
}

// Reads the tables of a retrieval set, one after the other.
class RetrievalLoader {
 public:
  RetrievalLoader(Storage& storage, const RetrievalRequest& request, RetrievalSet& set)
      : data_(storage, request.path), request_(request), set_(set) {}

  void load() {
    const Uri& place = data_.uri();
    set_.name_ = place.to_string();
    SetFiles files;
    try {
      files = find_files(data_.storage(), place);
      set_.split_ = chosen_split(files, request_);
    } catch (const Error& error) {
      throw error.in(set_.name_);
    }
    read_corpus(files.corpus);
    read_queries(files.queries);
    read_judgements(files.judgements.at(set_.split_));
    keep_judged_queries();
  }

 private:
  using Ids = std::unordered_map<std::string, uint32_t>;

  // Calls `use` with the rows of each file. Errors name the file.
  void read(const char* role, const std::vector<Uri>& files,
            const std::function<void(RowReader&, BadRows&)>& use,
            RowLayout layout = RowLayout::kByName) {
    BadRows bad(request_.skip_bad_rows);
    for (const Uri& file : files) {
      set_.sources_.push_back(read_rows(data_, file, cat("retrieval ", role), request_.form, layout,
                                        [&](RowReader& rows) { use(rows, bad); }));
    }
    bad.tell(cat(role, " of ", set_.name_));
  }

  // The number of a new id. nullopt: the row is bad, as there is no id or it is not new.
  static std::optional<uint32_t> add_id(const std::string& id, Ids& ids, const RowReader& rows,
                                        BadRows& bad) {
    if (id.empty()) {
      bad.add("the row has no id", rows);
      return std::nullopt;
    }
    const auto number = static_cast<uint32_t>(ids.size());
    if (!ids.emplace(id, number).second) {
      bad.add(cat("the id ", quoted(id), " occurs twice"), rows, "give each row an id of its own");
      return std::nullopt;
    }
    return number;
  }

  void warn_of_empty(size_t count, const char* what) const {
    if (count == 0) return;
    log_warning(cat(set_.name_, ": ", counted(count, what),
                    count == 1 ? " has no text, and is searched as an empty one"
                               : " have no text, and are searched as empty ones"));
  }

  void read_corpus(const std::vector<Uri>& files) {
    Row row;
    size_t empty = 0;
    read(kCorpus, files, [&](RowReader& rows, BadRows& bad) {
      const size_t id = required_column(rows.columns(), "the ids of passages",
                                        {"_id", "id", "corpus_id", "doc_id", "docid", "document_id",
                                         "passage_id", "pid", "docno"});
      const size_t text = required_column(rows.columns(), "the texts of passages", kPassages);
      const std::optional<size_t> title = column_of(rows.columns(), {"title"});
      rows.select(std::vector{id, text, title.value_or(text)});
      while (rows.next(row)) {
        const std::string name = id_of(row, id);
        if (!add_id(name, document_ids_, rows, bad)) continue;
        set_.corpus_.append({.id = name, .texts = {with_title(row, title, text)}});
        empty += with_title(row, title, text).empty();
      }
    });
    warn_of_empty(empty, "passage");
    if (document_ids_.empty()) throw Error(Code::kBadData, "the corpus is empty", set_.name_);
    set_.corpus_.name = set_.name_;
    set_.corpus_.has_ids = true;
    set_.corpus_.finish();
    std::vector<const Ids::value_type*> sorted;
    for (const auto& entry : document_ids_) sorted.push_back(&entry);
    std::ranges::sort(
        sorted, {}, [](const auto* entry) -> const auto& { return entry->first; });
    set_.places_.resize(sorted.size());
    for (size_t place = 0; place < sorted.size(); ++place) {
      set_.places_[sorted[place]->second] = static_cast<uint32_t>(place);
    }
  }

  void read_queries(const std::vector<Uri>& files) {
    Row row;
    read(kQueries, files, [&](RowReader& rows, BadRows& bad) {
      const size_t id = required_column(rows.columns(), "the ids of queries",
                                        {"_id", "id", "query_id", "qid", "queryid"});
      const size_t text = required_column(rows.columns(), "the texts of queries",
                                          {"text", "query", "question", "title"});
      while (rows.next(row)) {
        const std::string name = id_of(row, id);
        if (!add_id(name, query_ids_, rows, bad)) continue;
        set_.queries_.push_back({.id = name, .text = std::string(trimmed(text_of(row, text)))});
      }
    });
    if (set_.queries_.empty()) throw Error(Code::kBadData, "there are no queries", set_.name_);
  }

  void read_judgements(const std::vector<Uri>& files) {
    for (const Uri& file : files) {
      const std::string name = lower_ascii(without_compression_suffix(file.file_name()));
      const bool has_lines = name.ends_with(".tsv") || name.ends_with(".txt");
      const auto use = [&](RowReader& rows, BadRows& bad) {
        has_lines ? read_judged_lines(rows, bad)
                  : read_judgements(rows, judgement_columns(rows.columns()), bad);
      };
      read(kJudgements, {file}, use, has_lines ? RowLayout::kHeadlessTsv : RowLayout::kByName);
    }
  }

  // Of a .tsv or a .txt, which may have a header. Its first line shows that.
  void read_judged_lines(RowReader& rows, BadRows& bad) {
    Row first;
    if (!rows.next(first)) return;
    split_at_blanks(first);
    std::vector<Column> header;
    for (const Cell& cell : first) header.emplace_back().name = plain_text(cell).value_or("");
    if (!lacks_header(header)) return read_judgements(rows, judgement_columns(header), bad);
    JudgementColumns columns;
    if (first.size() == 4) columns = {.query = 0, .document = 2, .grade = 3};  // as TREC's
    add_judgement(first, columns, rows, bad);
    read_judgements(rows, columns, bad);
  }

  void read_judgements(RowReader& rows, const JudgementColumns& columns, BadRows& bad) {
    for (Row row; rows.next(row);) {
      split_at_blanks(row);
      const size_t last = std::max({columns.query, columns.document, columns.grade.value_or(0)});
      if (row.size() > last) {
        add_judgement(row, columns, rows, bad);
      } else {
        bad.add(cat("the line has ", counted(row.size(), "field"), ", and not ", last + 1), rows);
      }
    }
  }

  void add_judgement(const Row& row, const JudgementColumns& columns, const RowReader& rows,
                     BadRows& bad) {
    const std::string query_id = id_of(row, columns.query);
    const std::string document_id = id_of(row, columns.document);
    const std::string grade = columns.grade ? id_of(row, *columns.grade) : "1";
    const auto query = query_ids_.find(query_id);
    const auto document = document_ids_.find(document_id);
    if (query == query_ids_.end()) {
      return bad.add(cat("the query ", quoted(query_id), " is judged, and the queries lack it"),
                     rows);
    }
    if (document == document_ids_.end()) {
      return bad.add(
          cat("the passage ", quoted(document_id), " is judged, and the corpus lacks it"), rows);
    }
    if (!is_whole_number(grade) || std::abs(*parse_real(grade)) > kLargestGrade) {
      return bad.add(cat("the score ", quoted(grade), " is not a whole number of relevance"), rows);
    }
    std::vector<Judgement>& known = set_.queries_[query->second].judgements;
    if (std::ranges::find(known, document->second, &Judgement::document) != known.end()) {
      return bad.add(cat("the passage ", quoted(document_id), " is judged twice for the query ",
                         quoted(query_id)),
                     rows);
    }
    known.push_back({document->second, static_cast<int32_t>(*parse_real(grade))});
  }

  void keep_judged_queries() {
    const size_t all = set_.queries_.size();
    std::erase_if(set_.queries_, [](const RetrievalQuery& query) {
      return std::ranges::none_of(query.judgements,
                                  [](const Judgement& judgement) { return judgement.grade > 0; });
    });
    const std::string split = set_.split_.empty() ? "" : cat(" of the split ", set_.split_);
    if (set_.queries_.empty()) {
      throw Error(Code::kBadData, cat("no query", split, " has a relevant passage"), set_.name_,
                  "a score above 0 in qrels makes a passage relevant");
    }
    const size_t left_out = all - set_.queries_.size();
    const size_t kept = set_.queries_.size();
    log_info(cat("retrieval: ", kept, kept == 1 ? " query" : " queries", split, " and ",
                 counted(set_.documents(), "passage"), " of ", set_.name_,
                 left_out == 0 ? ""
                               : cat("; ", left_out,
                                     " other queries have no relevant passage there "
                                     "and are left out")));
  }

  static constexpr double kLargestGrade = 1'000'000;

  const DataSource data_;
  const RetrievalRequest& request_;
  RetrievalSet& set_;
  Ids document_ids_, query_ids_;
};

std::unique_ptr<RetrievalSet> load_retrieval_set(Storage& storage,
                                                 const RetrievalRequest& request) {
  auto set = std::make_unique<RetrievalSet>();
  RetrievalLoader(storage, request, *set).load();
  return set;
}

namespace {

// The files with passages: of a retrieval set, its corpus alone.
std::vector<Uri> passage_files(const DataSource& data) {
  const Uri& place = data.uri();
  const auto is_wanted = [](std::string_view name) {
    return is_table(without_compression_suffix(name));
  };
  const bool is_folder = !is_wanted(place.file_name()) && !has_wildcards(place.path());
  if (is_folder) {
    const auto sets = sets_among(data.storage().list(place), place);
    const bool is_set = sets.size() == 1 && !(sets.begin()->second.queries.empty() &&
                                              sets.begin()->second.judgements.empty());
    if (is_set) return sets.begin()->second.corpus;
  }
  return data.text_files(is_wanted);
}

}  // namespace

std::vector<Source> read_passages(Storage& storage, const std::string& path, const TextForm& form,
                                  const UsePassage& use) {
  const DataSource data(storage, path);
  std::vector<Source> sources;
  for (const Uri& file : passage_files(data)) {
    const auto read = [&](RowReader& rows) {
      Names texts = {"text", "contents", "content", "passage", "document",
                     "body", "positive", "answer",  "sentence"};
      const size_t text = required_column(rows.columns(), "the texts of passages", texts);
      const std::optional<size_t> title = column_of(rows.columns(), {"title"});
      rows.select(std::vector{text, title.value_or(text)});
      for (Row row; rows.next(row);) {
        use(with_title(row, title, text), text_of(row, text));
      }
    };
    sources.push_back(read_rows(data, file, "corpus", form, RowLayout::kByName, read));
  }
  return sources;
}

}  // namespace berth
