//! What an address can do without: one kind of rule each, as a change of an address and as
//! regular expressions.
//!
//! ```text
//! http://a.org/x/index.html?sid=7 ─► parameter sid ─► http://a.org/x/index.html
//!                                 ─► index.html ────► http://a.org/x/?sid=7
//! ```
//!
//! Addresses are [`plain`]: scheme and host in lower case, a path, no fragment. What a rule
//! does to one is what its regular expressions do: a test holds them together.

use std::fmt;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Where a parameter does not matter.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// On all pages.
    Site,
    /// On pages in this directory of the root, with all below; `/` is the root alone.
    Section(String),
    /// On this page, whatever its other parameters.
    Path(String),
}

/// Letters that an id in a path is made of.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Letters {
    /// `0` to `9`.
    Digits,
    /// And `a` to `f`.
    Hex,
    /// And all other letters.
    Any,
    /// `0` to `9`, `a` to `f` in either case, and the dashes of a UUID.
    Uuid,
}

impl Letters {
    fn has(self, byte: u8) -> bool {
        match self {
            Letters::Digits => byte.is_ascii_digit(),
            Letters::Hex => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            Letters::Any => byte.is_ascii_alphanumeric(),
            Letters::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
        }
    }

    fn pattern(self) -> &'static str {
        match self {
            Letters::Digits => "[0-9]",
            Letters::Hex => "[0-9a-f]",
            Letters::Any => "[0-9A-Za-z]",
            Letters::Uuid => "[0-9A-Fa-f-]",
        }
    }

    /// The letters of what looks like an id: no word, and no date.
    fn of(segment: &str) -> Option<Letters> {
        let all = |letters: Letters| segment.bytes().all(|byte| letters.has(byte));
        let digits = segment.bytes().filter(u8::is_ascii_digit).count();
        let others = segment.len() - digits;
        let is_date = matches!(segment.len(), 6 | 8)
            && (segment.starts_with("19") || segment.starts_with("20"));
        if all(Letters::Digits) {
            return (segment.len() >= 6 && !is_date).then_some(Letters::Digits);
        }
        if segment.len() >= 6 && digits > 0 && all(Letters::Hex) {
            return Some(Letters::Hex);
        }
        let is_mixed = segment.len() >= 6 && digits > 1 && others > 1;
        if is_mixed && all(Letters::Any) {
            return Some(Letters::Any);
        }
        let dashes = segment.match_indices('-').map(|(at, _)| at);
        let is_uuid = segment.len() == 36 && dashes.eq([8, 13, 18, 23]);
        (is_uuid && all(Letters::Uuid)).then_some(Letters::Uuid)
    }
}

/// What an id in a path looks like: `ab12cd34`, `(S(0vdsc25t))`, `sid-ab12cd34`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Shape {
    /// What stands before it.
    pub head: String,
    /// Its letters,
    pub letters: Letters,
    /// and how many.
    pub len: usize,
    /// What stands behind it: brackets that are closed.
    pub tail: String,
}

impl Shape {
    /// The shape of the name of a directory, if it has an id.
    fn of(segment: &str) -> Option<Shape> {
        let shape = |head: &str, id: &str, tail: &str| {
            Some(Shape {
                head: head.to_owned(),
                letters: Letters::of(id)?,
                len: id.len(),
                tail: tail.to_owned(),
            })
        };
        let id = segment.trim_end_matches([')', ']', '}']);
        let tail = &segment[id.len()..];
        let behind = |marks: &[char]| {
            let (head, id) = id.split_at(id.rfind(marks)? + 1);
            shape(head, id, tail)
        };
        shape("", segment, "")
            .or_else(|| behind(&['(', '[', '{', '=', ':', '~', ',', '.', '!', '$', '@']))
            .or_else(|| behind(&['-', '_']))
    }

    fn is_of(&self, segment: &str) -> bool {
        let id = segment.strip_prefix(self.head.as_str());
        let id = id.and_then(|rest| rest.strip_suffix(self.tail.as_str()));
        id.is_some_and(|id| id.len() == self.len && id.bytes().all(|byte| self.letters.has(byte)))
    }

