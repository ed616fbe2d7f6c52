use crate::{Folder, assert_snapshot};
use serde_json::{Value, json};

fn exact(answer: &Value) -> f64 {
    let exact = answer["resemblance"]["exact"].as_f64();
    exact.expect("an exact resemblance")
}

#[test]
fn the_roses_of_paper_002_have_its_resemblances() {
    let folder = Folder::of_roses();
    let resemblance =
        |args: &str| exact(&folder.json(&format!("compare a.txt b.txt --json {args}")));
    for (w, set, labelled) in [(1, 0.6, 0.7), (2, 0.5, 0.5), (3, 3.0 / 7.0, 0.3)] {
        assert!((resemblance(&format!("--shingle {w}")) - set).abs() < 1e-12);
        assert!((resemblance(&format!("--shingle {w} --labelled")) - labelled).abs() < 1e-12);
    }
}

#[test]
fn the_answer_is_a_table_or_json() {
    let folder = Folder::of_roses();
    assert_snapshot(
        "compare",
        &[
            folder.run("compare a.txt b.txt --shingle 3"),
            folder.run("compare a.txt b.txt --shingle 3 --json"),
            folder.run("compare a.txt b.txt --quiet"),
        ],
    );
}

#[test]
fn the_answer_does_not_depend_on_the_instructions() {
    let folder = Folder::of_roses();
    let args = "compare a.txt b.txt --shingle 2 --sketch mod:3 --json";
    let best = folder.run(args);
    let portable = crate::Ran::of(args, folder.command(args).env("LOOKALIKE_SIMD", "portable"));
    assert_eq!(portable.to_string(), best.to_string());
}

#[test]
fn an_estimate_without_a_sample_is_absent() {
    let folder = Folder::of_roses();
    // One in a million fingerprints is kept of a handful.
    let answer = folder.json("compare a.txt b.txt --shingle 3 --sketch mod:1000000 --json");
    assert_eq!(
        answer["resemblance"],
        json!({ "exact": 0.428_571_428_571_428_55 })
    );
    // A permutation sketch knows nothing of containment.
    let answer = folder.json("compare a.txt b.txt --shingle 3 --sketch perm:84 --json");
    assert!(answer["resemblance"]["estimate"]["samples"] == json!(84));
    assert!(answer["a_in_b"].get("estimate").is_none());
}

#[test]
fn passages_are_told_in_bytes_of_the_file() {
    // The page is in Latin-1 and has markup and entities inside the passage.
    let page = b"<html><meta charset=latin1><p>Ein Caf\xe9 <b>na&iuml;</b>ver Leute \xfcber allem";
    let text = "Neu: ein Café naïver Leute, über dies".as_bytes();
    let folder = Folder::with(&[("a.html", page), ("b.txt", text)]);
    let answer = folder.json("compare a.html b.txt --shingle 4 --json");
    let passage = &answer["passages"][0];
    assert_eq!(passage["tokens"], json!(5));
    let bytes = |side: &str, all: &[u8]| {
        let at = |i: usize| usize::try_from(passage[side][i].as_u64().expect("a number"));
        all[at(0).expect("small")..at(1).expect("small")].to_vec()
    };
    assert_eq!(
        bytes("a", page),
        b"Ein Caf\xe9 <b>na&iuml;</b>ver Leute \xfcber"
    );
    assert_eq!(bytes("b", text), "ein Café naïver Leute, über".as_bytes());
}

#[test]
fn words_that_differ_inside_a_passage_are_told_and_marked() {
    let a = "one two three four old five six seven eight nine ten";
    let b = "one two three four five six seven very new eight nine ten";
    let folder = Folder::with(&[("a.txt", a.as_bytes()), ("b.txt", b.as_bytes())]);
    let answer = folder.json("compare a.txt b.txt --shingle 3 --html out.html --json");
    let passage = json!({
        "a": [0, 52], "b": [0, 57], "tokens": 10,
        "changed": [{ "a": [19, 22], "b": [18, 18] }, { "a": [37, 37], "b": [34, 42] }],
    });
    assert_eq!(answer["passages"], json!([passage]));
    assert_eq!((&a[19..22], &b[34..42]), ("old", "very new"));
    let page = folder.read("out.html");
    assert!(page.contains("<mark class=\"c1 changed\" data-p=\"1\">old</mark>"));
    assert!(page.contains("<mark class=\"c1 changed\" data-p=\"1\">very new</mark>"));
    assert!(page.contains("scroll together"));
}

