//! Two documents side by side, as one HTML file that needs nothing else.
//!
//! Every shared passage has a number and a colour in both documents; the number is a
//! link to its twin. A strip beside each text shows where the passages lie. Without
//! script all of it works but the marking under the pointer.
//!
//! The text is untrusted: all of it is escaped, and the page's policy lets nothing run
//! or load but its own style and script, which are named by their SHA-256.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use lookalike::core::estimate::Estimate;

use crate::commands::compare::{Report, Side, interval};
use crate::output::text;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The SHA-256 of the two in base 64; a test computes them again.
const STYLE_SHA256: &str = "7rkO8lDrXssBEP8GMrMLbGj/g+C0u9lqfsotLx6sF6c=";
const SCRIPT_SHA256: &str = "4RHMDbh9Q+gijiMcmzgTFLtGMEQQi17o6v68nW5o5vc=";

/// How many colours take turns.
const COLOURS: usize = 8;

/// The height of the strip in its own units.
const STRIP: f64 = 1000.0;

/// Draws the page.
pub(crate) fn draw(report: &Report<'_>) -> String {
    let (a, b) = (escaped(&report.a.name), escaped(&report.b.name));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{STYLE_SHA256}'; script-src 'sha256-{SCRIPT_SHA256}'; base-uri 'none'; form-action 'none'"
    );
    let mut out = String::new();
    let _ = write!(
        out,
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{a} and {b} compared</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1><bdi>{a}</bdi> <span class="and">and</span> <bdi>{b}</bdi></h1>
"#
    );
    figures(&mut out, report);
    let shared = text::counted(report.exact.common, "shingle");
    let _ = writeln!(
        out,
        r#"<p class="recipe">{shared} in common. Recipe: {}</p>"#,
        escaped(&report.recipe)
    );
    list(&mut out, report);
    out.push_str("</header>\n<main>\n");
    side(&mut out, report, Letter::A);
    side(&mut out, report, Letter::B);
    let _ = write!(
        out,
        "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    out
}

