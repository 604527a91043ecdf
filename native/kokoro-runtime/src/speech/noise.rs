//! The seed of an utterance, and the keys of its noise, the only random input of the model.
//!
//! The key of a chunk is numpy's `SeedSequence(seed, spawn_key=(chunk,)).generate_state(2)`, and the
//! artifact's `noise_forward` draws the noise from it. `docs/native.md` specifies every step.

use crate::errors::{Error, Result};

/// A seed: a whole number from 0 up, of any size, in words of 32 bits, the lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed(Vec<u32>);

impl From<u64> for Seed {
    fn from(number: u64) -> Seed {
        Seed(vec![number as u32, (number >> 32) as u32]).trimmed()
    }
}

impl Seed {
    fn trimmed(mut self) -> Seed {
        while self.0.len() > 1 && self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }
}

impl std::str::FromStr for Seed {
    type Err = Error;

    /// Decimal digits.
    fn from_str(text: &str) -> Result<Seed> {
        let refused =
            || Error::input(format!("seed is {text:?}, expected a whole number from 0 up"));
        if text.is_empty() || text.len() > 4000 {
            return Err(refused());
        }
        let mut words = vec![0u32];
        for digit in text.chars() {
            let mut carry = u64::from(digit.to_digit(10).ok_or_else(refused)?);
            for word in &mut words {
                carry += u64::from(*word) * 10;
                *word = carry as u32;
                carry >>= 32;
            }
            if carry > 0 {
                words.push(carry as u32);
            }
        }
        Ok(Seed(words).trimmed())
    }
}

/// numpy's SeedSequence with a pool of four words: four words for `entropy`.
fn seed_sequence(entropy: &[u32]) -> [u32; 4] {
    let mut constant = 0x43b0_d7e5_u32;
    let mut hash = |value: u32| {
        let mut word = value ^ constant;
        constant = constant.wrapping_mul(0x931e_8875);
        word = word.wrapping_mul(constant);
        word ^ word >> 16
    };
    let mix = |a: u32, b: u32| {
        let word = 0xca01_f9dd_u32.wrapping_mul(a).wrapping_sub(0x4973_f715_u32.wrapping_mul(b));
        word ^ word >> 16
    };
    let mut pool = [0u32; 4];
    for (index, slot) in pool.iter_mut().enumerate() {
        *slot = hash(entropy.get(index).copied().unwrap_or(0));
    }
    for source in 0..4 {
        for target in 0..4 {
            if source != target {
                pool[target] = mix(pool[target], hash(pool[source]));
            }
        }
    }
    for &extra in entropy.iter().skip(4) {
        for slot in &mut pool {
            *slot = mix(*slot, hash(extra));
        }
    }
    let mut constant = 0x8b51_f9dd_u32;
    pool.map(|value| {
        let mut word = value ^ constant;
        constant = constant.wrapping_mul(0x58f3_8ded);
        word = word.wrapping_mul(constant);
        word ^ word >> 16
    })
}

/// The key of the noise of chunk number `chunk` of an utterance: two words of 32 bits, as the
/// compiled function `noise_forward` takes them.
pub fn noise_key(seed: &Seed, chunk: u32) -> [i64; 2] {
    let mut entropy = seed.0.clone();
    // A spawn key follows entropy of at least the pool's size.
    if entropy.len() < 4 {
        entropy.resize(4, 0);
    }
    entropy.push(chunk);
    let [first, second, ..] = seed_sequence(&entropy);
    [first.into(), second.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read_in_words() {
        let table: &[(&str, &[u32])] = &[
            ("0", &[0]),
            ("00", &[0]),
            ("7", &[7]),
            ("4294967295", &[u32::MAX]),
            ("4294967296", &[0, 1]),
            ("18446744073709551616", &[0, 0, 1]),
        ];
        for (text, words) in table {
            assert_eq!(text.parse::<Seed>().unwrap().0, *words, "{text}");
        }
        assert_eq!(Seed::from(1 << 32), "4294967296".parse().unwrap());
        assert_eq!(Seed::from(0), "0".parse().unwrap());
        for text in ["", "-1", "+1", " 1", "1.0", "x", "٣"] {
            assert!(text.parse::<Seed>().is_err(), "{text}");
        }
    }
}
