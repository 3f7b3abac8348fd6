#include "trainer/data/odd_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

std::string says_of(const std::vector<std::string>& texts, bool are_texts = true) {
  OddTexts odd(are_texts);
  for (const std::string& text : texts) odd.add(text);
  std::string all;
  for (const Finding& found : odd.findings("text")) all += found.text + "\n";
  return all;
}

TEST(OddTexts, AreNamedByTheirPlaceWhereNoTextMayBeShown) {
  OddTexts odd(/*are_texts=*/true);
  for (const char* text : {"fine", "Tom &amp; Ida", "a &lt; b"}) odd.add(text);
  const std::vector<Finding> found = odd.findings("text");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(
      found[0].without_texts,
      HasSubstr("2 of the first 3 texts of column \"text\", such as text 2, have entities"));
}

TEST(OddTexts, AreNamedByWhatAProgramHasLeftInThem) {
  EXPECT_THAT(
      says_of({"Tom &amp; Ida", "fine"}),
      HasSubstr("1 of the first 2 texts of column \"text\", such as \"Tom &amp; Ida\", have "
                "entities of HTML"));
  EXPECT_THAT(says_of({"it&#39;s"}), HasSubstr("entities of HTML"));
  EXPECT_THAT(says_of({"caf\xC3\x83\xC2\xA9"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says_of({"\xC3\xA2\xE2\x82\xAC\xC5\x93so"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says_of({"caf\xEF\xBF\xBD"}), HasSubstr("U+FFFD"));
  EXPECT_THAT(says_of({"caf\\u00e9"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"b'a'", "b\"b\"", "b'c'"}), HasSubstr("bytes of Python"));
  EXPECT_THAT(says_of({"'a'", "'b'", " \"c\""}),
              HasSubstr("enclosed in quotes that are read, too"));
  EXPECT_THAT(says_of({"=\"a\"", "=\"b\"", "=\"c\""}), HasSubstr("enclosed in quotes"));
  EXPECT_THAT(says_of({"1", "2.5", "3"}, /*are_texts=*/false), HasSubstr("--text-column names"));
  EXPECT_THAT(says_of({"None", "a"}), HasSubstr("missing values"));
  EXPECT_THAT(says_of({"2024-01-31", "1/2/24", "31.1.2024 12:30"}),
              HasSubstr("are dates or times"));
  EXPECT_THAT(says_of({"2024-01-31T12:30:00.5Z", "2024/1/31", "2024-01-31 00:00:00"},
                      /*are_texts=*/false),
              HasSubstr("are dates or times"));
}

TEST(OddTexts, WithMarksOfOtherProgramsAreNamed) {
  EXPECT_THAT(says_of({"so<br />it was", "fine"}), HasSubstr("have tags of HTML"));
  EXPECT_THAT(says_of({"<P>so</p>"}, /*are_texts=*/false), HasSubstr("have tags of HTML"));
  EXPECT_THAT(says_of({"so\\r\\nit was"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"so\\n"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"so \\\"it\\\" was"}), HasSubstr("have escapes"));
  EXPECT_EQ(says_of({"so \\\"it\\\" was"}, /*are_texts=*/false), "");
  EXPECT_THAT(says_of({"so_x000D_"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({std::string("so\0", 3)}), HasSubstr("have control characters"));
  EXPECT_THAT(says_of({"[CLS] so it was [SEP]"}), HasSubstr("have tokens such as [CLS]"));
  EXPECT_THAT(says_of({"so it was</s>"}), HasSubstr("have tokens such as [CLS]"));
  EXPECT_THAT(says_of({"the <unk> was"}), HasSubstr("have tokens such as [CLS]"));
  EXPECT_THAT(says_of({"'@ida so", "'=1+2"}), HasSubstr("begin with an apostrophe"));
  EXPECT_THAT(says_of({"#REF!", "a"}), HasSubstr("missing values"));
  EXPECT_THAT(says_of({"\\N", "a"}), HasSubstr("missing values"));
  EXPECT_EQ(says_of({"1 < 2", "a <bride>", "<b", "C:\\new", "one [SEP] two", "a\tb\f", "'tis so"}),
            "");
}

TEST(OddTexts, ThatOnlyPointToTextsAreNamed) {
  EXPECT_THAT(says_of({"texts/1.txt", "texts/2.txt", "3.txt"}), HasSubstr("are names of files"));
  EXPECT_THAT(says_of({"dGhlIGFscGhhIGlz", "dGhlIGFscGhh1A==", "dGhlIGFscGhhIGlzIGE1"}),
              HasSubstr("are encoded"));
  EXPECT_THAT(says_of({"so%20it", "it%20was", "a%20b"}), HasSubstr("are encoded"));
  EXPECT_THAT(says_of({"101 2 102", "101 3 102", "101 4 5 102"}), HasSubstr("lists of numbers"));
  EXPECT_THAT(says_of({"[101, 2, 102]", "[101 3 102]", "[1]"}), HasSubstr("are lists of numbers"));
  EXPECT_EQ(says_of({"texts/1.txt", "texts/2.txt", "a text"}), "");
  EXPECT_EQ(says_of({"internationalize", "responsibilities", "misunderstanding"}), "");
  EXPECT_EQ(says_of({"[so]", "[it]", "[]"}), "");
}

TEST(OddTexts, InAnotherEncodingAreNamed) {
  // Of UTF-8 as Latin-1, windows-1252, code page 437 and Mac OS Roman, and Cyrillic as Latin-1.
  for (const char* text : {"\u00C3\u0089t\u00C3\u00A9", "\u00D0\u00BF\u00D1\u20AC",
                           "\u00E4\u00BB\u008A", "pr\u251C\u00BFs d'ici", "pr\u221A\u00AEs d'ici",
                           "\u00D1\u00E5\u00E3\u00EE\u00E4\u00ED\u00FF"}) {
    EXPECT_THAT(says_of({text}), HasSubstr("read in another encoding")) << text;
  }
  for (const char* text :
       {"\u00C9t\u00E9 \u00E0 Paris", "macht Spa\u00DF\u201C f\u00FCr", "\u251C\u2500\u2500 a",
        "\u221A\u03C0", "\u5730\u56F3", "na\u00EFve \u00ABoui\u00BB"}) {
    EXPECT_EQ(says_of({text}), "") << text;
  }
  // Few texts beyond ASCII, and most of them are decoded wrongly.
  std::vector<std::string> texts(200, "plain");
  texts.insert(texts.end(), 3, "caf\u00C3\u00A9");
  EXPECT_THAT(says_of(texts), HasSubstr("3 of the first 203 texts"));
  texts.insert(texts.end(), 3, "caf\u00E9");
  EXPECT_EQ(says_of(texts), "");

  EXPECT_THAT(says_of({"\x1B$B:#F|\x1B(B"}), HasSubstr("seem to be in ISO-2022"));
  EXPECT_THAT(says_of({"\x1B$)C\x0E?@\x0F"}), HasSubstr("seem to be in ISO-2022"));
  EXPECT_THAT(says_of({"\x0E?@\x0F 1"}), HasSubstr("seem to be in ISO-2022"));
  EXPECT_THAT(says_of({"~{=qLlLlFx~} 1"}), HasSubstr("in the encoding HZ"));
  EXPECT_THAT(says_of({"+Tspl5TBvWSlsFzBMgm8wRDBnMFk 1"}), HasSubstr("seem to be in UTF-7"));
  EXPECT_THAT(says_of({"+AMk-t+AOk +AOA Paris"}), HasSubstr("seem to be in UTF-7"));
  EXPECT_EQ(says_of({"a+b", "C++ +John", "+4917612345678", "1 + 2", "~{a}", "~{~A~}", "+/-"}), "");
}

TEST(OddTexts, InAnotherEncodingOfTheirScriptAreNamed) {
  for (const char* text : {
           "ч ЗПТПДЕ ПФЛТЩМЙ ОПЧХА ВЙВМЙПФЕЛХ, Й ЧУЕ ДЕФЙ ВЩМЙ ТБДЩ",  // KOI8-R as windows-1251
           "Ч ЗПТПДЕ ПФЛТЩМЙ ОПЧХА ВЙВМЙПФЕЛХ, Й ЧУЕ ДЕФЙ ВЩМЙ ТБДЩ",
           "Б ЦНПНДЕ НРЙПШКХ МНБСЧ АХАКХНРЕЙС, Х БЯЕ ДЕРХ АШКХ ПЮДШ",  // windows-1251 as KOI8-R
           "І УЮаЮФХ ЮвЪалЫШ ЭЮТго СШСЫШЮвХЪг, Ш ТбХ ФХвШ СлЫШ аРФл",  // ISO 8859-5 as windows-1251
           "‚ Ј®а®¤Ґ ®вЄал«Ё \u00AD®ўго ЎЁЎ«Ё®вҐЄг, Ё ўбҐ ¤ҐвЁ Ўл«Ё а\u00A0¤л",  // code page 866 as
                                                                                 // windows-1251
           "┬ уюЁюфх юЄъЁ√ыш эютє■ сшсышюЄхъє, ш тёх фхЄш с√ыш Ёрф√",  // windows-1251 as code page
                                                                       // 866
           "Т ую№юфх юђъ№ћыш эютѓў сшсышюђхъѓ, ш тёх фхђш сћыш №рфћ",  // windows-1251 as ISO 8859-5
           "Р’ РіРѕСЂРѕРґРµ",                                          // UTF-8 as windows-1251
           "╨╜╨╛╨▓╤Г╤О ╨▒╨╕╨▒╨╗╨╕╨╛╤В╨╡╨║╤Г",                          // UTF-8 as code page 866
           "Ξ— Ο€ΟΞ»Ξ· Ξ\u00ADΟ‡ΞµΞΉ",                                 // UTF-8 as windows-1253
           "ظپظٹ ط§ظ„ظ…ط¯ظٹظ†ط©",                                      // UTF-8 as windows-1256
           "itвЂ™s",
           "縺薙ｌ縺ｯ譁ｰ縺励＞蝗ｳ譖ｸ鬢ｨ縺ｧ縺",  // UTF-8 as Shift_JIS
           "杩欐槸鎴戠殑鏂板浘涔﹂嗭紝鍦ㄨ繖閲岀殑浜哄緢澶氥傛垜鐨勪功鏄鏂扮殑銆",  // UTF-8 as GBK
           "za¿ó³æ gêœl¹ jaŸñ",  // windows-1250 as windows-1252
           "pøíliš žluouèký kùò úpìl",
       }) {
    EXPECT_THAT(says_of({text}), HasSubstr("read in another encoding")) << text;
  }
  for (const char* text : {
           "В городе открыли новую библиотеку, и все дети были рады",
           "В ГОРОДЕ ОТКРЫЛИ НОВУЮ БИБЛИОТЕКУ, И ВСЕ ДЕТИ БЫЛИ РАДЫ",
           "Сегодня в СССР и США",
           "Ў нас сёння добрае надвор'е, і ўсе дзеці радыя",
           "ШИНЭ НОМЫН САН ХОТЫН ТӨВД НЭЭГДЭЖ, БҮХ ХҮҮХДҮҮД БАЯРЛАЛАА",
           "Қалада жаңа кітапхана ашылды, барлық балалар қуанды",
           "Në ΑΘΗΝΑ και ΣΠΑΡΤΗ ΟΞΟΣ",
           "│ имя │ возраст │ город │ адрес │",
           "кВт и МВт, мкФ",
           "¿Qué? ¡Sí! 5 m³ de agua, 1º año",
           "Jørgen skål på kjøttet",
           "ظهر الحق",
           "东京的图书馆",
           "хахаха",
           "縺れる",
           "på kø, à la carte",
       }) {
    EXPECT_EQ(says_of({text}), "") << text;
  }
  EXPECT_THAT(says_of({"\u951F\u65A4\u62F7 so"}), HasSubstr("have U+FFFD"));
}

TEST(OddTexts, WithMarkupAreNamed) {
  for (const char* text : {"'''Berlin''' is a [[city]]", "{{cite web|url=a}}",
                           "== See also ==", "so [quote=Ida]it was[/quote]",
                           "00:01,000 --> 00:02,000", "\\begin{equation}", "{| class=a"}) {
    EXPECT_THAT(says_of({text}), HasSubstr("have markup")) << text;
  }
  for (const char* text : {"[[1, 2], [3]]", "a[[0]]", "if [[ -f a ]]", "{{\"a\": 1}}", "a == b",
                           "= Valkyria =", "======", "f(x) = {x}", "[sic]"}) {
    EXPECT_EQ(says_of({text}), "") << text;
  }
}

TEST(OddTexts, ThatLostOrHideCharactersAreNamed) {
  EXPECT_THAT(says_of({"??????? ???????", "a"}), HasSubstr("or question marks"));
  EXPECT_THAT(says_of({"=C3=89t=C3=A9"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"%C3%89t%C3%A9"}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"=?UTF-8?B?w4l0w6k=?="}), HasSubstr("have escapes"));
  EXPECT_THAT(says_of({"\uFEFFso"}), HasSubstr("others that are not seen"));
  EXPECT_THAT(says_of({"so\u200Bit"}), HasSubstr("others that are not seen"));
  EXPECT_THAT(says_of({"\u202Eso"}), HasSubstr("others that are not seen"));
  EXPECT_THAT(says_of({"so \uE000"}), HasSubstr("others that are not seen"));
  EXPECT_THAT(says_of({"T h e r i v e r w a s"}), HasSubstr("a blank behind each letter"));
  EXPECT_EQ(says_of({"what? why??", "100%", "a=b", "\u1780\u200B\u1784", "I a m it", "\uFF21"}),
            "");
}

TEST(OddTexts, ThatWereCutAreNamed) {
  EXPECT_THAT(says_of(std::vector<std::string>(12, "so it was...")), HasSubstr("end in \"...\""));
  EXPECT_THAT(says_of(std::vector<std::string>(12, "['Ida' ... 'sings']")),
              HasSubstr("have it inside of a list"));
  std::vector<std::string> texts(20, "short");
  texts.insert(texts.end(), 3, std::string(255, 'x') + "");
  EXPECT_THAT(says_of(texts), HasSubstr("3 of the first 23 texts of column \"text\" have 255 "
                                        "characters, and none has more"));
  texts.push_back(std::string(256, 'x'));
  EXPECT_EQ(says_of(texts), "");
}

TEST(OddTexts, ThatAreIdsOrAddressesAreNamed) {
  EXPECT_THAT(says_of({"https://a.org/1", "http://a.org", "ida@a.org"}), HasSubstr("addresses"));
  EXPECT_THAT(says_of({"00000001-1234-1234-1234-1234567890ab", "d41d8cd98f00b204e9800998ecf8427e",
                       "d41d8cd98f00b204e9800998ecf8427f"}),
              HasSubstr("are ids or checksums"));
  EXPECT_THAT(says_of({"[deleted]", "a"}, /*are_texts=*/false), HasSubstr("missing values"));
  EXPECT_THAT(says_of({"\u201Cso\u201D", "`it`", "\u00ABwas\u00BB"}),
              HasSubstr("enclosed in quotes"));
  EXPECT_EQ(says_of({"https://a.org/1", "a text", "b"}), "");
}

TEST(OddTexts, AreFewOrNone) {
  EXPECT_EQ(says_of({"R&D", "a & b;", "&#x;", "S\xC3\xA3o", "\xC3\x82ge", "\\under", "\\u00"}), "");
  EXPECT_EQ(says_of({"'a'", "b", "'c'"}), "");
  EXPECT_EQ(says_of({"2024-01-31", "2024-01-32", "a day"}), "");
  EXPECT_EQ(says_of({"1-2", "3-4-5-6", "1/2", "2024-", "12:30", "2024-01-31 it rained"}), "");
  EXPECT_EQ(says_of({"'a'", "'b'", "'c'"}, /*are_texts=*/false), "");
  std::vector<std::string> many(30, "plain");
  many.push_back("&amp;");
  EXPECT_EQ(says_of(many), "");
  EXPECT_EQ(says_of({}), "");
}

}  // namespace
}  // namespace berth
