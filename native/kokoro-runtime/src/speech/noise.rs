//! The noise of the harmonic source, the only random input of the model.
//!
//! It is numpy's `Generator(Philox(SeedSequence(seed, spawn_key=(chunk,)))).standard_normal()`,
//! drawn in float64 and rounded once to float32. Rounding hides the last bits, which depend on the
//! logarithm and the exponential of the C library. `docs/native.md` specifies every step.

use super::ziggurat::{HEIGHT, INSIDE, WIDTH};
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

/// Standard normals from a Philox4x64-10 stream.
#[derive(Clone, Debug)]
pub struct Noise {
    key: [u64; 2],
    counter: [u64; 4],
    block: [u64; 4],
    used: usize,
}

impl Noise {
    /// The stream of chunk number `chunk` of an utterance.
    pub fn new(seed: &Seed, chunk: u32) -> Noise {
        let mut entropy = seed.0.clone();
        // A spawn key follows entropy of at least the pool's size.
        if entropy.len() < 4 {
            entropy.resize(4, 0);
        }
        entropy.push(chunk);
        let [a, b, c, d] = seed_sequence(&entropy).map(u64::from);
        Noise { key: [a | b << 32, c | d << 32], counter: [0; 4], block: [0; 4], used: 4 }
    }

    /// Fill `out` with the next values of the stream.
    pub fn fill(&mut self, out: &mut [f32]) {
        for value in out {
            *value = self.normal() as f32;
        }
    }

    fn word(&mut self) -> u64 {
        if self.used == 4 {
            self.next_block();
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    fn next_block(&mut self) {
        for word in &mut self.counter {
            *word = word.wrapping_add(1);
            if *word != 0 {
                break;
            }
        }
        let (mut c, mut key) = (self.counter, self.key);
        for _ in 0..10 {
            let first = u128::from(c[0]) * 0xd2e7_470e_e14c_6c93;
            let second = u128::from(c[2]) * 0xca5a_8263_9512_1157;
            c = [
                (second >> 64) as u64 ^ c[1] ^ key[0],
                second as u64,
                (first >> 64) as u64 ^ c[3] ^ key[1],
                first as u64,
            ];
            key[0] = key[0].wrapping_add(0x9e37_79b9_7f4a_7c15);
            key[1] = key[1].wrapping_add(0xbb67_ae85_84ca_a73b);
        }
        self.block = c;
        self.used = 0;
    }

    fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// The next value in float64, by the ziggurat.
    fn normal(&mut self) -> f64 {
        const EDGE: f64 = 3.654_152_885_361_009;
        const INVERSE_EDGE: f64 = 0.273_661_237_329_758_3;
        loop {
            let bits = self.word();
            let strip = (bits & 0xff) as usize;
            let magnitude = bits >> 9 & 0x000f_ffff_ffff_ffff;
            let distance = magnitude as f64 * f64::from_bits(WIDTH[strip]);
            let x = if bits >> 8 & 1 == 1 { -distance } else { distance };
            if magnitude < INSIDE[strip] {
                return x;
            }
            if strip == 0 {
                loop {
                    let beyond = -INVERSE_EDGE * (-self.uniform()).ln_1p();
                    let height = -(-self.uniform()).ln_1p();
                    if height + height > beyond * beyond {
                        let tail = EDGE + beyond;
                        return if magnitude >> 8 & 1 == 1 { -tail } else { tail };
                    }
                }
            }
            let (low, high) = (f64::from_bits(HEIGHT[strip]), f64::from_bits(HEIGHT[strip - 1]));
            if (high - low) * self.uniform() + low < (-0.5 * x * x).exp() {
                return x;
            }
        }
    }
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

    #[test]
    fn a_stream_does_not_depend_on_how_it_is_drawn() {
        let seed = Seed::from(3);
        let (mut whole, mut parts) = ([0.0; 100], [0.0; 100]);
        Noise::new(&seed, 1).fill(&mut whole);
        let mut stream = Noise::new(&seed, 1);
        parts.chunks_mut(7).for_each(|part| stream.fill(part));
        assert_eq!(whole, parts);
    }
}
