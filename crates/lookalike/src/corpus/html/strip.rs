//! One pass over a page, tag by tag, that hands the text in it to a sink.
//!
//! The states are those of the standard's tokenizer, folded: a state that only
//! looks for its end is one search for a byte. Each search starts where the last one
//! ended, and what is looked at ahead of it is no longer than a name (an end tag, a
//! reference), which is why every page takes linear time.

use std::ops::Range;

use memchr::{memchr, memchr2, memchr3, memmem};

use super::elements::{Element, Foreign, Html, Name, element, ends_name};
use super::references::{self, Reference};

/// Where text goes: a string, or a string and the way back to the page.
pub(super) trait Sink {
    /// Text that stands in the page at `source`.
    fn copied(&mut self, text: &str, source: usize);
    /// Text that stands for a stretch of the page.
    fn made(&mut self, text: &str, source: Range<usize>);
    /// Whether a line break would be the first thing, or the second in a row.
    fn at_line_start(&self) -> bool;
}

/// Reads `html` to its end.
pub(super) fn strip(html: &str, sink: &mut impl Sink) {
    let page = Page {
        html,
        bytes: html.as_bytes(),
        at: 0,
        sink,
        frames: Frames::default(),
        templates: 0,
        template_floor: 0,
    };
    page.run();
}

struct Page<'h, S> {
    html: &'h str,
    bytes: &'h [u8],
    /// All before this has been read. Always on a character boundary.
    at: usize,
    sink: &'h mut S,
    /// The open `svg` and `math` elements.
    frames: Frames,
    /// How many `template` elements are open.
    templates: usize,
    /// How many frames were open when the outermost of them began.
    template_floor: usize,
}

/// What NUL, which is no text, becomes.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Null {
    Dropped,
    Replaced,
}