fn figures(out: &mut String, report: &Report<'_>) {
    let rows = [
        (
            "Resemblance",
            "Of all shingles in either document, the share that is in both.",
            report.exact.resemblance(),
            report.estimated.resemblance,
        ),
        (
            "First in second",
            "The share of the first document's shingles that the second has too.",
            report.exact.a_in_b(),
            report.estimated.a_in_b,
        ),
        (
            "Second in first",
            "The share of the second document's shingles that the first has too.",
            report.exact.b_in_a(),
            report.estimated.b_in_a,
        ),
    ];
    out.push_str("<dl class=\"figures\">\n");
    for (title, help, exact, estimate) in rows {
        let exact = exact.map_or("unknown".to_owned(), text::percent);
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
    let samples = text::counted(estimate.samples, "sample");
    if estimate.low >= estimate.high {
        return format!("The sketches hold everything, {samples}, and say the same.");
    }
    format!(
        "By the sketches {} (95 %: {}), {samples}.",
        text::percent(estimate.value),
        interval(estimate)
    )
}

/// The passages in a table that opens on demand.
fn list(out: &mut String, report: &Report<'_>) {
    let count = report.passages.len();
    if count == 0 {
        out.push_str("<p>The two share no passage of a shingle or more.</p>\n");
        return;
    }
    let title = text::counted(count, "shared passage");
    let _ = writeln!(
        out,
        r#"<details><summary>{title}</summary><div class="list"><table><tr><th>passage</th><th>tokens</th><th>begins</th></tr>"#
    );
    let shown = report.a.document.text();
    for (number, passage) in (1..).zip(&report.passages) {
        let range = report.a.text_range(&passage.a);
        let words = text::excerpt(shown.get(range).unwrap_or_default(), 90);
        let _ = writeln!(
            out,
            r##"<tr><td><a class="n c{}" href="#a{number}">{number}</a></td><td class="number">{}</td><td dir="auto">{}</td></tr>"##,
            number % COLOURS,
            text::count(passage.len() as u64),
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

fn side(out: &mut String, report: &Report<'_>, letter: Letter) {
    let (side, shingles): (&Side<'_>, usize) = match letter {
        Letter::A => (report.a, report.exact.a),
        Letter::B => (report.b, report.exact.b),
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
        text::counted(side.tokens.len(), "token"),
        text::counted(shingles, "shingle")
    );
    strip(out, &places, shown.len(), id);
    let _ = write!(
        out,
        r#"<div class="text" dir="auto" tabindex="0" role="region" aria-label="{}">"#,
        escaped(&side.name)
    );
    marked(out, &shown, &places, letter);
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

/// The text with its passages marked. They may overlap in the second document; a
/// stretch of several has the colour of the first of them.
fn marked(out: &mut String, shown: &str, places: &[Range<usize>], letter: Letter) {
    let (id, other) = (letter.id(), letter.other());
    let mut cuts: Vec<usize> = places
        .iter()
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
                let _ = write!(
                    out,
                    r#"<mark class="c{}" data-p="{number}">{stretch}</mark>"#,
                    number % COLOURS
                );
            }
            None => out.push_str(&stretch),
        }
    }
}

/// Text that is safe between tags and in quoted attributes. Characters that XML and
/// HTML do not allow become U+FFFD.
pub(crate) fn escaped(text: &str) -> String {
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
    fn the_policy_names_the_style_and_the_script() {
        assert_eq!(base64(&sha256(STYLE.as_bytes())), STYLE_SHA256);
        assert_eq!(base64(&sha256(SCRIPT.as_bytes())), SCRIPT_SHA256);
        assert_eq!(
            base64(&sha256(b"abc")),
            "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
        );
    }

    #[test]
    fn overlapping_passages_keep_all_of_the_text() {
        let mut out = String::new();
        marked(&mut out, "abcdefgh", &[1..5, 3..7, 3..5], Letter::B);
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

    fn base64(bytes: &[u8]) -> String {
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for chunk in bytes.chunks(3) {
            let word = (0..3).fold(0_u32, |word, i| {
                word << 8 | u32::from(chunk.get(i).copied().unwrap_or(0))
            });
            for i in 0..4 {
                if i <= chunk.len() {
                    let digit = word >> (18 - 6 * i) & 63;
                    out.push(char::from(digits[digit as usize]));
                } else {
                    out.push('=');
                }
            }
        }
        out
    }

    /// SHA-256 by the standard, FIPS 180-4.
    fn sha256(message: &[u8]) -> Vec<u8> {
        // The first 32 bits of the fractions of roots of the first primes.
        let primes: Vec<u32> = (2..312)
            .filter(|n| (2..*n).all(|d| n % d != 0))
            .take(64)
            .collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "32 bits of a fraction"
        )]
        let fraction = |root: f64| (root.fract() * 2_f64.powi(32)) as u32;
        let constants: Vec<u32> = primes
            .iter()
            .map(|&p| fraction(f64::from(p).cbrt()))
            .collect();
        let mut state: Vec<u32> = primes[..8]
            .iter()
            .map(|&p| fraction(f64::from(p).sqrt()))
            .collect();
        let mut padded = message.to_vec();
        padded.push(0x80);
        padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
        padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
        for block in padded.chunks(64) {
            let mut w: Vec<u32> = block
                .as_chunks()
                .0
                .iter()
                .map(|word| u32::from_be_bytes(*word))
                .collect();
            for i in 16..64 {
                let (x, y) = (w[i - 15], w[i - 2]);
                let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
                let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
                w.push(
                    w[i - 16]
                        .wrapping_add(s0)
                        .wrapping_add(w[i - 7])
                        .wrapping_add(s1),
                );
            }
            let mut v = state.clone();
            for (word, constant) in w.iter().zip(&constants) {
                let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
                let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
                let t1 = [s1, choice, *constant, *word]
                    .iter()
                    .fold(v[7], |sum, &x| sum.wrapping_add(x));
                let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
                let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
                v.rotate_right(1);
                v[4] = v[4].wrapping_add(t1);
                v[0] = t1.wrapping_add(s0).wrapping_add(majority);
            }
            for (sum, value) in state.iter_mut().zip(v) {
                *sum = sum.wrapping_add(value);
            }
        }
        state.iter().flat_map(|word| word.to_be_bytes()).collect()
    }
}
