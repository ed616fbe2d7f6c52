//! A collection in the making, on one machine, from what others computed.
//!
//! ```text
//! pieces ─► numbers: documents, names, postings are written
//! pairs ──► written
//! clusters ─► which pairs must be told true ─► told ─► clusters ─► committed
//! ```
//!
//! Whatever ends it before the commit leaves no collection behind. Memory as for
//! [`crate::add`]: its functions do the work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Garbled;
use super::join::{GroupSizes, NO_DOCUMENT};
use super::sketch::{Notes, entries};
use super::verify::Wanted;
use crate::add::again::digests;
use crate::add::captures::Captures;
use crate::add::intake::{Collector, Intake, Taken};
use crate::add::names::{self, Target, What};
use crate::add::segment::{self, Files, LOOKUPS, Numbers};
use crate::add::sketching::Position;
use crate::add::{
    AddError, AddOptions, Kept, Report, check_numbers, check_policy, cluster_all, counts_of,
    held_room, sort, take_over,
};
use crate::blocks::{BlockWriter, FileKind};
use crate::clusters::truth::Told;
use crate::clusters::{ClusterOptions, Means};
use crate::collection::entry::Flag;
use crate::collection::lock::Lock;
use crate::collection::manifest::{self, Manifest, collect_garbage, commit, pack};
use crate::collection::state::{Counts, State, StoredReading, StoredRecipe, Sweep};
use crate::collection::{Collection, CollectionError};
use crate::corpus::inputs::Inputs;
use crate::pairs::Pair;
use crate::pairs::groups::Groups;
use crate::pairs::postings::{Partitions, PostingsWriter};
use crate::storage::disk::Disk;
use crate::storage::held::Held;
use crate::storage::{Storage, StorageError};

/// A collection in the making.
pub struct Draft {
    folder: PathBuf,
    held: Held,
    storage: Arc<dyn Storage>,
    _lock: Lock,
    inputs: Inputs,
    options: AddOptions,
    manifest: Manifest<State>,
    intake: Intake,
    counts: Counts,
    rejects: Vec<u8>,
    /// Entries of each piece.
    pieces: Vec<usize>,
    pairs: Option<BlockWriter>,
    last: Option<(u32, u32)>,
    told: Told,
    added: u64,
}

impl From<Garbled> for AddError {
    fn from(garbled: Garbled) -> AddError {
        let io = std::io::Error::new(std::io::ErrorKind::InvalidData, garbled);
        StorageError::io("phase", io).into()
    }
}

impl Draft {
    /// Begins a collection in a folder that has none.
    pub fn begin(folder: &Path, inputs: Inputs, options: AddOptions) -> Result<Draft, AddError> {
        check_policy(&options.recipe, &options.policy)?;
        let io = |error| StorageError::io(".", error);
        std::fs::create_dir_all(folder).map_err(io)?;
        let lock = Lock::acquire(folder)?;
        let held = Held::new(Arc::new(Disk::new(folder)), held_room(options.memory));
        let storage: Arc<dyn Storage> = Arc::new(held.clone());
        collect_garbage(&*storage)?;
        match manifest::latest::<State>(&*storage) {
            Ok(_) => return Err(AddError::NotNew),
            Err(CollectionError::NotACollection) => {}
            Err(error) => return Err(error.into()),
        }
        let recipe = &options.recipe;
        let manifest = Manifest::first(
            recipe,
            State {
                recipe: StoredRecipe::new(recipe),
                sweeps: Vec::new(),
                clusterings: Vec::new(),
                recounted: None,
                exact: None,
                floor: options.floor.reaching(&options.policy),
            },
        );
        Ok(Draft {
            folder: folder.to_owned(),
            held,
            storage,
            _lock: lock,
            inputs,
            options,
            manifest,
            intake: Intake::default(),
            counts: Counts::default(),
            rejects: Vec::new(),
            pieces: Vec::new(),
            pairs: None,
            last: None,
            told: Told::default(),
            added: 0,
        })
    }

