//! Two documents side by side, as one HTML file that needs nothing else.
//!
//! The page's policy lets nothing run or load but its own style and script, which are
//! named by their SHA-256.

use lookalike_server::compared::Compared;
use lookalike_server::sides::{self, SCRIPT, STYLE, escaped};

/// The SHA-256 of the two in base 64; a test computes them again.
const STYLE_SHA256: &str = "Ht+lW9gmNUSCJdBJ8JMQoqpK3k6c16CnzGGG75LX/Qo=";
const SCRIPT_SHA256: &str = "ZcmHVf0oF/ztGriJmtt1fWXPm7g0+KB1HkG3aM/lSrs=";

/// Draws the page.
pub(crate) fn draw(report: &Compared<'_>) -> String {
    let (a, b) = (escaped(&report.a.name), escaped(&report.b.name));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{STYLE_SHA256}'; script-src 'sha256-{SCRIPT_SHA256}'; base-uri 'none'; form-action 'none'"
    );
    let (summary, both) = (sides::summary(report), sides::both(report));
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{a} and {b} compared</title>
<style>{STYLE}</style>
</head>
<body class="pair">
<header>
<h1><bdi>{a}</bdi> <span class="and">and</span> <bdi>{b}</bdi></h1>
{summary}</header>
<main>
{both}</main>
<script>{SCRIPT}</script>
</body>
</html>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_style_and_the_script() {
        assert_eq!(base64(&sha256(STYLE.as_bytes())), STYLE_SHA256);
        assert_eq!(base64(&sha256(SCRIPT.as_bytes())), SCRIPT_SHA256);
        assert_eq!(
            base64(&sha256(b"abc")),
            "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
        );
    }

    fn base64(bytes: &[u8]) -> String {
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for chunk in bytes.chunks(3) {
            let word = (0..3).fold(0_u32, |word, i| {
                word << 8 | u32::from(chunk.get(i).copied().unwrap_or(0))
            });
            for i in 0..4 {
                if i <= chunk.len() {
                    let digit = word >> (18 - 6 * i) & 63;
                    out.push(char::from(digits[digit as usize]));
                } else {
                    out.push('=');
                }
            }
        }
        out
    }

    /// SHA-256 by the standard, FIPS 180-4.
    fn sha256(message: &[u8]) -> Vec<u8> {
        // The first 32 bits of the fractions of roots of the first primes.
        let primes: Vec<u32> = (2..312)
            .filter(|n| (2..*n).all(|d| n % d != 0))
            .take(64)
            .collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "32 bits of a fraction"
        )]
        let fraction = |root: f64| (root.fract() * 2_f64.powi(32)) as u32;
        let constants: Vec<u32> = primes
            .iter()
            .map(|&p| fraction(f64::from(p).cbrt()))
            .collect();
        let mut state: Vec<u32> = primes[..8]
            .iter()
            .map(|&p| fraction(f64::from(p).sqrt()))
            .collect();
        let mut padded = message.to_vec();
        padded.push(0x80);
        padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
        padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
        for block in padded.chunks(64) {
            let mut w: Vec<u32> = block
                .as_chunks()
                .0
                .iter()
                .map(|word| u32::from_be_bytes(*word))
                .collect();
            for i in 16..64 {
                let (x, y) = (w[i - 15], w[i - 2]);
                let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
                let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
                w.push(
                    w[i - 16]
                        .wrapping_add(s0)
                        .wrapping_add(w[i - 7])
                        .wrapping_add(s1),
                );
            }
            let mut v = state.clone();
            for (word, constant) in w.iter().zip(&constants) {
                let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
                let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
                let t1 = [s1, choice, *constant, *word]
                    .iter()
                    .fold(v[7], |sum, &x| sum.wrapping_add(x));
                let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
                let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
                v.rotate_right(1);
                v[4] = v[4].wrapping_add(t1);
                v[0] = t1.wrapping_add(s0).wrapping_add(majority);
            }
            for (sum, value) in state.iter_mut().zip(v) {
                *sum = sum.wrapping_add(value);
            }
        }
        state.iter().flat_map(|word| word.to_be_bytes()).collect()
    }
}