    fn pattern(&self) -> String {
        let (head, tail) = (escaped(&self.head), escaped(&self.tail));
        format!("{head}{}{{{}}}{tail}", self.letters.pattern(), self.len)
    }
}

/// Something that does not make another page.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Rule {
    /// One host, scheme or port has the pages of another.
    Origin {
        /// `scheme://host:port` that can be done without.
        from: String,
        /// The one that has them too.
        to: String,
    },
    /// A parameter behind `?`.
    Parameter {
        /// Of which host.
        origin: String,
        /// Of which pages.
        scope: Scope,
        /// Its name.
        name: String,
    },
    /// A parameter in the path, behind `;`.
    PathParameter {
        /// Of which host.
        origin: String,
        /// Its name.
        name: String,
    },
    /// A directory whose name is an id.
    Id {
        /// Of which host.
        origin: String,
        /// The directories before it.
        prefix: String,
        /// What it looks like.
        shape: Shape,
    },
    /// A directory that need not be there.
    Segment {
        /// Of which host.
        origin: String,
        /// The directories before it.
        prefix: String,
        /// Its name.
        name: String,
    },
    /// One directory has the pages of another.
    Directory {
        /// Of which host.
        origin: String,
        /// The directories before it.
        prefix: String,
        /// The one that can be done without.
        from: String,
        /// The one that has its pages too.
        to: String,
    },
    /// One directory has the pages of another that stands elsewhere, or on another host.
    Tree {
        /// Of which host.
        origin: String,
        /// The directories that can be done without; none for all of the host.
        path: String,
        /// The host that has the pages too,
        to_origin: String,
        /// and its directories.
        to_path: String,
    },
    /// Two parameters that may stand in either order.
    Order {
        /// Of which host.
        origin: String,
        /// The one that is put first.
        first: String,
        /// The one behind it.
        second: String,
    },
    /// The page of a directory, by name.
    Index {
        /// Of which host.
        origin: String,
        /// Its name.
        name: String,
    },
    /// A slash at the end.
    Slash {
        /// Of which host.
        origin: String,
    },
    /// Capitals in the path.
    Case {
        /// Of which host.
        origin: String,
    },
}

/// A regular expression and what to put in place of what it finds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Substitution {
    /// In the language that Python, PCRE and Rust share.
    pub pattern: String,
    /// `\1` is the first group. Of capitals, `\L` to `\E` is in lower case (Perl, PCRE2).
    pub replacement: String,
}

/// An address taken apart.
struct Parts<'u> {
    origin: &'u str,
    path: &'u str,
    /// With the `?`.
    query: &'u str,
}

