//! The tokens the truth files were made with: Python's `re.findall(r"\w+", text.lower())`,
//! for HTML after every `<…>` has become a space and references were decoded.
//!
//! Only for showing that nothing but the tokens sets our exact values apart from the
//! files' (see `truth`): this rule splits "don't" and glues "a_b", knows no script
//! element and no canonical form.

use icu_properties::{
    CodePointMapData,
    props::{GeneralCategory, GeneralCategoryGroup},
};
use lookalike::core::canonical::Tokens;
use lookalike::corpus::html;

/// The tokens of a plain text.
pub fn of_text(text: &str) -> Tokens {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let is_word = |c: char| {
        let category = categories.get(c);
        c == '_'
            || GeneralCategoryGroup::Letter.contains(category)
            || GeneralCategoryGroup::Number.contains(category)
    };
    let lower = text.to_lowercase();
    let words = lower.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    Tokens::of_features(words)
}

/// The tokens of a page.
pub fn of_html(page: &str) -> Tokens {
    let mut bare = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(open) = rest.find('<') {
        bare.push_str(&rest[..open]);
        if let Some(len) = rest[open..].find('>') {
            bare.push(' ');
            rest = &rest[open + len + 1..];
        } else {
            // Nothing closes it: the expression `<[^>]*>` does not match, and it stays.
            // Written so that the reader of references below takes it for no tag.
            bare.push_str("&lt;");
            rest = &rest[open + 1..];
        }
    }
    bare.push_str(rest);
    // There is no tag left, so this decodes references and does nothing else.
    of_text(&html::text(&bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(tokens: &Tokens) -> Vec<String> {
        let words = tokens.iter().map(|word| String::from_utf8_lossy(word));
        words.map(std::borrow::Cow::into_owned).collect()
    }

    #[test]
    fn tags_part_words_and_references_are_decoded() {
        assert_eq!(
            words(&of_html("Don&#39;t <b>a</b>_b&amp;c &eacute;&lt;X 1<2")),
            ["don", "t", "a", "_b", "c", "é", "x", "1", "2"]
        );
    }
}