    /// Takes all pieces, in the order of the sources and within each of its pieces, and
    /// numbers the documents: for each piece one number an entry, [`super::join::NO_DOCUMENT`]
    /// for one whose samples are not wanted.
    ///
    /// `next` gives heads, bodies and notes, or nothing at the end.
    pub fn number(
        &mut self,
        mut next: impl FnMut() -> Result<Option<(Vec<u8>, Vec<u8>, Notes)>, AddError>,
        mut each: impl FnMut(&[u32]),
    ) -> Result<(), AddError> {
        let storage = Arc::clone(&self.storage);
        let mut collector = Collector::new(
            &*storage,
            self.manifest.collection(),
            self.manifest.generation(),
            &self.inputs.sources,
            Intake::default(),
        );
        while let Some((heads, bodies, notes)) = next()? {
            let entries = entries(&heads)?;
            self.pieces.push(entries.len());
            collector.append(&Taken {
                position: Position::default(),
                entries: &entries,
                bodies: &bodies,
                texts: &[],
                tally: &notes.tally,
                rejects: notes.rejects.as_bytes(),
            })?;
        }
        self.intake = collector.finish()?;
        self.counts = counts_of(&self.intake, &self.inputs);
        let rejects = &mut self.rejects;
        self.intake
            .rejects(&*storage, |lines| rejects.extend_from_slice(lines))?;
        if self.intake.entries == 0 {
            collect_garbage(&*storage)?;
            return Err(AddError::Nothing(Box::new(self.counts.clone())));
        }
        check_numbers(0, self.intake.entries)?;
        self.write(&mut each)
    }

    /// Sets copies aside and writes what is known of the documents.
    fn write(&mut self, each: &mut impl FnMut(&[u32])) -> Result<(), AddError> {
        let storage = &*self.storage;
        let (options, intake, manifest) = (&self.options, &self.intake, &self.manifest);
        let verdicts = names::judge_names(storage, intake, &[], false, options.memory / 4)?;
        let numbers = Numbers::new(0, &verdicts);
        let mut from = 0;
        for &len in &self.pieces {
            let to = from + u32::try_from(len).unwrap_or(u32::MAX);
            let number = |entry| match verdicts.get(entry) {
                What::Distinct => numbers.doc(Target::New(entry)),
                _ => NO_DOCUMENT,
            };
            each(&(from..to).map(number).collect::<Vec<u32>>());
            from = to;
        }
        let files = Files {
            storage,
            manifest,
            redrawn: None,
        };
        let bodies = intake.chunks.iter().map(|chunk| chunk.bodies.file_len);
        let expected = bodies.sum::<u64>() / 8;
        let mut partitions = Partitions::new(storage, options.memory / 2, expected);
        let written = segment::write_documents(
            &files,
            intake,
            &verdicts,
            &[],
            options.recipe.sketch,
            &mut partitions,
            Captures::new(storage, options.memory / 8),
        )?;
        drop(verdicts);
        let documents = &written.files[0];
        let mut new_files =
            segment::write_lookups(&files, &LOOKUPS, documents, 0, options.memory / 4)?;
        take_over(&mut self.counts, &written.counts);
        self.counts.versions = segment::versions(&files, &new_files[1], &[])?;
        let sources = &self.inputs.sources;
        new_files.push(segment::write_sources(
            &files,
            sources,
            digests(sources, intake.entries),
            &self.folder,
        )?);
        new_files.extend(written.files);
        let sortable = partitions.finish()?;
        // Groups are found elsewhere.
        let mut groups = Groups::new(storage, 0, options.memory / 6);
        let postings = PostingsWriter::new(files.create("postings", FileKind::Fingerprints)?);
        let (postings, fences) = sort(storage, &sortable, postings, &mut groups, &mut [], options)?;
        sortable.remove()?;
        groups.remove()?;
        let mut fence_file = files.create("fences", FileKind::Lookup)?;
        fence_file.append(&fences)?;
        new_files.push(postings);
        new_files.push(fence_file.finish()?);
        self.pairs = Some(files.create("pairs", FileKind::Pairs)?);
        self.added = u64::from(written.documents);
        for file in new_files {
            self.manifest.add_file(file);
        }
        let generation = self.manifest.generation();
        self.manifest.state.sweeps.push(Sweep {
            generation,
            base: 0,
            documents: written.documents,
            blanks: written.blanks,
            date: options.date.map(|date| date.0),
            reading: StoredReading::new(&options.reading),
            mimes: written.mimes,
            keeps_text: false,
            redrawn: None,
            counts: Counts::default(),
        });
        Ok(())
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.added
    }