impl<'u> Parts<'u> {
    fn of(url: &'u str) -> Option<Parts<'u>> {
        let begin = url.find("://")? + 3;
        let path = begin + url[begin..].find('/')?;
        let query = url[path..].find('?').map_or(url.len(), |at| path + at);
        Some(Parts {
            origin: &url[..path],
            path: &url[path..query],
            query: &url[query..],
        })
    }

    fn with_path(&self, path: &str) -> String {
        [self.origin, path, self.query].concat()
    }

    /// The directories of the path: where the name of each begins and ends.
    fn directories(&self) -> impl Iterator<Item = (usize, usize)> {
        let slashes = self.path.match_indices('/').map(|(at, _)| at);
        let next = slashes.clone().skip(1);
        slashes.zip(next).map(|(from, to)| (from + 1, to))
    }

    fn section(&self) -> String {
        match self.directories().next() {
            Some((_, end)) => self.path[..=end].to_owned(),
            None => "/".to_owned(),
        }
    }

    /// The names of its parameters, each once, sorted.
    fn parameters(&self) -> Vec<&'u str> {
        let query = self.query.strip_prefix('?').unwrap_or_default();
        let mut names: Vec<&str> = query.split('&').map(name_of).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The scopes that a rule for one of them may have.
    fn scopes(&self) -> [Scope; 3] {
        [
            Scope::Site,
            Scope::Section(self.section()),
            Scope::Path(self.path.to_owned()),
        ]
    }

    /// The place of the directory behind a prefix.
    fn behind(&self, prefix: &str) -> Option<(usize, usize)> {
        let rest = self.path.strip_prefix(prefix)?.strip_prefix('/')?;
        let begin = prefix.len() + 1;
        Some((begin, begin + rest.find('/')?))
    }
}

/// An address in its plain form, if it is one: scheme and host in lower case, at least `/`
/// for a path, no fragment.
pub fn plain(url: &str) -> Option<String> {
    let begin = url.find("://")? + 3;
    let url = url.split('#').next().unwrap_or_default();
    let rest = url.get(begin..)?;
    let end = begin + rest.find(['/', '?']).unwrap_or(rest.len());
    if end == begin {
        return None;
    }
    let (origin, path) = url.split_at(end);
    let slash = if path.starts_with('/') { "" } else { "/" };
    Some([&origin.to_ascii_lowercase(), slash, path].concat())
}

/// The first directory or page of a path that begins with a slash.
pub(super) fn first_segment(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').next().unwrap_or_default()
}

fn name_of(parameter: &str) -> &str {
    parameter
        .split_once('=')
        .map_or(parameter, |(name, _)| name)
}

/// Names that servers give the page of a directory, before the dot.
const INDEX: [&str; 5] = ["index", "default", "home", "main", "welcome"];

/// Addresses with more parameters are not tried without several of them at once: records
/// grow with their number.
const MOST_TOGETHER: usize = 8;

/// Directories that are looked at, from the root.
const DEPTH: usize = 8;

impl Rule {
    /// Of which host it is.
    pub fn origin(&self) -> &str {
        match self {
            Rule::Origin { from, .. } => from,
            Rule::Parameter { origin, .. }
            | Rule::PathParameter { origin, .. }
            | Rule::Id { origin, .. }
            | Rule::Segment { origin, .. }
            | Rule::Directory { origin, .. }
            | Rule::Tree { origin, .. }
            | Rule::Order { origin, .. }
            | Rule::Index { origin, .. }
            | Rule::Slash { origin }
            | Rule::Case { origin } => origin,
        }
    }

