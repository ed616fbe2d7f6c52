use lookalike::core::canonical::{Case, TokenKind, Tokens};
use lookalike::core::passages::passages;
use lookalike::core::recipe::Recipe;
use lookalike::drift::{Around, Baseline, Markup, Status};
use lookalike::wording::Words;
use lookalike_testkit::copied::{Copied, edited, pair};
use lookalike_testkit::texts::Draw;
use std::ops::Range;

#[test]
fn what_was_copied_is_marked_and_nothing_else() {
    // 500 of them: `make truth`.
    check_marks(0..60, pair);
}

#[test]
fn what_was_copied_is_marked_between_very_many_edits() {
    check_marks(0..60, |seed| edited(seed, 13));
}

/// Of the words that were copied 99 in 100 are marked, and one beside them at most.
fn check_marks(seeds: Range<u64>, pair: impl Fn(u64) -> Copied) {
    let (mut copied, mut found, mut wrong) = (0, 0, 0);
    for seed in seeds {
        let pair = pair(seed);
        let words =
            |words: &[String]| Tokens::of_text(&words.join(" "), TokenKind::Word, Case::Fold);
        let (a, b) = (words(&pair.a), words(&pair.b));
        assert_eq!(a.len(), pair.a.len());
        let mut is_marked = vec![false; a.len()];
        for passage in passages(&a, &b, Recipe::default().width) {
            for (same, _) in passage.same() {
                is_marked[same].fill(true);
            }
        }
        for (&is_copied, is_marked) in pair.is_copied.iter().zip(is_marked) {
            copied += usize::from(is_copied);
            found += usize::from(is_copied && is_marked);
            wrong += usize::from(!is_copied && is_marked);
        }
    }
    assert!(copied > 20_000, "{copied}");
    assert!(100 * found >= 99 * copied, "{found} of {copied}");
    assert!(100 * wrong <= copied, "{wrong} beside {copied}");
    println!("{found} of {copied} copied tokens marked, {wrong} wrongly");
}

/// The fewest words that must be changed, by the table of both texts.
fn fewest(xs: &[&[u8]], ys: &[&[u8]]) -> usize {
    let mut row = vec![0_usize; ys.len() + 1];
    for x in xs {
        let mut diagonal = 0;
        for (j, y) in ys.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y {
                diagonal + 1
            } else {
                above.max(row[j])
            };
            diagonal = above;
        }
    }
    xs.len() + ys.len() - 2 * row[ys.len()]
}

#[test]
fn drift_tells_exactly_the_words_that_were_changed() {
    // A text that ships with the source; all of a real list: `make truth`.
    let text = include_str!("../../../../LICENSE-APACHE");
    let recipe = Recipe::default();
    let own: Vec<&str> = text.split_whitespace().collect();
    let baseline = Baseline::new("apache", text, Markup::None, &recipe).expect("no pattern");
    for seed in 0..24 {
        let mut draw = Draw::new(seed);
        let mut copy: Vec<String> = own.iter().map(|word| (*word).to_owned()).collect();
        for _ in 0..seed {
            let at = usize::try_from(draw.below(copy.len() as u64)).expect("small");
            match draw.below(3) {
                0 => drop(copy.remove(at)),
                1 => copy.insert(at, own[at.min(own.len() - 1)].to_owned()),
                _ => copy[at] = "changed".to_owned(),
            }
        }
        let copy = Words::of_text(&copy.join("\n"), &recipe);
        let got = baseline.compare(&copy, Around::Counted);
        let xs: Vec<&[u8]> = baseline.words().tokens().iter().collect();
        let ys: Vec<&[u8]> = copy.tokens().iter().collect();
        assert_eq!(got.status == Status::Verbatim, xs == ys);
        assert_eq!(got.cost(), fewest(&xs, &ys), "seed {seed}");
        let (mut made, mut at) = (Vec::new(), 0);
        for edit in &got.changes {
            made.extend_from_slice(&xs[at..edit.change.a.start]);
            made.extend_from_slice(&ys[edit.change.b.clone()]);
            at = edit.change.a.end;
            let told = Words::of_text(&edit.to, &recipe);
            assert!(
                told.tokens()
                    .iter()
                    .eq(ys[edit.change.b.clone()].iter().copied())
            );
        }
        made.extend_from_slice(&xs[at..]);
        assert_eq!(made, ys);
    }
}
