"""Texts on which tokenizers disagree. They are ours and contain every class of characters that BERT's rules name."""
import random

TEXTS = [
    "",
    " ",
    "\t\n\r ",
    "The quick brown fox jumps over the lazy dog.",
    "unaffable unwanted running",
    "don't stop: it's 5 o'clock, \"quoted\" (and bracketed) [too] {yes} <a@b.c>",
    "...!!!???---___===+++$$$^^^```~~~|||\\\\\\///",
    "ALL CAPITALS and MiXeD cAsE",
    # composed and decomposed accents, and marks that NFD reorders
    "Crème Brûlée naïve façade Ångström señor Łódź straße",
    "Cre\u0300me Bru\u0302le\u0301e nai\u0308ve",
    "a\u0301\u0323b a\u0323\u0301b q\u0307\u0323 \u0344 \u0958 \u1e9b\u0323",
    "\u0301starts with a mark and \u0301 stands alone",
    "a\u302e\u302fb a\u302f\u302eb \u302ea \u1b44\u302e\u0301x",
    "\u20dd enclosed a\u20dd b\u20e3 1\ufe0f\u20e3",
    # sigma and Turkish
    "ΟΔΟΣ ὈΔΥΣΣΕΎΣ ΣΑΣ ς σ Σ ΑΣ. ΑΣΑ",
    "İstanbul Iğdır ıssız DİYARBAKIR I\u0307",
    "ẞ ß ŉ ǰ ΐ ﬁ ﬂ ﬀ Ǆ ǅ ǆ ſ K Å",
    "ᎠᎡᏸ ꭰ Ა ა Ⴀ ⴀ 𐐀 𐐨 Ꟶ Ꞁ Ᲊ 𐵐 𖺠",
    # CJK and the borders of its blocks
    "中文和English混合。日本語のテキスト、カタカナ ひらがな",
    "\u3400\u4dbf\u4dc0 \u4e00\u9fff\ua000 \uf8ff\uf900\ufaff\ufb00",
    "\U00020000\U0002a6df\U0002a6e0 \U0002a700\U0002b73f\U0002b740\U0002b81f",
    "a\U0002b820b a\U0002b91fb a\U0002b920b a\U0002ceafb a\U0002ceb0b a\U0002f800b a\U0002fa1fb \U00030000",
    "\uf900\uf9ff 豈更車 \u2f00 \u3007 \u3005 ｱｲｳ ＡＢＣ １２３",
    # Hangul
    "한국어 텍스트 각 힣 가\u11a8 \u1100\u1161\u11a8 \u1100\u1161 \ua960 \ud7b0 ㄱㄴㄷ",
    # right to left
    "שָׁלוֹם עֲלֵיכֶם السَّلَامُ عَلَيْكُمْ فارسی\u200cزبان ‏mixed‎ ܫܠܡܐ ߒߞߏ ࠀ ࡀ",
    # Indic and others
    "हिन्दी में पाठ கதை తెలుగు ಕನ್ನಡ മലയാളം বাংলা ਪੰਜਾਬੀ ગુજરાતી ଓଡ଼ିଆ සිංහල ไทยภาษา ລາວ မြန်မာ ខ្មែរ བོད་ཡིག",
    "Русский текст, Ёлка ёж Й й; ქართული; Հայերեն և; አማርኛ፡ጽሑፍ።; ᚠᚢᚦ᛫; ⵜⵉⴼⵉⵏⴰⵖ; Tiếng Việt Đường",
    # emoji
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f a😀b ☺",
    # invisible characters
    "zero\u200bwidth\u200cnon\u200djoiner\ufeffbom\u2060word soft\u00adhyphen \u180e mongolian \u034f",
    "a\x00b a\x01b a\x0bb a\x0cb a\x1bb a\x1cb a\x1fb a\x7fb a\x80b a\x85b a\x9fb",
    "a\u00a0b a\u1680b a\u2000b a\u2007b a\u2028b a\u2029b a\u202fb a\u205fb a\u3000b",
    "a\ufffdb \ufffd a\ufffeb a\uffffb \ufff9x\ufffb \u0600x \u06dd \u0890 \u110cd \U000110cd \U000110bd",
    "a\ue000b a\uf8ffb a\U000f0000b a\U0010fffdb a\U0010ffffb a\u0378b a\U000e0080b",
    # characters that are, have become, or never were punctuation
    "«a» ‹b› “c” ‘d’ ¿e? ¡f! g…h i—j k–l m·n o§p q¶r s†t u‰v",
    "a\u2e42b a\u2e43b a\u2e5db a\u166db a\U000111c9b a\u037eb a\u0387b a\u1fefb \u2329a\u232a a\u055ab a\u05beb a\u3001b",
    "$ € ¢ £ ¥ ₿ © ® ™ ° ± × ÷ ² ³ ½ ← ∀ ∑ √ ≈ ≠ ♠ ✓ № ª º",
    # lengths
    "a" * 99,
    "a" * 100,
    "a" * 101,
    "é" * 100 + " " + "é" * 101,
    "e\u0301" * 100 + " " + "e\u0301" * 101,
    "中" * 101,
    "\u0958" * 100 + " " + "ǖ" * 101,
    "x" * 300 + "." + "y" * 3,
    "!" * 150,
    "한" * 33 + " " + "한" * 34,
    # special tokens
    "[CLS] a [SEP] b [MASK] c [PAD] d [UNK] e",
    "[SEP][SEP]x[SEP]y[MASK]",
    "[sep] [ SEP ] [SEP [[SEP]] SEP] [CLS[SEP]",
    "e\u0301[SEP]\u0301e [MA\u200bSK] [\u0301SEP]",
    "[unused1] [UNUSED1]",
    "the ##ing ##a # #a ##",
    "https://example.com/a_b?c=d&e=%20#f user@example.com 192.168.0.1 3.14 1,000,000 2024-01-01T00:00:00Z",
]

