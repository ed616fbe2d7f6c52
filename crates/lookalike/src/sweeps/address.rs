//! How alike two addresses are: by the words they are made of.

use std::collections::BTreeSet;

use super::hosts::host_of;

/// The words of an address, without the host.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Address(BTreeSet<String>);

impl Address {
    /// Takes an address apart: `/docs/Get-Started?v=2` is of `docs`, `get`, `started`, `v`
    /// and `2`.
    pub(crate) fn new(url: &str) -> Address {
        let path = match url.split_once("://") {
            Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
            None => url,
        };
        let words = path.split(|letter: char| !letter.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        Address(words.map(str::to_lowercase).collect())
    }

    /// The words that two have in common, of all they have.
    #[expect(clippy::cast_precision_loss, reason = "words of an address")]
    pub(crate) fn likeness(&self, other: &Address) -> f64 {
        let both = self.0.intersection(&other.0).count();
        let all = self.0.len() + other.0.len() - both;
        if all == 0 {
            0.0
        } else {
            both as f64 / all as f64
        }
    }
}

/// Whether two addresses are of one host.
pub(crate) fn is_same_host(url: &str, other: &str) -> bool {
    let (own, other) = (host_of(url), host_of(other));
    own.is_some_and(|own| other.is_some_and(|other| own.eq_ignore_ascii_case(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_of_words() {
        let like = |x, y| (6.0 * Address::new(x).likeness(&Address::new(y))).round();
        let cases = [
            ("http://a.example/x/y", "http://b.example/y/X/", 6.0),
            ("http://a.example/one", "http://a.example/two", 0.0),
            ("http://a.example/", "http://a.example/", 0.0),
            ("http://a.example/a-b", "http://a.example/a/c", 2.0),
        ];
        for (x, y, sixths) in cases {
            assert!((like(x, y) - sixths).abs() < 0.1, "{x} {y}");
        }
    }
}