    /// The name of its kind in tables and JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Rule::Origin { from, to } => {
                let parts = |origin: &str| -> Option<(String, String)> {
                    let (scheme, host) = origin.split_once("://")?;
                    let host = host.strip_prefix("www.").unwrap_or(host);
                    let (host, _) = host.rsplit_once(':').unwrap_or((host, ""));
                    Some((scheme.to_owned(), host.to_owned()))
                };
                match (parts(from), parts(to)) {
                    (Some(one), Some(two)) if one.1 != two.1 => "mirror",
                    (Some(one), Some(two)) if one.0 != two.0 => "scheme",
                    _ => "host",
                }
            }
            Rule::Parameter { .. } => "parameter",
            Rule::PathParameter { .. } => "path-parameter",
            Rule::Id { .. } => "path-id",
            Rule::Segment { .. } => "directory",
            Rule::Tree { .. } if self.is_mirror() => "mirror",
            Rule::Directory { .. } | Rule::Tree { .. } => "alias",
            Rule::Order { .. } => "order",
            Rule::Index { .. } => "index",
            Rule::Slash { .. } => "slash",
            Rule::Case { .. } => "case",
        }
    }

    /// Whether it is of pages on two hosts.
    pub(super) fn is_mirror(&self) -> bool {
        match self {
            Rule::Origin { .. } => true,
            Rule::Tree {
                origin, to_origin, ..
            } => origin != to_origin,
            _ => false,
        }
    }

    /// What becomes of an address; nothing where the rule changes nothing.
    pub fn apply(&self, url: &str) -> Option<String> {
        let parts = Parts::of(url).filter(|parts| parts.origin == self.origin())?;
        let path = match self {
            Rule::Origin { to, .. } => return Some([to, parts.path, parts.query].concat()),
            Rule::Parameter { scope, name, .. } => {
                let is_in = match scope {
                    Scope::Site => true,
                    Scope::Section(section) => parts.section() == *section,
                    Scope::Path(path) => parts.path == path,
                };
                let query = parts.query.strip_prefix('?').filter(|_| is_in)?;
                let all: Vec<&str> = query.split('&').collect();
                let kept = all.iter().filter(|one| name_of(one) != name);
                let kept: Vec<&str> = kept.copied().collect();
                if kept.len() == all.len() {
                    return None;
                }
                let mark = if kept.is_empty() { "" } else { "?" };
                return Some([parts.origin, parts.path, mark, &kept.join("&")].concat());
            }
            Rule::PathParameter { name, .. } => {
                let mark = format!(";{name}=");
                let mut path = String::new();
                let mut rest = parts.path;
                while let Some(at) = rest.find(&mark) {
                    path.push_str(&rest[..at]);
                    let value = &rest[at + mark.len()..];
                    rest = value.find([';', '/']).map_or("", |end| &value[end..]);
                }
                path.push_str(rest);
                path
            }
            Rule::Tree {
                path,
                to_origin,
                to_path,
                ..
            } => {
                let rest = parts.path.strip_prefix(path.as_str())?;
                let is_in = rest.starts_with('/');
                return is_in.then(|| [to_origin, to_path, rest, parts.query].concat());
            }
            Rule::Order { first, second, .. } => {
                let mut all: Vec<&str> = parts.query.strip_prefix('?')?.split('&').collect();
                let is_it = |two: &[&str]| name_of(two[0]) == second && name_of(two[1]) == first;
                let at = all.windows(2).position(is_it)?;
                all.swap(at, at + 1);
                return Some([parts.origin, parts.path, "?", &all.join("&")].concat());
            }
            Rule::Id { prefix, shape, .. } => {
                let (from, to) = parts.behind(prefix)?;
                let is_id = shape.is_of(&parts.path[from..to]);
                is_id.then(|| [&parts.path[..from - 1], &parts.path[to..]].concat())?
            }
            Rule::Segment { prefix, name, .. } => {
                let (from, to) = parts.behind(prefix)?;
                let is_it = parts.path[from..to] == **name;
                is_it.then(|| [&parts.path[..from - 1], &parts.path[to..]].concat())?
            }
            Rule::Directory {
                prefix, from, to, ..
            } => {
                let (begin, end) = parts.behind(prefix)?;
                let is_it = parts.path[begin..end] == **from;
                is_it.then(|| [&parts.path[..begin], to, &parts.path[end..]].concat())?
            }
            Rule::Index { name, .. } => {
                let rest = parts.path.strip_suffix(name.as_str())?;
                rest.ends_with('/').then(|| rest.to_owned())?
            }
            Rule::Slash { .. } => {
                let rest = parts.path.strip_suffix('/')?;
                let is_name = !rest.is_empty() && !rest.ends_with('/');
                is_name.then(|| rest.to_owned())?
            }
            Rule::Case { .. } => parts.path.to_ascii_lowercase(),
        };
        (path != parts.path).then(|| parts.with_path(&path))
    }

    /// Calls back with every rule by which an address alone could do without something,
    /// and what it then is.
    pub(super) fn each_drop(url: &str, mut each: impl FnMut(Rule, String)) {
        let Some(parts) = Parts::of(url) else { return };
        let mut found = Vec::new();
        let origin = parts.origin.to_owned();
        if let Some(query) = parts.query.strip_prefix('?') {
            let names: Vec<&str> = query.split('&').map(name_of).collect();
            for two in names.windows(2) {
                // By their names alone: that is an order that ends.
                if !two[1].is_empty() && two[1] < two[0] {
                    found.push(Rule::Order {
                        origin: origin.clone(),
                        first: two[1].to_owned(),
                        second: two[0].to_owned(),
                    });
                }
            }
        }
        for name in parts.parameters() {
            found.extend(parts.scopes().map(|scope| Rule::Parameter {
                origin: origin.clone(),
                scope,
                name: name.to_owned(),
            }));
        }
        for behind in parts.path.split(';').skip(1) {
            if let Some((name, _)) = behind.split_once('=')
                && !name.is_empty()
                && !name.contains('/')
            {
                let (origin, name) = (origin.clone(), name.to_owned());
                found.push(Rule::PathParameter { origin, name });
            }
        }
        for (from, to) in parts.directories().take(DEPTH) {
            let segment = &parts.path[from..to];
            let (origin, prefix) = (origin.clone(), parts.path[..from - 1].to_owned());
            if let Some(shape) = Shape::of(segment) {
                found.push(Rule::Id {
                    origin,
                    prefix,
                    shape,
                });
            } else if !segment.is_empty() {
                let name = segment.to_owned();
                found.push(Rule::Segment {
                    origin,
                    prefix,
                    name,
                });
            }
        }
        let last = parts.path.rsplit('/').next().unwrap_or_default();
        let stem = last.split('.').next().unwrap_or_default();
        if INDEX.iter().any(|name| name.eq_ignore_ascii_case(stem)) {
            let (origin, name) = (origin.clone(), last.to_owned());
            found.push(Rule::Index { origin, name });
        }
        let (slash, case) = (origin.clone(), origin);
        found.push(Rule::Slash { origin: slash });
        found.push(Rule::Case { origin: case });
        for rule in found {
            if let Some(without) = rule.apply(url) {
                each(rule, without);
            }
        }
    }

    /// Calls back with rules for several parameters of an address, and what all of them
    /// leave of it: for all that are `open`, and for all but one.
    pub(super) fn each_joint_drop(
        url: &str,
        is_open: impl Fn(&Rule) -> bool,
        each: &mut dyn FnMut(&[Rule], &str),
    ) {
        let Some(parts) = Parts::of(url) else { return };
        let names = parts.parameters();
        if !(2..=MOST_TOGETHER).contains(&names.len()) {
            return;
        }
        for scope in parts.scopes() {
            let rules = names.iter().map(|name| Rule::Parameter {
                origin: parts.origin.to_owned(),
                scope: scope.clone(),
                name: (*name).to_owned(),
            });
            let rules: Vec<Rule> = rules.filter(&is_open).collect();
            let mut tried = |rules: &[Rule]| {
                if rules.len() > 1 {
                    let without = rules
                        .iter()
                        .fold(url.to_owned(), |url, rule| rule.apply(&url).unwrap_or(url));
                    each(rules, &without);
                }
            };
            tried(&rules);
            // One of them may say which page it is, and have no two values beside the same
            // others.
            for kept in 0..rules.len() {
                let mut others = rules.clone();
                others.remove(kept);
                tried(&others);
            }
        }
    }

    /// What it drops from an address, as a number; never 0. Of an id, that; of a parameter,
    /// its values: addresses with the same ones differ by something else, as by the order of
    /// others.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a hash is one in any length"
    )]
    pub(super) fn dropped(&self, url: &str) -> u32 {
        let hash = match self {
            Rule::Parameter { name, .. } => {
                let query = Parts::of(url).map_or("", |parts| parts.query);
                let query = query.strip_prefix('?').unwrap_or_default();
                let all = query.split('&').filter(|one| name_of(one) == name);
                all.fold(0, |sum, one| xxh3_64_with_seed(one.as_bytes(), sum))
            }
            Rule::Id { prefix, .. } => {
                let parts = Parts::of(url);
                let place = parts.as_ref().and_then(|parts| parts.behind(prefix));
                let id = parts
                    .zip(place)
                    .map(|(parts, (from, to))| &parts.path[from..to]);
                xxh3_64(id.unwrap_or_default().as_bytes())
            }
            _ => xxh3_64(url.as_bytes()),
        };
        (hash as u32).max(1)
    }

    /// Calls back with every part of an address that may have another name: the rule's
    /// place, the name, and the rest.
    pub(super) fn each_name(url: &str, mut each: impl FnMut(Place<'_>, &str, [&str; 2])) {
        let Some(parts) = Parts::of(url) else { return };
        each(Place::Origin, parts.origin, [parts.path, parts.query]);
        for (from, to) in parts.directories().take(DEPTH) {
            let place = Place::Behind(parts.origin, &parts.path[..from - 1]);
            each(
                place,
                &parts.path[from..to],
                [&parts.path[to..], parts.query],
            );
        }
    }

    /// Where two addresses differ, if they end in the same directories and page: the host and
    /// directories before that, of both.
    pub(super) fn fork<'u>(one: &'u str, other: &'u str) -> Option<[Prefix<'u>; 2]> {
        let (one, other) = (Parts::of(one)?, Parts::of(other)?);
        if one.query != other.query {
            return None;
        }
        let pairs = one.path.bytes().rev().zip(other.path.bytes().rev());
        let same = pairs.take_while(|(x, y)| x == y).count();
        // A slash is one byte, and in no letter of more.
        let end = one.path.as_bytes()[one.path.len() - same..].iter();
        let same = same - end.take_while(|byte| **byte != b'/').count();
        let before = |parts: &Parts<'u>| Prefix {
            origin: parts.origin,
            path: &parts.path[..parts.path.len() - same],
        };
        (same > 0).then(|| [before(&one), before(&other)])
    }

    /// The host and so many of the first directories of an address.
    pub(super) fn prefix(url: &str, directories: usize) -> Option<Prefix<'_>> {
        let parts = Parts::of(url)?;
        let (end, _) = parts.path.match_indices('/').nth(directories)?;
        Some(Prefix {
            origin: parts.origin,
            path: &parts.path[..end],
        })
    }

    /// Calls back with every host with some directories that an address is behind, and the
    /// rest of it.
    pub(super) fn each_prefix<'u>(url: &'u str, mut each: impl FnMut(Prefix<'u>, [&'u str; 2])) {
        let Some(parts) = Parts::of(url) else { return };
        let slashes = parts.path.match_indices('/');
        for (at, _) in slashes.take(DEPTH + 1) {
            let (path, rest) = parts.path.split_at(at);
            let prefix = Prefix {
                origin: parts.origin,
                path,
            };
            each(prefix, [rest, parts.query]);
        }
    }

    /// The part of its scope that an address is in: what a rule for more of them needs
    /// evidence from two of.
    pub(super) fn part(&self, url: &str) -> Option<String> {
        let parts = Parts::of(url)?;
        match self {
            Rule::Parameter { scope, .. } => match scope {
                Scope::Site => Some(parts.section()),
                Scope::Section(_) => Some(parts.path.to_owned()),
                Scope::Path(_) => None,
            },
            Rule::Id { prefix, .. } | Rule::Segment { prefix, .. } => {
                let (_, end) = parts.behind(prefix)?;
                Some(first_segment(&parts.path[end..]).to_owned())
            }
            _ => None,
        }
    }

    /// The same as regular expressions; each is applied until it finds nothing.
    pub fn substitutions(&self) -> Vec<Substitution> {
        let of = |pattern: String, replacement: &str| Substitution {
            pattern,
            replacement: replacement.to_owned(),
        };
        let begin = format!("(?i:{})", escaped(self.origin()));
        let single = match self {
            Rule::Origin { to, .. } => {
                let to = to.replace('\\', r"\\");
                of(format!("^{begin}([/?#]|$)"), &format!(r"{to}\1"))
            }
            Rule::Parameter { scope, name, .. } => {
                let path = match scope {
                    Scope::Site => "(?:/[^?#]*)?".to_owned(),
                    Scope::Section(section) if section == "/" => "(?:/[^/?#]*)?".to_owned(),
                    Scope::Section(section) => format!("{}[^?#]*", escaped(section)),
                    Scope::Path(path) => escaped(path),
                };
                let name = format!("{}(?:=[^&#]*)?", escaped(name));
                return vec![
                    of(format!(r"^({begin}{path}\?(?:[^#]*&)?){name}&"), r"\1"),
                    of(format!(r"^({begin}{path}\?[^#]*)&{name}(#.*)?$"), r"\1\2"),
                    of(format!(r"^({begin}{path})\?{name}(#.*)?$"), r"\1\2"),
                ];
            }
            Rule::PathParameter { name, .. } => {
                let name = escaped(name);
                of(format!("^({begin}/[^?#]*);{name}=[^;/?#]*"), r"\1")
            }
            Rule::Tree {
                path,
                to_origin,
                to_path,
                ..
            } => {
                let path = escaped(path);
                let to = [to_origin.as_str(), to_path].concat().replace('\\', r"\\");
                let mut both = vec![of(format!("^{begin}{path}/"), &format!("{to}/"))];
                if path.is_empty() {
                    // The host alone, as people write it.
                    both.push(of(format!("^{begin}([?#]|$)"), &format!(r"{to}/\1")));
                }
                return both;
            }
            Rule::Order { first, second, .. } => {
                let (one, other) = (escaped(first), escaped(second));
                let value = "(=[^&#]*)?";
                let pattern = format!(
                    r"^({begin}(?:/[^?#]*)?\?(?:[^#]*&)?){other}{value}&{one}{value}([&#].*)?$"
                );
                let told = |name: &str| name.replace('\\', r"\\");
                let (first, second) = (told(first), told(second));
                of(pattern, &format!(r"\1{first}\3&{second}\2\4"))
            }
            Rule::Id { prefix, shape, .. } => {
                let (prefix, shape) = (escaped(prefix), shape.pattern());
                of(format!("^({begin}{prefix})/{shape}/"), r"\1/")
            }
            Rule::Segment { prefix, name, .. } => {
                let (prefix, name) = (escaped(prefix), escaped(name));
                of(format!("^({begin}{prefix})/{name}/"), r"\1/")
            }
            Rule::Directory {
                prefix, from, to, ..
            } => {
                let (prefix, from) = (escaped(prefix), escaped(from));
                let to = to.replace('\\', r"\\");
                let pattern = format!("^({begin}{prefix})/{from}/");
                of(pattern, &format!(r"\1/{to}/"))
            }
            Rule::Index { name, .. } => {
                let name = escaped(name);
                of(format!("^({begin}/(?:[^?#]*/)?){name}([?#].*)?$"), r"\1\2")
            }
            Rule::Slash { .. } => of(format!("^({begin}/[^?#]*[^/?#])/([?#].*)?$"), r"\1\2"),
            Rule::Case { .. } => of(format!("^({begin})(/[^?#]*)(.*)$"), r"\1\L\2\E\3"),
        };
        vec![single]
    }
}

