//! The shared corpora as documents and true pairs. Everything is read into memory.

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;
use lookalike::core::canonical::{Case, TokenKind, Tokens};
use lookalike::corpus::{decode, html};
use lookalike_testkit::warc;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::truth_words;

/// One document of a corpus.
pub struct Document {
    /// Its id or URL.
    pub id: String,
    /// The page when it is HTML; else nothing.
    pub page: Option<String>,
    /// What is sketched: the text itself, or that of the page.
    pub text: String,
}

impl Document {
    fn of_text(id: String, text: String) -> Document {
        Document {
            id,
            page: None,
            text,
        }
    }

    fn of_page(id: String, page: String) -> Document {
        Document {
            id,
            text: html::text(&page),
            page: Some(page),
        }
    }

    /// Its words, as the default recipe takes them.
    pub fn tokens(&self) -> Tokens {
        Tokens::of_text(&self.text, TokenKind::Word, Case::Fold)
    }

    /// Its words as the truth files take them.
    pub fn truth_tokens(&self) -> Tokens {
        match &self.page {
            Some(page) => truth_words::of_html(page),
            None => truth_words::of_text(&self.text),
        }
    }
}

/// A line of a truth file: two documents by number, and what is printed of them.
pub struct TruePair {
    /// The first document.
    pub a: usize,
    /// The second.
    pub b: usize,
    /// Resemblance, containment of a in b and of b in a, as printed.
    pub printed: [String; 3],
}

/// A corpus with its truth file.
pub struct Corpus {
    /// The name of its folder.
    pub name: &'static str,
    /// The documents, in the order they are stored.
    pub documents: Vec<Document>,
    /// The pairs, if there is a file of them.
    pub pairs: Vec<TruePair>,
}

/// Every corpus that has documents, by the name of its folder.
pub const NAMES: [&str; 8] = [
    "sets-sourmash",
    "licences-spdx",
    "neardup-postgres-html",
    "neardup-us-bills",
    "licences-variants-licensecheck",
    "sweeps-kubernetes",
    "sweeps-git-html",
    "charset-apache-manual",
];

/// Reads one corpus from the folder of all corpora.
pub fn read(corpora: &Path, name: &'static str) -> Result<Corpus> {
    let folder = corpora.join(name);
    let documents = documents(&folder, name)
        .with_context(|| format!("cannot read corpus `{}`", folder.display()))?;
    let mut corpus = Corpus {
        name,
        documents,
        pairs: Vec::new(),
    };
    corpus.pairs = match name {
        "sets-sourmash" => pairs(&folder.join("pairs.tsv"), 5, &corpus.documents)?,
        "licences-spdx" | "neardup-postgres-html" | "neardup-us-bills" => {
            pairs(&folder.join("pairs_exact_w5.tsv.gz"), 2, &corpus.documents)?
        }
        _ => Vec::new(),
    };
    Ok(corpus)
}

fn documents(folder: &Path, name: &str) -> Result<Vec<Document>> {
    let texts = |file: &str, id: &str, text: &str| jsonl(&folder.join(file), id, text);
    Ok(match name {
        "sets-sourmash" => texts("docs.jsonl.gz", "id", "text")?,
        "licences-spdx" => {
            let mut all = texts("texts-2026.jsonl.gz", "id", "text")?;
            all.extend(texts("texts-2018.jsonl.gz", "id", "text")?);
            all.extend(texts("templates.jsonl.gz", "id", "template")?);
            all
        }
        "licences-variants-licensecheck" => texts("cases.jsonl.gz", "id", "text")?,
        "neardup-us-bills" => texts("docs.jsonl.gz", "id", "html")?
            .into_iter()
            .map(|raw| Document::of_page(raw.id, raw.text))
            .collect(),
        "sweeps-kubernetes" => {
            let mut all = Vec::new();
            for sweep in files(&folder.join("sweeps"), ".jsonl.gz")? {
                for document in jsonl(&folder.join("sweeps").join(&sweep), "url", "text")? {
                    let id = format!("{sweep} {}", document.id);
                    all.push(Document { id, ..document });
                }
            }
            all
        }
        _ => {
            let mut all = Vec::new();
            for file in files(folder, ".warc.gz")? {
                for (url, bytes) in warc::responses(&folder.join(&file))? {
                    all.push(Document::of_page(
                        format!("{file} {url}"),
                        read_page(&bytes),
                    ));
                }
            }
            all
        }
    })
}

/// A page's bytes as text, by what the page itself says: these archives' HTTP headers
/// name no charset.
fn read_page(bytes: &[u8]) -> String {
    let hints = decode::Hints {
        http_charset: None,
        html: true,
    };
    decode::decode(bytes, hints).text.into_owned()
}

/// The names of a folder's files with this ending, sorted.
fn files(folder: &Path, ending: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(ending) {
            names.push(name);
        }
    }
    names.sort();
    if names.is_empty() {
        bail!("no `*{ending}` in it");
    }
    Ok(names)
}

/// A file as text, unpacked if its name ends in `gz`.
pub fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    if path.extension().is_some_and(|end| end == "gz") {
        MultiGzDecoder::new(file).read_to_string(&mut text)?;
    } else {
        (&file).read_to_string(&mut text)?;
    }
    Ok(text)
}

fn jsonl(path: &Path, id: &str, text: &str) -> Result<Vec<Document>> {
    let take = |value: &mut Value, field: &str| match value.get_mut(field).map(Value::take) {
        Some(Value::String(text)) => Ok(text),
        _ => bail!("a line of `{}` has no `{field}`", path.display()),
    };
    let mut all = Vec::new();
    for line in read_text(path)?.lines() {
        let mut value: Value = serde_json::from_str(line)?;
        all.push(Document::of_text(
            take(&mut value, id)?,
            take(&mut value, text)?,
        ));
    }
    Ok(all)
}

/// The pairs of a truth file whose three values begin in column `first`.
fn pairs(path: &Path, first: usize, documents: &[Document]) -> Result<Vec<TruePair>> {
    // The documents of a WARC file are named by the file as well.
    let numbers: HashMap<&str, usize> = documents
        .iter()
        .enumerate()
        .map(|(i, document)| (document.id.rsplit(' ').next().unwrap_or_default(), i))
        .collect();
    let number = |id: &str| {
        let found = numbers.get(id).copied();
        found.with_context(|| format!("`{}` names unknown `{id}`", path.display()))
    };
    let text = read_text(path)?;
    let mut pairs = Vec::new();
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let values = columns.get(first..).and_then(<[_]>::first_chunk::<3>);
        let ([a, b, ..], Some(values)) = (&columns[..], values) else {
            bail!("`{}` has a line that is no pair", path.display());
        };
        pairs.push(TruePair {
            a: number(a)?,
            b: number(b)?,
            printed: values.map(str::to_owned),
        });
    }
    Ok(pairs)
}
