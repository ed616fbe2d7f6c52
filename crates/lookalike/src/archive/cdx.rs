//! The language in which CDX servers are asked for captures.
//!
//! ```text
//! parameters ─► Query ─► a range of the index ─► dates, filters, collapse, order, limit ─► rows
//!                                                                        row ─► line ◄──────┘
//! ```
//!
//! Two servers made the language: pywb's, with lines of JSON, and the Wayback Machine's, with
//! columns. Both understand nearly the same parameters; where they differ, [`Dialect`] says
//! who is spoken to. `collapse=cluster` and `filter==cluster:7` are ours: one capture of all
//! that are alike.
//!
//! Regular expressions are those of the `regex` crate: time linear in the row, and a size
//! that is bounded.

use std::collections::VecDeque;
use std::fmt::Write;
use std::ops::Range;

use super::filter::{Collapse, Filter, Seen};
use super::index::{Index, KeyRange};
use super::row::{COLUMNS, FACTS, Field, MORE, Row, key_of, write_array};
use crate::corpus::date::{digits14, when};
use crate::corpus::record::{Timestamp, When};

/// Whose language a question is in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    /// pywb's: filters contain, `=` and `~` make them exact and regular expressions; JSON is
    /// an object a line.
    Pywb,
    /// The Wayback Machine's: filters are regular expressions for the whole value; JSON is
    /// an array of arrays.
    Wayback,
}

/// Which addresses are meant by one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Matching {
    Exact,
    Prefix,
    Host,
    Domain,
}

/// In which order captures come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    /// By key and date.
    Forward,
    /// The other way round.
    Reverse,
    /// By how near they are to a moment.
    Closest(i64),
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Output {
    /// Lines of key, date and an object.
    Cdxj,
    /// Objects or arrays, by dialect.
    Json,
    /// Columns.
    Text,
    /// Links (RFC 7089), which only a service can write: it knows where the captures are.
    Link,
}

/// Why a question is none: which parameter, and what it ought to be.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{param}` {what}")]
pub struct Malformed {
    /// The parameter.
    pub param: &'static str,
    /// What is wrong with it.
    pub what: String,
}

pub(super) fn malformed(param: &'static str, what: impl Into<String>) -> Malformed {
    Malformed {
        param,
        what: what.into(),
    }
}

/// What a CDX server is asked.
#[derive(Clone, Debug)]
pub struct Query {
    /// The address, without the `*` that says how it matches.
    pub url: String,
    /// How the answer is written.
    pub output: Output,
    /// Whether only the number of pages is asked for.
    pub counts_pages: bool,
    dialect: Dialect,
    matching: Matching,
    from: i64,
    to: i64,
    order: Order,
    limit: Limit,
    filters: Vec<Filter>,
    fields: Option<Vec<String>>,
    page: Option<usize>,
    page_size: usize,
    collapses: Vec<Collapse>,
    resolves_revisits: bool,
    shows_resume_key: bool,
    resume: Option<Place>,
}

/// How many captures are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Limit {
    First(usize),
    Last(usize),
}

/// The most captures in one answer: as many as pywb gives.
pub const MOST_ROWS: usize = 100_000;

/// The most captures that are looked through for one answer.
pub const MOST_LOOKED: usize = 1_000_000;

/// Captures in a block of the index, the unit in which pages are counted. (In pywb and the
/// Wayback Machine a block is a packed piece of the index of about as many lines.)
pub const BLOCK: usize = 3000;

/// Blocks of a page, unless it is said.
const PAGE_SIZE: usize = 5;

/// The most blocks of a page.
const MOST_PAGE_SIZE: usize = 30;

/// The most filters, and the most collapses.
const MOST_FILTERS: usize = 16;

/// A capture by its key and date, and how many with the same come before it: where an
/// answer that was cut off goes on, also in a later generation.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Place {
    key: String,
    date: i64,
    skip: usize,
}

impl Place {
    fn of(index: &Index, capture: u32) -> Place {
        let (key, date) = (index.key(capture), index.date(capture));
        let before = (0..capture).rev();
        let same = before.take_while(|one| index.date(*one) == date && index.key(*one) == key);
        Place {
            key: key.to_owned(),
            date,
            skip: same.count(),
        }
    }

