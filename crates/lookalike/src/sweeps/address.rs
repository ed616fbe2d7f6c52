//! How alike two addresses are, and which pages are called the same.
//!
//! ```text
//! every page's address ─► its words ─► how many pages have each ─► what it tells: one in so many
//!                     └─► its last part ─► sorted ─► pages of one name
//! ```
//!
//! A word that many addresses have, such as the folder they are all in, says little: like
//! shingles, words count by one over the number of pages that have them.
//!
//! 8 to 16 bytes a page for the counts and 8 for the names; one pass over the addresses.

use xxhash_rust::xxh3::xxh3_64;

use super::hosts::host_of;

/// An address without its host, taken apart.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Address {
    /// Its words by their hash: strictly increasing.
    words: Vec<u64>,
    /// Its last part, by its hash; nothing for the root of a host.
    name: Option<u32>,
}

impl Address {
    /// Takes an address apart: `/docs/Get-Started?v=2` is of `docs`, `get`, `started`, `v`
    /// and `2`, and is called `get-started?v=2`.
    pub(crate) fn new(url: &str) -> Address {
        let path = match url.split_once("://") {
            Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
            None => url,
        };
        let path = path.to_lowercase();
        let words = path.split(|letter: char| !letter.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        let mut words: Vec<u64> = words.map(|word| xxh3_64(word.as_bytes())).collect();
        words.sort_unstable();
        words.dedup();
        let name = last_part(&path);
        Address {
            words,
            name: (!name.is_empty()).then(|| short(xxh3_64(name.as_bytes()))),
        }
    }
}

/// The last part of a path that says something: that a folder has an `index.html` does not.
fn last_part(path: &str) -> &str {
    let is_folder = |part: &str| {
        let stem = part.split(['.', '?', '#']).next();
        matches!(stem, Some("" | "index" | "default"))
    };
    let mut parts = path.split('/').rev();
    parts.find(|part| !is_folder(part)).unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
fn short(hash: u64) -> u32 {
    hash as u32
}

/// What is known of the addresses of all pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses {
    /// How many pages have a word, at the place that its hash says. Two words may share a
    /// place: then both tell less. A power of two, or none.
    counts: Vec<u8>,
    /// (name, a document of the page), sorted.
    names: Vec<(u32, u32)>,
}

/// Places for the words of each page, about as many as an address has words: most have one
/// to themselves.
const PLACES: usize = 8;

/// So few pages still have places enough that hardly any two words share one.
const FEW: usize = 1 << 13;

impl Addresses {
    /// Nothing yet, of so many pages.
    pub(crate) fn new(pages: usize) -> Addresses {
        let places = pages.max(FEW).saturating_mul(PLACES).next_power_of_two();
        Addresses {
            counts: vec![0; places],
            names: Vec::with_capacity(pages),
        }
    }

    /// Takes the address of one more page, and a document of it.
    pub(crate) fn add(&mut self, address: &Address, doc: u32) {
        for word in &address.words {
            let place = self.place(*word);
            // What 255 pages have tells next to nothing already.
            self.counts[place] = self.counts[place].saturating_add(1);
        }
        self.names.extend(address.name.map(|name| (name, doc)));
    }

