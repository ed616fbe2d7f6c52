//! The reader against known answers, against html5gum, and against hostile pages.

use std::path::Path;
use std::time::Instant;

use lookalike_testkit::{corpora, html_oracle, html5lib, warc};
use proptest::prelude::*;

use super::{text, text_mapped};
use crate::corpus::decode::{Hints, decode, decode_mapped};

#[test]
fn block_elements_break_and_inline_elements_do_not() {
    for (page, expected) in [
        ("ex<b>am</b>ple", "example"),
        ("so<wbr>long<x-y>er</x-y>", "solonger"),
        ("<p>a<p>b</p>c", "a\nb\nc"),
        ("a<br>b<BR/>c<hr>d", "a\nb\nc\nd"),
        ("<ul><li>a<li>b</ul>", "a\nb\n"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a\nb\n"),
        ("a<img src=x>b<input>c<button>d</button>e", "a\nb\nc\nd\ne"),
        ("<select><option>a<option>b</select>", "a\nb\n"),
        ("<ruby>a<rt>b</ruby>", "a\nb"),
        ("a\n<p>\nb", "a\n\nb"),
        ("a \t b", "a \t b"),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
}

#[test]
fn what_is_not_shown_is_gone() {
    for (page, expected) in [
        ("a<script>b</script>c<style>d</style>e", "ace"),
        ("a<!-- b -->c<!DOCTYPE html>d", "acd"),
        ("a<template>b<template>c</template>d</template>e", "ae"),
        ("a<iframe>b</iframe>c", "a\nc"),
        ("a<noembed>b</noembed>c<noframes>d</noframes>e", "ace"),
        ("a<object>b</object>c", "a\nb\nc"),
        ("a<noscript>b<img alt=c></noscript>d", "ab\nd"),
        ("<a href='b' title=\"c\" d=e>f</a>", "f"),
        ("<title>a&amp;<b></title>c", "a&<b>\nc"),
        ("<textarea>a<p>b</textarea>c", "a<p>b\nc"),
        ("<xmp>a&amp;<b></xmp>c", "a&amp;<b>\nc"),
        ("a<plaintext>b&amp;</plaintext>", "a\nb&amp;</plaintext>"),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
}

#[test]
fn svg_and_math_have_their_own_rules() {
    for (page, expected) in [
        (
            "a<svg><title>b<i>c</i></title><text>d<tspan>e</tspan></text></svg>f",
            "a\nbc\nde\nf",
        ),
        (
            "<svg><style>a<![CDATA[b]]></style><text>c</text></svg>",
            "c\n",
        ),
        ("<svg><script>a</script>b</svg>", "b\n"),
        ("<svg><![CDATA[a<b>&amp;]]></svg>", "a<b>&amp;\n"),
        ("<svg/><![CDATA[a]]>b", "b"),
        ("a<![CDATA[b]]>c", "ac"),
        ("<math><mi>x</mi><mo>=</mo><mn>1</mn></math>y", "x\n=\n1\ny"),
        ("<svg><path><p>a<![CDATA[b]]>", "a"),
        ("<svg><desc><![CDATA[a]]></desc></svg>", "a\n"),
        (
            "<svg><foreignObject><style>a</style>b</foreignObject>c</svg>",
            "b\nc\n",
        ),
        ("<template><svg></template><![CDATA[a]]>b", "b"),
        ("<svg>a\0b</svg>c\0d", "a\u{fffd}b\ncd"),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
}

#[test]
fn the_odd_ends_of_comments_and_tags_are_those_of_the_standard() {
    for (page, expected) in [
        ("<!-->a", "a"),
        ("<!--->a", "a"),
        ("<!---->a", "a"),
        ("<!--a--!>b", "b"),
        ("<!--a--!->b-->c", "c"),
        ("<!---!>a-->b", "b"),
        ("<!--a<!--b-->c", "c"),
        ("<!--a", ""),
        ("<!a>b<?c>d</ e>f</>g", "bdfg"),
        ("a</", "a</"),
        ("a<", "a<"),
        ("a<1 < b", "a<1 < b"),
        ("a<b", "a"),
        ("a<b c=\"d>e", "a"),
        ("<a \"b>c\">d", "c\">d"),
        ("<a b=\"c>d\">e", "e"),
        ("<a b=c\">d\">e", "d\">e"),
        ("<a =\"b>c\">d", "c\">d"),
        ("<a ==\"b>c\">d", "d"),
        ("<a b = 'c>d'e>f", "f"),
        ("<a b=>c", "c"),
        ("<!DOCTYPE a PUBLIC \"b>c", "c"),
        ("<script><!--<script></script>a--></script>b", "b"),
        ("<script><!--</script>a", "a"),
        ("<script><!--<script></script></script>a", "a"),
        (
            "<script><!--<script></script>a</script>b--></script>c",
            "b-->c",
        ),
        ("<script><!--><script></script>a", "a"),
        ("<title>a</titl></title >b", "a</titl>\nb"),
        ("<style>a</style/b>c", "c"),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
}

/// Fragments that between them reach every state, and the corners of each.
#[rustfmt::skip]
const FRAGMENTS: &[&str] = &[
    "<", ">", "&", ";", "/", "!", "-", "--", "-->", "--!>", "->", "=", "\"", "'", " ", "\n",
    "\t", "\x0c", "\0", "a", "B", "é", "字", "1", "x", "]", "]]>", "?", "#",
    "<!--", "<!-->", "<!--->", "<!", "<?", "</", "</ ", "</>", "<!DOCTYPE", "<![CDATA[", "<![cdata[",
    "<a", "<a>", "</a>", "<b>", "</b>", "<p>", "</p>", "<br/>", "<div ", "</div>", "<P\n", "<p/",
    "<script", "<script>", "</script", "</script>", "</SCRIPT ", "</scripty>", "<scripty>", "<SCRIPT/",
    "<style>", "</style>", "</style", "<title>", "</title>", "<textarea>", "</textarea>", "<xmp>", "</xmp>",
    "<iframe>", "</iframe>", "<noembed>", "</noembed>", "<noframes>", "</noframes>", "<noscript>", "</noscript>",
    "<plaintext>", "<template>", "</template>", "<svg>", "<svg/>", "</svg>", "<math>", "</math>", "<mi>", "</mi>",
    "<desc>", "</desc>", "<foreignObject>", "</foreignobject>", "<text>", "</text>", "<g/>", "<style/>", "<script/>",
    "&amp", "&amp;", "&notit;", "&notin;", "&not", "&lt", "&#", "&#x", "&#60;", "&#x3c", "&#0;", "&#x80;",
    "&#xd800;", "&#1114112;", "&#99999999999;", "&CounterClockwiseContourIntegral;", "&acE;", "&fjlig;",
    "a=b", "a='", "a=\"", "a=/>", " / ", "/>", "a =", "==",
];

fn soup() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(FRAGMENTS);
    prop::collection::vec(fragment, 0..24).prop_map(|parts| parts.concat())
}

/// What decides where a script ends.
#[rustfmt::skip]
const SCRIPT_FRAGMENTS: &[&str] = &[
    "<!--", "-->", "--", "-", ">", "<", "/", "!", " ", "a", "<script", "<script>", "<SCRIPT/", "<scripts>",
    "</script", "</script>", "</SCRIPT\n", "</script/", "</scripts>", "<s", "</s",
];

fn script_soup() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(SCRIPT_FRAGMENTS);
    prop::collection::vec(fragment, 0..16).prop_map(|parts| format!("<script>{}", parts.concat()))
}

fn words(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().collect()
}

/// The checks that hold for every page.
fn check(page: &str) {
    let got = text(page);
    if page.contains('\r') {
        let expected = html_oracle::text(page);
        assert_eq!(words(&got), words(&expected), "{page:?}");
    } else {
        assert_eq!(got, html_oracle::text(page), "{page:?}");
    }
    check_map(page, &got);
}

/// The mapped text is the text, and copied pieces stand where the map says.
fn check_map(page: &str, expected: &str) {
    let (got, map) = text_mapped(page);
    assert_eq!(got, expected, "{page:?}");
    assert_eq!(map.text_len(), got.len());
    let mut before = 0..0;
    for (at, c) in got.char_indices() {
        let source = map.source_range(at..at + c.len_utf8());
        // A reference may stand for two characters.
        let in_order = source.start >= before.end || source == before;
        assert!(in_order && source.end <= page.len(), "{page:?} at {at}");
        before = source.clone();
        let source = page.get(source).unwrap_or("no character boundary");
        let made = source.starts_with(['<', '&']) && source.len() > 1 || source == "\0";
        assert!(
            made || source.chars().eq([c]),
            "{page:?} at {at}: {source:?}"
        );
    }
}

#[test]
fn maps_lead_from_the_text_through_the_charset_to_the_bytes() {
    let bytes = b"<meta charset=euc-kr><p>\xc7\xd1&eacute;<b>\xb1\xb9</b>!";
    let hints = Hints {
        http_charset: None,
        html: true,
    };
    let (page, to_bytes) = decode_mapped(bytes, hints);
    let (text, to_page) = text_mapped(&page.text);
    let map = to_page.then(&to_bytes);
    assert_eq!(text, "한é국!");
    let source = |part: &str| {
        let at = text.find(part).expect("it is in the text");
        map.source_range(at..at + part.len())
    };
    assert_eq!(&bytes[source("한")], b"\xc7\xd1");
    assert_eq!(&bytes[source("é")], b"&eacute;");
    assert_eq!(&bytes[source("é국!")], b"&eacute;<b>\xb1\xb9</b>!");
}

#[test]
fn every_pair_of_fragments_reads_as_html5gum_reads_it() {
    for first in FRAGMENTS {
        for second in FRAGMENTS {
            check(&format!("a{first}{second}b>c"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn tag_soup_reads_as_html5gum_reads_it(page in soup()) {
        check(&page);
    }

    #[test]
    fn scripts_end_where_html5gum_ends_them(page in script_soup()) {
        check(&page);
    }

    #[test]
    fn carriage_returns_are_white_space(page in soup()) {
        check(&page.replace('\n', "\r\n").replace('\t', "\r"));
    }

    #[test]
    fn any_string_reads_as_html5gum_reads_it(page in "\\PC{0,40}") {
        check(&page);
    }
}

/// Doubling a hostile page must not much more than double the time: what is
/// quadratic would take minutes here.
#[test]
fn hostile_pages_take_linear_time() {
    let megabyte = 1 << 20;
    let of = |unit: &str| unit.repeat(4 * megabyte / unit.len());
    let pages = [
        "<div>".repeat(64_000),
        "<ul><li>".repeat(64_000),
        "<svg><desc>".repeat(64_000) + &"</title>".repeat(64_000),
        "<template>".repeat(64_000),
        of("<"),
        of("&"),
        of("&#"),
        of("&a"),
        of("<!--"),
        of("<!"),
        of("</"),
        of("<a "),
        of("<a b=\"'"),
        of("]]>"),
        format!("<svg><![CDATA[{}", of("]]")),
        format!("<!--{}", of("--")),
        format!("<!--{}", of(">")),
        format!("<script>{}", of("</script")),
        format!("<script><!--{}", of("<script>")),
        format!("<title>{}", of("</title")),
        format!("<style>{}", of("</style")),
        format!("<a b=\"{}", of("x")),
        format!("<a b='{}'>c", of("x").repeat(2)),
        format!("<a {}>b", "c=d ".repeat(100_000)),
        format!("&#{}", of("9")),
        of("\0"),
        format!("<xmp>{}", of("\0")),
    ];
    let mut out = String::new();
    for page in pages {
        let start = Instant::now();
        super::text_into(&page, &mut out);
        let taken = start.elapsed();
        let begins: String = page.chars().take(20).collect();
        assert!(taken.as_secs() < 5, "{begins}… took {taken:?}");
    }
}

/// The text of an html5lib tree, without white space: the quoted lines that do not
/// stand below an element whose text is not shown.
fn tree_text(tree: &str) -> String {
    let hides = [
        "<script>",
        "<style>",
        "<template>",
        "<iframe>",
        "<noembed>",
        "<noframes>",
        "<svg script>",
        "<svg style>",
    ];
    let mut text = String::new();
    // The depth of the element that hides what is below it, and whether a text that
    // began on an earlier line goes on.
    let (mut hidden_below, mut goes_on) = (None, false);
    for line in tree.lines() {
        let (quoted, is_hidden) = if let Some(node) = line.strip_prefix("| ") {
            let inner = node.trim_start_matches(' ');
            let depth = node.len() - inner.len();
            hidden_below = hidden_below.filter(|&below| depth > below);
            if hidden_below.is_none() && hides.contains(&inner) {
                hidden_below = Some(depth);
            }
            goes_on = inner.starts_with('"');
            (
                inner.strip_prefix('"').unwrap_or_default(),
                hidden_below.is_some(),
            )
        } else {
            (line, hidden_below.is_some())
        };
        if goes_on && !is_hidden {
            text.push_str(quoted.strip_suffix('"').unwrap_or(quoted));
        }
        goes_on &= !quoted.ends_with('"');
    }
    text.split_whitespace().collect()
}

#[test]
fn html5lib_trees_hold_the_text_we_read() {
    let Some(files) = html5lib::files("tree-construction", "dat") else {
        return;
    };
    let (mut same, mut with_text, mut all) = (0, 0, 0);
    for test in files.iter().flat_map(|file| html5lib::dat_tests(file)) {
        let section = |name| test.section(name).map(String::from_utf8_lossy);
        let page = section("data").unwrap_or_default();
        check(&page);
        // A fragment is read from inside another element, and no script runs here.
        if section("document-fragment").is_some() || section("script-on").is_some() {
            continue;
        }
        let Some(tree) = section("document") else {
            continue;
        };
        let got: String = text(&page).split_whitespace().collect();
        all += 1;
        with_text += usize::from(!got.is_empty());
        same += usize::from(got == tree_text(&tree));
    }
    // The others: five tables whose stray text a browser moves out in front, ten
    // framesets, whose text it drops, and two `plaintext` inside a `select`.
    assert_eq!((same, with_text, all), (1499, 700, 1516));
}

#[test]
fn html5lib_tokenizer_inputs_read_as_html5gum_reads_them() {
    let Some(files) = html5lib::files("tokenizer", "test") else {
        return;
    };
    let mut read = 0;
    for file in files {
        let file: serde_json::Value = serde_json::from_slice(&file).expect("the tests are JSON");
        for test in file["tests"].as_array().into_iter().flatten() {
            let states = test["initialStates"].as_array();
            let from_data = states.is_none_or(|all| all.iter().any(|s| s == "Data state"));
            if let Some(page) = test["input"].as_str().filter(|_| from_data) {
                check(page);
                read += 1;
            }
        }
    }
    assert!(read > 4000, "{read}");
}

/// Each page of an archive, whole and cut short somewhere.
fn check_pages(archive: &Path) {
    let pages = warc::responses(archive).expect("the pages can be read");
    assert!(pages.len() > 100);
    for (i, (_, body)) in pages.iter().enumerate() {
        let hints = Hints {
            http_charset: None,
            html: true,
        };
        let page = decode(body, hints).text;
        check(&page);
        let cut = page.floor_char_boundary(page.len() * (i % 97) / 97);
        check(page.get(..cut).unwrap_or_default());
    }
}

#[test]
fn real_pages_read_as_html5gum_reads_them() {
    let Some(corpora) = corpora() else { return };
    check_pages(&corpora.join("charset-apache-manual/manual.warc.gz"));
    check_pages(&corpora.join("neardup-postgres-html/postgresql-13.warc.gz"));
    check_pages(&corpora.join("neardup-postgres-html/postgresql-17.warc.gz"));
}
