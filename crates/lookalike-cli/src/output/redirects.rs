//! Redirect maps: what moved, in the words of web servers.
//!
//! Addresses are untrusted: whatever means something to a server is percent-encoded, so
//! that none can say more than that it moved.

use std::fmt::Write;

use lookalike::collection::Collection;
use lookalike::corpus::date::rfc3339;
use lookalike::storage::StorageError;
use lookalike::sweeps::Whereabouts;

/// How a map is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    /// All addresses that were asked for, as a table.
    Csv,
    /// A `map` block of nginx.
    Nginx,
    /// Directives of Apache's `mod_alias`.
    Apache,
    /// Lines of a `_redirects` file.
    Netlify,
}

/// A map in the making.
pub(crate) struct Redirects {
    format: Format,
    least: f64,
    rows: Vec<Row>,
    table: String,
}

struct Row {
    host: String,
    path: String,
    query: Option<String>,
    to: String,
    confidence: f64,
}

impl Redirects {
    /// An empty map; only what is at least so sure comes into it.
    pub(crate) fn new(format: Format, least: f64) -> Redirects {
        Redirects {
            format,
            least,
            rows: Vec::new(),
            table: "url,status,confidence,now,now_confidence,how,last_seen\n".to_owned(),
        }
    }

    /// Adds where an address is now.
    pub(crate) fn add(&mut self, url: &str, place: &Whereabouts) {
        let now = place.present_place(self.least).filter(|now| now.url != url);
        let share = |share: f64| format!("{share:.3}");
        let cells = [
            quoted(url),
            place.status.name().to_owned(),
            place.confidence.map_or_else(String::new, share),
            now.map_or_else(String::new, |now| quoted(&now.url)),
            now.map_or_else(String::new, |now| share(now.confidence)),
            now.map_or_else(String::new, |now| now.how.name().to_owned()),
            place.last_seen.map_or_else(String::new, rfc3339),
        ];
        self.table.push_str(&cells.join(","));
        self.table.push('\n');
        let Some(now) = now else { return };
        let (Some((host, path)), true) = (parts(url), parts(&now.url).is_some()) else {
            return;
        };
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (path, None),
        };
        self.rows.push(Row {
            host,
            path,
            query,
            to: encoded(&now.url),
            confidence: now.confidence,
        });
    }

    /// The map.
    pub(crate) fn write(mut self, collection: &Collection) -> Result<String, StorageError> {
        // Longer paths first: what is more special comes before what is less.
        self.rows.sort_by(|x, y| {
            let len = y.path.len().cmp(&x.path.len());
            len.then_with(|| (&x.host, &x.path, &x.query).cmp(&(&y.host, &y.path, &y.query)))
        });
        Ok(match self.format {
            Format::Csv => self.table,
            Format::Nginx => self.nginx(),
            Format::Apache => self.apache(&Known::of(collection)?),
            Format::Netlify => self.netlify(),
        })
    }

    fn nginx(&self) -> String {
        let mut out = String::from(
            "# In http { … }; then in server { … }:\n\
             #   if ($moved_to) { return 301 $moved_to; }\n\
             map \"$host$request_uri\" $moved_to {\n    default \"\";\n",
        );
        for row in &self.rows {
            let query = row.query.as_ref().map(|query| format!("?{query}"));
            let from = format!("{}{}{}", row.host, row.path, query.unwrap_or_default());
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "    \"{from}\" \"{}\"; # {:.2}",
                row.to, row.confidence
            );
        }
        out.push_str("}\n");
        out
    }

    fn apache(&self, known: &Known) -> String {
        let mut out = String::new();
        for (host, rows) in self.by_host() {
            let _ = writeln!(out, "# {host}");
            for row in rows {
                if let Some(query) = &row.query {
                    let _ = writeln!(
                        out,
                        "# a Redirect sees no query: {}?{query} -> {}",
                        row.path, row.to
                    );
                } else if known.is_below(&row.host, &row.path) {
                    // Redirect takes all that begins with the path along.
                    let path = pattern(&row.path);
                    let _ = writeln!(out, "RedirectMatch 301 \"^{path}$\" \"{}\"", row.to);
                } else {
                    let _ = writeln!(out, "Redirect 301 \"{}\" \"{}\"", row.path, row.to);
                }
            }
        }
        out
    }

    fn netlify(&self) -> String {
        let mut out = String::new();
        for (host, rows) in self.by_host() {
            let _ = writeln!(out, "# {host}");
            for row in rows {
                if let Some(query) = &row.query {
                    let _ = writeln!(out, "# a query: {}?{query} -> {}", row.path, row.to);
                    continue;
                }
                let path = row.path.replace('*', "%2A").replace(':', "%3A");
                let to = match parts(&row.to) {
                    Some((host, path)) if host == row.host => path,
                    _ => row.to.clone(),
                };
                let _ = writeln!(out, "{path} {to} 301");
            }
        }
        out
    }

    /// The rows of each host, in order.
    fn by_host(&self) -> Vec<(&str, Vec<&Row>)> {
        let mut hosts: Vec<&str> = self.rows.iter().map(|row| row.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let of = |host: &str| self.rows.iter().filter(|row| row.host == host).collect();
        hosts.into_iter().map(|host| (host, of(host))).collect()
    }
}

/// Host and path with query of an address of the web, encoded.
fn parts(url: &str) -> Option<(String, String)> {
    let rest = url
        .strip_prefix("https://")
        .or(url.strip_prefix("http://"))?;
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(at);
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') {
        encoded(path)
    } else {
        format!("/{}", encoded(path))
    };
    (!host.is_empty()).then(|| (encoded(host).to_ascii_lowercase(), path))
}

/// An address without anything that a server could take for more than that.
fn encoded(url: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'\\$<>^`{|};".contains(&byte);
    lookalike_server::words::encoded(url, is_plain)
}

/// A path as a regular expression that is that path alone.
fn pattern(path: &str) -> String {
    let mut out = String::new();
    for letter in path.chars() {
        if ".+*?()[]^$|\\{}".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Addresses that are in the collection, sorted.
struct Known(Vec<String>);

impl Known {
    fn of(collection: &Collection) -> Result<Known, StorageError> {
        let mut all = Vec::new();
        for doc in 0..collection.documents() {
            let entry = collection.entry(doc)?;
            let (_, url) = collection.strings(doc, &entry)?;
            all.extend(
                url.as_deref()
                    .and_then(parts)
                    .map(|(host, path)| host + &path),
            );
        }
        all.sort_unstable();
        all.dedup();
        Ok(Known(all))
    }

    /// Whether there is anything else whose path begins with this one, as Apache sees it:
    /// part by part.
    fn is_below(&self, host: &str, path: &str) -> bool {
        let own = format!("{host}{path}");
        let from = self.0.partition_point(|other| *other <= own);
        let mut after = self.0[from..].iter();
        after.next().is_some_and(|other| other.starts_with(&own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_cannot_break_out_of_a_map() {
        let (host, path) = parts("https://A.example/x\" y;{$z}\n?q='1'#f").expect("an address");
        assert_eq!(host, "a.example");
        assert_eq!(path, "/x%22%20y%3B%7B%24z%7D%0A?q=%271%27");
        assert!(parts("javascript:alert(1)").is_none());
        assert_eq!(
            parts("http://a.example"),
            Some(("a.example".into(), "/".into()))
        );
    }

    #[test]
    fn a_pattern_is_one_path_alone() {
        assert_eq!(pattern("/a.b/(c)"), "/a\\.b/\\(c\\)");
    }
}
