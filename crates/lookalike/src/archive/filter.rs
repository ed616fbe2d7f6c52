//! Which captures an answer leaves out: by a condition, or as the same as others.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

use super::cdx::{Dialect, Malformed, malformed};
use super::row::{Field, Row};

/// Bytes of the longest regular expression, and of what it may be compiled to.
const LONGEST_PATTERN: usize = 1000;
const LARGEST_PATTERN: usize = 1 << 18;

/// A condition.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    is_inverted: bool,
    /// `None` for the whole line.
    field: Option<Field>,
    condition: Condition,
}

#[derive(Clone, Debug)]
enum Condition {
    Exact(String),
    Contains(String),
    Pattern(Regex),
}

impl Filter {
    pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Filter, Malformed> {
        let (is_inverted, text) = match text.strip_prefix('!') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (kind, text) = match text.chars().next() {
            Some(kind @ ('=' | '~')) => (Some(kind), &text[1..]),
            _ => (None, text),
        };
        let (field, value) = match text.split_once(':') {
            Some((name, value)) => {
                let field = Field::named(name);
                let unknown = || malformed("filter", format!("knows no field `{name}`"));
                (Some(field.ok_or_else(unknown)?), value)
            }
            None if dialect == Dialect::Wayback && kind.is_none() => {
                return Err(malformed("filter", "is a field, `:` and an expression"));
            }
            None => (None, text),
        };
        let condition = match kind {
            Some('=') => Condition::Exact(value.to_owned()),
            // As Python's `match`: from the beginning.
            Some(_) => Condition::Pattern(pattern(&format!("^(?:{value})"), value)?),
            None if dialect == Dialect::Wayback => {
                Condition::Pattern(pattern(&format!("^(?:{value})$"), value)?)
            }
            None => Condition::Contains(value.to_owned()),
        };
        Ok(Filter {
            is_inverted,
            field,
            condition,
        })
    }

    pub(super) fn takes(&self, row: &Row, dialect: Dialect) -> bool {
        let value = match self.field {
            None => Cow::Owned(row.cdxj()),
            Some(field) => match row.value(field).unwrap_or_default() {
                // Columns of the Wayback Machine have it bare.
                digest if field == Field::Digest && dialect == Dialect::Wayback => {
                    let bare = digest.rsplit(':').next().unwrap_or_default();
                    Cow::Owned(bare.to_owned())
                }
                value => value,
            },
        };
        let is_met = match &self.condition {
            Condition::Exact(wanted) => value == *wanted,
            Condition::Contains(part) => value.contains(part.as_str()),
            Condition::Pattern(pattern) => pattern.is_match(&value),
        };
        is_met != self.is_inverted
    }
}

fn pattern(whole: &str, said: &str) -> Result<Regex, Malformed> {
    if said.len() > LONGEST_PATTERN {
        let what = format!("is longer than {LONGEST_PATTERN} bytes");
        return Err(malformed("filter", what));
    }
    // What closes our group would be part of another expression.
    let build = |text: &str| {
        RegexBuilder::new(text)
            .size_limit(LARGEST_PATTERN)
            .dfa_size_limit(LARGEST_PATTERN)
            .nest_limit(50)
            .build()
    };
    let pattern = build(said).and_then(|_| build(whole));
    pattern.map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default();
        malformed("filter", format!("is no regular expression: {why}"))
    })
}

/// Which captures count as the same as one before them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Collapse {
    /// Those next to it with the same beginning of a field.
    Next(Field, usize),
    /// Any with the same cluster.
    Cluster,
}

impl Collapse {
    pub(super) fn parse(text: &str) -> Result<Collapse, Malformed> {
        let (name, len) = match text.split_once(':') {
            Some((name, len)) => (name, Some(len)),
            None => (text, None),
        };
        let unknown = || malformed("collapse", format!("knows no field `{name}`"));
        let field = Field::named(name).ok_or_else(unknown)?;
        let wrong = |_| malformed("collapse", "is a field, or a field, `:` and a number");
        let len = len.map_or(Ok(usize::MAX), str::parse).map_err(wrong)?;
        Ok(match field {
            Field::Cluster => Collapse::Cluster,
            field => Collapse::Next(field, len),
        })
    }
}

/// Captures that were seen, as far as later ones are the same.
#[derive(Default)]
pub(super) struct Seen {
    last: Vec<Option<String>>,
    clusters: BTreeSet<u32>,
}

impl Seen {
    pub(super) fn is_new(&mut self, row: &Row, collapses: &[Collapse]) -> bool {
        self.last.resize(collapses.len(), None);
        // Every one of them is told, whatever the others say.
        let mut is_new = true;
        for (collapse, last) in collapses.iter().zip(&mut self.last) {
            is_new &= match collapse {
                Collapse::Cluster => row
                    .cluster
                    .is_none_or(|cluster| self.clusters.insert(cluster)),
                Collapse::Next(field, len) => {
                    let value = row.value(*field).unwrap_or_default();
                    let value: String = value.chars().take(*len).collect();
                    let is_other = last.as_ref() != Some(&value);
                    *last = Some(value);
                    is_other
                }
            };
        }
        is_new
    }
}