impl<S: Sink> Page<'_, S> {
    fn run(mut self) {
        loop {
            // Between two tags there is often nothing.
            match self.bytes.get(self.at) {
                Some(b'<') => self.less_than(),
                Some(_) => {
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let found = memchr3(b'<', b'&', 0, rest);
                    let len = found.unwrap_or(rest.len());
                    self.copy_to(self.at + len);
                    match self.bytes.get(self.at) {
                        Some(b'<') => self.less_than(),
                        Some(b'&') => self.ampersand(),
                        Some(_) => self.null(self.null_in_data()),
                        None => return,
                    }
                }
                None => return,
            }
        }
    }

    /// Text up to `end`, as it stands.
    #[inline]
    fn copy_to(&mut self, end: usize) {
        if end > self.at && !self.hidden() {
            let text = self.html.get(self.at..end).unwrap_or_default();
            self.sink.copied(text, self.at);
        }
        self.at = end;
    }

    /// Text up to `end` in which only NUL is special.
    fn copy_raw_to(&mut self, end: usize, null: Null) {
        while let Some(rest) = self.bytes.get(self.at..end)
            && let Some(len) = memchr(0, rest)
        {
            self.copy_to(self.at + len);
            self.null(null);
        }
        self.copy_to(end);
    }

    fn ampersand(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match references::read(rest) {
            None => self.copy_to(self.at + 1),
            Some((reference, len)) => {
                let source = self.at..self.at + len;
                self.at = source.end;
                if self.hidden() {
                    return;
                }
                match reference {
                    Reference::Named(text) => self.sink.made(text, source),
                    Reference::Char(c) => self.sink.made(c.encode_utf8(&mut [0; 4]), source),
                }
            }
        }
    }

    fn null(&mut self, null: Null) {
        if null == Null::Replaced && !self.hidden() {
            self.sink.made("\u{fffd}", self.at..self.at + 1);
        }
        self.at += 1;
    }

    /// HTML drops a NUL among text, `svg` and `math` show it.
    fn null_in_data(&self) -> Null {
        match self.frames.top() {
            None | Some(Mode::Point { .. }) => Null::Dropped,
            Some(_) => Null::Replaced,
        }
    }

    /// A line break in place of the tag that began at `from`.
    #[inline]
    fn line_break(&mut self, from: usize) {
        if !self.hidden() && !self.sink.at_line_start() {
            self.sink.made("\n", from..self.at);
        }
    }

    #[inline]
    fn hidden(&self) -> bool {
        self.templates > 0 || self.frames.top() == Some(Mode::Hidden)
    }

    /// At a `<` among text.
    #[inline]
    fn less_than(&mut self) {
        match self.bytes.get(self.at + 1) {
            Some(b'/') => self.end_tag(),
            Some(byte) if byte.is_ascii_alphabetic() => self.start_tag(),
            Some(b'!') => self.declaration(),
            Some(b'?') => self.skip_past(b'>'),
            _ => self.copy_to(self.at + 1),
        }
    }

    fn skip_past(&mut self, byte: u8) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = memchr(byte, rest).map_or(self.bytes.len(), |len| self.at + len + 1);
    }

    /// At `<!`.
    fn declaration(&mut self) {
        let body = self.bytes.get(self.at + 2..).unwrap_or_default();
        if body.starts_with(b"--") {
            self.at = comment_end(self.bytes, self.at + 4);
        } else if body.starts_with(b"[CDATA[") && self.frames.allow_cdata() {
            self.at += b"<![CDATA[".len();
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let len = memmem::find(rest, b"]]>");
            self.copy_raw_to(self.at + len.unwrap_or(rest.len()), self.null_in_data());
            self.at += len.map_or(0, |_| b"]]>".len());
        } else {
            // A doctype, whatever it quotes, ends at the first `>` too.
            self.skip_past(b'>');
        }
    }

    /// At `</`.
    fn end_tag(&mut self) {
        match self.bytes.get(self.at + 2) {
            Some(byte) if byte.is_ascii_alphabetic() => {}
            Some(_) => return self.skip_past(b'>'),
            None => return self.copy_to(self.at + 2),
        }
        let from = self.at;
        let (name, name_end) = Name::read(self.bytes, from + 2);
        let Some(tag) = tag_end(self.bytes, name_end) else {
            self.at = self.bytes.len();
            return;
        };
        self.at = tag.end;
        let element = element(name);
        if self.frames.is_empty() {
            match element.html {
                Html::Inline | Html::Hidden | Html::Script => {}
                Html::Template => self.close_template(),
                _ => self.line_break(from),
            }
        } else {
            self.end_tag_inside_foreign(name, element, from);
        }
    }

    fn close_template(&mut self) {
        if self.templates > 0 {
            self.templates -= 1;
            self.frames.truncate(self.template_floor);
        }
    }

    /// An end tag closes what it names, or else leaves `svg` and `math` as its start
    /// tag would: the element it closes is likely around them.
    #[cold]
    fn end_tag_inside_foreign(&mut self, name: Name, element: Element, from: usize) {
        if element.html == Html::Template {
            return self.close_template();
        }
        let breaks = match self.frames.top() {
            Some(Mode::Svg | Mode::Hidden) => element.breaks_in_svg(),
            Some(Mode::Math) => true,
            _ => element.breaks_in_html(),
        };
        let closed = self.frames.close(name);
        if closed.is_none() && element.leaves_foreign {
            self.frames.leave_foreign();
        }
        let breaks = breaks || element.leaves_foreign && element.breaks_in_html();
        if breaks || closed.is_some_and(|mode| mode != Mode::Hidden) {
            self.line_break(from);
        }
    }

    /// At `<` and a letter.
    #[inline]
    fn start_tag(&mut self) {
        let from = self.at;
        let (name, name_end) = Name::read(self.bytes, from + 1);
        let Some(tag) = tag_end(self.bytes, name_end) else {
            self.at = self.bytes.len();
            return;
        };
        self.at = tag.end;
        let element = element(name);
        if !self.frames.is_empty() && self.start_tag_inside_foreign(name, element, &tag, from) {
            return;
        }
        match element.html {
            Html::Inline => {}
            Html::Block => self.line_break(from),
            _ => self.special_start_tag(name, element, &tag, from),
        }
    }

    fn special_start_tag(&mut self, name: Name, element: Element, tag: &TagEnd, from: usize) {
        if element.breaks_in_html() {
            self.line_break(from);
        }
        match element.html {
            Html::Rcdata => self.rcdata(name),
            Html::RawText => {
                let end = raw_end(self.bytes, self.at, name);
                self.copy_raw_to(end, Null::Replaced);
            }
            Html::Hidden | Html::HiddenBlock => self.at = raw_end(self.bytes, self.at, name),
            Html::Script => self.at = script_end(self.bytes, self.at),
            Html::Template => {
                if self.templates == 0 {
                    self.template_floor = self.frames.len;
                }
                self.templates += 1;
            }
            Html::PlainText => self.copy_raw_to(self.bytes.len(), Null::Replaced),
            Html::Svg if !tag.self_closing => self.frames.open(name, Mode::Svg),
            Html::Math if !tag.self_closing => self.frames.open(name, Mode::Math),
            Html::Svg | Html::Math | Html::Inline | Html::Block => {}
        }
    }

    /// Whether the tag was one of `svg` or `math`; if not it is for HTML to read.
    #[cold]
    fn start_tag_inside_foreign(
        &mut self,
        name: Name,
        element: Element,
        tag: &TagEnd,
        from: usize,
    ) -> bool {
        let mode = match self.frames.top() {
            None => return false,
            Some(Mode::Point { .. }) => {
                self.frames.touch();
                return false;
            }
            Some(mode) => mode,
        };
        if element.leaves_foreign {
            self.frames.leave_foreign();
            return false;
        }
        if mode == Mode::Hidden {
            return true;
        }
        if mode == Mode::Math || element.breaks_in_svg() {
            self.line_break(from);
        }
        if tag.self_closing {
            return true;
        }
        match (element.foreign, mode) {
            (Foreign::SvgPoint, Mode::Svg) | (Foreign::MathPoint, Mode::Math) => {
                self.frames.open(name, Mode::Point { touched: false });
            }
            (Foreign::Svg, Mode::Svg) => self.frames.open(name, Mode::Svg),
            (Foreign::Hidden, _) => self.frames.open(name, Mode::Hidden),
            _ => {}
        }
        true
    }

    /// Text with references, up to the end tag of this name.
    fn rcdata(&mut self, name: Name) {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let found = memchr3(b'<', b'&', 0, rest);
            self.copy_to(self.at + found.unwrap_or(rest.len()));
            match self.bytes.get(self.at) {
                Some(b'<') if is_end_tag(self.bytes, self.at, name) => return,
                Some(b'<') => self.copy_to(self.at + 1),
                Some(b'&') => self.ampersand(),
                Some(_) => self.null(Null::Replaced),
                None => return,
            }
        }
    }
}

