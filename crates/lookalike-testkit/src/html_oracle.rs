//! The text of a page by the book: html5gum's tokens, read one by one.
//!
//! This is the slow definition that the engine's HTML reader answers to. It shares
//! nothing with it: the tokenizer is html5gum's, which passes the standard's own
//! tests, and the element lists are written down here a second time.

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

/// What the engine's `html::text` must return for a page whose line ends are `\n`.
///
/// html5gum turns `\r` and `\r\n` into `\n` as the standard says; the engine leaves
/// them, so on other pages only the words agree.
pub fn text(html: &str) -> String {
    let mut reader = Reader::default();
    let Ok(()) = Tokenizer::new_with_emitter(html, Handle(&mut reader)).finish();
    String::from_utf8_lossy(&reader.text).into_owned()
}

/// How many open `svg`, `math` and the like the engine tells apart.
const MOST_FRAMES: usize = 16;

#[derive(Default)]
struct Reader {
    text: Vec<u8>,
    frames: Vec<(Vec<u8>, Mode)>,
    templates: usize,
    template_floor: usize,
    /// Inside an element whose text is not shown.
    hidden: bool,
    last_start_tag: Vec<u8>,
    tag: Vec<u8>,
    is_end: bool,
    self_closing: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Svg,
    Math,
    Point { touched: bool },
    Hidden,
}

impl Reader {
    fn mode(&self) -> Option<Mode> {
        self.frames.last().map(|frame| frame.1)
    }

    fn in_html(&self) -> bool {
        matches!(self.mode(), None | Some(Mode::Point { .. }))
    }

    fn shows(&self) -> bool {
        self.templates == 0 && !self.hidden && self.mode() != Some(Mode::Hidden)
    }

    fn characters(&mut self, bytes: &[u8]) {
        if !self.shows() {
            return;
        }
        for &byte in bytes {
            match byte {
                // Among raw text the tokenizer has already replaced it.
                0 if self.in_html() => {}
                0 => self.text.extend("\u{fffd}".as_bytes()),
                _ => self.text.push(byte),
            }
        }
    }

    fn line_break(&mut self) {
        if self.shows() && self.text.last().is_some_and(|&last| last != b'\n') {
            self.text.push(b'\n');
        }
    }

    fn leave_foreign(&mut self) {
        while !self.in_html() {
            self.frames.pop();
        }
    }

    fn open(&mut self, mode: Mode) {
        if self.frames.len() < MOST_FRAMES {
            self.frames.push((self.tag.clone(), mode));
        }
    }

    fn start_tag(&mut self) -> Option<State> {
        let name = self.tag.clone();
        if let Some((_, Mode::Point { touched })) = self.frames.last_mut() {
            *touched = true;
        } else if !self.in_html() {
            if !leaves_foreign(&name) {
                self.foreign_start_tag(&name);
                return None;
            }
            self.leave_foreign();
        }
        if breaks(&name) {
            self.line_break();
        }
        match name.as_slice() {
            b"template" => {
                if self.templates == 0 {
                    self.template_floor = self.frames.len();
                }
                self.templates += 1;
            }
            b"svg" if !self.self_closing => self.open(Mode::Svg),
            b"math" if !self.self_closing => self.open(Mode::Math),
            _ => {}
        }
        let state = match name.as_slice() {
            b"script" => State::ScriptData,
            b"style" | b"iframe" | b"noembed" | b"noframes" | b"xmp" => State::RawText,
            b"title" | b"textarea" => State::RcData,
            b"plaintext" => State::PlainText,
            _ => return None,
        };
        self.hidden = matches!(
            name.as_slice(),
            b"script" | b"style" | b"iframe" | b"noembed" | b"noframes"
        );
        Some(state)
    }

    fn foreign_start_tag(&mut self, name: &[u8]) {
        let Some(mode) = self.mode() else { return };
        if mode == Mode::Hidden {
            return;
        }
        if mode == Mode::Math || breaks_in_svg(name) {
            self.line_break();
        }
        if self.self_closing {
            return;
        }
        match (mode, name) {
            (Mode::Svg, b"title" | b"desc" | b"foreignobject")
            | (Mode::Math, b"mi" | b"mn" | b"mo" | b"ms" | b"mtext") => {
                self.open(Mode::Point { touched: false });
            }
            (Mode::Svg, b"svg") => self.open(Mode::Svg),
            (_, b"style" | b"script") => self.open(Mode::Hidden),
            _ => {}
        }
    }

    fn end_tag(&mut self) {
        self.hidden = false;
        let name = self.tag.clone();
        if name == b"template" {
            if self.templates > 0 {
                self.templates -= 1;
                self.frames.truncate(self.template_floor);
            }
            return;
        }
        let mut ends_word = match self.mode() {
            None | Some(Mode::Point { .. }) => breaks(&name),
            Some(Mode::Math) => true,
            Some(Mode::Svg | Mode::Hidden) => breaks_in_svg(&name),
        };
        if let Some(at) = self.frames.iter().rposition(|frame| frame.0 == name) {
            ends_word |= self
                .frames
                .get(at)
                .is_some_and(|frame| frame.1 != Mode::Hidden);
            self.frames.truncate(at);
        } else if leaves_foreign(&name) {
            self.leave_foreign();
        }
        if ends_word || leaves_foreign(&name) && breaks(&name) {
            self.line_break();
        }
    }
}

fn breaks(name: &[u8]) -> bool {
    let names = "address applet article aside audio blockquote body br button canvas \
        caption center col colgroup dd details dialog dir div dl dt embed fieldset \
        figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header \
        hgroup hr html iframe image img input isindex keygen legend li listing main \
        marquee math menu meter nav object ol optgroup option p plaintext pre progress \
        rp rt search section select summary svg table tbody td textarea tfoot th thead \
        title tr ul video xmp";
    names
        .split_whitespace()
        .any(|known| known.as_bytes() == name)
}

fn breaks_in_svg(name: &[u8]) -> bool {
    matches!(
        name,
        b"desc" | b"foreignobject" | b"svg" | b"text" | b"title"
    )
}

fn leaves_foreign(name: &[u8]) -> bool {
    let names = "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 \
        h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s small span strike \
        strong sub sup table tt u ul var";
    names
        .split_whitespace()
        .any(|known| known.as_bytes() == name)
}

/// Passes the tokenizer's calls on to a reader that outlives it.
struct Handle<'a>(&'a mut Reader);

impl Emitter for Handle<'_> {
    type Token = Infallible;

    fn emit_string(&mut self, bytes: &[u8]) {
        self.0.characters(bytes);
    }

    fn init_start_tag(&mut self) {
        self.0.tag.clear();
        (self.0.is_end, self.0.self_closing) = (false, false);
    }

    fn init_end_tag(&mut self) {
        self.0.tag.clear();
        (self.0.is_end, self.0.self_closing) = (true, false);
    }

    fn push_tag_name(&mut self, bytes: &[u8]) {
        self.0.tag.extend(bytes);
    }

    fn set_self_closing(&mut self) {
        self.0.self_closing = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        if self.0.is_end {
            self.0.end_tag();
            return None;
        }
        self.0.last_start_tag.clone_from(&self.0.tag);
        self.0.start_tag()
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.0.is_end && !self.0.tag.is_empty() && self.0.tag == self.0.last_start_tag
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        !matches!(self.0.mode(), None | Some(Mode::Point { touched: true }))
    }

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.0.last_start_tag = name.unwrap_or_default().to_vec();
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn emit_current_comment(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn init_attribute(&mut self) {}
    fn push_attribute_name(&mut self, _: &[u8]) {}
    fn push_attribute_value(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