    /// As hexadecimal digits: clients put it into addresses, and look for it in answers.
    fn text(&self) -> String {
        let plain = format!("{} {} {}", self.key, self.date, self.skip);
        let mut out = String::with_capacity(2 * plain.len());
        for byte in plain.bytes() {
            let _ = write!(out, "{byte:02x}");
        }
        out
    }

    fn parse(text: &str) -> Option<Place> {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let bytes: Option<Vec<u8>> = text
            .as_bytes()
            .chunks(2)
            .map(|pair| match pair {
                [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
                _ => None,
            })
            .collect();
        let plain = String::from_utf8(bytes?).ok()?;
        let (rest, skip) = plain.rsplit_once(' ')?;
        let (key, date) = rest.rsplit_once(' ')?;
        Some(Place {
            key: key.to_owned(),
            date: date.parse().ok()?,
            skip: skip.parse().ok()?,
        })
    }
}

impl Query {
    /// Reads parameters, decoded. Those that are not known are passed over.
    pub fn parse<'p>(
        dialect: Dialect,
        params: impl IntoIterator<Item = (&'p str, &'p str)>,
    ) -> Result<Query, Malformed> {
        let mut query = Query {
            url: String::new(),
            output: match dialect {
                Dialect::Pywb => Output::Cdxj,
                Dialect::Wayback => Output::Text,
            },
            counts_pages: false,
            dialect,
            matching: Matching::Exact,
            from: i64::MIN,
            to: i64::MAX,
            order: Order::Forward,
            limit: Limit::First(MOST_ROWS),
            filters: Vec::new(),
            fields: None,
            page: None,
            page_size: PAGE_SIZE,
            collapses: Vec::new(),
            resolves_revisits: false,
            shows_resume_key: false,
            resume: None,
        };
        let (mut matching, mut closest) = (None, None);
        for (name, value) in params {
            // An empty one is as good as none; pywb sends `closest=`.
            if value.is_empty() {
                continue;
            }
            match name {
                "url" => value.clone_into(&mut query.url),
                "matchType" => matching = Some(matching_named(value)?),
                "from" | "from_ts" => query.from = moment("from", value, EARLIEST)?,
                "to" => query.to = moment("to", value, LATEST)?,
                "closest" => closest = Some(moment("closest", value, EARLIEST)?),
                "sort" => {
                    query.order = match value {
                        "reverse" => Order::Reverse,
                        // Of a moment, which `closest` names.
                        "default" | "closest" => Order::Forward,
                        _ => {
                            let what = "is default, reverse or closest";
                            return Err(malformed("sort", what));
                        }
                    }
                }
                "reverse" if is_true(value) => query.order = Order::Reverse,
                "limit" => query.limit = limit(value)?,
                "filter" => query.filters.push(Filter::parse(value, dialect)?),
                "fl" | "fields" => {
                    query.fields = Some(value.split(',').map(str::to_owned).collect());
                }
                "output" => query.output = output_named(value, dialect)?,
                "page" => query.page = Some(number("page", value)?),
                "pageSize" => {
                    let size = number("pageSize", value)?;
                    if size == 0 {
                        return Err(malformed("pageSize", "is a number from 1 on"));
                    }
                    query.page_size = size.min(MOST_PAGE_SIZE);
                }
                "showNumPages" => query.counts_pages = is_true(value),
                "collapse" => query.collapses.push(Collapse::parse(value)?),
                "resolveRevisits" => query.resolves_revisits = is_true(value),
                "showResumeKey" => query.shows_resume_key = is_true(value),
                "resumeKey" => {
                    let wrong = || malformed("resumeKey", "is none that was given out here");
                    query.resume = Some(Place::parse(value).ok_or_else(wrong)?);
                }
                _ => {}
            }
        }
        if let Some(moment) = closest {
            query.order = Order::Closest(moment);
        }
        for (param, len) in [
            ("filter", query.filters.len()),
            ("collapse", query.collapses.len()),
        ] {
            if len > MOST_FILTERS {
                let what = format!("may be there {MOST_FILTERS} times");
                return Err(malformed(param, what));
            }
        }
        query.matching = match matching {
            Some(matching) => matching,
            None => match (query.url.strip_prefix("*."), query.url.strip_suffix('*')) {
                (Some(domain), _) => {
                    query.url = domain.to_owned();
                    Matching::Domain
                }
                (None, Some(prefix)) => {
                    query.url = prefix.to_owned();
                    Matching::Prefix
                }
                (None, None) => Matching::Exact,
            },
        };
        if query.url.is_empty() {
            return Err(malformed("url", "is missing"));
        }
        Ok(query)
    }

