//! One generation of the collection, and the newest of them.
//!
//! A request takes the snapshot once and asks nothing else, so its answer belongs to one
//! whole generation. Files that a later generation may do without, clusters and pairs, a
//! snapshot holds open; those of a sweep stay.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use lookalike::archive::index::Index;
use lookalike::clusters::sizes::Sizes;
use lookalike::clusters::table::Clustering;
use lookalike::collection::state::StoredClustering;
use lookalike::collection::{Collection, CollectionError, Pairs};
use lookalike::core::seed::Key;
use lookalike::core::sketcher::Sketcher;
use lookalike::find::{FindError, Finder};
use lookalike::pairs::Measure;
use lookalike::storage::StorageError;
use lookalike::sweeps::{Changes, Followed, Trail};

use crate::hosts::Hosts;
use crate::refusal::Refusal;
use crate::words;

/// One generation, opened.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) finder: Finder,
    pub(crate) pairs: Pairs,
    /// Kept from query to query with their buffers.
    sketchers: Mutex<Vec<Sketcher>>,
    figures: OnceLock<Figures>,
    hosts: OnceLock<Hosts>,
    index: OnceLock<Index>,
    /// Held while the index is built: one is enough.
    building: Mutex<()>,
    trail: OnceLock<Arc<Trail>>,
    followed: OnceLock<Followed>,
    changes: OnceLock<Arc<Changes>>,
    /// Held while pages are followed: once is enough.
    following: Mutex<()>,
}

/// Bars of the histogram of resemblances.
pub(crate) const BARS: usize = 20;

/// What takes a pass over a table to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) sizes: Sizes,
    /// Counted pairs by their resemblance.
    pub(crate) resemblances: [u64; BARS],
}

impl Snapshot {
    fn open(folder: &Path, key: Option<&Key>) -> Result<Snapshot, FindError> {
        let finder = Finder::open(folder, key)?;
        Ok(Snapshot {
            pairs: finder.collection().pairs().map_err(CollectionError::from)?,
            finder,
            sketchers: Mutex::default(),
            figures: OnceLock::new(),
            hosts: OnceLock::new(),
            index: OnceLock::new(),
            building: Mutex::default(),
            trail: OnceLock::new(),
            followed: OnceLock::new(),
            changes: OnceLock::new(),
            following: Mutex::default(),
        })
    }

    pub(crate) fn collection(&self) -> &Collection {
        self.finder.collection()
    }

    /// The default clustering, if there is one.
    pub(crate) fn clustering(&self) -> Option<(&StoredClustering, &Clustering)> {
        let stored = self.collection().state().clusterings.first()?;
        Some((stored, self.finder.clustering()?))
    }