#[test]
fn standard_input_is_one_of_the_two() {
    let folder = Folder::of_roses();
    let ran = folder.run_with_input("compare a.txt - --shingle 3", b"A rose is a ROSE!");
    assert_snapshot("compare_stdin", &[ran]);
}

#[test]
fn saved_sketches_are_compared_without_their_documents() {
    let folder = Folder::of_roses();
    for name in ["a", "b"] {
        let saved = folder.run(&format!("sketch {name}.txt --shingle 3 -o {name}.sketch"));
        assert_eq!(saved.status, Some(0), "{saved}");
    }
    folder.run("sketch a.txt --shingle 2 -o other.sketch");
    assert_snapshot(
        "compare_sketches",
        &[
            folder.run("compare a.sketch b.sketch"),
            folder.run("compare a.sketch b.sketch --json"),
            folder.run("compare a.sketch b.txt --shingle 3"),
            // Two recipes: refused, and both are named.
            folder.run("compare a.sketch other.sketch"),
            folder.run("compare a.sketch b.txt"),
            folder.run("compare a.sketch b.sketch --html out.html"),
        ],
    );
}

#[test]
fn features_are_the_callers_own() {
    let folder = Folder::with(&[
        ("a.json", br#"{"id":"a","features":["red","green",7,8]}"#),
        (
            "b.jsonl",
            b"{\"features\":[\"green\",\"7\",9,\"red\"],\"id\":1}\n",
        ),
        ("c.txt", b"red\ngreen\n7\n8\n"),
    ]);
    // By default one feature is one shingle: their order means nothing.
    let answer = folder.json("compare a.json b.jsonl --token feature --json");
    assert!((exact(&answer) - 0.6).abs() < 1e-12);
    assert!(
        answer["recipe"]
            .as_str()
            .is_some_and(|recipe| recipe.contains("w=1 "))
    );
    let answer = folder.json("compare a.json c.txt --token feature --json");
    assert!((exact(&answer) - 1.0).abs() < 1e-12);
}

#[test]
fn the_page_escapes_the_text_and_loads_nothing() {
    let hostile = b"one two three <script>alert('x')</script> \"four\" &amp; five <img src=//evil.example/x onerror=alert(1)>";
    let folder = Folder::with(&[("a'<b>.txt", hostile), ("b.txt", hostile)]);
    let ran = folder.run("compare a'<b>.txt b.txt --shingle 2 --html out.html --quiet");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran}");
    let page = folder.read("out.html");
    assert_eq!(page.matches("<script").count(), 1, "its own");
    for bad in [
        "<img", "<b>", "src=\"", "src='", "url(", "@import", "<link", "style=\"",
    ] {
        assert!(!page.contains(bad), "{bad}");
    }
    // Every link stays on the page.
    let links = page.match_indices("href=").map(|(at, _)| &page[at..at + 7]);
    assert!(links.into_iter().all(|link| link.starts_with("href=\"#")));
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
    assert!(!page.contains("unsafe-inline"));
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
}

#[test]
fn every_passage_of_the_page_links_to_its_twin() {
    let folder = Folder::with(&[
        ("a.txt", b"one two three x four five six y seven eight nine"),
        ("b.txt", b"seven eight nine z four five six z one two three"),
    ]);
    folder.run("compare a.txt b.txt --shingle 3 --html out.html");
    let page = folder.read("out.html");
    for number in 1..=3 {
        for (here, there) in [("a", "b"), ("b", "a")] {
            let link = format!("id=\"{here}{number}\" href=\"#{there}{number}\"");
            assert_eq!(page.matches(&link).count(), 1, "{link}");
        }
    }
    assert!(page.contains("<rect"), "the overview strip");
}
