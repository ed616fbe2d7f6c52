//! The HTTP service and the web page of a collection.
//!
//! ```text
//! connection ─► listen ─► guard ─► api: JSON ────┐
//!               time-outs  Host,    pages: HTML   ├─► desk ─► state
//!               number     token    found: 302    │   CPU     one generation
//!                                   archive: CDX ─┘
//! ```
//!
//! You probably want [`serve`]. The other modules are what the command line shares with
//! the service: the [`wire`] shapes of JSON, the words for a [`failure`], two documents
//! [`compared`] and drawn [`sides`] by side, [`changes`] through time and the [`history`] of a
//! page, lists of results [`collapse`]d, [`search`], [`words`] for numbers.
//!
//! What this crate is not: it changes no collection, fetches no URL, and never sends text
//! of a document as anything but text.

pub mod words;

pub mod wire;

pub mod failure;

pub mod compared;

pub mod sides;

mod plots;

pub mod changes;

pub mod history;

pub mod holders;

mod refusal;

mod hosts;

mod state;

mod desk;

mod metrics;

mod guard;

mod ask;

mod board;

mod api;

pub mod collapse;

pub mod search;

mod found;

mod archive;

mod pages;

mod linger;

mod listen;

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use lookalike::core::seed::Key;
use lookalike::find::FindError;
use lookalike::search::{SearchError, SearchIndex};
use tower_http::decompression::RequestDecompressionLayer;

use desk::{Desk, LONG_TURNS};
use guard::Guard;
use metrics::Metrics;
use search::Searching;
use state::Newest;

/// How a collection is served.
#[derive(Clone)]
pub struct Options {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What a client must show; needed for any address but loopback.
    pub token: Option<String>,
    /// Names under which the service is reached besides those of its address.
    pub hosts: Vec<String>,
    /// Threads that answer.
    pub threads: NonZeroUsize,
    /// The most bytes of a body, decoded.
    pub max_body: usize,
    /// The key of the collection's recipe.
    pub key: Option<Key>,
    /// Whether there is full-text search: the collection then needs an index.
    pub search: bool,
}

/// Why a collection is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The collection cannot be searched.
    #[error(transparent)]
    Collection(#[from] FindError),
    /// There is no index to search in.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// Others could reach it, and nothing keeps them out.
    #[error("{0} is not a loopback address, and there is no token")]
    NeedsToken(SocketAddr),
    /// Nobody can listen there.
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The machine gives no threads, or no signals.
    #[error("the service cannot run")]
    Machine(#[from] io::Error),
}

/// What every request can ask for.
pub(crate) struct Service {
    newest: Arc<Newest>,
    desk: Desk,
    metrics: Metrics,
    folder: PathBuf,
    /// What the collection is called in addresses.
    name: String,
    max_body: usize,
    searching: Searching,
}

pub(crate) type Shared = Arc<Service>;

/// Serves a collection until the process is told to stop; `ready` learns the address.
///
/// Requests under way are finished first, those of slow clients are dropped.
pub fn serve(
    folder: &Path,
    options: &Options,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    if !options.listen.ip().is_loopback() && options.token.is_none() {
        return Err(ServeError::NeedsToken(options.listen));
    }
    // A collection has some ten files open for each sweep.
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
    let newest = Arc::new(Newest::open(folder, options.key.clone())?);
    if options.search {
        SearchIndex::open(newest.snapshot().collection())?;
    }
    let threads = options.threads.get();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(threads + LONG_TURNS)
        .enable_all()
        .build()?;
    let done = runtime.block_on(async {
        let refused = |error| ServeError::Listen(options.listen, error);
        let socket = tokio::net::TcpListener::bind(options.listen).await;
        let socket = socket.map_err(refused)?;
        let address = socket.local_addr()?;
        let stop = listen::stop()?;
        tokio::spawn(Arc::clone(&newest).follow());
        let router = router(folder, newest, options);
        ready(address);
        listen::accept(socket, router, stop).await;
        Ok(())
    });
    // Work that nobody waits for any more is not waited for either.
    runtime.shutdown_background();
    done
}

fn router(folder: &Path, newest: Arc<Newest>, options: &Options) -> Router {
    let name = archive::name_of(folder);
    let service: Shared = Arc::new(Service {
        newest,
        desk: Desk::new(),
        metrics: Metrics::default(),
        folder: folder.to_owned(),
        name: name.clone(),
        max_body: options.max_body,
        searching: Searching::new(options.search),
    });
    let guard = Arc::new(Guard::new(options));
    Router::new()
        .merge(api::routes())
        .merge(collapse::routes())
        .merge(search::routes())
        .merge(found::routes())
        .merge(holders::routes())
        .merge(archive::routes(&name))
        .merge(pages::routes())
        .merge(metrics::routes())
        .fallback(pages::missing)
        .method_not_allowed_fallback(guard::wrong_method)
        .layer(axum::extract::DefaultBodyLimit::max(options.max_body))
        // Outside the limit, which so counts decoded bytes.
        .layer(RequestDecompressionLayer::new())
        .layer(from_fn_with_state(Arc::clone(&service), metrics::count))
        .layer(from_fn(guard::in_time))
        .layer(from_fn_with_state(guard, guard::check))
        .layer(from_fn(linger::linger))
        .with_state(service)
}