    /// Does something with a sketcher of the collection's recipe.
    pub(crate) fn sketching<T>(&self, work: impl FnOnce(&mut Sketcher) -> T) -> T {
        let pool = || {
            self.sketchers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let spare = pool().pop();
        let mut sketcher = spare.unwrap_or_else(|| self.finder.sketcher());
        let done = work(&mut sketcher);
        pool().push(sketcher);
        done
    }

    /// The figures of the overview: one pass over pairs and clusters for each generation.
    pub(crate) fn figures(&self) -> Result<&Figures, StorageError> {
        if let Some(known) = self.figures.get() {
            return Ok(known);
        }
        let mut figures = Figures::default();
        if let Some((stored, clustering)) = self.clustering() {
            figures.sizes = Sizes::of(clustering, &stored.summary)?;
        }
        let kind = self.collection().sketch_kind();
        self.pairs.each(|pair| {
            if let Some(value) = pair.value(Measure::Resemblance, kind) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a share times the bars"
                )]
                let bar = (value.clamp(0.0, 1.0) * BARS as f64) as usize;
                figures.resemblances[bar.min(BARS - 1)] += 1;
            }
            Ok(())
        })?;
        Ok(self.figures.get_or_init(|| figures))
    }

    /// Which clusters a host is in: one pass over all documents for each generation.
    pub(crate) fn hosts(&self) -> Result<&Hosts, StorageError> {
        if let Some(known) = self.hosts.get() {
            return Ok(known);
        }
        let hosts = match self.clustering() {
            Some((_, clustering)) => Hosts::of(self.collection(), clustering)?,
            None => Hosts::default(),
        };
        Ok(self.hosts.get_or_init(|| hosts))
    }

    /// Whether the captures are in order already.
    pub(crate) fn has_index(&self) -> bool {
        self.index.get().is_some()
    }

    /// Bytes that it takes to hold them so, if they are.
    pub(crate) fn index_bytes(&self) -> Option<usize> {
        self.index.get().map(Index::bytes)
    }

    /// All captures in the order of archives: one pass over them for each generation.
    pub(crate) fn index(&self) -> Result<&Index, StorageError> {
        if let Some(known) = self.index.get() {
            return Ok(known);
        }
        let _alone = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.index.get() {
            return Ok(known);
        }
        let index = Index::of(self.collection())?;
        Ok(self.index.get_or_init(|| index))
    }

    /// Whether it is known already what each sweep saw.
    pub(crate) fn has_trail(&self) -> bool {
        self.trail.get().is_some()
    }

    /// What each sweep saw: two passes over all captures for each generation.
    pub(crate) fn trail(&self) -> Result<Arc<Trail>, StorageError> {
        if let Some(known) = self.trail.get() {
            return Ok(Arc::clone(known));
        }
        let trail = Arc::new(Trail::of(self.collection())?);
        Ok(Arc::clone(self.trail.get_or_init(|| trail)))
    }

    /// How pages change, those of a host or all. All pages are followed once for each
    /// generation.
    pub(crate) fn changes(&self, host: Option<&str>) -> Result<Arc<Changes>, Refusal> {
        let turn = self.following.lock();
        let turn = turn.unwrap_or_else(PoisonError::into_inner);
        let followed = if let Some(known) = self.followed.get() {
            known
        } else {
            let followed = Followed::along(&self.finder, self.trail()?)?;
            self.followed.get_or_init(|| followed)
        };
        if let Some(name) = host {
            drop(turn);
            let number = followed.trail.hosts.number(name).ok_or_else(|| {
                let shown = words::excerpt(name, 200);
                Refusal::not_found(format!("no page is of the host `{shown}`"))
                    .hint("a host is what stands between // and the path of a URL")
            })?;
            let changes = Changes::of(&self.finder, followed, Some(number))?;
            return Ok(Arc::new(changes));
        }
        if let Some(known) = self.changes.get() {
            return Ok(Arc::clone(known));
        }
        let changes = Arc::new(Changes::of(&self.finder, followed, None)?);
        Ok(Arc::clone(self.changes.get_or_init(|| changes)))
    }
}

/// The newest generation of a collection.
pub(crate) struct Newest {
    folder: PathBuf,
    key: Option<Key>,
    snapshot: RwLock<Arc<Snapshot>>,
}

/// How often it is looked for a newer generation.
const LOOK: Duration = Duration::from_millis(500);

impl Newest {
    pub(crate) fn open(folder: &Path, key: Option<Key>) -> Result<Newest, FindError> {
        let snapshot = Snapshot::open(folder, key.as_ref())?;
        Ok(Newest {
            folder: folder.to_owned(),
            key,
            snapshot: RwLock::new(Arc::new(snapshot)),
        })
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let now = self.snapshot.read();
        now.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens a newer generation when there is one, for ever. What cannot be opened is said
    /// once, and the old one goes on.
    pub(crate) async fn follow(self: Arc<Newest>) {
        let mut said = String::new();
        loop {
            tokio::time::sleep(LOOK).await;
            let newest = Arc::clone(&self);
            let looked = tokio::task::spawn_blocking(move || newest.look()).await;
            let trouble = match looked {
                Ok(Ok(())) => String::new(),
                Ok(Err(trouble)) => trouble.to_string(),
                Err(_) => "looking for a newer generation broke off".to_owned(),
            };
            if trouble != said && !trouble.is_empty() {
                eprintln!("warning: a newer generation cannot be opened: {trouble}");
            }
            said = trouble;
        }
    }

    fn look(&self) -> Result<(), FindError> {
        let newest = self.snapshot().collection().is_newest();
        if newest.map_err(|error| FindError::Collection(error.into()))? {
            return Ok(());
        }
        let newer = Arc::new(Snapshot::open(&self.folder, self.key.as_ref())?);
        *self
            .snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner) = newer;
        Ok(())
    }
}
