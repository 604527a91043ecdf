//! Speech from a tvm-kokoro artifact, without Python.
//!
//! This is the running half of tvm-kokoro in Rust: it opens the same artifact folder with the same
//! checks as the Python package `kokoro_pipeline`, and gives the same bits for the same artifact,
//! phonemes and seed. What it needs beside the artifact are TVM's two libraries, `libtvm_ffi` and
//! `libtvm_runtime`, which [`libraries::find`] describes.
//!
//! ```no_run
//! use kokoro_runtime::{Options, Request, Synthesizer};
//!
//! # fn main() -> kokoro_runtime::Result<()> {
//! let synthesizer = Synthesizer::open("kokoro".as_ref(), &Options::default())?;
//! let speech = synthesizer.synthesize(&Request::new("həlˈoʊ wˈɜːld"))?;
//! println!("{} samples at 24 kHz", speech.audio.len());
//! # Ok(())
//! # }
//! ```
//!
//! An artifact contains machine code: open only what you trust.

#![deny(unsafe_code, unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

pub mod artifact;
pub mod audio;
mod engine;
mod errors;
pub mod libraries;
pub mod speech;
pub mod text;
mod tvm;
pub mod voices;

pub use engine::device::Device;
pub use errors::{guarded, reason, Error, Kind, Result};
pub use speech::request::Request;
pub use speech::synthesizer::{Options, Plan, Speech, Synthesizer};
pub use tvm::Tensor;

/// Samples per second of all audio.
pub const SAMPLE_RATE: u32 = 24_000;
/// Samples per frame of 25 ms.
pub const SAMPLES_PER_FRAME: usize = 600;
/// Phonemes per chunk: 512 positions without the two boundary tokens.
pub const MAX_PHONEMES: usize = 510;
/// The number of positions that BERT supports.
pub const MAX_TOKENS: usize = 512;
/// Width of one half of a style vector.
pub const STYLE_DIM: usize = 128;
/// The token that stands before and after every chunk.
pub const BOUNDARY_TOKEN: i64 = 0;
