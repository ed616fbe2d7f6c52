//! Pairs → clusters: connected components by union-find, in memory.

/// Disjoint sets over `0..n`: 4 bytes an element, near-constant time a pair.
#[derive(Clone, Debug)]
pub struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    /// Every element alone.
    pub fn new(n: u32) -> DisjointSets {
        DisjointSets {
            parent: (0..n).collect(),
        }
    }

    /// The smallest element of the set that `x` is in. Halves the path it walks.
    ///
    /// # Panics
    ///
    /// Past the last element, like a slice.
    pub fn find(&mut self, mut x: u32) -> u32 {
        while self.parent[x as usize] != x {
            let next = self.parent[self.parent[x as usize] as usize];
            self.parent[x as usize] = next;
            x = next;
        }
        x
    }

    /// Makes one set of the two. The smaller root stays root, so that the answer does not
    /// depend on the order of the pairs.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn components_are_those_of_a_search(pairs in prop::collection::vec((0_u32..30, 0_u32..30), 0..40)) {
            let mut sets = DisjointSets::new(30);
            for &(a, b) in &pairs {
                sets.join(a, b);
            }
            // By definition: the least label that any chain of pairs leads to.
            let mut label: Vec<u32> = (0..30).collect();
            for _ in 0..30 {
                for &(a, b) in &pairs {
                    let least = label[a as usize].min(label[b as usize]);
                    (label[a as usize], label[b as usize]) = (least, least);
                }
            }
            let found: Vec<u32> = (0..30).map(|x| sets.find(x)).collect();
            prop_assert_eq!(found, label);
        }
    }
}
