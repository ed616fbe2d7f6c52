//! The tables, each declared once: a row type whose fields are the columns, in order.

use super::{Cell, Column, Kind, Row, Table, Tabled};
use crate::corpus::record::Timestamp;

/// Rows are declared here and nowhere else, so that cells always fit their columns.
pub trait Declared {}

/// What a field of a row may be.
trait Value {
    const KIND: Kind;
    const IS_NULLABLE: bool;
    fn cell(&self) -> Cell<'_>;
}

impl Value for u32 {
    const KIND: Kind = Kind::U32;
    const IS_NULLABLE: bool = false;
    fn cell(&self) -> Cell<'_> {
        Cell::U32(*self)
    }
}

impl Value for u64 {
    const KIND: Kind = Kind::U64;
    const IS_NULLABLE: bool = false;
    fn cell(&self) -> Cell<'_> {
        Cell::U64(*self)
    }
}

impl Value for bool {
    const KIND: Kind = Kind::Bool;
    const IS_NULLABLE: bool = false;
    fn cell(&self) -> Cell<'_> {
        Cell::Bool(*self)
    }
}

impl Value for f64 {
    const KIND: Kind = Kind::F64;
    // JSON has no word for what is not finite; all formats shall say the same.
    const IS_NULLABLE: bool = true;
    fn cell(&self) -> Cell<'_> {
        if self.is_finite() {
            Cell::F64(*self)
        } else {
            Cell::Null
        }
    }
}

impl Value for &str {
    const KIND: Kind = Kind::Str;
    const IS_NULLABLE: bool = false;
    fn cell(&self) -> Cell<'_> {
        Cell::Str(self)
    }
}

impl Value for &[u64] {
    const KIND: Kind = Kind::U64List;
    const IS_NULLABLE: bool = false;
    fn cell(&self) -> Cell<'_> {
        Cell::U64List(self)
    }
}

/// Seconds since 1970 of the first moment of the year 0 and of the last of 9999: what
/// RFC 3339 can write.
const RFC_3339: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

impl Value for Timestamp {
    const KIND: Kind = Kind::Timestamp;
    const IS_NULLABLE: bool = true;
    fn cell(&self) -> Cell<'_> {
        if RFC_3339.contains(&self.0) {
            Cell::Timestamp(*self)
        } else {
            Cell::Null
        }
    }
}

impl<V: Value> Value for Option<V> {
    const KIND: Kind = V::KIND;
    const IS_NULLABLE: bool = true;
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, V::cell)
    }
}

