//! A request, its chunks, and the synthesizer that turns them into audio.

pub mod alignment;
mod chunk;
pub mod noise;
pub mod request;
pub mod synthesizer;
