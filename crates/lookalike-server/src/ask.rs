//! What a request asks for: its parameters and its body.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use lookalike::core::recipe::Recipe;
use lookalike::corpus::document::{Document, Format, Reading};
use lookalike::corpus::unusable::Unusable;
use lookalike::find::{FindOptions, Query as Sought, Reread};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Shared;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::words;

/// Parameters behind `?`.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Params<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Params<T>, Refusal> {
        params(&parts.uri).map(Params)
    }
}

/// The same from a form, which sends fields that were left empty too: they are not given.
pub(crate) struct Filled<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Filled<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Filled<T>, Refusal> {
        let all = parts.uri.query().unwrap_or_default().split('&');
        let is_empty = |field: &&str| {
            field
                .split_once('=')
                .is_some_and(|(_, value)| value.is_empty())
        };
        let filled: Vec<&str> = all.filter(|field| !is_empty(field)).collect();
        let uri = format!("/?{}", filled.join("&")).parse();
        params(&uri.map_err(|_| Refusal::bad("the form cannot be read"))?).map(Filled)
    }
}

fn params<T: DeserializeOwned>(uri: &Uri) -> Result<T, Refusal> {
    match Query::try_from_uri(uri) {
        Ok(Query(params)) => Ok(params),
        Err(wrong) => Err(Refusal::bad(wrong.body_text())),
    }
}

/// The most matches that can be asked for.
pub(crate) const MOST_MATCHES: usize = 1000;

/// What is wanted of `find`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct FindParams {
    pub(crate) url: Option<String>,
    top: Option<usize>,
    min_resemblance: Option<f64>,
    min_containment: Option<f64>,
    #[serde(default)]
    pub(crate) exact: bool,
    format: Option<String>,
}

impl FindParams {
    pub(crate) fn options(&self) -> Result<FindOptions, Refusal> {
        let thresholds = [self.min_resemblance, self.min_containment];
        if thresholds
            .into_iter()
            .flatten()
            .any(|t| !(0.0..=1.0).contains(&t))
        {
            return Err(Refusal::bad("a threshold is a share between 0 and 1"));
        }
        let top = self.top.unwrap_or(FindOptions::default().top);
        if !(1..=MOST_MATCHES).contains(&top) {
            let most = words::count(MOST_MATCHES as u64);
            return Err(Refusal::bad(format!("`top` is a number from 1 to {most}")));
        }
        Ok(FindOptions::new(
            top,
            self.min_resemblance,
            self.min_containment,
        ))
    }

    /// Samples decide at once, unless true values are asked for.
    pub(crate) fn reread(&self) -> Reread {
        if self.exact {
            Reread::Always
        } else {
            Reread::Never
        }
    }

    pub(crate) fn format(&self) -> Result<Format, Refusal> {
        format_named(self.format.as_deref())
    }
}

/// What a document is taken for.
pub(crate) fn format_named(name: Option<&str>) -> Result<Format, Refusal> {
    let wrong = |_| Refusal::bad("`format` is auto, html or text");
    name.unwrap_or("auto").parse().map_err(wrong)
}

/// A whole body, within the limit of decoded bytes.
pub(crate) async fn body(body: Body, most: usize) -> Result<Bytes, Refusal> {
    axum::body::to_bytes(body, most).await.map_err(|error| {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = cause {
            if error.is::<http_body_util::LengthLimitError>() {
                return Refusal::too_large(most);
            }
            cause = error.source();
        }
        Refusal::bad("the body broke off, or is not encoded as it says")
    })
}

/// Bytes as a document of a recipe's tokens.
pub(crate) fn document<'a>(
    bytes: &'a [u8],
    format: Format,
    recipe: &Recipe,
) -> Result<Document<'a>, Refusal> {
    let reading = Reading {
        name: None,
        format,
        tokens: recipe.tokens,
    };
    let document = Document::read(bytes, reading)?;
    document.check(recipe)?;
    Ok(document)
}

/// A document from outside, as it is looked for.
pub(crate) fn sought(
    snapshot: &Snapshot,
    bytes: &[u8],
    format: Format,
    reread: Reread,
) -> Result<Sought, Refusal> {
    let finder = &snapshot.finder;
    let document = document(bytes, format, finder.recipe())?;
    let query =
        snapshot.sketching(|sketcher| finder.query(&document, Some(bytes), sketcher, reread));
    if query.samples() == 0 {
        return Err(Unusable::NoTokens.into());
    }
    Ok(query)
}

/// The number of a document that goes by a name.
pub(crate) fn named(snapshot: &Snapshot, name: &str) -> Result<u32, Refusal> {
    let found = snapshot.collection().newest_named(name)?;
    found.ok_or_else(|| unknown(name))
}

/// That there is no document of a name.
pub(crate) fn unknown(name: &str) -> Refusal {
    let shown = words::excerpt(name, 200);
    Refusal::not_found(format!("there is no document `{shown}`"))
        .hint("give a URL or an id just as it stood in the input")
}

/// A document by its number.
pub(crate) fn numbered(snapshot: &Snapshot, doc: u32) -> Result<u32, Refusal> {
    if doc < snapshot.collection().documents() {
        return Ok(doc);
    }
    Err(Refusal::not_found(format!("there is no document {doc}")))
}
