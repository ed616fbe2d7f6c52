//! Sketching asks the allocator for a sketch, never for a token or a shingle.

use lookalike::core::canonical::TokenKind;
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::simd::Level;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::html;
use lookalike_benchmarks::counting::{Asked, Counting, asked};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A text of so many bytes whose words hardly repeat, a few of them taken from `odd`.
fn text(bytes: usize, odd: &[&str]) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut state = 1_u64;
    while text.len() < bytes {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let letters = state >> 16;
        for i in 0..2 + letters % 9 {
            let letter = (letters >> (5 * i) & 31) % 26;
            text.push(char::from(b'a' + u8::try_from(letter).unwrap_or(0)));
        }
        text.push(' ');
        if !odd.is_empty() && state >> 60 == 0 {
            text.push_str(odd[(state >> 40) as usize % odd.len()]);
            text.push(' ');
        }
    }
    text
}

/// Plain, and the ways in which a text leaves the fast path.
fn texts(bytes: usize) -> [(&'static str, String); 3] {
    [
        ("ASCII", text(bytes, &[])),
        (
            "accents",
            text(bytes, &["é", "naïveté", "ÄÖÜ", "Ελλάδα", "слово", "«x»"]),
        ),
        (
            "scripts without spaces",
            text(
                bytes,
                &["我爱北京天安门", "これはテストです", "ภาษาไทย", "한국어"],
            ),
        ),
    ]
}

/// What sketching a text asks for once the sketcher is warm.
fn sketching(recipe: &Recipe, level: Level, text: &str) -> Asked {
    let mut sketcher = Sketcher::with_level(recipe, level);
    sketcher.sketch(text);
    asked(|| sketcher.sketch(text))
}

#[test]
fn a_text_ten_times_as_long_asks_for_no_more() {
    let (short, long) = (texts(1_000_000), texts(10_000_000));
    for level in Level::available() {
        for ((name, short), (_, long)) in short.iter().zip(&long) {
            let [short, long] =
                [short, long].map(|text| sketching(&Recipe::default(), level, text));
            println!("{level}, {name}: 1 MB {short:?}, 10 MB {long:?}");
            assert!(long.calls <= 40, "{level}, {name}: {long:?}");
            assert!(
                long.calls <= short.calls + 4,
                "{level}, {name}: {short:?} {long:?}"
            );
            assert!(long.peak < 1 << 20, "{level}, {name}: {long:?}");
        }
    }
}

#[test]
fn no_kind_of_sketch_or_token_asks_per_shingle() {
    let text = text(2_000_000, &["é", "漢字"]);
    for kind in ["nested:256", "min:256", "min-mod:256,4", "perm:84"] {
        let sketch: SketchKind = kind.parse().expect("a kind that exists");
        let recipe = Recipe {
            sketch,
            ..Recipe::default()
        };
        let got = sketching(&recipe, Level::best(), &text);
        println!("{kind}: {got:?}");
        assert!(got.calls <= 40 && got.peak < 1 << 20, "{kind}: {got:?}");
    }
    for tokens in [TokenKind::Char, TokenKind::Byte, TokenKind::Feature] {
        let recipe = Recipe {
            tokens,
            ..Recipe::default()
        };
        // A feature is a line; memory is for the longest.
        let lines = text.replace(" a", "\n");
        let got = sketching(&recipe, Level::best(), &lines);
        println!("{tokens}: {got:?}");
        assert!(got.calls <= 40 && got.peak < 1 << 20, "{tokens}: {got:?}");
    }
}

#[test]
fn words_whose_form_changes_ask_for_no_more() {
    let odd = [
        "Straße",
        "ﬁnd",
        "cafe\u{301}",
        "exam\u{ad}ple",
        "ｆｕｌｌ",
        "Å",
        "①",
        "ΣΑΣ",
        "𠀀👩",
    ];
    for word in odd {
        let got = sketching(&Recipe::default(), Level::best(), &text(1_000_000, &[word]));
        println!("{word}: {got:?}");
    }
    let got = sketching(&Recipe::default(), Level::best(), &text(1_000_000, &odd));
    assert!(got.calls <= 40 && got.peak < 1 << 20, "{got:?}");
}

#[test]
fn lines_ask_for_no_more() {
    let recipe = Recipe {
        tokens: TokenKind::Line,
        ..Recipe::default()
    };
    let lines = text(1_000_000, &[]).replace(" a", "\n");
    let got = sketching(&recipe, Level::best(), &lines);
    assert!(got.calls <= 40 && got.peak < 1 << 20, "{got:?}");
}

#[test]
fn mod_m_asks_for_its_growing_sketch_and_no_more() {
    // One fingerprint in 25 is kept, in a vector that doubles.
    let recipe = Recipe {
        sketch: SketchKind::Mod { modulus: 25 },
        ..Recipe::default()
    };
    let text = text(10_000_000, &[]);
    let mut sketcher = Sketcher::new(&recipe);
    let kept = sketcher.sketch(&text).samples().len();
    let got = asked(|| sketcher.sketch(&text));
    println!("mod:25, {kept} kept: {got:?}");
    assert!(got.calls <= 60, "{got:?}");
    assert!(got.peak <= 6 * 8 * kept, "{kept} kept: {got:?}");
}

#[test]
fn html_becomes_text_in_the_callers_buffer() {
    let page: String = text(2_000_000, &["é", "漢字"])
        .replace(" a", "<p class=x>")
        .replace(" b", " &eacute; <b>")
        .replace(
            " c",
            "<!-- - --> <script>if (a<b) {}</script> <svg><title>t</title></svg>",
        );
    let mut out = String::with_capacity(page.len());
    let got = asked(|| html::text_into(&page, &mut out));
    println!("HTML: {got:?}");
    assert!(got.calls <= 4 && got.peak < 1 << 12, "{got:?}");
}