    /// Whether captures of one address are asked for.
    pub fn is_exact(&self) -> bool {
        self.matching == Matching::Exact
    }

    /// The keys of the addresses that are meant.
    pub fn keys(&self) -> KeyRange {
        let key = key_of(&self.url);
        let host = key.split(")/").next().unwrap_or_default();
        match self.matching {
            Matching::Exact => KeyRange::exact(&key),
            Matching::Prefix => {
                // What the end of the address says, its key has lost.
                let end = ['/', '?'].into_iter().find(|end| self.url.ends_with(*end));
                match end.filter(|end| !key.ends_with(*end)) {
                    Some(end) => KeyRange::prefix(&format!("{key}{end}")),
                    None => KeyRange::prefix(&key),
                }
            }
            Matching::Host => KeyRange::prefix(&format!("{host})/")),
            // A `,` comes behind a `)`, and nothing that a host may have is between them.
            Matching::Domain if host.contains(',') => KeyRange {
                from: format!("{host})/").into_bytes(),
                below: format!("{host}-").into_bytes(),
            },
            Matching::Domain => KeyRange::prefix(&format!("{host},")),
        }
    }

    /// How many pages there are, in the words of the dialect.
    pub fn page_count(&self, index: &Index) -> String {
        let blocks = index.range(&self.keys()).len().div_ceil(BLOCK);
        let (pages, size) = (blocks.div_ceil(self.page_size), self.page_size);
        match self.dialect {
            Dialect::Pywb => {
                format!("{{\"pages\": {pages}, \"pageSize\": {size}, \"blocks\": {blocks}}}\n")
            }
            Dialect::Wayback => format!("{pages}\n"),
        }
    }

    /// The captures that are asked for, in their order. `row` tells of one, where its number
    /// alone does not decide. O(captures in the range), and as many rows at most.
    pub fn select<E: From<Malformed>>(
        &self,
        index: &Index,
        mut row: impl FnMut(u32) -> Result<Row, E>,
    ) -> Result<Selected, E> {
        let Range { start, end } = self.page_of(index.range(&self.keys()))?;
        let resume = self.resume.as_ref();
        let resume = resume.map(|place| index.find(&place.key, place.date, place.skip));
        let order: Box<dyn Iterator<Item = u32>> = match self.order {
            Order::Forward => Box::new(resume.map_or(start, |at| at.max(start))..end),
            Order::Reverse => {
                let end = resume.map_or(end, |at| at.saturating_add(1).min(end));
                Box::new((start..end).rev())
            }
            Order::Closest(moment) => {
                let len = (end - start) as usize;
                Malformed::unless(len <= MOST_LOOKED, "closest")?;
                let mut near: Vec<u32> = (start..end).collect();
                near.sort_by_key(|capture| index.date(*capture).abs_diff(moment));
                Box::new(near.into_iter())
            }
        };
        let (most, is_last) = match self.limit {
            Limit::First(most) => (most, false),
            Limit::Last(most) => (most, true),
        };
        let needs_row = !self.filters.is_empty() || !self.collapses.is_empty();
        let mut seen = Seen::default();
        let mut captures = VecDeque::new();
        let (mut more, mut looked) = (None, 0);
        for capture in order {
            if !(self.from..=self.to).contains(&index.date(capture)) {
                continue;
            }
            if needs_row {
                looked += 1;
                if looked > MOST_LOOKED {
                    Malformed::unless(self.can_resume(), "filter")?;
                    more = Some(capture);
                    break;
                }
                let row = self.resolved(row(capture)?);
                let mut filters = self.filters.iter();
                if !filters.all(|filter| filter.takes(&row, self.dialect))
                    || !seen.is_new(&row, &self.collapses)
                {
                    continue;
                }
            }
            if captures.len() == most && !is_last {
                more = Some(capture);
                break;
            }
            if captures.len() == most {
                captures.pop_front();
            }
            captures.push_back(capture);
        }
        let more = more.filter(|_| self.can_resume());
        Ok(Selected {
            captures: captures.into(),
            resume_key: more.map(|capture| Place::of(index, capture).text()),
        })
    }