macro_rules! table {
    (
        $(#[$of_row:meta])*
        $table:ident of $row:ident is $name:literal {
            $( $(#[$of_field:meta])* $field:ident: $type:ty, )*
        }
    ) => {
        $(#[$of_row])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $row<'a> {
            $( $(#[$of_field])* pub $field: $type, )*
        }

        #[doc = concat!("The table of [`", stringify!($row), "`]s.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $table;

        impl Declared for $table {}

        impl Tabled for $table {
            type Row<'a> = $row<'a>;
        }

        impl Declared for $row<'_> {}

        impl<'a> Row for $row<'a> {
            const TABLE: Table = Table {
                name: $name,
                columns: &[$( Column {
                    name: stringify!($field),
                    kind: <$type as Value>::KIND,
                    is_nullable: <$type as Value>::IS_NULLABLE,
                }, )*],
            };

            fn each<'c>(&'c self, put: &mut dyn FnMut(Cell<'c>)) {
                $( put(self.$field.cell()); )*
            }
        }
    };
}

table! {
    /// A document and the cluster it is in.
    Documents of DocumentRow is "documents" {
        /// The collection's own number of the document.
        doc: u32,
        /// The caller's id, where the input has one.
        id: Option<&'a str>,
        /// Its address.
        url: Option<&'a str>,
        /// When it was captured.
        date: Option<Timestamp>,
        /// The input it was read from.
        file: &'a str,
        /// Where in that input.
        offset: u64,
        /// How many tokens it has.
        tokens: u64,
        /// How many different shingles.
        shingles: u64,
        /// How it is the same as its representative: `identical`, `lexical`, `shingle`,
        /// `similar`, `contained`.
        grade: Option<&'a str>,
        /// Its cluster.
        cluster: Option<u32>,
        /// How many documents are in that cluster, itself among them.
        cluster_size: Option<u64>,
        /// The `doc` that stands for the cluster.
        representative: Option<u32>,
        /// Whether it is the one.
        is_representative: Option<bool>,
        /// Its resemblance to the representative.
        resemblance: Option<f64>,
        /// Its containment in the representative.
        containment: Option<f64>,
    }
}

table! {
    /// A document of a filter's collection and the cluster it is in: the columns of
    /// [`DocumentRow`], of which features tell no size and no resemblance.
    Filtered of FilteredRow is "documents" {
        /// The collection's own number of the document.
        doc: u32,
        /// The caller's id, where the input has one.
        id: Option<&'a str>,
        /// Its address.
        url: Option<&'a str>,
        /// When it was captured, to the minute.
        date: Option<Timestamp>,
        /// The input it was read from.
        file: &'a str,
        /// Where in that input.
        offset: u64,
        /// Never known.
        tokens: Option<u64>,
        /// Never known.
        shingles: Option<u64>,
        /// Never known.
        grade: Option<&'a str>,
        /// Its cluster.
        cluster: Option<u32>,
        /// How many documents are in that cluster, itself among them.
        cluster_size: Option<u64>,
        /// The `doc` that stands for the cluster: its first.
        representative: Option<u32>,
        /// Whether it is the one.
        is_representative: Option<bool>,
        /// Never known.
        resemblance: Option<f64>,
        /// Never known.
        containment: Option<f64>,
    }
}

table! {
    /// Two documents that are alike.
    Pairs of PairRow is "pairs" {
        /// The `doc` of the one.
        a: u32,
        /// The `doc` of the other.
        b: u32,
        /// The caller's id of the one.
        id_a: Option<&'a str>,
        /// The caller's id of the other.
        id_b: Option<&'a str>,
        /// The address of the one.
        url_a: Option<&'a str>,
        /// The address of the other.
        url_b: Option<&'a str>,
        /// How many fingerprints their sketches share; of a pair that was read again, how many
        /// shingles both have, unless these are counted by weights.
        common: u64,
        /// The estimate of their resemblance.
        resemblance: Option<f64>,
        /// The lower end of its 95 % interval.
        resemblance_low: Option<f64>,
        /// The upper end.
        resemblance_high: Option<f64>,
        /// The estimate of the containment of `a` in `b`.
        a_in_b: Option<f64>,
        /// The estimate of the containment of `b` in `a`.
        b_in_a: Option<f64>,
        /// Their true resemblance, where the sources were read again.
        exact: Option<f64>,
    }
}

table! {
    /// What is kept of a document. As secret as the document itself.
    Sketches of SketchRow is "sketches" {
        /// The collection's own number of the document.
        doc: u32,
        /// The caller's id, where the input has one.
        id: Option<&'a str>,
        /// Its address.
        url: Option<&'a str>,
        /// The `i` of the modulus 2^i that the samples are 0 of.
        level: u32,
        /// The fingerprints that are kept, increasing.
        samples: &'a [u64],
    }
}

table! {
    /// A cluster as a whole.
    Quality of QualityRow is "quality" {
        /// Its number.
        cluster: u32,
        /// How many documents are in it.
        size: u64,
        /// The `doc` that stands for it.
        representative: u32,
        /// The caller's id of that document.
        representative_id: Option<&'a str>,
        /// Its address.
        representative_url: Option<&'a str>,
        /// The lowest resemblance of a member to the representative.
        lowest_resemblance: Option<f64>,
        /// The median of these resemblances.
        median_resemblance: Option<f64>,
        /// What looks odd about it, in words with spaces between: `chain`, `template`.
        flags: Option<&'a str>,
    }
}
