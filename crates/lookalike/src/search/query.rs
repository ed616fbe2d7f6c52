//! What is asked for: words, phrases in quotation marks, and what must not be there.
//!
//! ```text
//! lost "ships at sea" -harbour ─► lost AND "ships at sea" AND NOT harbour
//! ```
//!
//! There is no wrong query: what means nothing else is a word, a quotation mark that stands
//! alone ends with the query, and marks without a word are left out.

use tantivy::Term;
use tantivy::query::{BooleanQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use super::words::{LONGEST, words_of};

/// Words of a query that are looked for; the rest is left out.
const MOST: usize = 64;

/// What is asked for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Asked {
    /// Words that must stand together; mostly one.
    wanted: Vec<Vec<String>>,
    unwanted: Vec<Vec<String>>,
}

impl Asked {
    pub(super) fn of(text: &str) -> Asked {
        let mut asked = Asked::default();
        let mut rest = text.trim_start();
        let mut left = MOST;
        while !rest.is_empty() && left > 0 {
            let (is_unwanted, behind) = match rest.strip_prefix('-') {
                Some(behind) => (true, behind),
                None => (false, rest),
            };
            let (part, next) = if let Some(quoted) = behind.strip_prefix('"') {
                quoted.split_once('"').unwrap_or((quoted, ""))
            } else {
                let end = behind.find(|letter: char| letter.is_whitespace() || letter == '"');
                behind.split_at(end.unwrap_or(behind.len()))
            };
            let words = words_of(part);
            let words = words.iter().filter(|word| word.len() <= LONGEST);
            let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
            let words: Vec<String> = words.take(left).collect();
            left -= words.len();
            if !words.is_empty() {
                let all = if is_unwanted {
                    &mut asked.unwanted
                } else {
                    &mut asked.wanted
                };
                all.push(words);
            }
            rest = next.trim_start();
        }
        asked
    }

    /// All words that must be there.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().flatten().map(String::as_str)
    }

    /// The same as the index has it; nothing where nothing is asked for.
    pub(super) fn query(&self, field: Field) -> Option<BooleanQuery> {
        if self.wanted.is_empty() {
            return None;
        }
        let part = |words: &Vec<String>| -> Box<dyn Query> {
            let terms = words.iter().map(|word| Term::from_field_text(field, word));
            let mut terms: Vec<Term> = terms.collect();
            if terms.len() > 1 {
                return Box::new(PhraseQuery::new(terms));
            }
            let term = terms.remove(0);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
        };
        let wanted = self.wanted.iter().map(|words| (Occur::Must, part(words)));
        let unwanted = self
            .unwanted
            .iter()
            .map(|words| (Occur::MustNot, part(words)));
        Some(BooleanQuery::new(wanted.chain(unwanted).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_query() {
        let asked = |text| {
            let asked = Asked::of(text);
            let shown = |all: &[Vec<String>]| -> Vec<String> {
                all.iter().map(|words| words.join(" ")).collect()
            };
            (
                shown(&asked.wanted).join("|"),
                shown(&asked.unwanted).join("|"),
            )
        };
        let cases = [
            ("", "", ""),
            ("Lost ships", "lost|ships", ""),
            (
                "lost \"Ships at sea\" -harbour -\"old port\"",
                "lost|ships at sea",
                "harbour|old port",
            ),
            ("\"never closed", "never closed", ""),
            ("- \" -\" ()[]{}*:^~ AND", "and", ""),
            ("a\"b c\"d", "a|b c|d", ""),
            ("http://a.org/x", "http a.org x", ""),
        ];
        for (text, wanted, unwanted) in cases {
            assert_eq!(
                asked(text),
                (wanted.to_owned(), unwanted.to_owned()),
                "{text}"
            );
        }
        let long = "word ".repeat(10_000);
        assert_eq!(Asked::of(&long).words().count(), MOST);
    }
}