    /// Whether an answer says where it was cut off.
    fn can_resume(&self) -> bool {
        self.shows_resume_key && !matches!(self.order, Order::Closest(_))
    }

    fn page_of(&self, range: Range<u32>) -> Result<Range<u32>, Malformed> {
        let Some(page) = self.page else {
            return Ok(range);
        };
        let len = self.page_size * BLOCK;
        let from = page.saturating_mul(len);
        if from >= range.len() && page > 0 {
            let last = range.len().div_ceil(len).saturating_sub(1);
            return Err(malformed("page", format!("is past the last, {last}")));
        }
        let part = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let start = range.start.saturating_add(part(from)).min(range.end);
        Ok(start..start.saturating_add(part(len)).min(range.end))
    }

    /// Whether the records that revisits refer to are to be looked up.
    pub fn resolves_revisits(&self) -> bool {
        self.resolves_revisits
    }

    fn resolved(&self, mut row: Row) -> Row {
        if self.resolves_revisits
            && let Some(original) = &row.original
        {
            row.mime.clone_from(&original.mime);
            row.status = original.status;
        }
        row
    }

    /// Writes the answer. (Not as links: only a service knows where captures are.)
    pub fn write<E>(
        &self,
        selected: &Selected,
        mut row: impl FnMut(u32) -> Result<Row, E>,
    ) -> Result<String, E> {
        let is_array = self.output == Output::Json && self.dialect == Dialect::Wayback;
        let columns: Vec<&str> = match &self.fields {
            Some(fields) => fields.iter().map(String::as_str).collect(),
            None => COLUMNS.to_vec(),
        };
        let mut out = String::new();
        if is_array && !selected.captures.is_empty() {
            out.push('[');
            write_array(&mut out, columns.iter().copied());
        }
        for &capture in &selected.captures {
            let row = self.resolved(row(capture)?);
            if is_array {
                out.push_str(",\n");
                let column = |name: &&str| row.column(Field::named(name), self.dialect);
                write_array(&mut out, columns.iter().map(column));
            } else {
                self.write_line(&mut out, &row, &columns);
            }
        }
        match (&selected.resume_key, is_array) {
            (Some(key), true) => {
                out.push_str(",\n[],\n");
                write_array(&mut out, [key]);
            }
            (Some(key), false) => {
                let _ = writeln!(out, "\n{key}");
            }
            (None, _) => {}
        }
        match (is_array, out.is_empty()) {
            (true, true) => out.push_str("[]\n"),
            (true, false) => out.push_str("]\n"),
            (false, _) => {}
        }
        Ok(out)
    }

    fn write_line(&self, out: &mut String, row: &Row, columns: &[&str]) {
        let fields = self.fields.iter().flatten();
        let fields = fields.filter_map(|name| Field::named(name));
        let is_columns = self.output == Output::Text;
        if is_columns && (self.fields.is_some() || self.dialect == Dialect::Wayback) {
            let column = |name: &&str| row.column(Field::named(name), self.dialect);
            let line: Vec<String> = columns.iter().map(column).collect();
            out.push_str(&line.join(" "));
        } else {
            // pywb's text is the line as it stands in an index.
            let is_line = self.output != Output::Json;
            if is_line {
                let _ = write!(out, "{} {} ", row.key, row.timestamp);
            }
            let own = [Field::Key, Field::Timestamp].into_iter();
            let own = own.filter(|_| !is_line).chain(FACTS).chain(MORE);
            match self.fields {
                Some(_) => row.write_object(out, fields),
                None => row.write_object(out, own),
            }
        }
        out.push('\n');
    }
}

/// The captures that a query asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Selected {
    /// Their places in the index.
    pub captures: Vec<u32>,
    /// Where to go on, if there are more and it was asked for.
    pub resume_key: Option<String>,
}

impl Malformed {
    fn unless(is_fine: bool, param: &'static str) -> Result<(), Malformed> {
        let what = format!("leaves more than {MOST_LOOKED} captures to look through; ask by page");
        if is_fine {
            Ok(())
        } else {
            Err(malformed(param, what))
        }
    }
}

