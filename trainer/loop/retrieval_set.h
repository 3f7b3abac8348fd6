#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "trainer/data/example_table.h"
#include "trainer/inputs/load_data.h"
#include "trainer/metrics/retrieval.h"

namespace berth {

// Which retrieval set to read, and how.
struct RetrievalRequest {
  std::string path{};                       // a folder or an archive
  std::string split{};                      // of the judgements; empty: the first of `usual`
  std::vector<std::string> usual_splits{};  // in order of preference
  TextForm form{};                          // of files of text
  int64_t skip_bad_rows = 0;                // rows of each table that may be left out
};

// A query that has a relevant document.
struct RetrievalQuery {
  std::string id{}, text{};
  std::vector<Judgement> judgements{};  // of different documents
};

// A corpus, queries, and judgements of which documents are relevant for a query. Texts of a large
// corpus lie on the local disk; see ExampleTable. Immutable once it is loaded, and thread-safe.
class RetrievalSet {
 public:
  RetrievalSet() = default;
  // Of queries whose judgements name documents of `corpus`, which is finished. Of documents with
  // equal scores, the one with the lower number is the better one.
  RetrievalSet(std::string name, std::vector<RetrievalQuery> queries, ExampleTable corpus,
               std::vector<Source> sources);

  const std::string& name() const { return name_; }  // as the user gave it
  const std::string& split() const { return split_; }
  const std::vector<Source>& sources() const { return sources_; }
  const std::vector<RetrievalQuery>& queries() const { return queries_; }
  size_t documents() const { return places_.size(); }
  // The document of this number: its id, and its title and text as one text.
  Example document(uint32_t number) const { return corpus_.read(number); }
  // The place of each document when their ids are sorted by bytes. It decides between documents of
  // equal scores.
  std::span<const uint32_t> places() const { return places_; }
  size_t memory_bytes() const;

 private:
  friend class RetrievalLoader;
  std::string name_, split_;
  std::vector<Source> sources_;
  std::vector<RetrievalQuery> queries_;
  ExampleTable corpus_;
  std::vector<uint32_t> places_;
};

// Loads a retrieval set in the layout of BEIR (Thakur et al. 2021): tables of the names corpus,
// queries and qrels, in any format that open_rows() reads. A table is a file, or a folder of parts.
// - corpus: columns of ids (_id, id, ...), of texts, and perhaps of titles, which come before the
//   texts.
// - queries: ids and texts.
// - qrels: a file or a folder of parts for each split (qrels/test.tsv), with the columns query-id,
//   corpus-id and perhaps score. A .tsv may have no header; with four columns it is TREC's.
//
// Throws kNotFound if a table or the split is not there. Throws kBadData for an empty corpus, and
// where no query has a relevant document. An id that occurs twice, a judgement of an unknown query
// or document and one that occurs twice are bad rows. These are left out, up to `skip_bad_rows`.
std::unique_ptr<RetrievalSet> load_retrieval_set(Storage& storage, const RetrievalRequest& request);

// Takes a passage of a corpus, which begins with the title if there is one, and its text alone.
using UsePassage = std::function<void(const std::string& passage, const std::string& text)>;

// Calls `use` with each passage of a corpus: a table, or a folder or an archive of parts. It has a
// column of texts, and perhaps one of titles, which come before the texts. Returns the files.
// Throws kBadData where no column has a usual name for texts.
std::vector<Source> read_passages(Storage& storage, const std::string& path, const TextForm& form,
                                  const UsePassage& use);

}  // namespace berth
