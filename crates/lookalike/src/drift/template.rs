//! Baselines in which something may vary.
//!
//! ```text
//! text with markup ─► plain text, the places of holes, the ranges that may be left out
//! ```
//!
//! | markup | stands for |
//! |---|---|
//! | `<<var;name="…";original="…";match="…">>` | any words that match; SPDX's |
//! | `<<beginOptional>>…<<endOptional>>` | words that may be left out, all of them |
//! | `{name}`, `[year]`, `<holder>`, on request | up to [`FILLING`] words |
//!
//! Markup that is not closed, or is none, is text. Time O(text).

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// How many words may stand for a simple placeholder: names and years are short, and a
/// clause put in there is no name.
pub const FILLING: usize = 20;

/// The longest simple placeholder, in bytes.
const LONGEST_NAME: usize = 60;

/// The largest compiled pattern: `.{0,5000}` needs some.
const PATTERN_SIZE: usize = 8 << 20;

/// What in a baseline is markup.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Markup {
    /// Nothing: every word counts.
    None,
    /// That of SPDX.
    #[default]
    Spdx,
    /// That, and names in brackets.
    Names,
}

/// A place where words may stand that the baseline does not have.
#[derive(Clone, Debug)]
pub(super) struct Hole {
    /// What it is called.
    pub(super) name: String,
    /// What stands there in the original.
    pub(super) original: String,
    /// What may stand there.
    pub(super) filling: Filling,
}

/// What may stand in a hole.
#[derive(Clone, Debug)]
pub(super) enum Filling {
    /// A few words.
    Few,
    /// So many characters, from the least to the most: `.{0,20}`.
    Long(usize, usize),
    /// What matches.
    Like(Regex),
}

/// What stands between words of a template.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mark {
    /// A hole, by its number.
    Hole(usize),
    /// A part that may be left out begins, by its number.
    Open(usize),
    /// It ends.
    Close(usize),
}

/// A variable that cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the variable `{name}` has a pattern that cannot be used: {why}")]
pub struct BadVariable {
    /// What it is called.
    pub name: String,
    /// What is wrong.
    pub why: String,
}

/// A text without its markup.
#[derive(Clone, Debug, Default)]
pub(super) struct Plain {
    pub(super) text: String,
    pub(super) holes: Vec<Hole>,
    /// What may be left out, in bytes of the text; outer ones first.
    pub(super) optional: Vec<Range<usize>>,
    /// Where holes stand and these begin and end, in order, by places in the text.
    pub(super) marks: Vec<(usize, Mark)>,
}

/// Takes a template apart.
pub(super) fn plain(template: &str, markup: Markup) -> Result<Plain, BadVariable> {
    let mut out = Plain::default();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['<', '[', '{']) {
        let (before, here) = rest.split_at(at);
        out.text.push_str(before);
        rest = here;
        if markup == Markup::None {
            take(&mut out.text, &mut rest);
        } else if let Some(after) = tag(rest, "<<beginOptional") {
            // Numbered when it ends; the place is kept for its order.
            open.push(out.optional.len());
            let mark = Mark::Open(out.optional.len());
            out.marks.push((out.text.len(), mark));
            out.optional.push(out.text.len()..usize::MAX);
            rest = after;
        } else if let Some(after) = tag(rest, "<<endOptional") {
            if let Some(which) = open.pop() {
                out.optional[which].end = out.text.len();
                out.marks.push((out.text.len(), Mark::Close(which)));
            }
            rest = after;
        } else if let Some((hole, after)) = variable(rest) {
            out.hole(hole?);
            rest = after;
        } else if let Some((name, after)) = name(rest).filter(|_| markup == Markup::Names) {
            let hole = Hole {
                name: name.to_owned(),
                original: rest[..rest.len() - after.len()].to_owned(),
                filling: Filling::Few,
            };
            out.hole(hole);
            rest = after;
        } else {
            take(&mut out.text, &mut rest);
        }
    }
    out.text.push_str(rest);
    // What was not closed was no markup: it stays.
    let is_closed = |which: usize| out.optional[which].end != usize::MAX;
    out.marks
        .retain(|(_, mark)| !matches!(mark, Mark::Open(which) if !is_closed(*which)));
    Ok(out)
}

/// One character more is text.
fn take(text: &mut String, rest: &mut &str) {
    let mut chars = rest.chars();
    text.extend(chars.next());
    *rest = chars.as_str();
}

impl Plain {
    fn hole(&mut self, hole: Hole) {
        // Words on both sides of it are two.
        self.text.push(' ');
        let mark = Mark::Hole(self.holes.len());
        self.marks.push((self.text.len(), mark));
        self.holes.push(hole);
        self.text.push(' ');
    }
}

/// What is behind a tag that begins so.
fn tag<'t>(text: &'t str, begin: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(begin)?;
    if !rest.starts_with([';', '>']) {
        return None;
    }
    let end = rest.find(">>")?;
    (!rest[..end].contains('\n')).then(|| &rest[end + 2..])
}