fn matching_named(name: &str) -> Result<Matching, Malformed> {
    Ok(match name {
        "exact" => Matching::Exact,
        "prefix" => Matching::Prefix,
        "host" => Matching::Host,
        "domain" => Matching::Domain,
        _ => {
            let what = "is exact, prefix, host or domain";
            return Err(malformed("matchType", what));
        }
    })
}

fn output_named(name: &str, dialect: Dialect) -> Result<Output, Malformed> {
    Ok(match (name, dialect) {
        ("json", _) => Output::Json,
        ("text", _) => Output::Text,
        ("cdxj", Dialect::Pywb) => Output::Cdxj,
        ("link", Dialect::Pywb) => Output::Link,
        (_, Dialect::Pywb) => {
            return Err(malformed("output", "is cdxj, json, text or link"));
        }
        (_, Dialect::Wayback) => return Err(malformed("output", "is text or json")),
    })
}

/// As pywb reads it.
fn is_true(value: &str) -> bool {
    !matches!(&*value.to_ascii_lowercase(), "0" | "false" | "f" | "off")
}

fn number(param: &'static str, value: &str) -> Result<usize, Malformed> {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = is_number.then(|| value.parse().ok()).flatten();
    parsed.ok_or_else(|| malformed(param, "is a whole number"))
}

fn limit(value: &str) -> Result<Limit, Malformed> {
    let most = |value: &str| match number("limit", value)? {
        0 => Ok(MOST_ROWS),
        most => Ok(most.min(MOST_ROWS)),
    };
    match value.strip_prefix('-') {
        Some(value) => most(value).map(Limit::Last),
        None => most(value).map(Limit::First),
    }
}

/// What a date in fewer than 14 digits is continued with.
const EARLIEST: &str = "10000101000000";
const LATEST: &str = "29991231235959";

/// The first or last moment that up to 14 digits mean.
fn moment(param: &'static str, value: &str, rest: &str) -> Result<i64, Malformed> {
    let is_date = value.len() <= 14 && value.bytes().all(|byte| byte.is_ascii_digit());
    let wrong = || malformed(param, "is a date of at most 14 digits, as in 20261116");
    let rest = rest.get(value.len()..).filter(|_| is_date);
    let whole = format!("{value}{}", rest.ok_or_else(wrong)?);
    // A month is not over before its last day, whatever that is.
    let days: &[&str] = if value.len() < 8 {
        &["", "30", "29", "28"]
    } else {
        &[""]
    };
    let dates = days.iter().map(|day| match day {
        &"" => whole.clone(),
        day => format!("{}{day}{}", &whole[..6], &whole[8..]),
    });
    let mut moments = dates.filter_map(|date| match when(&date) {
        When::At(Timestamp(moment)) => Some(moment),
        _ => None,
    });
    moments.next().ok_or_else(wrong)
}

/// The nearest moment that an incomplete date may mean: its first.
pub fn first_moment(param: &'static str, value: &str) -> Result<i64, Malformed> {
    moment(param, value, EARLIEST)
}

