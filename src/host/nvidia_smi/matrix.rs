//! Matrices of `nvidia-smi topo -m` and `topo -p2p`: one cell per ordered pair of GPUs.

use super::{SmiPair, captured};
use crate::root::{Evidence, Fact, Root, Why};

/// Reads a captured matrix. NIC rows and columns, affinities and the legend are passed over.
pub(super) fn read(root: &Root, name: &str) -> Fact<Vec<SmiPair>> {
    match captured(root, name) {
        Fact::Known { value, .. } => parse(&format!("captured/{name}"), &value),
        Fact::Absent { evidence } => Fact::Absent { evidence },
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

/// GPUs stand in the first columns and every cell of them is filled, so that words line up with the header
/// whether tabs survived the copy or not.
fn parse(path: &str, text: &str) -> Fact<Vec<SmiPair>> {
    let mut header: Option<Vec<Option<i64>>> = None;
    let (mut pairs, mut evidence, mut rows) = (Vec::new(), Vec::new(), 0);
    for (index, raw) in text.lines().enumerate() {
        let line = plain(raw);
        let mut words = line.split_whitespace();
        let first = words.clone().next();
        let Some(columns) = &header else {
            if first.and_then(gpu_index).is_some() {
                header = Some(words.map(gpu_index).collect());
            }
            continue;
        };
        let Some(from) = first.and_then(gpu_index) else {
            // Rows of NICs follow the rows of GPUs; anything else ends the matrix.
            if rows > 0 {
                break;
            }
            continue;
        };
        words.next();
        let cells: Vec<&str> = words.collect();
        rows += 1;
        for (column, to) in columns.iter().enumerate() {
            let Some(to) = *to else { continue };
            let Some(cell) = cells.get(column) else {
                return Fact::malformed(path, index + 1, format!("row GPU{from} ends before column GPU{to}"));
            };
            if from != to {
                pairs.push(SmiPair { from, to, value: (*cell).to_owned() });
            }
        }
        let shown: String = line.trim().chars().take(200).collect();
        evidence.push(Evidence::at(path, index + 1, shown.replace('\t', " ")));
    }
    let expected = header.map_or(0, |columns| columns.iter().flatten().count());
    if expected == 0 {
        return Fact::unknown(path, Why::Malformed, "expected a header with GPU0, GPU1 ..., found none");
    }
    if rows != expected {
        let detail = format!("{expected} GPU columns but {rows} GPU rows; the output is cut");
        return Fact::unknown(path, Why::Malformed, detail);
    }
    Fact::from_lines(pairs, evidence)
}

/// `GPU3` is 3; `GPU` (of `GPU NUMA ID`), `NIC0` and cells are none.
fn gpu_index(word: &str) -> Option<i64> {
    let digits = word.strip_prefix("GPU")?;
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// The line without terminal escapes (the header is underlined even in a pipe).
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(sequence) => {
                sequence.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &sequence[end + 1..])
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}
