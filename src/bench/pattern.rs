//! The test pattern: every word carries its index, the iteration and the buffer, under a key. A wrong word can be
//! taken apart again and says where it came from. The device code computes the same words (`crate::gpu::kernels`).

/// What a destination holds before a verified transfer.
pub const POISON: u64 = 0x5AA5_DEAD_C35A_3CA5;

/// Top byte of every header; a decoded word without it is no word of ours.
const MARK: u64 = 0xA6;
/// More words than any buffer holds (256 MiB).
pub const MOST_WORDS: u32 = 1 << 25;
const M1: u64 = 0xbf58_476d_1ce4_e5b9;
const M2: u64 = 0x94d0_49bb_1331_11eb;
/// Inverses of the multipliers modulo 2^64.
const N1: u64 = inverse(M1);
const N2: u64 = inverse(M2);

/// The finaliser of splitmix64, a bijection.
pub fn mix64(word: u64) -> u64 {
    let mut z = word;
    z = (z ^ (z >> 30)).wrapping_mul(M1);
    z = (z ^ (z >> 27)).wrapping_mul(M2);
    z ^ (z >> 31)
}

/// Undoes [`mix64`].
pub fn unmix64(word: u64) -> u64 {
    let mut z = unshift(word, 31).wrapping_mul(N2);
    z = unshift(z, 27).wrapping_mul(N1);
    unshift(z, 30)
}

/// Undoes `z ^ z >> by`.
fn unshift(word: u64, by: u32) -> u64 {
    let mut z = word;
    let mut shift = by;
    while shift < 64 {
        z ^= word >> shift;
        shift += by;
    }
    z
}

/// Newton's iteration doubles the right bits each time.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut round = 0;
    while round < 6 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        round += 1;
    }
    x
}

/// What one buffer holds in one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Key of the run.
    pub key: u64,
    /// Which buffer, 12 bits.
    pub tag: u16,
    /// Which iteration, 12 bits.
    pub iteration: u16,
}

/// The parts of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Index of the word.
    pub index: u32,
    /// Iteration.
    pub iteration: u16,
    /// Buffer.
    pub tag: u16,
}

impl Pattern {
    /// Mark, tag and iteration in their places.
    pub fn header(&self) -> u64 {
        (MARK << 56) | (u64::from(self.tag & 0xfff) << 44) | (u64::from(self.iteration & 0xfff) << 32)
    }

    /// The word at an index.
    pub fn word(&self, index: u32) -> u64 {
        mix64((self.header() | u64::from(index)) ^ self.key)
    }

    /// Takes a word apart; none when it is no word that was written under this key in the 2048 iterations up to this
    /// one (they are counted modulo 4096). Of random words one in 65,000 is mistaken for one.
    pub fn parts(&self, word: u64) -> Option<Parts> {
        let plain = unmix64(word) ^ self.key;
        // Masked to their widths, so that the casts lose nothing.
        #[allow(clippy::cast_possible_truncation)]
        let parts = Parts {
            index: plain as u32,
            iteration: ((plain >> 32) & 0xfff) as u16,
            tag: ((plain >> 44) & 0xfff) as u16,
        };
        let age = self.iteration.wrapping_sub(parts.iteration) & 0xfff;
        let ours = plain >> 56 == MARK && parts.index < MOST_WORDS && age <= 2048;
        ours.then_some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_can_be_undone() {
        for word in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, POISON] {
            assert_eq!(unmix64(mix64(word)), word);
            assert_eq!(mix64(unmix64(word)), word);
        }
        // splitmix64 of seed 0: its first state is the golden ratio.
        assert_eq!(mix64(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_word_says_where_it_came_from() {
        let pattern = Pattern { key: 77, tag: 0x123, iteration: 9 };
        let parts = pattern.parts(pattern.word(33_000_000)).unwrap();
        assert_eq!(parts, Parts { index: 33_000_000, iteration: 9, tag: 0x123 });
        // Iterations begin anew after 4095: what stood there before is still known.
        let older = Pattern { iteration: 4090, ..pattern };
        assert_eq!(pattern.parts(older.word(5)).unwrap().iteration, 4090);
        let later = Pattern { iteration: 10, ..pattern };
        assert_eq!(pattern.parts(later.word(5)), None);
        assert_eq!(pattern.parts(POISON), None);
        assert_eq!(pattern.parts(0), None);
    }
}
