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

/// What the block before passes on.
#[derive(Clone, Copy, Default)]
pub(super) struct Carry {
    letter: u64,
    digit: u64,
    inside: u64,
}

/// Where tokens begin in a block, and where they have ended (first byte after): by turns.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    pub(super) starts: u64,
    pub(super) ends: u64,
}

impl Masks {
    /// The edges of the tokens, given the block that follows.
    #[inline(always)]
    pub(super) fn edges(&self, next: &Masks, carry: &mut Carry) -> Edges {
        let between_letters =
            (self.letter << 1 | carry.letter) & (self.letter >> 1 | next.letter << 63);
        let between_digits = (self.digit << 1 | carry.digit) & (self.digit >> 1 | next.digit << 63);
        let inside = self.letter
            | self.digit
            | self.underscore
            | self.mid_letter & between_letters
            | self.mid_digit & between_digits;
        let before = inside << 1 | carry.inside;
        *carry = Carry {
            letter: self.letter >> 63,
            digit: self.digit >> 63,
            inside: inside >> 63,
        };
        Edges {
            starts: inside & !before,
            ends: !inside & before,
        }
    }
}

impl Edges {
    /// Takes out the tokens that are nothing but `_`, but for one that may go on in the next
    /// block: says whether there is such a one. UAX #29 has such segments, but they hold
    /// nothing alphanumeric and are no words.
    #[inline(always)]
    pub(super) fn remove_bare(&mut self, masks: &Masks) -> bool {
        // Adding the first `_` of a token to its run of them carries to the byte behind
        // the run. If that ends the token, the token is bare.
        let first = self.starts & masks.underscore;
        let (sum, next_block) = masks.underscore.overflowing_add(first);
        let mut bare = sum & !masks.underscore & self.ends;
        while bare != 0 {
            let end = bare & bare.wrapping_neg();
            let start = 1 << (self.starts & (end - 1)).ilog2();
            self.starts ^= start;
            self.ends ^= end;
            bare ^= end;
        }
        next_block
    }
}

impl Carry {
    /// Whether a token is open at the end of the block.
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
    let Edges { starts, ends } = edges;
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