# Bytes that are not UTF-8. Python reads them with errors="replace".
MALFORMED = [
    b"a\xffb",
    b"a\x80b \xbf",
    b"caf\xc3",
    b"caf\xc3 x",
    b"\xe4\xb8",
    b"\xe4\xb8a \xe4a",
    b"\xf0\x9f\x98",
    b"\xf0\x9f\x98[SEP]\xf0\x9f",
    b"a\xc0\xafb a\xc1\xbfb",
    b"a\xed\xa0\x80b \xed\xb0\x80",
    b"a\xe0\x80\x80b a\xf0\x80\x80\x80b",
    b"a\xf4\x90\x80\x80b a\xf5\x80\x80\x80b \xfe\xff",
    b"\xc3\xa9\xc3\xa9\xc3",
]

POOL = (
    "aabcxyzAZ0189 .,'-[]#\t\n"
    "éèüñÅßİıſǆΣςσΐ\u0301\u0300\u0323\u0327\u0345\u034f\u0591\u05b0\u064b\u0651\u093c\u094d\u09be\u0e38\u0f71\u0f74"
    "\u302e\u302f\u1b44\u1baa\u1bf2\ua953\u1dce\u1dfa\u20dd\u20e3\U000111c0\U00016ff0\U0001d165\U0001d16d\U0001e8d0"
    "中国豈\uf9ff\U0002b820\U0002b920\U0002f800 가각\u1100\u1161\u11a8"
    "\u00ad\u200b\u200d\ufeff\ufffd\x00\x0b\x85\u00a0\u2028\u3000\u037e\u0387\u2e43\u166d\ue000\u0378😀🏽\u0958\u1e9b\u0344ǖ"
)


def random_texts(count, seed=1):
    """Short random mixtures of characters whose rules interact."""
    draw = random.Random(seed)
    return ["".join(draw.choices(POOL, k=draw.randint(1, 14))) for _ in range(count)]