    /// How many postings they have.
    pub fn postings(&self) -> u64 {
        self.counts.postings
    }

    /// Takes pairs that were kept, by later and then by earlier document.
    pub fn pairs(&mut self, pairs: &[Pair]) -> Result<(), AddError> {
        for pair in pairs {
            let place = Some((pair.a, pair.b));
            if place <= self.last || pair.b >= pair.a || u64::from(pair.a) >= self.added {
                return Err(Garbled("pairs").into());
            }
            self.last = place;
            if let Some(file) = &mut self.pairs {
                file.append_record(*pair)?;
            }
            self.counts.pairs += 1;
        }
        Ok(())
    }

    /// All pairs are there. What else the counting came to goes into the collection's
    /// statistics.
    pub fn counted(&mut self, sizes: &GroupSizes, set_aside: u64) -> Result<(), AddError> {
        if let Some(file) = self.pairs.take() {
            let file = file.finish()?;
            self.manifest.add_file(file);
        }
        (
            self.counts.groups,
            self.counts.memberships,
            self.counts.common,
        ) = sizes.totals();
        self.counts.common_from = match sizes.cap() {
            Some(cap) if self.counts.common > 0 => cap as u64 + 1,
            _ => 0,
        };
        self.counts.pairs_set_aside = set_aside;
        if let Some(sweep) = self.manifest.state.sweeps.last_mut() {
            sweep.counts = self.counts.clone();
        }
        Ok(())
    }

    /// Clusters by what is known. The pairs that must be told true first; none when the
    /// clusters are final.
    pub fn cluster(&mut self) -> Result<Vec<(u32, u32)>, AddError> {
        let storage = Arc::clone(&self.storage);
        let collection = Collection::open_as(&self.folder, storage, self.manifest.clone())?;
        let mut sketches = collection.sketches()?;
        sketches.load_if_small(self.options.memory / 2)?;
        let mut manifest = self.manifest.clone();
        cluster_all(
            &collection,
            &mut manifest,
            &self.options.recipe,
            &[self.options.policy],
            Kept::None,
            &sketches,
            Means {
                options: &ClusterOptions {
                    threads: self.options.threads,
                    memory: self.options.memory,
                },
                told: Some(&self.told),
            },
        )?;
        let asked = self.told.asked();
        if asked.is_empty() {
            self.manifest = manifest;
        }
        Ok(asked)
    }

    /// Where the documents of some pairs stand: by source.
    pub fn places(&self, pairs: &[(u32, u32)]) -> Result<Vec<(u32, Wanted)>, AddError> {
        let storage = Arc::clone(&self.storage);
        let collection = Collection::open_as(&self.folder, storage, self.manifest.clone())?;
        let mut docs: Vec<u32> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        docs.sort_unstable();
        docs.dedup();
        let mut places = Vec::with_capacity(docs.len());
        for doc in docs {
            let mut entry = collection.entry(doc)?;
            if entry.has(Flag::Revisit) {
                // It has the content of another, and only that one's record has it.
                entry = collection.entry(entry.copy_of)?;
            }
            places.push((
                entry.source,
                Wanted {
                    doc,
                    offset: entry.offset,
                    tokens_name: entry.tokens_name,
                },
            ));
        }
        Ok(places)
    }

    /// Of pairs that were asked for those that could be told true; the others cannot.
    pub fn tell(&mut self, asked: &[(u32, u32)], told: &[Pair]) {
        self.told.tell(asked, told);
    }

    /// The clusters are final: the collection is whole.
    pub fn commit(mut self) -> Result<Report, AddError> {
        pack(&self.held, &mut self.manifest)?;
        commit(&*self.storage, &self.manifest)?;
        Ok(Report {
            counts: self.counts,
            added: self.added,
            scratch: 0,
            clusterings: std::mem::take(&mut self.manifest.state.clusterings),
            rejects: self.rejects,
        })
    }
}