    /// All pages are there.
    pub(crate) fn finish(mut self) -> Addresses {
        self.names.sort_unstable();
        self
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower bits are wanted")]
    fn place(&self, word: u64) -> usize {
        word as usize & (self.counts.len() - 1)
    }

    /// What a word tells: 1 if one page has it, or none.
    fn weight(&self, word: u64) -> f64 {
        let count = self.counts.get(self.place(word)).copied();
        1.0 / f64::from(count.unwrap_or(1).max(1))
    }

    /// What the words that two have in common tell, of what all of theirs do.
    pub(crate) fn likeness(&self, one: &Address, other: &Address) -> f64 {
        let (mut both, mut all) = (0.0, 0.0);
        let (mut xs, mut ys) = (one.words.as_slice(), other.words.as_slice());
        while let Some(word) = xs.first().min(ys.first()).or(xs.first()).or(ys.first()) {
            let weight = self.weight(*word);
            let (is_x, is_y) = (xs.first() == Some(word), ys.first() == Some(word));
            all += weight;
            both += if is_x && is_y { weight } else { 0.0 };
            xs = &xs[usize::from(is_x)..];
            ys = &ys[usize::from(is_y)..];
        }
        if all > 0.0 { both / all } else { 0.0 }
    }

    /// A document of each page whose address has the same last part, the page itself too.
    /// None if it is the name of more than `most`: then it tells nothing. O(log pages).
    pub(crate) fn namesakes(&self, address: &Address, most: usize) -> impl Iterator<Item = u32> {
        let same = address.name.map(|name| {
            let from = self.names.partition_point(|own| own.0 < name);
            let len = self.names[from..].partition_point(|own| own.0 == name);
            &self.names[from..from + len]
        });
        let same = same.filter(|same| same.len() <= most);
        same.unwrap_or_default().iter().map(|(_, doc)| *doc)
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

    /// Some addresses, each of a page of its own, numbered from 0 on.
    fn known(urls: &[&str]) -> Addresses {
        let mut all = Addresses::new(urls.len());
        for (doc, url) in (0..).zip(urls) {
            all.add(&Address::new(url), doc);
        }
        all.finish()
    }

    #[test]
    fn likeness_is_of_words_each_by_how_few_have_it() {
        let all = known(&[
            "http://a.example/x/y",
            "http://a.example/x/z",
            "http://b.example/y/X/",
            "http://a.example/",
        ]);
        // Three have x, two have y, one has z.
        let cases = [
            ("http://a.example/x/y", "http://b.example/y/X/", 1.0),
            ("http://a.example/y", "http://a.example/z", 0.0),
            ("http://a.example/", "http://a.example/", 0.0),
            (
                "http://a.example/x-y",
                "http://a.example/x?z",
                (1.0 / 3.0) / (1.0 / 3.0 + 1.0 / 2.0 + 1.0),
            ),
            // What nobody has tells as much as what one has.
            ("http://a.example/y", "http://a.example/y/new", 1.0 / 3.0),
        ];
        for (x, y, expected) in cases {
            let (one, other) = (Address::new(x), Address::new(y));
            let like = all.likeness(&one, &other);
            assert!((like - expected).abs() < 1e-9, "{x} {y}: {like}");
            assert!((like - all.likeness(&other, &one)).abs() < 1e-12);
        }
    }

    #[test]
    fn likeness_agrees_with_its_definition_over_sets_of_words() {
        use std::collections::BTreeSet;
        let urls: Vec<String> = (0..200_u32)
            .map(|n| format!("http://a.example/{}/{}-{}", n % 3, n % 7, n / 2))
            .collect();
        let of = |url: &str| -> BTreeSet<String> {
            let path = url.split_once("example/").map_or("", |(_, path)| path);
            path.split(['/', '-']).map(str::to_owned).collect()
        };
        let all = known(&urls.iter().map(String::as_str).collect::<Vec<_>>());
        let sets: Vec<_> = urls.iter().map(|url| of(url)).collect();
        let weight = |word: &String| {
            let count = sets.iter().filter(|set| set.contains(word)).count();
            1.0 / count as f64
        };
        for (x, y) in [(0, 1), (0, 21), (5, 110), (17, 18), (199, 198), (42, 42)] {
            let both: f64 = sets[x].intersection(&sets[y]).map(weight).sum();
            let either: f64 = sets[x].union(&sets[y]).map(weight).sum();
            let like = all.likeness(&Address::new(&urls[x]), &Address::new(&urls[y]));
            assert!((like - both / either).abs() < 1e-9, "{x} {y}: {like}");
        }
    }

    #[test]
    fn pages_are_called_by_the_last_part_that_says_something() {
        let all = known(&[
            "http://a.example/guide/install/",
            "http://b.example/Install",
            "http://a.example/install/index.html",
            "http://a.example/reinstall/",
            "http://a.example/",
        ]);
        let same = |url| -> Vec<u32> { all.namesakes(&Address::new(url), 9).collect() };
        assert_eq!(same("http://c.example/new/install/"), [0, 1, 2]);
        assert_eq!(same("http://a.example/index.html"), [0; 0], "the root");
        let install = Address::new("http://a.example/install");
        let few = all.namesakes(&install, 2);
        assert_eq!(
            few.count(),
            0,
            "so many are called so that it tells nothing"
        );
    }
}
