//! Manual pages as text: what a reader would see, without the typesetting.
//!
//! No formatter: macro names and escapes go, their arguments stay. Linear.

/// The text of a manual page in roff.
pub fn text(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for line in page.lines() {
        // Of a request its name goes, up to the first space.
        let request = line.strip_prefix(['.', '\'']);
        let rest = request.map_or(line, |request| {
            let words = request.trim_start().split_once(' ');
            words.map_or("", |(_, rest)| rest)
        });
        if line.starts_with(".\\\"") || line.starts_with("'\\\"") || line.starts_with(".so ") {
            continue;
        }
        unescape(rest, &mut out);
        out.push('\n');
    }
    out
}

fn unescape(line: &str, out: &mut String) {
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            // A comment to the end of the line.
            Some('"' | '#') | None => return,
            // A font, a size, a string: its name in one of three forms.
            Some('f' | 's' | '*') => drop(name(&mut characters)),
            Some('(') => {
                let both: String = characters.by_ref().take(2).collect();
                out.push_str(glyph(&both));
            }
            Some('[') => {
                let inside: String = characters.by_ref().take_while(|&c| c != ']').collect();
                out.push_str(glyph(&inside));
            }
            Some('-') => out.push('-'),
            Some('e' | '\\') => out.push('\\'),
            Some(' ' | '~' | '0') => out.push(' '),
            // The rest takes no room: \& \% \: \c \/ \, \| \^
            Some(_) => {}
        }
    }
}

fn name(characters: &mut std::str::Chars<'_>) -> String {
    match characters.next() {
        Some('(') => characters.by_ref().take(2).collect(),
        Some('[') => characters.by_ref().take_while(|&c| c != ']').collect(),
        Some('-' | '+') => characters.by_ref().take(1).collect(),
        Some(one) => one.to_string(),
        None => String::new(),
    }
}

fn glyph(name: &str) -> &'static str {
    match name {
        "aq" | "cq" | "oq" => "'",
        "dq" | "lq" | "rq" => "\"",
        "hy" | "mi" | "en" | "em" => "-",
        "rs" => "\\",
        "co" => "©",
        _ => " ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_fonts_go_and_words_stay() {
        let page = ".\\\" a comment\n.TH LS 1\n.B ls\n[\\fIOPTION\\fR]... it\\(aqs \\-l\n";
        assert_eq!(text(page), "LS 1\nls\n[OPTION]... it's -l\n");
    }
}
