//! Every instruction level gives the fingerprints of the definition, for any text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookalike_core::canonical::{TokenKind, Tokens};
use lookalike_core::fingerprint::Rabin;
use lookalike_core::recipe::Recipe;
use lookalike_core::shingle::{Width, windows};
use lookalike_core::simd::Level;
use lookalike_core::sketcher::Sketcher;
use std::cell::RefCell;
use std::collections::BTreeMap;

const KINDS: [TokenKind; 5] = [
    TokenKind::Word,
    TokenKind::Char,
    TokenKind::Line,
    TokenKind::Byte,
    TokenKind::Feature,
];

/// Drawing polynomials takes longer than a run: each recipe's are kept.
struct Prepared {
    recipe: Recipe,
    rabin: Rabin,
    sketchers: Vec<Sketcher>,
}

impl Prepared {
    fn new(choice: u8) -> Prepared {
        // Mostly words: they have the most code.
        let kind = KINDS.get(usize::from(choice >> 4)).copied();
        let recipe = Recipe {
            tokens: kind.unwrap_or_default(),
            width: Width::new(usize::from(choice & 15) + 1).expect("not zero"),
            ..Recipe::default()
        };
        Prepared {
            rabin: Rabin::draw(&mut recipe.seed.stream("rabin")),
            sketchers: Level::available()
                .map(|level| Sketcher::with_level(&recipe, level))
                .collect(),
            recipe,
        }
    }
}

thread_local! {
    static PREPARED: RefCell<BTreeMap<u8, Prepared>> = const { RefCell::new(BTreeMap::new()) };
}

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    PREPARED.with_borrow_mut(|all| {
        let Prepared {
            recipe,
            rabin,
            sketchers,
        } = all.entry(choice).or_insert_with(|| Prepared::new(choice));
        let tokens = Tokens::of_text(text, recipe.tokens, recipe.case);
        let values: Vec<u64> = tokens
            .iter()
            .map(|token| rabin.token_value(token))
            .collect();
        let expected: Vec<u64> = windows(values.len(), recipe.width)
            .map(|window| rabin.shingle(&values[window]).0)
            .collect();
        for sketcher in sketchers {
            let mut got = Vec::new();
            sketcher.fingerprints(text, |block| got.extend_from_slice(block));
            assert_eq!(got, expected, "{recipe}");
        }
    });
});
