//! Where one WARC record ends and the next begins.
//!
//! ```text
//! …CRLF CRLF │WARC/1.0 … CRLF CRLF│block, Content-Length bytes│CRLF CRLF │WARC/1.0 …
//! ```
//!
//! The length is believed if a record or the end follows the block. If not, and the head
//! of another record stands inside the block, the length was too large: the record is
//! given up and that other one is next. A head inside a block whose length is right is
//! a part of it.

use memchr::memmem;

use super::header::{Fields, head_end};

/// The longest head of a record.
pub(crate) const HEAD_LEN: usize = 1 << 20;

const MAGIC: &[u8] = b"WARC/";

/// How far some bytes are known to go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reach {
    /// To the end of the file or member.
    End,
    /// There may be more.
    More,
}

/// What stands next. Places count from the beginning of the bytes.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// More bytes are needed to tell.
    Need,
    /// Nothing.
    End,
    /// A record, from its version line to the end of its block.
    Record {
        start: usize,
        head: usize,
        end: usize,
    },
    /// No record, and why; the next may begin at `end`, or is still to be searched for.
    Lost {
        start: usize,
        end: usize,
        why: String,
    },
    /// A record whose block is longer than may be held.
    Huge { start: usize, head: usize, len: u64 },
}

/// Looks at what stands next.
pub(crate) fn next(bytes: &[u8], reach: Reach, limit: usize) -> Step {
    let blank = |&&byte: &&u8| matches!(byte, b'\r' | b'\n' | b' ');
    let start = bytes.iter().take_while(blank).count();
    let rest = bytes.get(start..).unwrap_or_default();
    if rest.is_empty() {
        return match reach {
            Reach::End => Step::End,
            Reach::More => Step::Need,
        };
    }
    let known = rest.get(..MAGIC.len()).unwrap_or(rest);
    if !MAGIC.starts_with(known) || (known.len() < MAGIC.len() && reach == Reach::End) {
        return garbage(bytes, start, reach);
    }
    let Some(head) = rest.get(..HEAD_LEN).or(Some(rest)).and_then(head_end) else {
        if reach == Reach::More && rest.len() < HEAD_LEN {
            return Step::Need;
        }
        return lost(
            bytes,
            start,
            start + MAGIC.len(),
            "the head of the record does not end",
        );
    };
    let head = start + head;
    let fields = Fields(bytes.get(start..head).unwrap_or_default());
    let said = fields.get("content-length");
    let Some(len) = said
        .as_deref()
        .and_then(|len| len.trim().parse::<u64>().ok())
    else {
        let said = said.as_deref().unwrap_or("nothing");
        let said: String = said.chars().take(40).collect();
        let why = format!("Content-Length says {said:?}, which is no length");
        return lost(bytes, start, head, &why);
    };
    if len > limit as u64 {
        return Step::Huge { start, head, len };
    }
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let end = head.saturating_add(len);
    if end > bytes.len() {
        if reach == Reach::More {
            return Step::Need;
        }
        let there = bytes.len() - head;
        let why = format!("the record is cut short: {there} of {len} bytes are there");
        return lost(bytes, start, head, &why);
    }
    match follows(bytes.get(end..).unwrap_or_default(), reach) {
        Follows::Record => Step::Record { start, head, end },
        Follows::Unknown => Step::Need,
        Follows::Other => {
            let block = bytes.get(head..end).unwrap_or_default();
            match find(block) {
                Some(at) => Step::Lost {
                    start,
                    end: head + at,
                    why: format!("Content-Length says {len}, but another record begins before"),
                },
                // Too small: what is over is reported as what it is.
                None => Step::Record { start, head, end },
            }
        }
    }
}

enum Follows {
    /// Another record, or the end.
    Record,
    Other,
    Unknown,
}

fn follows(after: &[u8], reach: Reach) -> Follows {
    let blank = |&&byte: &&u8| matches!(byte, b'\r' | b'\n');
    let blanks = after.iter().take_while(blank).count();
    let rest = after.get(blanks..).unwrap_or_default();
    let known = rest.get(..MAGIC.len()).unwrap_or(rest);
    match (known.len() == MAGIC.len(), reach) {
        (true, _) if known == MAGIC => Follows::Record,
        (false, Reach::End) if known.is_empty() => Follows::Record,
        (false, Reach::More) if MAGIC.starts_with(known) => Follows::Unknown,
        _ => Follows::Other,
    }
}

