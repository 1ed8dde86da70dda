//! `NVreg_RegistryDwords`: `;`-separated `key=value` pairs in one string parameter of the nvidia module
//! (kernel-open/nvidia/nv-reg.h). The module keeps one string, so keys are merged, never appended as a line.

/// The value with the pairs of `ours` in force: a key that stands there gets our value where it stands, a new
/// one comes last; keys are compared exactly, every other pair is kept in order.
pub fn merge(current: &str, ours: &str) -> String {
    let mut pairs = split(current);
    for (key, value) in split(ours) {
        let mut found = false;
        pairs.retain_mut(|(k, v)| {
            if *k != key {
                return true;
            }
            if !std::mem::replace(&mut found, true) {
                v.clone_from(&value);
                return true;
            }
            false
        });
        if !found {
            pairs.push((key, value));
        }
    }
    join(&pairs)
}

/// The value without the given pairs; a pair without a value names the key whatever its value is.
pub fn without(current: &str, gone: &str) -> String {
    let gone = split(gone);
    let mut pairs = split(current);
    pairs.retain(|(key, value)| !gone.iter().any(|(k, v)| k == key && (v.is_none() || v == value)));
    join(&pairs)
}

/// True when every pair of `wanted` is in force in `current`.
pub fn holds(current: &str, wanted: &str) -> bool {
    let pairs = split(current);
    split(wanted).iter().all(|(key, value)| {
        let mut all = pairs.iter().filter(|(k, _)| k == key).peekable();
        all.peek().is_some() && all.all(|(_, v)| v == value)
    })
}

type Pair = (String, Option<String>);

/// Pairs in order. The driver takes blanks out of the whole string.
fn split(text: &str) -> Vec<Pair> {
    text.split(';')
        .map(|pair| pair.chars().filter(|c| !c.is_whitespace()).collect::<String>())
        .filter(|pair| !pair.is_empty())
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (pair, None),
        })
        .collect()
}

fn join(pairs: &[Pair]) -> String {
    let text = |(key, value): &Pair| match value {
        Some(value) => format!("{key}={value}"),
        None => key.clone(),
    };
    pairs.iter().map(text).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::{holds, merge, without};

    #[test]
    fn our_keys_win_where_they_stand_and_others_keep_their_order() {
        assert_eq!(merge("A=0x1;ForceP2P=0x0;B=2", "ForceP2P=0x11;C=3"), "A=0x1;ForceP2P=0x11;B=2;C=3");
        assert_eq!(merge("ForceP2P=1;A=1;ForceP2P=2", "ForceP2P=0x11"), "ForceP2P=0x11;A=1");
        assert_eq!(merge("", "A=1"), "A=1");
        assert_eq!(merge("forcep2p=1", "ForceP2P=2"), "forcep2p=1;ForceP2P=2");
    }

    #[test]
    fn pairs_go_by_value_or_by_key() {
        assert_eq!(without("A=1;B=2;A=3", "A=1"), "B=2;A=3");
        assert_eq!(without("A=1;B=2;A=3", "A"), "B=2");
        assert!(holds("A=1; B=2;", "B=2") && !holds("A=1", "A=2") && !holds("A=1;A=2", "A=1"));
    }
}
