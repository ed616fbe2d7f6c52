//! What a tag means to a reader of plain text: does it end a word, and is what it
//! holds text?
//!
//! A name is at most 16 bytes packed into one integer, and the table is laid out by
//! the compiler, so a tag costs one multiplication and, nearly always, one compare.

/// A tag name in lower case, as far as it can be one we know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Name(u128);

impl Name {
    /// A script ends only at a tag of this name.
    pub(super) const SCRIPT: Name = Name::new("script");

    /// A name longer than any in the table.
    const UNKNOWN: Name = Name(u128::MAX);

    const fn new(name: &str) -> Name {
        let bytes = name.as_bytes();
        assert!(bytes.len() <= 16, "a name of the table fits a key");
        let (mut key, mut i) = (0, 0);
        while i < bytes.len() {
            key |= (bytes[i] as u128) << (8 * i);
            i += 1;
        }
        Name(key)
    }

    /// Reads the name at `start` up to white space, `/` or `>`, and says where it
    /// ends. Costs the length of the name.
    #[inline]
    pub(super) fn read(bytes: &[u8], start: usize) -> (Name, usize) {
        let rest = bytes.get(start..).unwrap_or_default();
        let (mut key, mut len) = (0_u128, 0_usize);
        for &byte in rest {
            if ends_name(byte) {
                break;
            }
            if len < 16 {
                // A NUL would look like the padding; no known name has either byte.
                let letter = if byte == 0 {
                    0xff
                } else {
                    byte.to_ascii_lowercase()
                };
                key |= u128::from(letter) << (8 * len);
            }
            len += 1;
        }
        let name = if len <= 16 { Name(key) } else { Name::UNKNOWN };
        (name, start + len)
    }

    /// Whether this name stands at `start`, with a byte after it that ends it. Costs
    /// at most 17 bytes: a longer name is none of the table's.
    pub(super) fn is_at(self, bytes: &[u8], start: usize) -> bool {
        let rest = bytes.get(start..).unwrap_or_default();
        let (name, end) = Name::read(rest.get(..17).unwrap_or(rest), 0);
        name == self && end < rest.len()
    }
}

/// Whether this byte ends a tag name: white space, `/` or `>`.
#[inline]
pub(super) fn ends_name(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>')
}

/// What an element is, in HTML and where it stands inside `svg` or `math`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Element {
    /// What it is among HTML elements.
    pub(super) html: Html,
    /// What it is among the elements of `svg` and `math`.
    pub(super) foreign: Foreign,
    /// Whether it cannot stand inside `svg` or `math` and so ends them.
    pub(super) leaves_foreign: bool,
}

/// How an HTML element reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Html {
    /// Part of the line; also every unknown element.
    Inline,
    /// Ends a word at both its tags.
    Block,
    /// Block; holds text and character references, no tags.
    Rcdata,
    /// Block; holds text as it stands.
    RawText,
    /// Holds what is not shown, up to its end tag.
    Hidden,
    /// As `Hidden`, and takes up space, so it ends a word.
    HiddenBlock,
    /// Hidden, with the escapes of its own.
    Script,
    /// Hidden, but its content is markup and nests.
    Template,
    /// Block; the rest of the page is text as it stands.
    PlainText,
    /// Where SVG begins.
    Svg,
    /// Where formulas begin.
    Math,
}

/// How an element inside `svg` or `math` reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Foreign {
    /// Nothing special.
    Plain,
    /// Ends a word in SVG.
    Block,
    /// Ends a word in SVG, and its content is HTML again.
    SvgPoint,
    /// Its content is HTML again in `math`.
    MathPoint,
    /// Holds what is not shown.
    Hidden,
    /// An `svg` inside an `svg`.
    Svg,
}

const UNKNOWN: Element = Element {
    html: Html::Inline,
    foreign: Foreign::Plain,
    leaves_foreign: false,
};

/// Looks a name up; what is not in the table is an unknown, so inline, element.
#[inline]
pub(super) fn element(name: Name) -> Element {
    let mut at = slot(name.0);
    while let Some((key, element)) = TABLE.get(at) {
        if *key == name.0 {
            return *element;
        }
        if *key == 0 {
            break;
        }
        at = (at + 1) % SLOTS;
    }
    UNKNOWN
}

/// More than twice the number of names, so that a search ends at once.
const SLOTS: usize = 256;

