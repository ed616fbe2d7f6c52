//! Small collections, told as sweeps of pages, for the tests of this module.

use std::fs;
use std::path::PathBuf;

use lookalike_core::recipe::Recipe;
use lookalike_core::shingle::Width;

use crate::add::sketching::url_key;
use crate::add::{AddOptions, add};
use crate::collection::Collection;
use crate::corpus::date::when;
use crate::corpus::inputs::Inputs;
use crate::corpus::record::When;

/// A page as it was captured: address, date, text.
pub(crate) type Page = (String, String, String);

/// A page as it was captured; an empty date is none.
pub(crate) fn page(url: &str, date: &str, text: &str) -> Page {
    (url.to_owned(), date.to_owned(), text.to_owned())
}

/// A collection, and what was added to it.
#[derive(Debug)]
pub(crate) struct Story {
    folder: tempfile::TempDir,
    adds: usize,
    /// The text of each document.
    texts: Vec<String>,
}

impl Default for Story {
    fn default() -> Story {
        Story {
            folder: tempfile::tempdir().expect("a temporary folder"),
            adds: 0,
            texts: Vec::new(),
        }
    }
}

impl Story {
    /// Where the collection is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("c.lk")
    }

    pub(crate) fn collection(&self) -> Collection {
        Collection::open(&self.path()).expect("a collection")
    }

    /// Adds pages, with a date given or none.
    pub(crate) fn add(&mut self, date: Option<&str>, pages: &[Page]) {
        let line = |(url, date, text): &Page| {
            let mut line = serde_json::json!({ "url": url, "text": text });
            if !date.is_empty() {
                line["date"] = date.as_str().into();
            }
            format!("{line}\n")
        };
        let lines: String = pages.iter().map(line).collect();
        let file = self.folder.path().join(format!("{}.jsonl", self.adds));
        self.adds += 1;
        fs::write(&file, lines).expect("a file");
        let options = AddOptions {
            recipe: Recipe {
                width: Width::new(2).expect("not zero"),
                ..Recipe::default()
            },
            memory: 64 << 20,
            date: date.map(|date| match when(date) {
                When::At(date) => date,
                _ => panic!("{date} is no date"),
            }),
            ..AddOptions::default()
        };
        let inputs = Inputs::expand(&[&file], &options.reading);
        add(&self.path(), &inputs, &options, &mut |_| {}).expect("documents");
        self.read_texts(pages);
    }

    /// Documents are told apart by the first record of each.
    fn read_texts(&mut self, pages: &[Page]) {
        let collection = self.collection();
        for doc in u32::try_from(self.texts.len()).unwrap_or(u32::MAX)..collection.documents() {
            let entry = collection.entry(doc).expect("an entry");
            let mut offset = 0;
            let found = pages.iter().find(|(url, date, text)| {
                let mut line = serde_json::json!({ "url": url, "text": text });
                if !date.is_empty() {
                    line["date"] = date.as_str().into();
                }
                let at = offset;
                offset += line.to_string().len() as u64 + 1;
                at == entry.offset
            });
            self.texts
                .push(found.expect("a page at its place").2.clone());
        }
    }

    /// The text of a document.
    pub(crate) fn text_of(&self, doc: u32) -> String {
        self.texts[doc as usize].clone()
    }

    /// The first document with a text.
    pub(crate) fn doc_of(&self, text: &str) -> u32 {
        let place = self.texts.iter().position(|own| own == text);
        u32::try_from(place.expect("a text that was added")).unwrap_or(u32::MAX)
    }

    /// What a page goes by.
    #[expect(clippy::unused_self, reason = "it reads as what it is about")]
    pub(crate) fn key(&self, url: &str) -> u64 {
        url_key(url)
    }
}
