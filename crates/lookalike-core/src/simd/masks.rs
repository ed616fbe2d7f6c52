//! From the classes of 64 bytes to the places of tokens: the part all levels share.
//!
//! In ASCII, UAX #29 comes down to bits: a run of letters, digits and `_` is joined over
//! one of `' . :` between two letters and over one of `' . , ;` between two digits.

/// Which of 64 bytes belong to a class, byte `i` at bit `i`.
#[derive(Clone, Copy, Default)]
pub(super) struct Masks {
    /// ASCII letters, and every byte of others.
    pub(super) letter: u64,
    pub(super) digit: u64,
    pub(super) underscore: u64,
    /// `' . :`
    pub(super) mid_letter: u64,
    /// `' . , ;`
    pub(super) mid_digit: u64,
}

/// What the block before passes on: its last byte, or two, as the lowest bits.
#[derive(Clone, Copy, Default)]
pub(super) struct Carry {
    letters: u64,
    digits: u64,
    word: u64,
    underscore: u64,
    mid_letter: u64,
    mid_digit: u64,
    inside: u64,
}

/// Where tokens begin in 64 bytes, and where they have ended (first byte after): by turns.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    pub(super) starts: u64,
    pub(super) ends: u64,
    underscore: u64,
}

impl Masks {
    /// The edges of the tokens in 64 bytes that begin one before the block: whether its last
    /// one joins, the next block tells. So a bit of a mask, moved by none, one and two, is
    /// about the byte after, here, and before.
    #[inline(always)]
    pub(super) fn edges(&self, carry: &mut Carry) -> Edges {
        let word = self.letter | self.digit | self.underscore;
        let between_letters = (self.letter << 2 | carry.letters) & self.letter;
        let between_digits = (self.digit << 2 | carry.digits) & self.digit;
        let inside = (word << 1 | carry.word)
            | (self.mid_letter << 1 | carry.mid_letter) & between_letters
            | (self.mid_digit << 1 | carry.mid_digit) & between_digits;
        let underscore = self.underscore << 1 | carry.underscore;
        let before = inside << 1 | carry.inside;
        *carry = Carry {
            letters: self.letter >> 62,
            digits: self.digit >> 62,
            word: word >> 63,
            underscore: self.underscore >> 63,
            mid_letter: self.mid_letter >> 63,
            mid_digit: self.mid_digit >> 63,
            inside: inside >> 63,
        };
        Edges {
            starts: inside & !before,
            ends: !inside & before,
            underscore,
        }
    }
}

impl Edges {
    /// Takes out the tokens that are nothing but `_`, but for one that may go on behind these
    /// bytes: says whether there is such a one. UAX #29 has such segments, but they hold
    /// nothing alphanumeric and are no words.
    #[inline(always)]
    pub(super) fn remove_bare(&mut self) -> bool {
        // Adding the first `_` of a token to its run of them carries to the byte behind
        // the run. If that ends the token, the token is bare.
        let first = self.starts & self.underscore;
        let (sum, goes_on) = self.underscore.overflowing_add(first);
        let mut bare = sum & !self.underscore & self.ends;
        while bare != 0 {
            let end = bare & bare.wrapping_neg();
            let start = 1 << (self.starts & (end - 1)).ilog2();
            self.starts ^= start;
            self.ends ^= end;
            bare ^= end;
        }
        goes_on
    }
}

impl Carry {
    /// Whether a token is open at the end of the bytes told last.
    pub(super) fn is_inside(self) -> bool {
        self.inside != 0
    }
}

/// Writes the places of the edges of a block to `out`, in order, and returns how many there
/// are. `inside`: the first one is an end.
///
/// Prose has some 17 edges in 64 bytes: 24 places are always written, more only if there
/// are more, because a loop that ended at the last bit would be guessed wrong in every
/// block. Every other edge is looked for by itself, for the search waits for the one before.
#[inline(always)]
pub(super) fn positions(edges: Edges, inside: bool, base: u16, out: &mut [u16; 64]) -> usize {
    let Edges { starts, ends, .. } = edges;
    let count = (starts | ends).count_ones() as usize;
    let (mut first, mut second) = if inside {
        (ends, starts)
    } else {
        (starts, ends)
    };
    let mut write = |slots: &mut [[u16; 2]]| {
        for slot in slots {
            // Behind the last edge it may wrap.
            *slot = [first, second].map(|bits| base.wrapping_add(bits.trailing_zeros() as u16));
            first &= first.wrapping_sub(1);
            second &= second.wrapping_sub(1);
        }
    };
    let (pairs, _) = out.as_chunks_mut();
    let (most, rest) = pairs.split_at_mut(12);
    write(most);
    if count > 24 {
        write(rest);
    }
    count
}

/// Removes the tokens that are nothing but `_` and returns how many are left.
pub(super) fn drop_underscores(lower: &[u8], tokens: &mut [[u16; 2]]) -> usize {
    let mut kept = 0;
    for i in 0..tokens.len() {
        let [start, end] = tokens[i];
        if lower[usize::from(start)..usize::from(end)]
            .iter()
            .any(|&byte| byte != b'_')
        {
            tokens[kept] = tokens[i];
            kept += 1;
        }
    }
    kept
}
