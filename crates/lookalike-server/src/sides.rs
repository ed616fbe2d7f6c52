//! Two documents side by side in HTML: what the page of a pair and `compare --html` share.
//!
//! Every shared passage has a number and a colour in both documents; the number is a
//! link to its twin. Words inside a passage that differ are marked as such. A strip beside
//! each text shows where the passages lie. Without script all of it works but the marking
//! under the pointer and that the texts scroll together.
//!
//! The text is untrusted: all of it is escaped.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use lookalike::core::estimate::Estimate;

use crate::compared::{Compared, Side};
use crate::words::{self, interval};

/// Style of the page of a pair.
pub const STYLE: &str = include_str!("../static/pair.css");

/// Its script: marks and follows passages, shows them or what is between them.
pub const SCRIPT: &str = include_str!("../static/pair.js");

/// How many colours take turns.
const COLOURS: usize = 8;

/// The height of the strip in its own units.
const STRIP: f64 = 1000.0;

/// The figures, the recipe and the list of passages.
pub fn summary(report: &Compared<'_>) -> String {
    let mut out = String::new();
    figures(&mut out, report);
    let shared = words::counted(report.shingles.common, "shingle");
    let _ = writeln!(
        out,
        r#"<p class="recipe">{shared} in common. Recipe: {}</p>"#,
        escaped(&report.recipe)
    );
    list(&mut out, report);
    if !report.passages.is_empty() {
        out.push_str(TOGGLE);
    }
    out
}

/// Works without script: the style asks which of the two is chosen.
const TOGGLE: &str = r#"<fieldset class="toggle"><legend>Show</legend>
<label><input type="radio" name="show" id="show-matches" checked> what both have</label>
<label><input type="radio" name="show" id="show-differences"> what only one has</label>
</fieldset>
"#;

/// The two texts with their passages.
pub fn both(report: &Compared<'_>) -> String {
    let mut out = String::new();
    side(&mut out, report, Letter::A);
    side(&mut out, report, Letter::B);
    out
}

fn figures(out: &mut String, report: &Compared<'_>) {
    let exact = report.exact();
    let rows = [
        (
            "Resemblance",
            "Of all shingles in either document, the share that is in both.",
            exact.resemblance(),
            report.estimated.resemblance,
        ),
        (
            "First in second",
            "The share of the first document's shingles that the second has too.",
            exact.a_in_b(),
            report.estimated.a_in_b,
        ),
        (
            "Second in first",
            "The share of the second document's shingles that the first has too.",
            exact.b_in_a(),
            report.estimated.b_in_a,
        ),
    ];
    out.push_str("<dl class=\"figures\">\n");
    for (title, help, exact, estimate) in rows {
        let exact = exact.map_or("unknown".to_owned(), words::percent);
        let estimate = estimate.map_or(
            "The sketches alone say nothing about it.".to_owned(),
            estimated,
        );
        let _ = writeln!(
            out,
            r#"<div><dt>{title}</dt><dd class="value">{exact}</dd><dd class="help">{help}</dd><dd class="estimate">{estimate}</dd></div>"#
        );
    }
    out.push_str("</dl>\n");
}

fn estimated(estimate: Estimate) -> String {
    let samples = words::counted(estimate.samples, "sample");
    if estimate.low >= estimate.high {
        return format!("The sketches hold everything, {samples}, and say the same.");
    }
    format!(
        "By the sketches {} (95 %: {}), {samples}.",
        words::percent(estimate.value),
        interval(estimate)
    )
}

/// The passages in a table that opens on demand.
fn list(out: &mut String, report: &Compared<'_>) {
    let count = report.passages.len();
    if count == 0 {
        out.push_str("<p>The two share no passage of a shingle or more.</p>\n");
        return;
    }
    let title = words::counted(count, "shared passage");
    let _ = writeln!(
        out,
        r#"<details><summary>{title}</summary><div class="list"><table><tr><th>passage</th><th>tokens</th><th>changes</th><th>begins</th></tr>"#
    );
    let shown = report.a.document.text();
    for (number, passage) in (1..).zip(&report.passages) {
        let range = report.a.text_range(&passage.a);
        let words = words::excerpt(shown.get(range).unwrap_or_default(), 90);
        let _ = writeln!(
            out,
            r##"<tr><td><a class="n c{}" href="#a{number}">{number}</a></td><td class="number">{}</td><td class="number">{}</td><td dir="auto">{}</td></tr>"##,
            number % COLOURS,
            words::count(passage.len() as u64),
            words::count(passage.changes.len() as u64),
            escaped(&words)
        );
    }
    out.push_str("</table></div></details>\n");
}

/// Which of the two documents.
#[derive(Clone, Copy)]
enum Letter {
    A,
    B,
}

impl Letter {
    fn id(self) -> char {
        match self {
            Letter::A => 'a',
            Letter::B => 'b',
        }
    }

    fn other(self) -> char {
        match self {
            Letter::A => 'b',
            Letter::B => 'a',
        }
    }
}

