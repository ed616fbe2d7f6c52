//! The token rule as the index asks for it: the words of a text, each with its place.

use lookalike_core::canonical::{Case, TokenKind, Tokens};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The longest word that is found, in bytes; longer ones leave a gap.
pub(super) const LONGEST: usize = 200;

/// The words of a text, in the form they are compared in.
pub(super) fn words_of(text: &str) -> Tokens {
    Tokens::of_text(text, TokenKind::Word, Case::Fold)
}

/// Cuts texts into words.
#[derive(Clone, Default)]
pub(super) struct Words {
    token: Token,
}

/// The words of one text.
pub(super) struct Stream<'t> {
    tokens: Tokens,
    next: usize,
    token: &'t mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'t> = Stream<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> Stream<'t> {
        self.token.reset();
        Stream {
            tokens: words_of(text),
            next: 0,
            token: &mut self.token,
        }
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        while self.next < self.tokens.len() {
            let at = self.next;
            self.next += 1;
            let word = self.tokens.canonical(at);
            if word.len() > LONGEST {
                continue;
            }
            let source = self.tokens.source(at);
            self.token.text.clear();
            self.token.text.push_str(&String::from_utf8_lossy(word));
            self.token.position = at;
            self.token.offset_from = source.start;
            self.token.offset_to = source.end;
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
