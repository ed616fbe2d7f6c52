//! How many clusters there are of which size.

use std::collections::BTreeMap;

use super::table::Clustering;
use crate::collection::state::Summary;
use crate::storage::StorageError;

/// Clusters by their size. Rows are 1, 2, 3 to 4, 5 to 8 and so on.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sizes(BTreeMap<u32, (u64, u64)>);

/// The clusters of some sizes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SizeRow {
    /// The smallest size.
    pub first: u64,
    /// The largest.
    pub last: u64,
    /// How many clusters have one of these.
    pub clusters: u64,
    /// How many documents are in them.
    pub documents: u64,
}

impl Sizes {
    /// Of a clustering that came to this.
    pub fn of(clustering: &Clustering, summary: &Summary) -> Result<Sizes, StorageError> {
        let mut sizes = Sizes::default();
        let alone = summary
            .documents
            .saturating_sub(summary.clustered_documents);
        if alone > 0 {
            sizes.0.insert(0, (alone, alone));
        }
        let mut clusters = clustering.clusters()?;
        while let Some(quality) = clusters.next_record()? {
            sizes.add(quality.size);
        }
        Ok(sizes)
    }

    fn add(&mut self, size: u32) {
        let row = size.max(1).saturating_sub(1).checked_ilog2();
        let row = self.0.entry(row.map_or(0, |log| log + 1)).or_default();
        row.0 += 1;
        row.1 += u64::from(size);
    }

    /// The rows that have clusters, by size.
    pub fn rows(&self) -> impl Iterator<Item = SizeRow> {
        self.0.iter().map(|(&row, &(clusters, documents))| {
            let last = 1_u64 << row;
            SizeRow {
                first: if row == 0 { 1 } else { last / 2 + 1 },
                last,
                clusters,
                documents,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_double() {
        let mut sizes = Sizes::default();
        for size in [1, 2, 3, 4, 5, 8, 9] {
            sizes.add(size);
        }
        let rows: Vec<_> = sizes.rows().map(|row| (row.first, row.last)).collect();
        assert_eq!(rows, [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16)]);
    }
}
