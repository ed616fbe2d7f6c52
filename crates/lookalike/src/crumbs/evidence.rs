//! What speaks for a rule and what against it.

/// For a rule and against it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Different contents of pages that two addresses have, which the rule makes one.
    pub support: usize,
    /// Pages that have two such addresses, with the same content.
    pub pages: usize,
    /// Pages that have two such addresses with different contents, in one sweep.
    pub against: usize,
    /// Pages of a mirror that are behind, or ahead.
    pub lagging: usize,
    /// Two addresses each that the rule makes one, rightly.
    pub examples: Vec<(String, String)>,
    /// The same, wrongly.
    pub contradictions: Vec<(String, String)>,
}

impl Evidence {
    /// How much of what it says is right.
    pub fn precision(&self) -> f64 {
        self.support as f64 / (self.support + self.against).max(1) as f64
    }

    /// What that may be at worst: the lower end of Wilson's interval of 95 %.
    pub fn precision_low(&self) -> f64 {
        let n = (self.support + self.against).max(1) as f64;
        let (p, z2) = (self.precision(), 1.96 * 1.96);
        let centre = p + z2 / (2.0 * n);
        let spread = (z2 * (p * (1.0 - p) / n + z2 / (4.0 * n * n))).sqrt();
        ((centre - spread) / (1.0 + z2 / n)).max(0.0)
    }
}

/// Evidence while it is gathered.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    contents: Vec<u32>,
    pages: usize,
    against: usize,
    lagging: usize,
    examples: Vec<(u32, u32)>,
    contradictions: Vec<(u32, u32)>,
    /// Up to two parts of the rule's scope that speak for it.
    parts: Vec<u64>,
    /// What was dropped of addresses that speak for it, of a rule for ids.
    ids: Vec<u32>,
    /// The directories behind a name that all pages which speak for it are in, by depth; a
    /// depth where they differ has none.
    shared: Option<Vec<Option<u64>>>,
}

/// Examples that are kept.
const EXAMPLES: usize = 3;

impl Tally {
    pub(super) fn agree(&mut self, content: u32, pair: (u32, u32)) {
        self.pages += 1;
        self.contents.push(content);
        // Many pages with one content are one piece of evidence: a page that says that
        // there is none stands at any address.
        if self.examples.len() < EXAMPLES {
            self.examples.push(pair);
        }
    }

    /// Notes a part of the rule's scope that speaks for it.
    pub(super) fn note_part(&mut self, part: u64) {
        if self.parts.len() < 2 && !self.parts.contains(&part) {
            self.parts.push(part);
        }
    }

    /// Notes an id of an address that speaks for it.
    pub(super) fn note_id(&mut self, id: u32) {
        self.ids.push(id);
    }

    /// Whether as many different ids as contents speak for it. So it is with sessions; names
    /// of versions are few, each with many pages.
    pub(super) fn has_many_ids(&mut self) -> bool {
        self.ids.sort_unstable();
        self.ids.dedup();
        !self.ids.is_empty() && self.ids.len() >= self.support()
    }

    /// Notes the directories behind a name that a page which speaks for it is in.
    pub(super) fn note_directories(&mut self, names: impl Iterator<Item = u64>) {
        match &mut self.shared {
            None => self.shared = Some(names.map(Some).collect()),
            Some(shared) => {
                let mut len = 0;
                for (own, name) in shared.iter_mut().zip(names) {
                    *own = own.filter(|own| *own == name);
                    len += 1;
                }
                shared.truncate(len);
            }
        }
    }

    /// How many directories in a row, from the first, all pages that speak for it are in.
    pub(super) fn leading(&self) -> usize {
        let shared = self.shared.iter().flatten();
        shared.take_while(|name| name.is_some()).count()
    }

    /// Whether all of them are in one directory at some depth: the same library, say, that
    /// several things ship.
    pub(super) fn is_confined(&self) -> bool {
        self.shared.iter().flatten().any(Option::is_some)
    }

    /// Two addresses that speak for it.
    pub(super) fn example(&self) -> Option<(u32, u32)> {
        self.examples.first().copied()
    }

    /// How many parts of the scope speak for it, up to two.
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn differ(&mut self, pair: (u32, u32)) {
        self.against += 1;
        if self.contradictions.len() < EXAMPLES {
            self.contradictions.push(pair);
        }
    }

    /// Whether anything speaks against it.
    pub(super) fn is_against(&self) -> bool {
        self.against > 0
    }

    pub(super) fn lag(&mut self, pair: (u32, u32)) {
        self.lagging += 1;
        if self.contradictions.len() < EXAMPLES {
            self.contradictions.push(pair);
        }
    }

    /// All of it; `name` tells what an address is.
    pub(super) fn evidence(mut self, name: impl Fn(u32) -> String) -> Evidence {
        self.contents.sort_unstable();
        self.contents.dedup();
        let shown = |pairs: &[(u32, u32)]| -> Vec<(String, String)> {
            pairs.iter().map(|(a, b)| (name(*a), name(*b))).collect()
        };
        let (mut against, mut lagging) = (self.against, self.lagging);
        // A mirror is behind with a few pages; one that always is, is none.
        if LAG * lagging > self.pages + lagging {
            against += lagging;
            lagging = 0;
        }
        Evidence {
            support: self.contents.len(),
            pages: self.pages,
            against,
            lagging,
            examples: shown(&self.examples),
            contradictions: if against > 0 {
                shown(&self.contradictions)
            } else {
                Vec::new()
            },
        }
    }

    /// How many different contents speak for it.
    pub(super) fn support(&mut self) -> usize {
        self.contents.sort_unstable();
        self.contents.dedup();
        self.contents.len()
    }
}

/// One page in so many may be another version.
const LAG: usize = 10;