/// The 14 digits of a moment, if four are enough for its year.
pub fn digits(moment: i64) -> Option<String> {
    let digits = digits14(Timestamp(moment));
    let is_date = digits.len() == 14 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then_some(digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::index::{self, Slot};
    use super::*;

    /// Captures of some addresses on some days, each with its place for a cluster, mime and
    /// status.
    struct Archive {
        index: Index,
        rows: Vec<Row>,
    }

    impl Archive {
        fn new(captures: &[(&str, &str, &str, u16, u32)]) -> Archive {
            let mut slots = Vec::new();
            let mut rows = Vec::new();
            for (doc, &(url, timestamp, mime, status, cluster)) in (0..).zip(captures) {
                let date = first_moment("timestamp", timestamp).expect("a date");
                let slot = Slot { date, doc, nth: 0 };
                slots.push((key_of(url), slot, index::Order::default()));
                rows.push(Row {
                    key: key_of(url),
                    timestamp: digits(date).expect("a date"),
                    url: url.to_owned(),
                    mime: mime.to_owned(),
                    status: Some(status),
                    digest: format!("sha1:{cluster}"),
                    cluster: Some(cluster),
                    ..Row::default()
                });
            }
            Archive {
                index: Index::new(slots),
                rows,
            }
        }

        fn row(&self, capture: u32) -> Row {
            self.rows[self.index.slot(capture).doc as usize].clone()
        }

        fn ask(&self, dialect: Dialect, params: &str) -> Result<String, Malformed> {
            let query = parsed(dialect, params)?;
            let row = |capture| Ok(self.row(capture));
            let selected = query.select::<Malformed>(&self.index, row)?;
            query.write(&selected, row)
        }

        /// Paths and years of what is found.
        fn found(&self, dialect: Dialect, params: &str) -> String {
            let params = format!("{params}&fl=url,timestamp&output=text");
            let text = self.ask(dialect, &params).expect("an answer");
            let lines = text.lines().map(|line| {
                let (url, timestamp) = line.split_once(' ').unwrap_or((line, "    "));
                let path = url.rsplit_once('/').map_or("", |(_, path)| path);
                format!("{path}{}", &timestamp[2..4])
            });
            lines.collect::<Vec<_>>().join(" ")
        }
    }

    fn parsed(dialect: Dialect, params: &str) -> Result<Query, Malformed> {
        let params = params.split('&').filter_map(|param| param.split_once('='));
        Query::parse(dialect, params)
    }

    fn archive() -> Archive {
        Archive::new(&[
            ("http://example.org/a", "2001", "text/html", 200, 1),
            ("http://example.org/a", "2002", "text/html", 200, 1),
            ("http://example.org/a", "2003", "text/plain", 200, 2),
            ("http://example.org/ab", "2001", "text/html", 404, 3),
            ("http://www.sub.example.org/c", "2004", "text/html", 200, 2),
            ("http://example.com/d", "2005", "text/html", 301, 4),
        ])
    }

    use Dialect::{Pywb, Wayback};

    #[test]
    fn addresses_match_as_they_are_asked_to() {
        let archive = archive();
        let found = |params: &str| archive.found(Pywb, params);
        assert_eq!(found("url=example.org/a"), "a01 a02 a03");
        assert_eq!(found("url=http://www.EXAMPLE.org/a/#x"), "a01 a02 a03");
        assert_eq!(found("url=example.org/a*"), "a01 a02 a03 ab01");
        assert_eq!(
            found("url=example.org/a&matchType=prefix"),
            "a01 a02 a03 ab01"
        );
        assert_eq!(found("url=example.org/a/&matchType=prefix"), "");
        assert_eq!(
            found("url=example.org/z&matchType=host"),
            "a01 a02 a03 ab01"
        );
        assert_eq!(found("url=*.example.org"), "a01 a02 a03 ab01 c04");
        assert_eq!(found("url=org&matchType=domain"), "a01 a02 a03 ab01 c04");
        assert_eq!(found("url=*.nowhere.org"), "");
    }

    #[test]
    fn dates_orders_and_limits_choose() {
        let archive = archive();
        let found = |params: &str| archive.found(Wayback, &format!("url=example.org/a&{params}"));
        assert_eq!(found("from=2002"), "a02 a03");
        assert_eq!(found("to=2002"), "a01 a02");
        assert_eq!(found("from=20020101000000&to=200202"), "a02");
        assert_eq!(found("sort=reverse"), "a03 a02 a01");
        assert_eq!(found("closest=2002&sort=closest"), "a02 a01 a03");
        assert_eq!(found("closest=&sort=closest"), "a01 a02 a03");
        assert_eq!(found("limit=2"), "a01 a02");
        assert_eq!(found("limit=-2"), "a02 a03");
        assert_eq!(found("sort=reverse&limit=1"), "a03");
        assert_eq!(found("limit=0&unknown=x&gzip=false"), "a01 a02 a03");
        assert_eq!(found("page=0"), "a01 a02 a03");
    }

    #[test]
    fn each_dialect_has_its_filters() {
        let archive = archive();
        let pywb = |filter: &str| archive.found(Pywb, &format!("url=*.example.org&{filter}"));
        assert_eq!(pywb("filter=status:40"), "ab01");
        assert_eq!(pywb("filter==status:40"), "");
        assert_eq!(pywb("filter=!=status:200"), "ab01");
        assert_eq!(pywb("filter=~mime:text/p"), "a03");
        assert_eq!(pywb("filter=~status:0"), "");
        assert_eq!(pywb("filter=text/plain"), "a03");
        assert_eq!(pywb("filter==cluster:2"), "a03 c04");
        assert_eq!(
            pywb("filter==mime:text/html&filter=!=status:404"),
            "a01 a02 c04"
        );
        let wayback = |filter: &str| archive.found(Wayback, &format!("url=*.example.org&{filter}"));
        assert_eq!(wayback("filter=statuscode:40"), "");
        assert_eq!(wayback("filter=statuscode:40."), "ab01");
        assert_eq!(wayback("filter=!statuscode:2.*"), "ab01");
        assert_eq!(wayback("filter=digest:2"), "a03 c04");
        assert_eq!(wayback("filter=mimetype:text/html|x"), "a01 a02 ab01 c04");
    }

    #[test]
    fn what_is_the_same_collapses() {
        let archive = archive();
        let found = |params: &str| archive.found(Wayback, &format!("url=*.example.org&{params}"));
        assert_eq!(found("collapse=urlkey"), "a01 ab01 c04");
        assert_eq!(found("collapse=timestamp:4"), "a01 a02 a03 ab01 c04");
        assert_eq!(found("collapse=timestamp:3"), "a01");
        assert_eq!(found("collapse=digest"), "a01 a03 ab01 c04");
        // Wherever they are.
        assert_eq!(found("collapse=cluster"), "a01 a03 ab01");
        assert_eq!(found("collapse=cluster&collapse=urlkey"), "a01 ab01");
    }

    #[test]
    fn answers_have_the_shape_of_their_dialect() {
        let archive = archive();
        let ask = |dialect, params: &str| archive.ask(dialect, params).expect("an answer");
        let line = ask(Pywb, "url=example.com/d");
        assert!(line.starts_with("com,example)/d 20050101000000 {\"url\": "));
        assert_eq!(ask(Pywb, "url=example.com/d&output=text"), line);
        assert!(ask(Pywb, "url=example.com/d&output=json").starts_with("{\"urlkey\": \"com,ex"));
        let some = ask(Pywb, "url=example.com/d&output=json&fl=status,url,odd");
        assert_eq!(
            some,
            "{\"status\": \"301\", \"url\": \"http://example.com/d\"}\n"
        );
        assert_eq!(
            ask(Wayback, "url=example.com/d"),
            "com,example)/d 20050101000000 http://example.com/d text/html 301 4 0\n"
        );
        assert_eq!(
            ask(
                Wayback,
                "url=example.com/d&output=json&fl=timestamp,statuscode"
            ),
            "[[\"timestamp\",\"statuscode\"],\n[\"20050101000000\",\"301\"]]\n"
        );
        assert_eq!(ask(Wayback, "url=nowhere.example&output=json"), "[]\n");
        assert_eq!(ask(Wayback, "url=nowhere.example"), "");
    }

    #[test]
    fn what_is_malformed_is_told() {
        for params in [
            "",
            "url=",
            "url=*",
            "url=a&matchType=all",
            "url=a&from=x",
            "url=a&to=20021301",
            "url=a&closest=999999999999999",
            "url=a&sort=up",
            "url=a&limit=x",
            "url=a&limit=--1",
            "url=a&limit=+1",
            "url=a&filter=odd:x",
            "url=a&filter=~url:(",
            "url=a&filter=~url:a)|(b",
            "url=a&filter=~url:((((a{99}){99}){99}){99}){99}",
            "url=a&output=xml",
            "url=a&page=-1",
            "url=a&page=1",
            "url=a&pageSize=0",
            "url=a&collapse=odd",
            "url=a&collapse=urlkey:x",
            "url=a&resumeKey=zz",
            "url=a&resumeKey=61",
        ] {
            assert!(archive().ask(Pywb, params).is_err(), "{params}");
        }
        let long = format!("url=a&filter=~url:{}", "a".repeat(2000));
        assert!(archive().ask(Pywb, &long).is_err());
        let many = format!("url=a{}", "&filter=url:a".repeat(17));
        assert!(archive().ask(Pywb, &many).is_err());
        assert!(archive().ask(Wayback, "url=a&filter=200").is_err());
    }

    #[test]
    fn an_answer_that_was_cut_off_goes_on_where_it_stopped() {
        let captures: Vec<(String, String)> = (0..60)
            .map(|i| {
                (
                    format!("http://a.example/{}", i % 7),
                    format!("{}", 2000 + i % 3),
                )
            })
            .collect();
        let captures: Vec<(&str, &str, &str, u16, u32)> = captures
            .iter()
            .map(|(url, date)| (&**url, &**date, "text/html", 200, 0))
            .collect();
        let archive = Archive::new(&captures);
        for more in ["", "&sort=reverse", "&filter=!urlkey:.*3"] {
            let all = archive.ask(Wayback, &format!("url=a.example*{more}"));
            let mut parts = String::new();
            let mut key = String::new();
            loop {
                let params = format!("url=a.example*&limit=7&showResumeKey=true{more}{key}");
                let part = archive.ask(Wayback, &params).expect("an answer");
                let Some((lines, next)) = part.split_once("\n\n") else {
                    parts += &part;
                    break;
                };
                let _ = writeln!(parts, "{lines}");
                key = format!("&resumeKey={}", next.trim());
            }
            assert_eq!(Ok(parts), all, "{more}");
        }
        let json = archive.ask(
            Wayback,
            "url=a.example*&limit=1&output=json&showResumeKey=true",
        );
        let json: serde_json::Value = serde_json::from_str(&json.expect("JSON")).expect("JSON");
        assert_eq!(json.as_array().map(Vec::len), Some(4));
    }

    #[test]
    fn pages_are_blocks_of_the_index() {
        let urls: Vec<String> = (0..7000)
            .map(|i| format!("http://a.example/{i:04}"))
            .collect();
        let captures: Vec<(&str, &str, &str, u16, u32)> = urls
            .iter()
            .map(|url| (&**url, "2001", "text/html", 200, 0))
            .collect();
        let archive = Archive::new(&captures);
        let count = |dialect, params| {
            let query = parsed(dialect, params).expect("a query");
            query.page_count(&archive.index)
        };
        let one = "url=a.example*&pageSize=1";
        assert_eq!(count(Wayback, one), "3\n");
        assert_eq!(count(Wayback, "url=a.example*"), "1\n");
        let words = "{\"pages\": 3, \"pageSize\": 1, \"blocks\": 3}\n";
        assert_eq!(count(Pywb, one), words);
        let pages: String = (0..3)
            .map(|page| {
                archive
                    .ask(Wayback, &format!("{one}&page={page}"))
                    .expect("a page")
            })
            .collect();
        assert_eq!(pages.lines().count(), 7000);
        assert_eq!(Ok(pages), archive.ask(Wayback, "url=a.example*"));
        assert!(archive.ask(Wayback, &format!("{one}&page=3")).is_err());
    }

    #[test]
    fn a_month_ends_with_its_last_day() {
        let to = |value| moment("to", value, LATEST).map(|moment| digits(moment).expect("a date"));
        assert_eq!(to("2001").as_deref(), Ok("20011231235959"));
        assert_eq!(to("200102").as_deref(), Ok("20010228235959"));
        assert_eq!(to("200402").as_deref(), Ok("20040229235959"));
        assert_eq!(to("20010203").as_deref(), Ok("20010203235959"));
        assert!(to("20010230").is_err());
        assert_eq!(
            first_moment("from", "2").ok().and_then(digits).as_deref(),
            Some("20000101000000")
        );
    }

    proptest! {
        #[test]
        fn any_question_is_answered_or_refused(
            params in prop::collection::vec(
                ("url|matchType|from|to|closest|sort|limit|filter|fl|output|page|pageSize|collapse|resumeKey|showResumeKey",
                 "[a-z0-9:*.~!=()|-]{0,8}|true|urlkey:[0-9]|example.org*|json|-?[0-9]"), 0..6),
        ) {
            let archive = archive();
            let params: Vec<String> = params.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
            for dialect in [Pywb, Wayback] {
                let _ = archive.ask(dialect, &format!("url=example.org*&{}", params.join("&")));
            }
        }
    }
}