/// Where the head of a record begins at the start of a line, if any does.
pub(crate) fn find(bytes: &[u8]) -> Option<usize> {
    memmem::find(bytes, b"\nWARC/1.").map(|at| at + 1)
}

fn garbage(bytes: &[u8], start: usize, reach: Reach) -> Step {
    let rest = bytes.get(start..).unwrap_or_default();
    match find(rest) {
        Some(at) => Step::Lost {
            start,
            end: start + at,
            why: format!("{at} bytes are no WARC record"),
        },
        None if reach == Reach::More => Step::Lost {
            start,
            end: bytes.len(),
            why: "here no WARC record begins".to_owned(),
        },
        None => Step::Lost {
            start,
            end: bytes.len(),
            why: format!("{} bytes are no WARC record", rest.len()),
        },
    }
}

/// Gives up a record; the next is looked for from `from` on.
fn lost(bytes: &[u8], start: usize, from: usize, why: &str) -> Step {
    let rest = bytes.get(from..).unwrap_or_default();
    let end = find(rest).map_or(bytes.len(), |at| from + at);
    Step::Lost {
        start,
        end,
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(len: &str, block: &str) -> String {
        format!("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: {len}\r\n\r\n{block}\r\n\r\n")
    }

    /// The blocks that are found, and how many losses are told.
    fn blocks(bytes: &str) -> (Vec<String>, usize) {
        let (mut at, mut blocks, mut losses) = (0, Vec::new(), 0);
        loop {
            match next(&bytes.as_bytes()[at..], Reach::End, 1000) {
                Step::Record { head, end, .. } => {
                    blocks.push(bytes[at + head..at + end].to_owned());
                    at += end;
                }
                Step::Lost { end, .. } => {
                    losses += 1;
                    at += end;
                }
                Step::Huge { head, .. } => {
                    losses += 1;
                    at += head;
                }
                Step::End => return (blocks, losses),
                Step::Need => panic!("the end is known"),
            }
        }
    }

    #[test]
    fn canaries_around_a_wrong_length_are_found() {
        let canary = record("6", "canary");
        for (len, found, losses) in [
            ("3", 3, 0),
            ("4", 3, 0),
            ("2", 3, 1),
            ("0", 3, 1),
            ("7", 3, 0),
            ("50", 2, 1),
            ("999", 2, 1),
            ("many", 2, 1),
            ("-1", 2, 1),
            ("18446744073709551616", 2, 1),
        ] {
            let all = [canary.clone(), record(len, "abc"), canary.clone()].concat();
            let (blocks, lost) = blocks(&all);
            assert_eq!((blocks.len(), lost), (found, losses), "{len}: {blocks:?}");
            assert_eq!(blocks.first().map(String::as_str), Some("canary"), "{len}");
            assert_eq!(blocks.last().map(String::as_str), Some("canary"), "{len}");
        }
    }

    #[test]
    fn a_head_inside_a_block_is_a_part_of_it() {
        let inner = record("3", "abc");
        let all = record(&inner.len().to_string(), &inner).repeat(2);
        assert_eq!(blocks(&all), (vec![inner.clone(), inner], 0));
    }

    #[test]
    fn every_cut_is_noticed_and_loses_nothing_before_it() {
        let all = [record("3", "abc"), record("3", "def")].concat();
        let first = record("3", "abc").len();
        for cut in 0..all.len() {
            let (blocks, losses) = blocks(&all[..cut]);
            let whole = usize::from(cut >= first - 4) + usize::from(cut >= all.len() - 4);
            assert_eq!(blocks.len(), whole, "cut at {cut}");
            let begun = cut > 0 && cut < first - 4 || cut > first && cut < all.len() - 4;
            assert_eq!(losses, usize::from(begun), "cut at {cut}");
        }
    }
}
