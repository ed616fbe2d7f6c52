//! How the collection changes from sweep to sweep.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;

use super::{Menu, Page, show};
use crate::Shared;
use crate::ask::Filled;
use crate::changes::{Place, body};
use crate::refusal::Refusal;

/// Whose changes.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct ChangesParams {
    pub(crate) host: Option<String>,
}

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    menu: Menu,
    name: String,
    host: String,
    body: String,
}

pub(super) async fn page(
    State(service): State<Shared>,
    Filled(params): Filled<ChangesParams>,
) -> Page {
    let snapshot = service.newest.snapshot();
    let folder = service.folder.clone();
    let work = move || {
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let changes = snapshot.changes(params.host.as_deref())?;
        let body = body(&changes, &name, Place::Service);
        Ok(ChangesPage {
            menu: Menu::Changes,
            host: params.host.unwrap_or_default(),
            body: body.map_err(|_| Refusal::broken("the page cannot be drawn"))?,
            name,
        })
    };
    Ok(show(&service.desk.long(work).await?))
}