/// A variable of SPDX at the front of a text, and what is behind it.
fn variable(text: &str) -> Option<(Result<Hole, BadVariable>, &str)> {
    let mut rest = text.strip_prefix("<<var")?;
    let (mut name, mut original, mut pattern) = ("", "", None);
    loop {
        if let Some(after) = rest.strip_prefix(">>") {
            // Without a pattern anything may stand there.
            let hole = filling(pattern.unwrap_or(".*")).map(|filling| Hole {
                name: name.to_owned(),
                original: original.to_owned(),
                filling,
            });
            let hole = hole.map_err(|why| BadVariable {
                name: name.to_owned(),
                why: why.to_string().replace('\n', " "),
            });
            return Some((hole, after));
        }
        let (key, after) = rest.strip_prefix(';')?.split_once('=')?;
        let value;
        (value, rest) = value_of(after)?;
        match key.trim() {
            "name" => name = value,
            "original" => original = value,
            "match" => pattern = Some(value),
            _ => {}
        }
    }
}

/// A value, in quotes or not, and what is behind it.
fn value_of(text: &str) -> Option<(&str, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').into_iter().chain(text.find(">>")).min()?;
        return Some(text.split_at(end));
    };
    // A quote inside a value is one that nothing ends behind.
    let mut ends = quoted.match_indices('"');
    let (end, _) = ends.find(|(at, _)| {
        let behind = &quoted[at + 1..];
        let key = behind.strip_prefix(';').and_then(|key| key.split_once('='));
        let is_key = |key: &str| !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphabetic());
        behind.starts_with(">>") || key.is_some_and(|(key, _)| is_key(key))
    })?;
    Some((&quoted[..end], &quoted[end + 1..]))
}

/// What a pattern lets stand in a hole.
fn filling(pattern: &str) -> Result<Filling, regex::Error> {
    if let Some((least, most)) = lengths(pattern) {
        return Ok(Filling::Long(least, most));
    }
    let built = RegexBuilder::new(&format!("^(?:{pattern})$"))
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .size_limit(PATTERN_SIZE)
        .build();
    built.map(Filling::Like)
}

/// How many of any characters a pattern asks for, if it asks for nothing else: most do, and
/// to count is faster than to match.
fn lengths(pattern: &str) -> Option<(usize, usize)> {
    match pattern.strip_prefix('.')? {
        "*" => Some((0, usize::MAX)),
        "+" => Some((1, usize::MAX)),
        some => {
            let some = some.strip_prefix('{')?.strip_suffix('}')?;
            let (least, most) = some.split_once(',')?;
            let both = (least.parse().ok()?, most.parse().ok()?);
            (both.0 <= both.1).then_some(both)
        }
    }
}

/// A name in brackets at the front of a text, and what is behind it.
fn name(text: &str) -> Option<(&str, &str)> {
    let close = match text.as_bytes().first()? {
        b'<' => '>',
        b'[' => ']',
        b'{' => '}',
        _ => return None,
    };
    let inside = &text[1..];
    let end = inside.find(close)?;
    let name = &inside[..end];
    let is_name = (1..=LONGEST_NAME).contains(&end)
        && name.starts_with(|c: char| c.is_alphanumeric())
        && !name.contains(['\n', '<', '[', '{']);
    is_name.then(|| (name, &inside[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spdx_markup_is_taken_apart() {
        let template = r#"<<beginOptional>>MIT License<<endOptional>> <<var;name="copyright";original="Copyright (c) "X"; <year>";match=".{0,5000}">>
Permission <<beginOptional;name="a">>is <<beginOptional>>hereby<<endOptional>><<endOptional>> granted a << b"#;
        let plain = plain(template, Markup::Spdx).expect("patterns");
        assert_eq!(
            plain.text.split_whitespace().collect::<Vec<_>>().join(" "),
            "MIT License Permission is hereby granted a << b"
        );
        let parts: Vec<&str> = plain
            .optional
            .iter()
            .map(|r| &plain.text[r.clone()])
            .collect();
        assert_eq!(parts, ["MIT License", "is hereby", "hereby"]);
        assert_eq!(plain.holes.len(), 1);
        assert_eq!(plain.holes[0].name, "copyright");
        assert_eq!(plain.holes[0].original, "Copyright (c) \"X\"; <year>");
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_told() {
        let bad = r#"a <<var;name="fee";original="10";match="[0-9+">> b"#;
        let told = plain(bad, Markup::Spdx).expect_err("not a pattern");
        assert_eq!(told.name, "fee");
        assert!(told.why.contains("unclosed"), "{}", told.why);
        assert_eq!(plain(bad, Markup::None).expect("text").text, bad);
    }

    #[test]
    fn names_in_brackets_are_holes_where_that_is_asked_for() {
        let text = "Copyright [yyyy] {name of owner} <b> [1] if a[ then\n] <>";
        let found = plain(text, Markup::Names).expect("patterns");
        let names: Vec<&str> = found.holes.iter().map(|hole| &*hole.name).collect();
        assert_eq!(names, ["yyyy", "name of owner", "b", "1"]);
        assert_eq!(plain(text, Markup::Spdx).expect("patterns").text, text);
        assert_eq!(
            plain("<<var;x", Markup::Names).expect("patterns").text,
            "<<var;x"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "(<<|>>|var|;name=\"|\"|beginOptional|endOptional|\\[|x| ){0,12}") {
            let plain = plain(&text, Markup::Names).expect("no patterns");
            for (place, mark) in plain.marks {
                prop_assert!(plain.text.get(place..).is_some());
                if let Mark::Open(which) = mark {
                    prop_assert!(plain.text.get(plain.optional[which].clone()).is_some());
                }
            }
        }
    }
}