impl Element {
    fn breaks_in_html(self) -> bool {
        !matches!(
            self.html,
            Html::Inline | Html::Hidden | Html::Script | Html::Template
        )
    }

    fn breaks_in_svg(self) -> bool {
        matches!(
            self.foreign,
            Foreign::Block | Foreign::SvgPoint | Foreign::Svg
        )
    }
}

/// Where a tag ends.
struct TagEnd {
    /// Just after its `>`.
    end: usize,
    /// Whether it ends in `/>`, which counts only inside `svg` and `math`.
    self_closing: bool,
}

/// Reads attributes from the end of a tag's name to its `>`. `None` when the page
/// ends first: then there is no tag.
#[inline]
fn tag_end(bytes: &[u8], mut at: usize) -> Option<TagEnd> {
    loop {
        at = skip(bytes, at, is_space);
        let self_closing = *bytes.get(at)? == b'/';
        at += usize::from(self_closing);
        match *bytes.get(at)? {
            b'>' => {
                let end = at + 1;
                return Some(TagEnd { end, self_closing });
            }
            byte if ends_name(byte) => {}
            // Whatever comes first belongs to the name, even a `=`.
            _ => at = attribute_end(bytes, at + 1)?,
        }
    }
}

/// Where the attribute ends whose name goes on at `at`.
///
/// A quote opens a value only where a value may begin, so `<a "b>` ends at its `>`
/// and `<a b="c>` does not.
#[inline]
fn attribute_end(bytes: &[u8], at: usize) -> Option<usize> {
    let name_end = skip(bytes, at, |byte| byte != b'=' && !ends_name(byte));
    let at = skip(bytes, name_end, is_space);
    if *bytes.get(at)? != b'=' {
        return Some(at);
    }
    let at = skip(bytes, at + 1, is_space);
    match *bytes.get(at)? {
        quote @ (b'"' | b'\'') => {
            let value = bytes.get(at + 1..)?;
            Some(at + 1 + memchr(quote, value)? + 1)
        }
        _ => Some(skip(bytes, at, |byte| byte != b'>' && !is_space(byte))),
    }
}

