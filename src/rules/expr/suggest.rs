//! "Did you mean": the known name nearest to one that is not.

/// "did you mean", or the whole list.
pub(super) fn suggest(word: &str, known: &[&str], label: &str) -> String {
    let near = known.iter().map(|k| (distance(word, k), *k)).filter(|(d, k)| *d <= 1 + k.len() / 4).min();
    match near {
        Some((_, near)) => format!("did you mean `{near}`? {label}: {}", known.join(", ")),
        None => format!("{label}: {}", known.join(", ")),
    }
}

/// Edit distance (Levenshtein), for words of this size only.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let next = (diagonal + usize::from(x != *y)).min(*cell + 1).min(left + 1);
            diagonal = std::mem::replace(cell, next);
            left = next;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}
