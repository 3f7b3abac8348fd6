#include "storage/formats/conll_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/formats/row_readers.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The sentences of a file, each as "word/TAG word/TAG".
std::vector<std::string> tagged(std::string_view text, const TextForm& form = {},
                                WordTags tags = WordTags::kIfPresent) {
  const auto reader = make_conll_reader(std::make_unique<MemorySource>(as_bytes(text)), tags, form);
  std::vector<std::string> sentences;
  for (Row row; reader->next(row);) {
    const Json words = parse_json(std::get<std::string>(row[0]));
    const Json labels = row.size() > 1 ? parse_json(std::get<std::string>(row[1])) : Json();
    std::string& sentence = sentences.emplace_back();
    for (size_t i = 0; i < words.size(); ++i) {
      sentence += (i == 0 ? "" : " ") + words[i].get<std::string>();
      if (!labels.is_null()) sentence += "/" + labels[i].get<std::string>();
    }
  }
  return sentences;
}

std::vector<std::string> words_alone(std::string_view text, const TextForm& form = {}) {
  return tagged(text, form, WordTags::kIgnored);
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const TextForm kNer = {.tags = "ner"};

// The MIT corpora of restaurants and films have the tag first.
TEST(ConllColumns, TheColumnOfIobTagsIsTheTagWhereverItStands) {
  EXPECT_THAT(tagged("B-ACTOR\tmara\nO\tlives\nO\tin\n\n"),
              ElementsAre("mara/B-ACTOR lives/O in/O"));
  EXPECT_THAT(words_alone("B-ACTOR\tmara\nO\tlives\n"), ElementsAre("mara lives"));
  EXPECT_THAT(words_alone("O\tmara\nO\tlives\n"), ElementsAre("mara lives"));
  EXPECT_THAT(tagged("O\tmara\nO\tlives\n"), ElementsAre("mara/O lives/O"));
  EXPECT_THAT(tagged("mara B-PER NNP\nlives O VBZ\n"), ElementsAre("mara/B-PER lives/O"));
  EXPECT_THAT(tagged("mara\tB-PER\t0\t4\nlives\tO\t5\t10\n"), ElementsAre("mara/B-PER lives/O"));
  EXPECT_THAT(tagged("mara B-PER 0.90\nlives O 0.91\n"), ElementsAre("mara/B-PER lives/O"));
  EXPECT_THAT(tagged("mara\tb-per\tX\nlives\to\tY\n"), ElementsAre("mara/b-per lives/o"));
  EXPECT_THAT(tagged("mara S-PER NNP\nlives - VBZ\n"), ElementsAre("mara/S-PER lives/-"));
  EXPECT_THAT(tagged("e-mail O\nB-52 B-X\n"), ElementsAre("e-mail/O B-52/B-X"));
}

TEST(ConllColumns, PhrasesAreNoEntitiesWhereBothAreTagged) {
  EXPECT_THAT(tagged("mara B-NP B-PER NNP\nlives B-VP O VBZ\n", kNer),
              ElementsAre("mara/B-PER lives/O"));
  EXPECT_THAT(tagged("mara NNP B-NP\nlives VBZ B-VP\n"), ElementsAre("mara/B-NP lives/B-VP"));
  EXPECT_THAT(tagged("mara NNP B-NP B-PER\nlives VBZ B-VP O\n", {.tags = "chunk"}),
              ElementsAre("mara/B-NP lives/B-VP"));
  EXPECT_THAT([] { tagged("a B-X B-Y p\nb O O q\n"); },
              ThrowsCode(Code::kBadData, "columns 2 and 3 may hold the tags"));
  EXPECT_THAT(tagged("a B-X B-Y p\nb O O q\n", {.tags = "2"}), ElementsAre("a/B-X b/O"));
}

TEST(ConllColumns, ASecondColumnOfEntitiesIsNamed) {
  const auto said = [](std::string_view text) {
    const auto reader =
        make_conll_reader(std::make_unique<MemorySource>(as_bytes(text)), WordTags::kIfPresent, {});
    for (Row row; reader->next(row);) {
    }
    return reader->findings();
  };
  const auto found = said("ida B-PER B-ORG\nsings O O\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_warning);
  EXPECT_THAT(found[0].text, HasSubstr("another column has tags of entities, too"));
  EXPECT_FALSE(said("ida NNP B-NP B-PER\nsings VBZ B-VP O\n").at(0).is_warning);
}

TEST(ConllColumns, NerNeedsTagsOfEntities) {
  const char* conllu =
      "1\tmara\tmara\tNNP\tNNP\t_\t2\tdep\t_\t_\n2\tso\tso\tRB\tRB\t_\t0\troot\t_\t_\n";
  EXPECT_THAT([&] { tagged(conllu, kNer); },
              ThrowsCode(Code::kBadData, "no column has the tags of entities"));
  EXPECT_THAT([&] { tagged(conllu); }, ThrowsCode(Code::kBadData, "is CoNLL-U"));
  EXPECT_THAT(words_alone(conllu), ElementsAre("mara so"));
  EXPECT_THAT(tagged(conllu, {.tags = "any"}), ElementsAre("mara/dep so/root"));
  EXPECT_THAT(tagged(conllu, {.tags = "pos"}), ElementsAre("mara/NNP so/RB"));
  EXPECT_THAT(tagged(conllu, {.tags = "8"}), ElementsAre("mara/dep so/root"));
  EXPECT_THAT(words_alone(conllu, kNer), ElementsAre("mara so"));
  EXPECT_THAT(tagged("mara PER\nlives O\n", kNer), ElementsAre("mara/PER lives/O"));
  EXPECT_THAT(tagged("mara NNP PER\nlives VBZ O\n", kNer), ElementsAre("mara/PER lives/O"));
  EXPECT_THAT([] { tagged("mara NNP x\nlives VBZ y\n", kNer); },
              ThrowsCode(Code::kBadData, "no column has the tags of entities"));
}

TEST(ConllColumns, NumbersOfWordsAreNoWordsInShortSentencesEither) {
  const std::string counted = "1\tmara\tB-PER\n2\tlives\tO\n\n1\tx\tO\n\n";
  for (const int times : {1, 30}) {
    EXPECT_THAT(tagged(repeated(counted, times))[0], "mara/B-PER lives/O");
    EXPECT_THAT(tagged(repeated(counted, times))[1], "x/O");
  }
  EXPECT_THAT(tagged("0\tmara\tB-PER\n1\tlives\tO\n\n0\tx\tO\n\n"),
              ElementsAre("mara/B-PER lives/O", "x/O"));
  EXPECT_THAT(tagged("1\tx\tO\n"), ElementsAre("x/O"));
  EXPECT_THAT(tagged("1\tmara\tB-PER\n3\tlives\tO\n"), ElementsAre("mara/B-PER lives/O"));
  EXPECT_THAT(words_alone("1 mara\n2 lives\n\n1 x\n"), ElementsAre("mara lives", "x"));
  EXPECT_THAT(words_alone("1 x\n"), ElementsAre("x"));
  EXPECT_THAT(tagged("1.0\tmara\tB-PER\n1.1\tlives\tO\n"), ElementsAre("mara/B-PER lives/O"));
  EXPECT_THAT(tagged("1-1\tmara\tB-PER\n1-2\tlives\tO\n"), ElementsAre("mara/B-PER lives/O"));
}

TEST(ConllColumns, IdsThatCountAreNoWords) {
  for (const char* id : {"#_@", "#:@", "#/@", "s#.w@", "t@", "w@", "@)", "[@]", "#,@", "T@"}) {
    std::string text, alone;
    for (int sentence = 1; sentence < 4; ++sentence) {
      const char* const words[] = {"mara\tB-PER", "lives\tO", "here\tO"};
      for (int word = 1; word < 4; ++word) {
        std::string own = id;
        if (own.find('#') != std::string::npos)
          own.replace(own.find('#'), 1, std::to_string(sentence));
        own.replace(own.find('@'), 1, std::to_string(word));
        text += own + "\t" + words[word - 1] + "\n";
        alone += own + "\t" + std::string(words[word - 1], 4) + "\n";
      }
      text += "\n";
      alone += "\n";
    }
    EXPECT_EQ(tagged(text)[1], "mara/B-PER lives/O here/O") << id;
    EXPECT_EQ(words_alone(alone)[0].substr(0, 4), "mara") << id;
  }
  // Two columns are the words and their tags.
  EXPECT_THAT(tagged("w1 B-PER\nw2 O\nw3 O\n"), ElementsAre("w1/B-PER w2/O w3/O"));
  EXPECT_THAT(tagged("w1 NN\nw2 VB\nw3 RB\n"), ElementsAre("w1/NN w2/VB w3/RB"));
}

TEST(ConllColumns, MostCellsSayWhatAColumnIs) {
  const std::string other = "so\tOTHER\tRB\n\n";
  EXPECT_EQ(tagged(repeated("mara\tB-PER\tNN\nlives\tO\tVB\n\n", 9) + other).back(), "so/OTHER");
  std::string counted;
  for (int i = 1; i < 20; ++i) {
    counted +=
        (i == 15 ? "15a" : std::to_string(i)) + (i % 2 > 0 ? "\tmara\tB-PER\n" : "\tso\tO\n");
  }
  EXPECT_EQ(tagged(counted).at(0).substr(0, 18), "mara/B-PER so/O ma");
}

TEST(ConllColumns, LinesOfSentencesAreRefused) {
  const std::string sentences = "mara lives here\tB-PER O O\nso it goes\tO O O\n";
  EXPECT_THAT([&] { tagged("text\tlabels\n" + sentences); },
              ThrowsCode(Code::kBadData, "column 1 has several words in a line"));
  EXPECT_THAT([&] { tagged("a\tB-PER O\nb\tO O\n"); },
              ThrowsCode(Code::kBadData, "column 2 has several words in a line"));
  EXPECT_THAT([&] { words_alone("a\tmara lives here\nb\tso it goes\n"); },
              ThrowsCode(Code::kBadData, "column 2 has several words in a line"));
  EXPECT_THAT([&] { tagged(repeated("mara\tB-PER\nlives\tO\n\n", 9) + "so so\tO O\n"); },
              ThrowsCode(Code::kBadData, "line 28: the tag \"O O\" is several"));
  EXPECT_THAT(tagged("New York\tproper noun\nlives\tverb\n"),
              ElementsAre("New York/proper noun lives/verb"));
}

TEST(ConllColumns, AWordMayBeginAsAComment) {
  EXPECT_THAT(tagged(repeated("#love\tHT\nmara\tNN\n#rome\tHT\n\n", 2)),
              ElementsAre("#love/HT mara/NN #rome/HT", "#love/HT mara/NN #rome/HT"));
  EXPECT_THAT(tagged("# a\tb\nmara\tNN\nlives\tVB\n"), ElementsAre("mara/NN lives/VB"));
}

TEST(ConllColumns, NumbersAreWordsWhereNothingElseIs) {
  EXPECT_THAT(tagged("1 O\n\n2 O\n\n1 O\n"), ElementsAre("1/O", "2/O", "1/O"));
  EXPECT_THAT(tagged("7 NN\n9 VB\n"), ElementsAre("7/NN 9/VB"));
  EXPECT_THAT(tagged("no UH\nno UH\nno UH\n"), ElementsAre("no/UH no/UH no/UH"));
  EXPECT_THAT(words_alone("7\n9\n"), ElementsAre("7 9"));
}

TEST(ConllColumns, SentencesWithNumbersNeedBlankLines) {
  EXPECT_THAT([] { tagged("1\tmara\tB-PER\n1\tlives\tO\n2\tpaul\tB-PER\n"); },
              ThrowsCode(Code::kBadData, "column 1 numbers the sentences, but no blank lines"));
  EXPECT_THAT(tagged("1\tmara\tB-PER\n1\tlives\tO\n\n2\tpaul\tB-PER\n2\tso\tO\n"),
              ElementsAre("mara/B-PER lives/O", "paul/B-PER so/O"));
}

TEST(ConllColumns, AJobsColumnsHoldWhereAFileMayHaveThem) {
  const TextForm job = {.usual_words = "2", .usual_tags = "3"};
  EXPECT_THAT(tagged("1 x O\n", job), ElementsAre("x/O"));
  EXPECT_THAT(words_alone("mara\nlives\n", job), ElementsAre("mara lives"));
  EXPECT_THAT(words_alone("mara B-PER\nlives O\n", job), ElementsAre("mara lives"));
  EXPECT_THAT([&] { words_alone("mara NNP O\nlives VBZ O\n", job); },
              ThrowsCode(Code::kBadData, "the job's words were in column 2, but here column 1"));
  EXPECT_THAT(words_alone("mara NNP O\nlives VBZ O\n", {.words = "1", .usual_words = "2"}),
              ElementsAre("mara lives"));
  EXPECT_THAT([] { words_alone("mara O\n", {.usual_words = "4"}); },
              ThrowsCode(Code::kBadData, "the job read column 4, but the lines have 2 columns"));
  EXPECT_THAT(tagged("mara NNP B-X\nlives VBZ O\n", {.usual_tags = "2"}),
              ElementsAre("mara/B-X lives/O"));
  EXPECT_THAT(tagged("mara NNP X\nlives VBZ Y\n", {.usual_tags = "2"}),
              ElementsAre("mara/NNP lives/VBZ"));
}

// CoNLL-2012 and OntoNotes.
TEST(ConllColumns, TagsInBracketsBecomeIob) {
  EXPECT_THAT(tagged("#begin document (x); part 000\n"
                     "x 0 0 mara NNP (S* - - (PERSON) -\nx 0 1 of IN (S* - - * -\n"
                     "x 0 2 new NNP (S* - - (GPE* -\nx 0 3 york NNP (S* - - * -\n"
                     "x 0 4 city NNP (S* - - *) -\n",
                     kNer),
              ElementsAre("mara/B-PERSON of/O new/B-GPE york/I-GPE city/I-GPE"));
  EXPECT_THAT([] { tagged(repeated("a (X*\nb *)\n\n", 1000) + "c (X*\nd (Y)\n"); },
              ThrowsCode(Code::kBadData, "line 3002: \"(Y)\" is no tag in brackets"));
}

TEST(ConllColumns, AFirstLineMayNameTheColumns) {
  EXPECT_THAT(tagged("Token Tag\n\nmara B-PER\nlives O\n"), ElementsAre("mara/B-PER lives/O"));
  const char* named = "word pos chunk ner\nmara NNP B-NP B-PER\nlives VBZ B-VP O\n";
  EXPECT_THAT(tagged(named, kNer), ElementsAre("mara/B-PER lives/O"));
  EXPECT_THAT(tagged(named, {.tags = "pos"}), ElementsAre("mara/NNP lives/VBZ"));
  EXPECT_THAT(tagged(named, {.tags = "chunk"}), ElementsAre("mara/B-NP lives/B-VP"));
  EXPECT_THAT(words_alone(named), ElementsAre("mara lives"));
  EXPECT_THAT(tagged("TOKEN\tNE-COARSE-LIT\tMISC\n# document_id = x\nmara\tB-PER\t_\nso\tO\t_\n"),
              ElementsAre("mara/B-PER so/O"));
  EXPECT_THAT([] { tagged("Wort Etikett\nmara B-PER\nlives O\n"); },
              ThrowsCode(Code::kBadData, "line 1: the first line has no tag of entities"));
}

TEST(ConllColumns, OtherProgramsFilesAreRefusedByName) {
  EXPECT_THAT([] { tagged("#FORMAT=WebAnno TSV 3.2\n\n\n#Text=a\n1-1\t0-1\ta\t_\n"); },
              ThrowsCode(Code::kBadData, "is WebAnno's TSV"));
  EXPECT_THAT([] { tagged("T1\tPER 0 4\tMara\nT2\tLOC 6 9\tRom\n"); },
              ThrowsCode(Code::kBadData, "is an annotation of brat"));
  for (const char* text :
       {"Ida/B-PER sings/O ./O\n\nso/O it/O was/O\n", "The/DT dog/NN runs/VBZ ./.\n"}) {
    EXPECT_THAT([&] { tagged(repeated(text, 5)); },
                ThrowsCode(Code::kBadData, "has words with their tags, as in"));
  }
  EXPECT_THAT(tagged("AC/DC\tB-ORG\nand/or\tO\n\n"), ElementsAre("AC/DC/B-ORG and/or/O"));
}

}  // namespace
}  // namespace berth