/// The first place from `at` on whose byte is not of this kind, or the end.
#[inline]
fn skip(bytes: &[u8], at: usize, is_of: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let len = rest.iter().position(|&byte| !is_of(byte));
    at + len.unwrap_or(rest.len())
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// Where the comment whose text begins at `start` has ended: after `-->` or `--!>`,
/// or after a `>` or `->` that comes at once.
fn comment_end(bytes: &[u8], start: usize) -> usize {
    let body = bytes.get(start..).unwrap_or_default();
    let mut at = 0;
    while let Some(rest) = body.get(at..)
        && let Some(len) = memchr(b'>', rest)
    {
        let text = body.get(..at + len).unwrap_or_default();
        if text.ends_with(b"--") || text.ends_with(b"--!") || matches!(text, b"" | b"-") {
            return start + text.len() + 1;
        }
        at += len + 1;
    }
    bytes.len()
}

/// Whether the `<` at `at` begins the end tag of this name.
fn is_end_tag(bytes: &[u8], at: usize, name: Name) -> bool {
    bytes.get(at + 1) == Some(&b'/') && name.is_at(bytes, at + 2)
}

/// Where the end tag of this name begins, or the page ends.
fn raw_end(bytes: &[u8], mut at: usize, name: Name) -> usize {
    while let Some(rest) = bytes.get(at..)
        && let Some(len) = memchr(b'<', rest)
    {
        at += len;
        if is_end_tag(bytes, at, name) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// Where the end tag of a script begins, or the page ends.
///
/// A script may be wrapped in `<!--` and `-->`; inside, a `<script` up to its
/// `</script` does not count. Old pages rely on both.
fn script_end(bytes: &[u8], mut at: usize) -> usize {
    #[derive(PartialEq)]
    enum Escape {
        Not,
        Once,
        Twice,
    }
    let mut escape = Escape::Not;
    while let Some(rest) = bytes.get(at..) {
        let found = match escape {
            Escape::Not => memchr(b'<', rest),
            Escape::Once | Escape::Twice => memchr2(b'<', b'>', rest),
        };
        let Some(len) = found else { break };
        at += len;
        if bytes.get(at) == Some(&b'>') {
            // The dashes of `<!--` count as those of `-->`.
            if bytes.get(..at).is_some_and(|text| text.ends_with(b"--")) {
                escape = Escape::Not;
            }
            at += 1;
            continue;
        }
        let after = bytes.get(at + 1..).unwrap_or_default();
        match escape {
            Escape::Not | Escape::Once if is_end_tag(bytes, at, Name::SCRIPT) => return at,
            Escape::Not if after.starts_with(b"!--") => {
                escape = Escape::Once;
                at += b"<!--".len();
                continue;
            }
            Escape::Once if Name::SCRIPT.is_at(bytes, at + 1) => escape = Escape::Twice,
            Escape::Twice if is_end_tag(bytes, at, Name::SCRIPT) => escape = Escape::Once,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Whose rules hold for what comes next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Svg,
    Math,
    /// HTML inside `svg` or `math`. It is `touched` once a tag has been seen in it:
    /// before that, CDATA still counts.
    Point {
        touched: bool,
    },
    /// A style or script of SVG: not text.
    Hidden,
}

/// The open elements of `svg` and `math` at which the rules change, outermost first.
///
/// What nests deeper than there is room is read by the rules of the deepest.
#[derive(Default)]
struct Frames {
    open: [Option<(Name, Mode)>; 16],
    len: usize,
}

impl Frames {
    #[inline]
    fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn top(&self) -> Option<Mode> {
        let frame = self.open.get(self.len.checked_sub(1)?)?;
        frame.map(|(_, mode)| mode)
    }

    fn open(&mut self, name: Name, mode: Mode) {
        if let Some(frame) = self.open.get_mut(self.len) {
            *frame = Some((name, mode));
            self.len += 1;
        }
    }

    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Closes the innermost frame of this name and all in it, if there is one.
    fn close(&mut self, name: Name) -> Option<Mode> {
        let open = self.open.get(..self.len)?;
        let is_it = |frame: &Option<(Name, Mode)>| frame.is_some_and(|(open, _)| open == name);
        let found = open.iter().rposition(is_it)?;
        self.truncate(found);
        self.open.get(found)?.map(|(_, mode)| mode)
    }

    /// Closes frames until the rules are those of HTML.
    fn leave_foreign(&mut self) {
        while !matches!(self.top(), None | Some(Mode::Point { .. })) {
            self.len -= 1;
        }
    }

    /// Notes a tag in the point on top.
    fn touch(&mut self) {
        let top = self.len.checked_sub(1).and_then(|i| self.open.get_mut(i));
        if let Some(Some((_, Mode::Point { touched }))) = top {
            *touched = true;
        }
    }

    fn allow_cdata(&self) -> bool {
        !matches!(self.top(), None | Some(Mode::Point { touched: true }))
    }
}