#[expect(clippy::cast_possible_truncation, reason = "a hash keeps some bits")]
const fn slot(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

static TABLE: [(u128, Element); SLOTS] = table();

const fn table() -> [(u128, Element); SLOTS] {
    let mut table = [(0, UNKNOWN); SLOTS];
    let mut i = 0;
    while i < BLOCKS.len() {
        table = with(table, BLOCKS[i], Html::Block);
        i += 1;
    }
    i = 0;
    while i < OTHERS.len() {
        table = with(table, OTHERS[i].0, OTHERS[i].1);
        i += 1;
    }
    i = 0;
    while i < FOREIGN.len() {
        let at = find(&table, Name::new(FOREIGN[i].0).0);
        table[at].0 = Name::new(FOREIGN[i].0).0;
        table[at].1.foreign = FOREIGN[i].1;
        i += 1;
    }
    i = 0;
    while i < LEAVES_FOREIGN.len() {
        let at = find(&table, Name::new(LEAVES_FOREIGN[i]).0);
        table[at].0 = Name::new(LEAVES_FOREIGN[i]).0;
        table[at].1.leaves_foreign = true;
        i += 1;
    }
    table
}

const fn with(
    mut table: [(u128, Element); SLOTS],
    name: &str,
    html: Html,
) -> [(u128, Element); SLOTS] {
    let key = Name::new(name).0;
    let at = find(&table, key);
    table[at].0 = key;
    table[at].1.html = html;
    table
}

/// Where `key` stands, or the free slot it would take.
const fn find(table: &[(u128, Element); SLOTS], key: u128) -> usize {
    let mut at = slot(key);
    while table[at].0 != 0 && table[at].0 != key {
        at = (at + 1) % SLOTS;
    }
    at
}

/// Elements that a browser does not lay out as part of a line, and those that stand
/// in a line as a box of their own (images, buttons, videos).
#[rustfmt::skip]
const BLOCKS: &[&str] = &[
    "address", "applet", "article", "aside", "audio", "blockquote", "body", "br",
    "button", "canvas", "caption", "center", "col", "colgroup", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "embed", "fieldset", "figcaption", "figure",
    "footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6",
    "head", "header", "hgroup", "hr", "html", "image", "img", "input", "isindex",
    "keygen", "legend", "li", "listing", "main", "marquee", "menu", "meter", "nav",
    "object", "ol", "optgroup", "option", "p", "pre", "progress", "rp", "rt",
    "search", "section", "select", "summary", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul", "video",
];

/// The other elements that are more than part of a line.
const OTHERS: &[(&str, Html)] = &[
    ("iframe", Html::HiddenBlock),
    ("math", Html::Math),
    ("noembed", Html::Hidden),
    ("noframes", Html::Hidden),
    ("plaintext", Html::PlainText),
    ("script", Html::Script),
    ("style", Html::Hidden),
    ("svg", Html::Svg),
    ("template", Html::Template),
    ("textarea", Html::Rcdata),
    ("title", Html::Rcdata),
    ("xmp", Html::RawText),
];

const FOREIGN: &[(&str, Foreign)] = &[
    ("desc", Foreign::SvgPoint),
    ("foreignobject", Foreign::SvgPoint),
    ("mi", Foreign::MathPoint),
    ("mn", Foreign::MathPoint),
    ("mo", Foreign::MathPoint),
    ("ms", Foreign::MathPoint),
    ("mtext", Foreign::MathPoint),
    ("script", Foreign::Hidden),
    ("style", Foreign::Hidden),
    ("svg", Foreign::Svg),
    ("text", Foreign::Block),
    ("title", Foreign::SvgPoint),
];

/// The start tags that the standard lets end an unclosed `svg` or `math`.
#[rustfmt::skip]
const LEAVES_FOREIGN: &[&str] = &[
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl",
    "dt", "em", "embed", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i",
    "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s",
    "small", "span", "strike", "strong", "sub", "sup", "table", "tt", "u", "ul",
    "var",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(tag: &str) -> Element {
        element(Name::read(tag.as_bytes(), 0).0)
    }

    #[test]
    fn every_listed_name_is_found_as_listed() {
        for name in BLOCKS {
            assert_eq!(lookup(name).html, Html::Block, "{name}");
        }
        for (name, html) in OTHERS {
            assert_eq!(lookup(name).html, *html, "{name}");
        }
        for (name, foreign) in FOREIGN {
            assert_eq!(lookup(name).foreign, *foreign, "{name}");
        }
        for name in LEAVES_FOREIGN {
            assert!(lookup(name).leaves_foreign, "{name}");
        }
    }

    #[test]
    fn names_are_read_in_any_case_up_to_their_end() {
        let (name, end) = Name::read(b"<BlockQuote\nx>", 1);
        assert_eq!((name, end), (Name::new("blockquote"), 11));
        assert_eq!(lookup("DIV/").html, Html::Block);
    }

    #[test]
    fn what_is_not_listed_is_inline() {
        for name in [
            "",
            "a",
            "span",
            "my-element",
            "divv",
            "di",
            "p\0",
            "\0p",
            "é",
            "wbr",
            "aaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(lookup(name).html, Html::Inline, "{name:?}");
        }
    }
}