/// A host and the first directories of an address, without a slash at the end.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Prefix<'u> {
    pub(super) origin: &'u str,
    pub(super) path: &'u str,
}

impl Prefix<'_> {
    /// Whether all that is behind the other is behind this one.
    pub(super) fn holds(&self, other: &Prefix<'_>) -> bool {
        let rest = other.path.strip_prefix(self.path);
        let is_behind = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.origin == other.origin && is_behind
    }

    /// The same without the last directory.
    pub(super) fn above(&self) -> Option<Prefix<'_>> {
        let path = &self.path[..self.path.rfind('/')?];
        Some(Prefix { path, ..*self })
    }
}

/// Where a part of an address stands.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Place<'u> {
    /// It is the host.
    Origin,
    /// A directory behind some of a host.
    Behind(&'u str, &'u str),
}

/// Text as a regular expression that finds it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Origin { from, to } => write!(f, "{from} has the pages of {to}"),
            Rule::Parameter {
                origin,
                scope,
                name,
            } => {
                let place = match scope {
                    Scope::Site => "/…",
                    Scope::Section(section) if section == "/" => "/",
                    Scope::Section(section) => {
                        return write!(f, "{origin}{section}…: ?{name}= does not matter");
                    }
                    Scope::Path(path) => path,
                };
                write!(f, "{origin}{place}: ?{name}= does not matter")
            }
            Rule::PathParameter { origin, name } => {
                write!(f, "{origin}/…: ;{name}= does not matter")
            }
            Rule::Id {
                origin,
                prefix,
                shape,
            } => {
                let shape = shape.pattern();
                write!(f, "{origin}{prefix}/{shape}/: the id does not matter")
            }
            Rule::Tree {
                origin,
                path,
                to_origin,
                to_path,
            } => {
                let host = if origin == to_origin { "" } else { to_origin };
                write!(f, "{origin}{path}/ has the pages of {host}{to_path}/")
            }
            Rule::Order {
                origin,
                first,
                second,
            } => write!(
                f,
                "{origin}/…: ?{first}= and {second}= may stand in either order"
            ),
            Rule::Segment {
                origin,
                prefix,
                name,
            } => write!(
                f,
                "{origin}{prefix}/{name}/ has the pages of {origin}{prefix}/"
            ),
            Rule::Directory {
                origin,
                prefix,
                from,
                to,
            } => write!(
                f,
                "{origin}{prefix}/{from}/ has the pages of {prefix}/{to}/"
            ),
            Rule::Index { origin, name } => {
                write!(f, "{origin}/…/{name} is the page of its directory")
            }
            Rule::Slash { origin } => write!(f, "{origin}/…/: the last slash does not matter"),
            Rule::Case { origin } => write!(f, "{origin}/…: capitals do not matter"),
        }
    }
}