fn side(out: &mut String, report: &Compared<'_>, letter: Letter) {
    let (side, shingles): (&Side<'_>, usize) = match letter {
        Letter::A => (report.a, report.shingles.a),
        Letter::B => (report.b, report.shingles.b),
    };
    let shown = side.document.text();
    let places: Vec<Range<usize>> = report
        .passages
        .iter()
        .map(|passage| match letter {
            Letter::A => side.text_range(&passage.a),
            Letter::B => side.text_range(&passage.b),
        })
        .collect();
    let id = letter.id();
    let _ = writeln!(
        out,
        r#"<section class="side" id="{id}"><h2><bdi>{}</bdi> <small>{}, {}</small></h2><div class="frame">"#,
        escaped(&side.name),
        words::counted(side.tokens.len(), "token"),
        words::counted(shingles, "shingle")
    );
    let changed = report.passages.iter().map(|passage| {
        let ranges = passage.changes.iter().map(|change| match letter {
            Letter::A => &change.a,
            Letter::B => &change.b,
        });
        let words = ranges.filter(|range| !range.is_empty());
        words.map(|range| side.text_range(range)).collect()
    });
    let changed: Vec<Vec<Range<usize>>> = changed.collect();
    strip(out, &places, shown.len(), id);
    let _ = write!(
        out,
        r#"<div class="text" dir="auto" tabindex="0" role="region" aria-label="{}">"#,
        escaped(&side.name)
    );
    marked(out, &shown, &places, &changed, letter);
    out.push_str("</div></div></section>\n");
}

/// Where the passages lie in a document, drawn to scale.
fn strip(out: &mut String, places: &[Range<usize>], len: usize, id: char) {
    let _ = write!(
        out,
        r#"<svg class="strip" viewBox="0 0 10 {STRIP}" preserveAspectRatio="none" aria-hidden="true">"#
    );
    let at = |offset: usize| offset as f64 / len.max(1) as f64 * STRIP;
    for (number, place) in (1..).zip(places) {
        // The smallest passage must still be seen and hit.
        let height = (at(place.end) - at(place.start)).max(4.0);
        let top = at(place.start).min(STRIP - height);
        let _ = write!(
            out,
            r##"<a href="#{id}{number}" tabindex="-1"><rect class="c{}" data-p="{number}" x="0" width="10" y="{top:.1}" height="{height:.1}"><title>passage {number}</title></rect></a>"##,
            number % COLOURS
        );
    }
    out.push_str("</svg>\n");
}

/// The text with its passages marked, and inside them the words that the other has not
/// so. Passages may overlap in the second document; a stretch of several has the colour
/// of the first of them.
fn marked(
    out: &mut String,
    shown: &str,
    places: &[Range<usize>],
    changed: &[Vec<Range<usize>>],
    letter: Letter,
) {
    let (id, other) = (letter.id(), letter.other());
    let mut cuts: Vec<usize> = places
        .iter()
        .chain(changed.iter().flatten())
        .flat_map(|place| [place.start, place.end])
        .chain([0, shown.len()])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut starts: Vec<usize> = (0..places.len()).collect();
    starts.sort_by_key(|&i| (places[i].start, i));
    let mut starts = starts.into_iter().peekable();
    let mut open: BTreeSet<usize> = BTreeSet::new();
    for cut in cuts.windows(2) {
        let (from, to) = (cut[0], cut[1]);
        open.retain(|&i| places[i].end > from);
        while let Some(i) = starts.next_if(|&i| places[i].start <= from) {
            let number = i + 1;
            let _ = write!(
                out,
                r##"<a class="n c{}" id="{id}{number}" href="#{other}{number}" data-p="{number}" title="to passage {number} of the other document">{number}</a>"##,
                number % COLOURS
            );
            if places[i].end > from {
                open.insert(i);
            }
        }
        let stretch = escaped(shown.get(from..to).unwrap_or_default());
        match open.first() {
            Some(i) => {
                let number = i + 1;
                let changed = changed.get(*i).map_or(&[][..], Vec::as_slice);
                let after = changed.partition_point(|words| words.end <= from);
                let is_changed = changed.get(after).is_some_and(|words| words.start <= from);
                let _ = write!(
                    out,
                    r#"<mark class="c{}{}" data-p="{number}">{stretch}</mark>"#,
                    number % COLOURS,
                    if is_changed { " changed" } else { "" }
                );
            }
            None => out.push_str(&stretch),
        }
    }
}

/// Text that is safe between tags and in quoted attributes. Characters that XML and
/// HTML do not allow become U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_text_becomes_markup() {
        assert_eq!(
            escaped("<script>\"'&\u{0}"),
            "&lt;script&gt;&quot;&#39;&amp;\u{fffd}"
        );
    }

    #[test]
    fn overlapping_passages_keep_all_of_the_text() {
        let mut out = String::new();
        let changed = [vec![2..3, 4..5], vec![], vec![]];
        marked(
            &mut out,
            "abcdefgh",
            &[1..5, 3..7, 3..5],
            &changed,
            Letter::B,
        );
        assert!(
            out.contains(r#"<mark class="c1 changed" data-p="1">c</mark>"#),
            "{out}"
        );
        let mut plain = String::new();
        let mut is_tag = false;
        let mut is_number = false;
        for c in out.chars() {
            match c {
                '<' => is_tag = true,
                '>' => is_tag = false,
                _ if is_tag => {}
                _ => {
                    is_number = c.is_ascii_digit();
                    if !is_number {
                        plain.push(c);
                    }
                }
            }
        }
        assert!(!is_number);
        assert_eq!(plain, "abcdefgh");
        for number in 1..=3 {
            assert!(out.contains(&format!("id=\"b{number}\" href=\"#a{number}\"")));
        }
    }
}
