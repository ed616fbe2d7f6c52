//! Texts made of nothing: the same seed gives the same words.

use std::fmt::Write;

/// A stream of numbers: xorshift, good enough to draw words with.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Draw {
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            draw.next();
        }
        draw
    }

    /// A number below `most`, which is not 0.
    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}

/// So many words, of so many there are that hardly ten in a row come twice.
pub fn words(seed: u64, count: usize) -> Vec<String> {
    let mut draw = Draw::new(seed);
    let word = |_| format!("w{}", draw.below(100_000));
    (0..count).map(word).collect()
}

/// The words with every `every`th one, from the `from`th on, replaced by a new one.
pub fn edited(words: &[String], from: usize, every: usize) -> Vec<String> {
    let mut words = words.to_vec();
    for i in (from..words.len()).step_by(every) {
        words[i] = format!("e{i}");
    }
    words
}

/// A line of JSON with an id and a text.
pub fn line(id: &str, text: &str) -> String {
    let mut line = String::new();
    let _ = writeln!(line, "{}", serde_json::json!({ "id": id, "text": text }));
    line
}
