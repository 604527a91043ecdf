//! What is to be said: a request, checked before anything is loaded.

use super::noise::Seed;
use crate::artifact::Artifact;
use crate::errors::{Error, Result};
use crate::voices;

/// The limits of a request's speed.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// Phonemes with a voice, a speed and a seed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The phonemes, of which each code point is a symbol.
    pub phonemes: String,
    /// The name of a voice, a blend of voices, or the path of a voice file.
    pub voice: String,
    /// What durations are divided by, from 0.1 to 10.
    pub speed: f64,
    /// The seed of the noise: the same seed gives the same bits.
    pub seed: Seed,
}

impl Request {
    /// A request with the voice "af_heart", speed 1 and seed 0.
    pub fn new(phonemes: impl Into<String>) -> Request {
        Request {
            phonemes: phonemes.into(),
            voice: "af_heart".to_string(),
            speed: 1.0,
            seed: Seed::from(0),
        }
    }

    /// Check everything that can be checked without an artifact.
    pub fn check(&self) -> Result<()> {
        if !SPEEDS.contains(&self.speed) {
            return Err(Error::input(format!(
                "speed is {}, expected a number from {} to {}",
                self.speed,
                SPEEDS.start(),
                SPEEDS.end()
            )));
        }
        if self.phonemes.chars().all(crate::text::is_space) {
            return Err(Error::input("there is nothing to say: the phonemes are empty"));
        }
        voices::check(&self.voice)
    }

    /// The pack of the voice, which is a name of the artifact, a blend or a file.
    pub(crate) fn pack(&self, artifact: &Artifact) -> Result<voices::VoicePack> {
        voices::load(&self.voice, &artifact.voices(), &artifact.manifest.voices())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_spoken_is_refused() {
        let with = |change: fn(&mut Request)| {
            let mut request = Request::new("a");
            change(&mut request);
            request.check().map_err(|error| error.to_string())
        };
        assert!(with(|_| ()).is_ok());
        type Case = (fn(&mut Request), &'static str);
        let table: [Case; 7] = [
            (|r| r.phonemes.clear(), "the phonemes are empty"),
            (|r| r.phonemes = " \u{1f}\n".into(), "the phonemes are empty"),
            (|r| r.speed = 0.09, "speed is 0.09"),
            (|r| r.speed = f64::NAN, "speed is NaN"),
            (|r| r.speed = f64::INFINITY, "expected a number from 0.1 to 10"),
            (|r| r.voice = "a:b".into(), "not a weight"),
            (|r| r.voice = "a\0b".into(), "not the name of a voice"),
        ];
        for (change, cause) in table {
            assert!(with(change).unwrap_err().contains(cause), "{cause}");
        }
    }
}
